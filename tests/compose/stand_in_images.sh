# Sourced by stand_in.sh: makes the roots of the images that stand in, and imports them. `root` is the tree, `cache` where the
# roots stay.
# shellcheck shell=bash

base_image() { # the default of an ARG in the Dockerfile
    sed -n "s/^ARG $1=//p" "$root/Dockerfile" | grep .
}

service_image() { # the default of an image in docker-compose.yaml
    sed -n "s/^ *image: \"\${$1:-\(.*\)}\".*/\1/p" "$root/docker-compose.yaml" | grep .
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
    debian "$cache/root"
    debian "$cache/root-rust" gcc,libc6-dev
    debian "$cache/root-tools" python3,python3-yaml,redis-server,wget
    prepare_rust
    rm -rf "$cache/envoy"
    cp -al "$cache/root" "$cache/envoy"
    cp "$(python3 "$root/envoy/fetch.py")" "$cache/envoy/usr/local/bin/envoy"
    prepare_prometheus
    prepare_tools
}

prepare_rust() {
    local toolchain version name
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
}

prepare_prometheus() { # the program is Debian's, which is the real one; its package is not installed
    local package
    if test ! -e "$cache/prometheus-package"; then
        rm -rf "$cache/prometheus.part"
        mkdir "$cache/prometheus.part"
        (cd "$cache/prometheus.part" && apt-get download -qq prometheus) || die 'apt-get cannot download the package prometheus.'
        package=$(echo "$cache/prometheus.part/"prometheus_*.deb)
        dpkg -x "$package" "$cache/prometheus.part/unpacked"
        mv "$cache/prometheus.part/unpacked" "$cache/prometheus-package"
        rm -rf "$cache/prometheus.part"
    fi
    rm -rf "$cache/prometheus"
    cp -al "$cache/root-tools" "$cache/prometheus"
    cp "$cache/prometheus-package/usr/bin/"{prometheus,promtool} "$cache/prometheus/usr/bin/"
    install -d -o 65534 -g 65534 "$cache/prometheus/prometheus"
}

prepare_tools() { # Redis (Debian's), Grafana, the rate limit service
    local python
    if test ! -e "$cache/site"; then
        say 'the Python packages of the rate limit service'
        python=$(basename "$(readlink "$cache/root-tools/usr/bin/python3")")
        rm -rf "$cache/site.part"
        grep -E '^(grpcio|grpcio-tools|PyYAML|redis)==' "$root/tests/e2e/requirements.txt" >"$cache/requirements.txt"
        echo async-timeout==5.0.1 >>"$cache/requirements.txt" # the client of Redis needs it before Python 3.11.3
        timeout --foreground 600 python3 -m pip install --quiet --disable-pip-version-check --only-binary=:all: \
            --python-version "${python#python}" --implementation cp --target "$cache/site.part" --requirement "$cache/requirements.txt"
        mv "$cache/site.part" "$cache/site"
    fi
    rm -rf "$cache/grafana" "$cache/ratelimit"
    cp -al "$cache/root-tools" "$cache/grafana"
    install -D -m 644 "$root/tests/compose/stand_ins/grafana.py" "$cache/grafana/opt/grafana.py"
    install -d "$cache/grafana/etc/grafana"
    cp -al "$cache/root-tools" "$cache/ratelimit"
    cp -a "$cache/site" "$cache/ratelimit/opt/site"
    install -m 644 "$root"/tests/ratelimit/{service.py,limits_file.py,rls.proto} "$root/tests/compose/stand_ins/ratelimit.py" "$cache/ratelimit/opt/"
    printf '#!/bin/sh\nPYTHONPATH=/opt/site exec python3 /opt/ratelimit.py\n' >"$cache/ratelimit/usr/bin/ratelimit"
    chmod 755 "$cache/ratelimit/usr/bin/ratelimit"
}

# ---- Inside

import_images() {
    import "$(base_image RUNTIME_IMAGE)" "$cache/root"
    import "$(base_image RUST_IMAGE)" "$cache/rust" \
        --change 'ENV RUSTUP_HOME=/usr/local/rustup' --change 'ENV CARGO_HOME=/usr/local/cargo' \
        --change 'ENV PATH=/usr/local/cargo/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
        --change 'ENV CARGO_NET_OFFLINE=true'
    import "$(base_image ENVOY_IMAGE)" "$cache/envoy" --change 'EXPOSE 10000'
    # As the real ones: their volumes, and whom they run as where nobody says.
    import "$(service_image PROMETHEUS_IMAGE)" "$cache/prometheus" --change 'ENTRYPOINT ["/bin/prometheus"]' \
        --change 'VOLUME /prometheus' --change 'USER nobody' --change 'EXPOSE 9090'
    import "$(service_image GRAFANA_IMAGE)" "$cache/grafana" --change 'ENTRYPOINT ["python3", "/opt/grafana.py"]' \
        --change 'USER 472' --change 'EXPOSE 3000'
    import "$(service_image RATELIMIT_IMAGE)" "$cache/ratelimit"
    import "$(service_image REDIS_IMAGE)" "$cache/root-tools" --change 'VOLUME /data' --change 'WORKDIR /data' --change 'EXPOSE 6379'
}

import() { # import IMAGE DIRECTORY [OPTION...]: the directory as that image
    local image=$1 directory=$2
    shift 2
    # With DOCKER_DATA the bases of what was built before stay as they are.
    case $image in rust:* | debian:* | envoyproxy/envoy:*) ! docker image inspect "$image" >/dev/null 2>&1 || return 0 ;; esac
    tar -C "$directory" --exclude './var/cache/apt/archives/*.deb' -c . | docker import "$@" - "$image" >/dev/null
}
