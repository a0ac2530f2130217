"""Where on the network ROS 2 looks for others: domain, range and peers, as its environment variables say."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from xml.sax.saxutils import quoteattr

from pegasus.errors import ConfigError

_MAX_DOMAIN = 232
_PARTICIPANTS = 32
"""Participants on one machine that find each other without multicast, as ROS 2 sets it for Cyclone DDS."""
_LINGER = "<WriterLingerDuration>20 ms</WriterLingerDuration>"
"""Each writer waits so long on its end for readers that owe it an answer; by default 1 s, one by one."""

Range = Literal["SYSTEM_DEFAULT", "SUBNET", "LOCALHOST", "OFF"]
_RANGES: tuple[Range, ...] = ("SYSTEM_DEFAULT", "SUBNET", "LOCALHOST", "OFF")


@dataclass(frozen=True)
class Discovery:
    """Where others are looked for."""

    domain_id: int = 0
    """Domain, of which nothing else is seen."""
    range: Range = "SUBNET"
    """How far others are looked for."""
    static_peers: tuple[str, ...] = ()
    """Addresses of machines that are asked as well."""

    def cyclonedds_config(self, *, process: int) -> str:
        """Return the XML that makes Cyclone DDS look there.

        Args:
            process: Number of this process, which nobody else has.
        """
        peers = list(self.static_peers) if self.range in ("SUBNET", "LOCALHOST") else []
        general = discovery = ""
        if self.range == "OFF":
            general = "<AllowMulticast>false</AllowMulticast>"
            discovery = f"<ParticipantIndex>none</ParticipantIndex><Tag>ros_discovery_off_{process}</Tag>"
        elif self.range == "LOCALHOST":
            general = (
                "<AllowMulticast>false</AllowMulticast>"
                '<Interfaces><NetworkInterface address="127.0.0.1"/></Interfaces>'
            )
            peers.insert(0, "localhost")
        if peers:
            discovery = (
                "<ParticipantIndex>auto</ParticipantIndex>"
                f"<MaxAutoParticipantIndex>{_PARTICIPANTS}</MaxAutoParticipantIndex>"
                f"<Peers>{''.join(f'<Peer address={quoteattr(peer)}/>' for peer in peers)}</Peers>"
            )
        return "".join(
            f"<{tag}>{content}</{tag}>"
            for tag, content in (("General", general), ("Discovery", discovery), ("Internal", _LINGER))
            if content
        )


def find_discovery(
    domain_id: int | None = None,
    *,
    localhost_only: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Discovery:
    """Return where others are looked for.

    ROS_DOMAIN_ID, ROS_LOCALHOST_ONLY, ROS_AUTOMATIC_DISCOVERY_RANGE and ROS_STATIC_PEERS say what the
    arguments do not.

    Args:
        domain_id: Domain, 0 to 232; that of the environment, else 0, when None.
        localhost_only: Whether only this machine is looked at, whatever the environment says.
        environment: Environment variables; those of this process when None.

    Raises:
        ConfigError: If a value is not allowed.
    """
    variables = os.environ if environment is None else environment
    field, value = "domain_id", str(domain_id)
    if domain_id is None:
        field, value = "ROS_DOMAIN_ID", variables.get("ROS_DOMAIN_ID") or "0"
    if not value.isdecimal() or int(value) > _MAX_DOMAIN:
        raise ConfigError(f"must be a number from 0 to {_MAX_DOMAIN}", field=field, value=value)
    # rcl/discovery_options.h and, older but still obeyed, rcl/localhost.h
    if localhost_only or variables.get("ROS_LOCALHOST_ONLY") == "1":
        return Discovery(int(value), "LOCALHOST")
    said = variables.get("ROS_AUTOMATIC_DISCOVERY_RANGE") or "SUBNET"
    reach = next((known for known in _RANGES if known == said), None)
    if reach is None:
        raise ConfigError(
            f"must be one of {', '.join(_RANGES)}", field="ROS_AUTOMATIC_DISCOVERY_RANGE", value=said
        )
    peers = tuple(peer for peer in variables.get("ROS_STATIC_PEERS", "").split(";") if peer)
    return Discovery(int(value), reach, peers)
