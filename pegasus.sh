#!/usr/bin/env bash
# Run Pegasus from a clone: makes .venv on first use, then hands over to the `pegasus` command.
#   ./pegasus.sh run [SCENARIO]   fly
#   ./pegasus.sh install EXTRA    add an optional part: view, render, photo, ros2, cluster, hitl
#   ./pegasus.sh test [ARGS]      run the test suite
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
venv="$root/.venv"

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

# Install the package and the named extra, unless this very state of the project has them already.
ensure() {
    local extra="$1" wanted stamp python clear=""
    # The place counts, since the package is installed as a link to it.
    wanted="$(cat "$root/pyproject.toml" "$root/constraints.txt" | cksum) $root"
    for stamp in "$venv/.pegasus-${extra:-core}" "$venv/.pegasus-dev"; do
        if [ -x "$venv/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
            return
        fi
    done
    if ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
        python="$(find_python)"
        echo "pegasus.sh: making .venv ..." >&2
        # One that was left half made, or whose Python is gone, is made anew.
        "$venv/bin/python" -c "" 2>/dev/null || clear=--clear
        "$python" -m venv $clear "$venv"
    fi
    echo "pegasus.sh: installing into .venv (first use, or the dependencies changed) ..." >&2
    if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
        --constraint "$root/constraints.txt" --editable "$root${extra:+[$extra]}" >&2; then
        echo "pegasus.sh: the installation failed; check the network and run it again" >&2
        return 1
    fi
    # Whatever the extra, the core came with it.
    echo "$wanted" | tee "$venv/.pegasus-core" >"$venv/.pegasus-${extra:-core}"
}

extras() {
    sed -n '/^\[project.optional-dependencies\]/,/^\[project.scripts\]/s/^\([a-z0-9]*\) = \[.*/\1/p' "$root/pyproject.toml"
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
# What a command cannot do without comes with its first use.
needed=""
case "${1:-}" in
    view) needed="view" ;;
    dataset) needed="render" ;;
esac
for word in "$@"; do
    case "$word" in
        --view) needed="$needed view" ;;
        --photo) needed="$needed photo" ;;
        # Not beside a ROS 2 that is sourced.
        --ros2) [ -n "${ROS_DISTRO:-}" ] || needed="$needed ros2" ;;
    esac
done
for extra in $needed; do
    ensure "$extra"
done
[ -n "$needed" ] || ensure ""
# Not through bin/pegasus, whose first line names the place where .venv was made.
exec "$venv/bin/python" -P -m pegasus "$@"
