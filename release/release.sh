#!/usr/bin/env bash
# release.sh image|wheel|release: builds filter and command, and puts them into images, into wheels, or into a whole release,
# under target/dist.
#
#   TRILANE_SIGNING_KEY   the releaser's secret key for minisign; without it a release is not signed
#   CHARTS    files of the chart to put into the release, if any
#   PYTHON    the Python to use
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
python=${PYTHON:-python3}
cd "$root"
target=${CARGO_TARGET_DIR:-target}
dist=$target/dist
wasm=$target/wasm32-wasip1/release/trilane.wasm
judge=$target/wasm32-wasip1/release/trilane_judge.wasm
command=$target/x86_64-unknown-linux-musl/release/trilane
arm64_command=$target/aarch64-unknown-linux-musl/release/trilane
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
revision=$(git rev-parse HEAD)
if test -n "$(git status --porcelain --untracked-files=no)"; then
    revision+=-changed
    printf 'warning: there are changes that are not committed: nobody else can build this again.\n' >&2
fi

# The same compiler for what is built and for what is told of it.
wanted=$(sed -n 's/^channel = "\(.*\)"$/\1/p' "$here/rust-toolchain.toml")
if test "$(rustc --version 2>/dev/null | cut -d' ' -f2)" != "$wanted"; then export RUSTUP_TOOLCHAIN=$wanted; fi

"$here/build.sh" filter command command-arm64
mkdir -p "$dist"

wheels() {
    rm -f "$dist"/*.whl
    local materials=$dist/materials
    mkdir -p "$materials"
    "$python" "$here/notices.py" >"$materials/NOTICES"
    "$python" "$here/sbom.py" command --artifact "$command" >"$materials/trilane-command.cdx.json"
    "$python" "$here/sbom.py" command-arm64 --artifact "$arm64_command" >"$materials/trilane-command-arm64.cdx.json"
    wheel() { "$python" "$here/wheel.py" "$@" --version "$version" --notices "$materials/NOTICES" --out "$dist"; }
    wheel x86-64 --binary "$command" --sbom "$materials/trilane-command.cdx.json"
    wheel arm64 --binary "$arm64_command" --sbom "$materials/trilane-command-arm64.cdx.json"
    wheel macos
    rm -r "$materials"
}
if test "${1-}" = wheel; then
    wheels
    exit
fi

images=$dist/images
rm -rf "$images"
"$python" "$here/images.py" filter --wasm "$wasm" --version "$version" --revision "$revision" --out "$images"
"$python" "$here/images.py" command --wasm "$wasm" --judge "$judge" --binary "$command" "$arm64_command" --version "$version" --revision "$revision" --out "$images"
test "${1-}" = release || exit 0
wheels

read -ra charts <<<"${CHARTS-}"
"$python" "$here/dist.py" --version "$version" --revision "$revision" --time "${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" \
    --wasm "$wasm" --judge "$judge" --binary "$command" --arm64-binary "$arm64_command" --images "$images"/*.tar --charts "${charts[@]}" --out "$dist"
signing=()
if test -n "${TRILANE_SIGNING_KEY-}"; then signing=(--key "$TRILANE_SIGNING_KEY"); fi
"$python" "$here/publish.py" --version "$version" "${signing[@]}" --out "$dist"
