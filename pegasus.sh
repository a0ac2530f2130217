#!/usr/bin/env bash
# Run Pegasus from a clone: makes .venv on first use, then hands over to the `pegasus` command.
#   ./pegasus.sh run [SCENARIO]   fly        ./pegasus.sh test [ARGS]   run the test suite
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
venv="$root/.venv"

find_python() {
    local candidate
    for candidate in "${PYTHON:-}" python3 python3.12 python3.13 python3.11; do
        if [ -n "$candidate" ] && "$candidate" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "pegasus.sh: needs Python 3.11, 3.12 or 3.13 with venv; install one, or name it: PYTHON=/path/to/python ./pegasus.sh" >&2
    exit 2
}

# Install the package and the named extras unless this very state of the project already has them.
ensure() {
    local extras="$1" stamp wanted
    stamp="$venv/.pegasus-$1"
    wanted="$(cat "$root/pyproject.toml" "$root/constraints.txt" | cksum)"
    if [ -x "$venv/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
        return
    fi
    [ -x "$venv/bin/python" ] || "$(find_python)" -m venv "$venv"
    echo "pegasus.sh: installing into .venv (first use, or the dependencies changed) ..." >&2
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
        --constraint "$root/constraints.txt" --editable "$root${extras:+[$extras]}" >&2
    echo "$wanted" >"$stamp"
}

case "${1:-}" in
test)
    shift
    ensure dev
    cd "$root"
    exec "$venv/bin/python" -m pytest "$@"
    ;;
*)
    ensure ""
    exec "$venv/bin/pegasus" "$@"
    ;;
esac
