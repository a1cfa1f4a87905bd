#!/usr/bin/env bash
# build.sh filter|command|command-arm64 ...: builds what is released, the same bytes wherever it is built.
#
#   filter          target/wasm32-wasip1/release/trilane.wasm, and the judge beside it, trilane_judge.wasm, as `make build` does
#   command         with both in it: target/x86_64-unknown-linux-musl/release/trilane: the `trilane` command, one static
#                   binary, with musl's C library
#   command-arm64   the same for arm64, cross-built on x86-64: target/aarch64-unknown-linux-musl/release/trilane
#
# The compiler is that of rust-toolchain.toml beside this file. What a build would otherwise remember of the machine is taken
# out: paths of sources, crates, build directory and compiler are replaced, and no variable of the environment adds a flag.
# CARGO_TARGET_DIR is where to build.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
cargo=${CARGO:-cargo}

die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# ---- The compiler

wanted=$(sed -n 's/^channel = "\(.*\)"$/\1/p' "$here/rust-toolchain.toml")
compiler() { rustc --version 2>/dev/null | cut -d' ' -f2; }
if test "$(compiler)" != "$wanted"; then
    export RUSTUP_TOOLCHAIN=$wanted
    test "$(compiler)" = "$wanted" ||
        die "releases are built with Rust $wanted. Install it by \`rustup toolchain install\` in the directory release/."
fi
needs_target() { # needs_target TARGET: that its standard library is there
    ls "$(rustc --print target-libdir --target "$1")"/libstd-*.rlib >/dev/null 2>&1 ||
        die "Rust $wanted has no target $1 here: rustup target add --toolchain $(rustup show active-toolchain | cut -d' ' -f1) $1"
}

# ---- Nothing of the environment

for name in $(compgen -e); do
    case $name in
    CARGO_BUILD_JOBS) ;;
    RUSTFLAGS | CARGO_ENCODED_RUSTFLAGS | CARGO_INCREMENTAL | CARGO_BUILD_* | CARGO_PROFILE_* | CARGO_TARGET_*_* | \
        CC | CC_* | CFLAGS | CFLAGS_* | TARGET_CC | TARGET_CFLAGS | AR | AR_* | LIBSQLITE3_* | SQLITE*) unset "$name" ;;
    esac
done

# ---- Nothing of the machine

# The allocator has the date of its compilation in it.
export SOURCE_DATE_EPOCH=0

cd "$root"
target=${CARGO_TARGET_DIR:-$root/target}
mkdir -p "$target"
target=$(cd "$target" && pwd)
export CARGO_TARGET_DIR=$target
"$cargo" fetch --quiet --locked # the crates are unpacked then, so that their directories are known

# rustc takes the last one that fits, so what lies within another comes after it.
places=("$root=/trilane" "$target=/target" "$(rustc --print sysroot)/lib/rustlib/src/rust=/rust")
for crates in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do places+=("$crates=/crates"); done
rust_flags=
c_flags=
linker=()
for place in "${places[@]}"; do
    case $place in *[\'\"\\\ ]*) die "a blank or a quote in the path ${place%=*}: build elsewhere." ;; esac
    rust_flags+="'--remap-path-prefix=$place',"
    c_flags+=" -ffile-prefix-map=$place"
done

# Flags go by `--config`: they join those of .cargo/config.toml, which RUSTFLAGS would replace.
cargo_for() { # cargo_for TARGET COMMAND...
    local triple=$1
    shift
    "$cargo" --config "target.$triple.rustflags=[$rust_flags]" "${linker[@]}" "$@" --locked --release --target "$triple"
}

# The compiler of C that the crate `cc` takes for the target must be there: PACKAGES are Debian's that have it.
build_command() { # build_command TARGET COMPILER PACKAGES
    needs_target "$1"
    local wasm=$target/wasm32-wasip1/release/trilane.wasm
    test -e "$wasm" || die "the command carries the filter: build that first (build.sh filter $what)."
    "$2" --version >/dev/null 2>&1 || die "$2 does not run here, which compiles SQLite (Debian: apt install $3)."
    export TRILANE_EMBED_WASM=$wasm "CFLAGS_${1//-/_}=${c_flags# }"
    cargo_for "$1" build --package trilane-control
}

test $# -gt 0 || die 'say what to build: filter, command, command-arm64.'
for what; do
    case $what in
    filter)
        needs_target wasm32-wasip1
        cargo_for wasm32-wasip1 rustc --lib --crate-type cdylib --package trilane
        cargo_for wasm32-wasip1 rustc --lib --crate-type cdylib --package trilane-judge
        ;;
    command) build_command x86_64-unknown-linux-musl musl-gcc musl-tools ;;
    command-arm64)
        # Rust's own linker. Atomics outside of the functions that use them would need a C library that has getauxval by
        # another name.
        c_flags+=' -mno-outline-atomics'
        linker=(--config 'target.aarch64-unknown-linux-musl.linker="rust-lld"')
        build_command aarch64-unknown-linux-musl aarch64-linux-musl-gcc \
            'gcc-aarch64-linux-gnu, and after `dpkg --add-architecture arm64` and `apt update` musl-dev:arm64'
        ;;
    *) die "there is nothing called $what to build: filter, command, command-arm64." ;;
    esac
done
