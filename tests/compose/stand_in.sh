#!/usr/bin/env bash
# stand_in.sh COMMAND...: runs COMMAND with a Docker of its own in which the base images of the Dockerfile exist without having
# been pulled. For Linux machines that cannot reach an image registry; as root. Debian or alike:
#
#   apt-get install --no-install-recommends docker.io docker-compose debootstrap iptables
#
# The base images are Debian roots made by debootstrap, imported under the names that the Dockerfile gives:
#   RUNTIME_IMAGE  nothing else
#   RUST_IMAGE     with gcc, this machine's Rust toolchain in the places of the real image, and all crates of Cargo.lock
#   ENVOY_IMAGE    with the Envoy binary of `make run`; the real image is an Ubuntu
# So Dockerfile and docker-compose.yaml run as they are. What this does not prove: that the real images have those names, and
# that a build downloads what it needs.
#
# Network, mounts and processes are in namespaces of their own: ports meet nobody else's, no firewall rule of this machine is
# touched, and nothing survives COMMAND. The roots stay in target/compose for the next time.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
cache=$(mkdir -p "${CARGO_TARGET_DIR:-$root/target}/compose" && cd "${CARGO_TARGET_DIR:-$root/target}/compose" && pwd)

say() { printf '\033[1m== %s\033[0m\n' "$*"; }
die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

base_image() { # the default of an ARG in the Dockerfile
    sed -n "s/^ARG $1=//p" "$root/Dockerfile" | grep .
}

debian() { # debian DIRECTORY [PACKAGE,...]: a minimal root of the release that RUNTIME_IMAGE is of, in one piece or not at all
    local directory=$1 packages=ca-certificates${2:+,$2} suite mirror
    test ! -e "$directory" || return 0
    suite=$(base_image RUNTIME_IMAGE | sed 's/.*:\([a-z]*\).*/\1/')
    # From where this machine's own packages come.
    # shellcheck disable=SC2016
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Release: $suite" 2>/dev/null | head -n 1 || true)
    say "debootstrap $suite $packages"
    rm -rf "$directory.part"
    timeout --foreground 900 debootstrap --variant=minbase "--include=$packages" "$suite" "$directory.part" ${mirror:+"$mirror"} \
        >"$directory.log" 2>&1 || { tail -n 20 "$directory.log" >&2; die 'debootstrap failed.'; }
    mv "$directory.part" "$directory"
}

# ---- Outside: everything that needs the network

prepare() {
    local toolchain version name
    debian "$cache/root"
    debian "$cache/root-rust" gcc,libc6-dev

    toolchain=$(rustc --print sysroot)
    version=$(rustc --version | cut -d' ' -f2)
    case "$(base_image RUST_IMAGE)" in
    "rust:${version%.*}-"* | "rust:$version-"*) ;;
    *) printf 'warning: %s is stood in for by Rust %s.\n' "$(base_image RUST_IMAGE)" "$version" >&2 ;;
    esac
    test -d "$toolchain/lib/rustlib/wasm32-wasip1" || die 'the Rust toolchain lacks its target: rustup target add wasm32-wasip1'
    say "Rust $version and the crates of Cargo.lock"
    timeout --foreground 600 cargo fetch --quiet --locked --manifest-path "$root/Cargo.toml"
    name=$version-$(rustc --version --verbose | sed -n 's/^host: //p')
    rm -rf "$cache/rust"
    cp -al "$cache/root-rust" "$cache/rust"
    mkdir -p "$cache/rust/usr/local/rustup/toolchains/$name" "$cache/rust/usr/local/cargo/bin" "$cache/rust/usr/local/cargo/registry"
    tar -C "$toolchain" --exclude ./share -c . | tar -C "$cache/rust/usr/local/rustup/toolchains/$name" -x
    printf 'version = "12"\nprofile = "minimal"\ndefault_toolchain = "%s"\n\n[overrides]\n' "$name" \
        >"$cache/rust/usr/local/rustup/settings.toml"
    cp -L "$(command -v rustup)" "$cache/rust/usr/local/cargo/bin/rustup"
    for tool in cargo rustc rustdoc; do ln -s rustup "$cache/rust/usr/local/cargo/bin/$tool"; done
    cp -a "${CARGO_HOME:-$HOME/.cargo}/registry/cache" "${CARGO_HOME:-$HOME/.cargo}/registry/index" \
        "$cache/rust/usr/local/cargo/registry/"

    rm -rf "$cache/envoy"
    cp -al "$cache/root" "$cache/envoy"
    cp "$(python3 "$root/envoy/fetch.py")" "$cache/envoy/usr/local/bin/envoy"
}

# ---- Inside: the network is empty, and whatever is started ends with us

inside() {
    local work daemon
    command=
    ip link set lo up
    work=$(mktemp -d /var/tmp/trilane-docker.XXXXXX)
    dockerd --host "unix://$work/docker.sock" --data-root "$work/data" --exec-root "$work/exec" --pidfile "$work/pid" \
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
    import RUNTIME_IMAGE "$cache/root"
    import RUST_IMAGE "$cache/rust" \
        --change 'ENV RUSTUP_HOME=/usr/local/rustup' --change 'ENV CARGO_HOME=/usr/local/cargo' \
        --change 'ENV PATH=/usr/local/cargo/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
        --change 'ENV CARGO_NET_OFFLINE=true'
    import ENVOY_IMAGE "$cache/envoy" --change 'EXPOSE 10000'
    docker images

    "$@" &
    command=$!
    wait "$command"
}

import() { # import ARG DIRECTORY [OPTION...]: the directory as the image that ARG names
    local image directory=$2
    image=$(base_image "$1")
    shift 2
    tar -C "$directory" --exclude './var/cache/apt/archives/*.deb' -c . | docker import "$@" - "$image" >/dev/null
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
