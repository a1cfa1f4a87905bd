#!/bin/sh
# install.sh --from URL|DIRECTORY [--to DIRECTORY]: installs the command trilane @VERSION@ for this machine.
#
#   --from   where the files of the release are: an https address, or a directory
#   --to     where the command goes [default: ~/.local/bin]
#
# The list of checksums must be signed by the key below, and the archive must be the one in the list: else nothing is installed.
# It needs minisign or openssl 1.1.1, and curl for an address.
set -eu

key=@PUBLIC_KEY@
version=@VERSION@
from=
to=${HOME-}/.local/bin

die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

while test $# -gt 0; do
    test $# -gt 1 || die "$1 needs a value: install.sh --from URL|DIRECTORY [--to DIRECTORY]"
    case $1 in
    --from) from=${2%/} ;;
    --to) to=$2 ;;
    *) die "what is $1? install.sh --from URL|DIRECTORY [--to DIRECTORY]" ;;
    esac
    shift 2
done
test "$key" != none || die 'this release is not signed: nothing can be verified. Install it from its archive.'
test -n "$from" || die 'say where the release is: --from URL|DIRECTORY'

case $(uname -s) in
Linux) ;;
*) die "Envoy 1.40 is not made for $(uname -s). Run trilane in a container: the directory compose of the archive has one." ;;
esac
case $(uname -m) in
x86_64 | amd64) program=trilane ;;
aarch64 | arm64) program=trilane-arm64 ;;
*) die "trilane is not made for $(uname -m)." ;;
esac

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

get() { # get NAME
    case $from in
    https://* | http://*) curl -fsSL --output "$scratch/$1" "$from/$1" || die "cannot fetch $from/$1" ;;
    *) cp "$from/$1" "$scratch/$1" 2>/dev/null || die "there is no $1 in $from" ;;
    esac
}

bytes() { # bytes FIRST LAST: of the decoded signature or key on standard input, counted from 1
    tail -c "+$1" | head -c "$(($2 - $1 + 1))"
}

# A minisign signature is 2 bytes of algorithm, 8 of the key's id, and an Ed25519 signature of the file's BLAKE2b-512 digest.
verify_by_openssl() { # verify_by_openssl FILE
    printf '%s' "$key" | openssl base64 -d -A >"$scratch/key"
    sed -n 2p "$1.minisig" | openssl base64 -d -A >"$scratch/signature"
    test "$(bytes 1 2 <"$scratch/signature")" = ED || return 1
    bytes 3 10 <"$scratch/key" >"$scratch/key.id"
    bytes 3 10 <"$scratch/signature" | cmp -s - "$scratch/key.id" || return 1
    # The bytes before an Ed25519 key in DER (RFC 8410).
    { printf '\060\052\060\005\006\003\053\145\160\003\041\000'; bytes 11 42 <"$scratch/key"; } >"$scratch/key.der"
    bytes 11 74 <"$scratch/signature" >"$scratch/signature.raw"
    openssl dgst -blake2b512 -binary "$1" >"$scratch/digest"
    openssl pkeyutl -verify -pubin -keyform DER -inkey "$scratch/key.der" -rawin -in "$scratch/digest" \
        -sigfile "$scratch/signature.raw" >/dev/null 2>&1
}

verify() { # verify FILE
    if command -v minisign >/dev/null; then
        minisign -Vqm "$1" -P "$key" 2>/dev/null
    elif command -v openssl >/dev/null; then
        verify_by_openssl "$1"
    else
        die 'there is neither minisign nor openssl to verify the signature with.'
    fi
}

archive=trilane-$version.tar.gz
get SHA256SUMS
get SHA256SUMS.minisig
verify "$scratch/SHA256SUMS" || die 'the list of checksums is not signed by the key of this script: nothing was installed.'
get "$archive"
wanted=$(sed -n "s/^\([0-9a-f]\{64\}\)  $archive\$/\1/p" "$scratch/SHA256SUMS")
found=$(sha256sum "$scratch/$archive" | cut -d' ' -f1)
test -n "$wanted" && test "$found" = "$wanted" || die "$archive is not the file in the signed list: nothing was installed."

tar -xzf "$scratch/$archive" -C "$scratch"
mkdir -p "$to"
cp "$scratch/trilane-$version/bin/$program" "$to/.trilane.part"
chmod 755 "$to/.trilane.part"
mv "$to/.trilane.part" "$to/trilane"
printf 'trilane %s is verified and installed: %s\n' "$version" "$to/trilane"
case :$PATH: in
*:"$to":*) ;;
*) printf 'It is not in PATH yet: export PATH="%s:$PATH"\n' "$to" ;;
esac
printf 'Next: trilane up --demo, or trilane init\n'
