#!/usr/bin/env bash
# stand_in.sh COMMAND...: runs COMMAND with a Docker of its own in which the images of Dockerfile and docker-compose.yaml exist
# without having been pulled. For Linux machines that cannot reach an image registry: Debian or alike, as root. What is missing
# of Docker, compose and debootstrap it installs with apt-get.
#
# The images are Debian roots made by debootstrap, imported under the names that the files give:
#   RUNTIME_IMAGE     nothing else
#   RUST_IMAGE        with gcc, this machine's Rust toolchain in the places of the real image, and all crates of Cargo.lock
#   ENVOY_IMAGE       with the Envoy binary of `make run`; the real image is an Ubuntu
#   PROMETHEUS_IMAGE  with Debian's Prometheus
#   REDIS_IMAGE       with Debian's Redis
#   GRAFANA_IMAGE     a small server that reads Grafana's provisioning files (stand_ins/grafana.py)
#   RATELIMIT_IMAGE   the rate limit service of tests/ratelimit (stand_ins/ratelimit.py)
# So Dockerfile and docker-compose.yaml run as they are. What this does not prove: that the real images have those names, that
# a build downloads what it needs, and that Grafana and the rate limit service are content with what they are given.
#
# Network, mounts and processes are in namespaces of their own: ports meet nobody else's, no firewall rule of this machine is
# touched, and nothing survives COMMAND. The roots stay in target/compose for the next time; with DOCKER_DATA=directory the
# images and what was built stay there, too.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
cache=$(mkdir -p "${CARGO_TARGET_DIR:-$root/target}/compose" && cd "${CARGO_TARGET_DIR:-$root/target}/compose" && pwd)

say() { printf '\033[1m== %s\033[0m\n' "$*"; }
die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# shellcheck source=tests/compose/stand_in_images.sh
. "$root/tests/compose/stand_in_images.sh"

# ---- Inside: the network is empty, and whatever is started ends with us

inside() {
    local work daemon
    command=
    ip link set lo up
    work=$(mktemp -d /var/tmp/trilane-docker.XXXXXX)
    dockerd --host "unix://$work/docker.sock" --data-root "${DOCKER_DATA:-$work/data}" --exec-root "$work/exec" --pidfile "$work/pid" \
        --exec-opt native.cgroupdriver=cgroupfs --cgroup-parent "/${work##*/}" \
        >"$cache/dockerd.log" 2>&1 &
    daemon=$!
    # shellcheck disable=SC2064 # the values of now
    trap "inside_cleanup $daemon '$work'" EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    export DOCKER_HOST="unix://$work/docker.sock"
    for _ in $(seq 120); do
        if docker info >/dev/null 2>&1; then break; fi
        kill -0 "$daemon" 2>/dev/null || break
        sleep 0.5
    done
    docker info --format 'Docker {{.ServerVersion}}, storage {{.Driver}}, cgroups {{.CgroupVersion}}' 2>/dev/null ||
        { tail -n 20 "$cache/dockerd.log" >&2; die "Docker does not start; see $cache/dockerd.log."; }

    say 'importing the stand-ins of the base images'
    import_images
    docker images

    "$@" &
    command=$!
    wait "$command"
}

inside_cleanup() {
    trap '' INT TERM
    if test -n "$command"; then # it has things of its own to tidy away
        kill -TERM "$command" 2>/dev/null || true
        wait "$command" || true
    fi
    say 'ending the Docker of our own'
    kill -TERM "$1" 2>/dev/null || true
    for _ in $(seq 40); do
        kill -0 "$1" 2>/dev/null || break
        sleep 0.5
    done
    kill -KILL "$1" 2>/dev/null || true
    rm -rf "$2" || true
    # Control groups know no namespace here; what Docker left of its own is empty by now.
    find /sys/fs/cgroup -maxdepth 2 -type d -name "${2##*/}" 2>/dev/null | while IFS= read -r group; do
        find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
    done
}

test $# -gt 0 || die 'a command is missing.'
if test "${TRILANE_STAND_IN-}" = inside; then
    unset TRILANE_STAND_IN
    inside "$@"
else
    test "$(id -u)" = 0 || die 'only root can do this.'
    missing=
    for each in docker.io:dockerd docker-compose:docker-compose debootstrap:debootstrap iptables:iptables; do # package:program
        command -v "${each#*:}" >/dev/null || missing+=" ${each%:*}"
    done
    if test -n "$missing"; then
        say "apt-get install$missing"
        # shellcheck disable=SC2086 # several packages
        apt-get install --yes --quiet --no-install-recommends $missing </dev/null
    fi
    for tool in dockerd debootstrap iptables unshare ip rustup cargo python3 git curl; do
        command -v "$tool" >/dev/null || die "$tool is not there."
    done
    prepare
    TRILANE_STAND_IN=inside nice -n 5 unshare --net --mount --pid --fork --kill-child=TERM --mount-proc "$0" "$@" &
    namespaces=$!
    # unshare itself does not listen; its only child does.
    trap 'kill -TERM $(ps -o pid= --ppid "$namespaces") 2>/dev/null || true' INT TERM
    status=0
    wait "$namespaces" || status=$?
    while kill -0 "$namespaces" 2>/dev/null; do # a signal came; let it tidy up
        status=0
        wait "$namespaces" || status=$?
    done
    exit "$status"
fi
