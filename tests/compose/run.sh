#!/usr/bin/env bash
# Brings docker-compose.yaml up from a clean copy of this tree and checks what a newcomer would see (check.py).
#
#   tests/compose/run.sh              with the Docker that is running here; pulls the base images
#   tests/compose/run.sh --stand-in   as root, where no image can be pulled: starts a Docker of its own, in namespaces of its
#                                     own, with stand-ins for the base images (stand_in.sh)
#
# PORT and TLS_PORT choose other ports, COMPOSE another command ("docker compose" or "docker-compose"). Everything that is
# started here is ended here, and every step has a time limit.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

case "${1-}" in
'') ;;
--stand-in) exec "$here/stand_in.sh" "$here/run.sh" ;;
*)
    sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
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
export PORT=${PORT:-10000} TLS_PORT=${TLS_PORT:-10443}
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
cleanup() {
    status=$?
    trap - EXIT
    trap '' INT TERM
    if test -n "$child"; then kill -TERM "$child" 2>/dev/null || true; wait "$child" || true; fi
    if test -e "$work/checkout/docker-compose.yaml"; then
        cd "$work/checkout"
        if test "$status" -ne 0; then
            say 'the last words of the containers'
            timeout --foreground 30 "${compose[@]}" ps || true
            timeout --foreground 30 "${compose[@]}" logs --no-color --tail 40 || true
        fi
        say 'removing containers, network, volume and images'
        timeout --foreground 120 "${compose[@]}" down --volumes --rmi local --timeout 5 || true
        cd /
    fi
    rm -rf "$work"
    exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# As a clone would have it, of what is in the tree now: nothing that git ignores.
say 'a clean copy of the tree'
mkdir "$work/checkout"
git -C "$root" ls-files -z --cached --others --exclude-standard |
    (cd "$root" && while IFS= read -r -d '' file; do if test -e "$file"; then printf '%s\0' "$file"; fi; done) |
    tar -C "$root" --null --files-from - -c | tar -C "$work/checkout" -x
cd "$work/checkout"

say "$COMPOSE build"
step 2400 "${compose[@]}" build
say "$COMPOSE up --detach"
step 300 "${compose[@]}" up --detach
step 600 python3 "$here/check.py" "$work/checkout" "${compose[@]}"
say 'all checks of the compose set-up passed'
