#!/usr/bin/env bash
# Run Pegasus from a clone: makes .venv on first use, then hands over to the `pegasus` command.
#   ./pegasus.sh run [SCENARIO]   fly
#   ./pegasus.sh install EXTRA    add an optional part: view, render, photo, px4, ros2, cluster, hitl, meshes, parquet
#   ./pegasus.sh test [ARGS]      run the test suite
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
venv="$root/.venv"
job=""
temporary=""

# End the running job, remove temporary files, and exit with a code.
leave() {
    trap '' INT TERM
    if [ -n "$job" ]; then
        kill -INT -- "-$job" 2>/dev/null || true
        for _ in {1..50}; do
            kill -0 -- "-$job" 2>/dev/null || break
            sleep 0.1
        done
        kill -KILL -- "-$job" 2>/dev/null || true
    fi
    [ -z "$temporary" ] || rm -rf "$temporary"
    [ ! -t 2 ] || printf '\r\033[K' >&2
    echo "pegasus.sh: interrupted" >&2
    exit "$1"
}
trap 'leave 130' INT
trap 'leave 143' TERM

# Run a command in its own process group, so that Ctrl-C reaches this script, and report progress: on one line of a
# terminal, else every 15 seconds. The end of its output is shown if it fails.
working() {
    local what="$1" began="$SECONDS" said=0 status=0 log latest
    shift
    temporary="$(mktemp -d)"
    log="$temporary/log"
    : >"$log"
    set -m
    TMPDIR="$temporary" "$@" >"$log" 2>&1 </dev/null &
    job=$!
    set +m
    [ -t 2 ] || echo "pegasus.sh: $what ..." >&2
    while :; do
        latest="$(tail -n 1 "$log" | sed 's/^ *//' | cut -c 1-50)"
        if [ -t 2 ]; then
            printf '\r\033[Kpegasus.sh: %s, %s s: %s' "$what" $((SECONDS - began)) "$latest" >&2
        elif [ $(((SECONDS - began) / 15)) -gt "$said" ]; then
            said=$(((SECONDS - began) / 15))
            echo "pegasus.sh: $what, $((SECONDS - began)) s: $latest" >&2
        fi
        kill -0 "$job" 2>/dev/null || break
        sleep 0.2
    done
    wait "$job" 2>/dev/null || status=$?
    job=""
    [ ! -t 2 ] || printf '\r\033[K' >&2
    [ "$status" = 0 ] || tail -n 20 "$log" >&2
    rm -rf "$temporary"
    temporary=""
    return "$status"
}

fits() {
    local check='import sys, venv, ensurepip; print((3, 11) <= sys.version_info[:2] <= (3, 13))'
    [ "$("$1" -c "$check" 2>/dev/null)" = True ]
}

find_python() {
    local candidate
    for candidate in ${PYTHON:+"$PYTHON"} python3 python3.12 python3.13 python3.11; do
        if fits "$candidate"; then
            echo "$candidate"
            return
        elif [ "$candidate" = "${PYTHON:-}" ]; then
            echo "pegasus.sh: PYTHON=$PYTHON: is no Python 3.11, 3.12 or 3.13 with venv; name another, or leave PYTHON unset" >&2
            return 2
        fi
    done
    echo "pegasus.sh: no Python 3.11, 3.12 or 3.13 with venv found; install one (Debian, Ubuntu: python3-venv too), or name it: PYTHON=/path/to/python3 ./pegasus.sh" >&2
    return 2
}

# Install the standalone simulator and the named extra, unless this very state of the project has them already.
ensure() {
    local extra="$1" wanted stamp python clear=""
    # A run draws a plot. The path counts too, since the package is installed as a link to it.
    wanted="$(cat "$root/pyproject.toml" "$root/constraints.txt" | cksum) $root"
    for stamp in "$venv/.pegasus-${extra:-core}" "$venv/.pegasus-dev"; do
        if [ -x "$venv/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
            return
        fi
    done
    if ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
        python="$(find_python)"
        # An incomplete environment, or one whose Python is gone, is created again.
        "$venv/bin/python" -c "" 2>/dev/null || clear=--clear
        working "making .venv" "$python" -m venv $clear "$venv"
    fi
    if ! working "installing into .venv" \
        "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --no-color --progress-bar off \
        --constraint "$root/constraints.txt" --editable "${root}[standalone,plot${extra:+,$extra}]"; then
        echo "pegasus.sh: the installation failed; check the network and run it again" >&2
        return 1
    fi
    # Every extra includes the core.
    echo "$wanted" | tee "$venv/.pegasus-core" >"$venv/.pegasus-${extra:-core}"
}

# Optional parts of the standalone simulator.
extras() {
    sed -n '/^\[project.optional-dependencies\]/,/^\[project.scripts\]/s/^\([a-z0-9]*\) = \[.*/\1/p' "$root/pyproject.toml" |
        grep -vx -e standalone -e isaac -e plot
}

if [ "${1:-}" = test ]; then
    shift
    ensure dev
    cd "$root"
    # The whole suite runs on all cores, one file at a time on each.
    [ $# -gt 0 ] || set -- --numprocesses auto --dist loadfile
    exec "$venv/bin/python" -m pytest "$@"
fi
if [ "${1:-}" = install ]; then
    shift
    known=" $(extras | tr '\n' ' ')"
    for extra in "${@:-}"; do
        if [[ "$known" != *" $extra "* ]]; then
            echo "pegasus.sh: install what? name one or more of:$known" >&2
            exit 2
        fi
    done
    for extra in "$@"; do
        ensure "$extra"
    done
    exit
fi
# Extras that a command requires are installed on first use.
needed=""
case "${1:-}" in
    view) needed="view" ;;
    dataset) needed="render" ;;
esac
for word in "$@"; do
    case "$word" in
        --view) needed="$needed view" ;;
        --photo) needed="$needed photo" ;;
        # Beside a sourced ROS 2 only messages are missing.
        --ros2) needed="$needed $([ -n "${ROS_DISTRO:-}" ] && echo rosbags || echo ros2)" ;;
    esac
done
for extra in $needed; do
    ensure "$extra"
done
[ -n "$needed" ] || ensure ""
# Block SIGINT until the command handles it, if `env` supports that.
if env --block-signal=INT true 2>/dev/null; then
    blocking="env --block-signal=INT"
fi
# Not through bin/pegasus, whose first line holds the path at which .venv was created.
exec ${blocking:-} "$venv/bin/python" -P -m pegasus "$@"
