#!/usr/bin/env bash
# Brings docker-compose.yaml up from a clean copy of this tree, by the commands of docs/compose.md, and checks it (check.py).
#
#   tests/compose/run.sh              with the Docker that is running here; pulls the images
#   tests/compose/run.sh --stand-in   as root, where no image can be pulled: starts a Docker of its own, in namespaces of its
#                                     own, with stand-ins for the images (stand_in.sh)
#   ... --release ARCHIVE             the compose bundle of a release (trilane-<version>.tar.gz) instead (check_release.py)
#
# PORT, TLS_PORT, CONSOLE_PORT, PROMETHEUS_PORT and GRAFANA_PORT choose other ports (PORT + 1 is used as well), COMPOSE another command
# ("docker compose" or "docker-compose"), PYTHON one that has the SDKs of tests/e2e/requirements.txt. Everything that is
# started here is ended here, and every step has a time limit.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

if test "${1-}" = --stand-in; then
    shift
    exec "$here/stand_in.sh" "$here/run.sh" "$@"
fi
archive=
case "$#:${1-}" in
0:) ;;
2:--release) archive=$(realpath "$2") ;;
*)
    sed -n '2,12s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac

say() { printf '\033[1m== %s\033[0m\n' "$*"; }
die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

command -v docker >/dev/null || die 'docker is not there.'
docker info >/dev/null 2>&1 || die 'Docker does not answer. Start it, or try --stand-in.'
if test -z "${COMPOSE-}"; then
    if docker compose version >/dev/null 2>&1; then COMPOSE='docker compose'; else COMPOSE=docker-compose; fi
fi
read -ra compose <<<"$COMPOSE"
"${compose[@]}" version >/dev/null || die "$COMPOSE is not there."
export PORT=${PORT:-10000} TLS_PORT=${TLS_PORT:-10443} CONSOLE_PORT=${CONSOLE_PORT:-10092}
export PROMETHEUS_PORT=${PROMETHEUS_PORT:-9090} GRAFANA_PORT=${GRAFANA_PORT:-3000}
python=${PYTHON:-python3}
"$python" -c 'import anthropic, openai' || die "$python has no SDKs. Call this by \`make compose-test\`, or give another PYTHON."
# Nothing of the caller's: whoever has a proxy for the world has none for loopback.
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
# The project's name is what containers, network, volume and images of this run are found and removed by.
export COMPOSE_PROJECT_NAME=trilane-test-$$

child=
step() { # step SECONDS COMMAND...: in the background, so that a signal to this script ends it at once
    timeout "$@" &
    child=$!
    wait "$child"
    child=
}

work=$(mktemp -d)
stack=$work/checkout # the directory of the compose file
cleanup() {
    status=$?
    trap - EXIT
    trap '' INT TERM
    if test -n "$child"; then kill -TERM "$child" 2>/dev/null || true; wait "$child" || true; fi
    if test -e "$stack/docker-compose.yaml"; then
        cd "$stack"
        if test "$status" -ne 0; then
            say 'the last words of the containers'
            timeout --foreground 30 "${compose[@]}" --profile scale ps || true
            timeout --foreground 30 "${compose[@]}" --profile scale logs --no-color --tail 40 || true
        fi
        say 'removing containers, network, volume and images'
        timeout --foreground 120 "${compose[@]}" --profile scale down --volumes --remove-orphans --rmi local --timeout 5 || true
        cd /
    fi
    rm -rf "$work"
    exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if test -n "$archive"; then
    say "the release $(basename "$archive"), unpacked"
    tar -xzf "$archive" -C "$work"
    stack=$(echo "$work"/trilane-*/compose)
    compose+=(--file "$stack/docker-compose.yaml")
    say "$COMPOSE build"
    step 600 "${compose[@]}" build
    step 900 "$python" "$here/check_release.py" "$root" "${compose[@]}"
    say "all checks of the release's compose bundle passed"
    exit
fi

# As a clone would have it, of what is in the tree now: nothing that git ignores.
say 'a clean copy of the tree'
mkdir "$work/checkout"
git -C "$root" ls-files -z --cached --others --exclude-standard |
    (cd "$root" && while IFS= read -r -d '' file; do if test -e "$file"; then printf '%s\0' "$file"; fi; done) |
    tar -C "$root" --null --files-from - -c | tar -C "$work/checkout" -x
cd "$work/checkout"

say "$COMPOSE build"
step 3600 "${compose[@]}" build
step 2400 "$python" "$here/check.py" "$work/checkout" "${compose[@]}"
say 'all checks of the compose set-up passed'
