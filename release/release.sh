#!/usr/bin/env bash
# release.sh image|release: builds filter and command, and puts them into images, or into a whole release, under target/dist.
#
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
images=$dist/images
rm -rf "$images"
"$python" "$here/images.py" filter --wasm "$wasm" --version "$version" --revision "$revision" --out "$images"
for binary in "$command" "$arm64_command"; do
    "$python" "$here/images.py" command --wasm "$wasm" --binary "$binary" --version "$version" --revision "$revision" --out "$images"
done
test "${1-}" = release || exit 0

read -ra charts <<<"${CHARTS-}"
"$python" "$here/dist.py" --version "$version" --revision "$revision" --time "${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" \
    --wasm "$wasm" --binary "$command" --arm64-binary "$arm64_command" --images "$images"/*.tar --charts "${charts[@]}" --out "$dist"
