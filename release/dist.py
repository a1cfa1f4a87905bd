#!/usr/bin/env python3
"""dist.py: puts a release together from what has been built: a directory with its checksums, and one archive of it.

The same commit and compiler make the same bytes: what depends on a machine, a user or a clock is in none of the files.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zlib
from pathlib import Path

from crates import ROOT
from tarball import Entry, gzip, tar

HERE = Path(__file__).resolve().parent

#: What is taken as it is, and where to.
COPIED = {
    "LICENSE": "LICENSE",
    "CHANGELOG.md": "CHANGELOG.md",
    "release/compose/Dockerfile": "compose/Dockerfile",
    "envoy/envoy.yaml": "envoy/envoy.yaml",
    "envoy/prometheus/rules.yml": "envoy/prometheus/rules.yml",
    "envoy/grafana/dashboard.json": "envoy/grafana/dashboard.json",
}
#: The place of the script for each shell, by the name under which the shell finds it.
COMPLETIONS = {"bash": "trilane", "zsh": "_trilane", "fish": "trilane.fish"}


def assemble(args: argparse.Namespace, out: Path) -> list[str]:
    """Writes all files but the checksums, and says what was left out."""
    left_out = []
    put(out / "trilane.wasm", args.wasm.read_bytes())
    put(out / "trilane_judge.wasm", args.judge.read_bytes())
    put(out / "bin/trilane", args.binary.read_bytes(), executable=True)
    put(out / "bin/trilane-arm64", args.arm64_binary.read_bytes(), executable=True)
    for source, place in COPIED.items():
        put(out / place, (ROOT / source).read_bytes())
    compose = (HERE / "compose/docker-compose.yaml").read_text().replace("@VERSION@", args.version)
    put(out / "compose/docker-compose.yaml", compose.encode())
    artifacts = {"filter": args.wasm, "judge": args.judge, "command": args.binary, "command-arm64": args.arm64_binary}
    for what, artifact in artifacts.items():
        put(out / f"sbom/trilane-{what}.cdx.json", script("sbom.py", what, "--artifact", str(artifact)))
    put(out / "NOTICES", script("notices.py"))
    put(out / "build.json", build(args))
    left_out += completions(args.binary, out / "completions")
    left_out += pages(args.binary, out / "man")
    for image in args.images:
        put(out / "images" / image.name, image.read_bytes())
    for chart in args.charts:
        put(out / "chart" / chart.name, repacked(chart.read_bytes(), args.time))
    if not args.charts:
        left_out.append("the chart (there is no target `chart`)")
    return left_out


def repacked(packed: bytes, time: int) -> bytes:
    """A compressed tar with the same files and nothing of when they were packed: Helm writes the time into a chart."""
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as chart:
        files = [(member, chart.extractfile(member)) for member in chart.getmembers() if member.isfile()]
        return gzip(tar((Entry(member.name, file.read()) for member, file in files if file), time))


def build(args: argparse.Namespace) -> bytes:
    """What the release was made of: whoever builds it again needs the same."""
    compiler = run("rustc", "--version", "--verbose")
    known = dict(line.split(": ", 1) for line in compiler.splitlines() if ": " in line)
    made_of = {
        "version": args.version,
        "commit": args.revision,
        "rustc": known["release"],
        "rustc_commit": known["commit-hash"],
        "llvm": known["LLVM version"],
        "musl_gcc": run("musl-gcc", "-dumpfullversion").strip(),
        "arm64_musl_gcc": run("aarch64-linux-musl-gcc", "-dumpfullversion").strip(),
        "zlib": zlib.ZLIB_RUNTIME_VERSION,
        "ca_certificates": hashlib.sha256(args.authorities.read_bytes()).hexdigest(),
    }
    return json.dumps(made_of, indent=2).encode() + b"\n"


def completions(binary: Path, out: Path) -> list[str]:
    """The scripts for shells, where the command can print them."""
    for shell, name in COMPLETIONS.items():
        done = subprocess.run([str(binary), "completions", shell], capture_output=True, check=False)
        if done.returncode != 0:
            return ["completions (the command prints none)"]
        put(out / name, done.stdout)
    return []


def pages(binary: Path, out: Path) -> list[str]:
    """The manual pages, where the command can write them."""
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run([str(binary), "man", "--out", scratch], capture_output=True, check=False)
        written = sorted(Path(scratch).iterdir())
        if done.returncode != 0 or not written:
            return ["manual pages (the command prints none)"]
        for page in written:
            put(out / page.name, page.read_bytes())
    return []


def checksums(out: Path) -> bytes:
    """As `sha256sum --check` reads them, of every file, by name."""
    files = sorted(str(file.relative_to(out)) for file in out.rglob("*") if file.is_file() and file.name != "SHA256SUMS")
    return "".join(f"{hashlib.sha256((out / file).read_bytes()).hexdigest()}  {file}\n" for file in files).encode()


def archive(out: Path, time: int) -> bytes:
    """The directory as a tar, compressed."""
    entries = [Entry(out.name, mode=0o755)]
    for file in out.rglob("*"):
        path = f"{out.name}/{file.relative_to(out)}"
        if file.is_dir():
            entries.append(Entry(path, mode=0o755))
        else:
            entries.append(Entry(path, file.read_bytes(), mode=0o755 if file.stat().st_mode & 0o100 else 0o644))
    return gzip(tar(entries, time))


def put(file: Path, data: bytes, executable: bool = False) -> None:
    """Writes a file, and makes its directory."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    file.chmod(0o755 if executable else 0o644)


def script(name: str, *arguments: str) -> bytes:
    """What one of the scripts beside this one prints."""
    return subprocess.run([sys.executable, str(HERE / name), *arguments], stdout=subprocess.PIPE, check=True).stdout


def run(*command: str) -> str:
    """What a command prints."""
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def main() -> int:
    """Puts it together."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", required=True)
    parser.add_argument("--revision", required=True, help="the commit")
    parser.add_argument("--time", type=int, required=True, help="of the commit, seconds since 1970; the archive's files have it")
    parser.add_argument("--wasm", type=Path, required=True, metavar="FILE")
    parser.add_argument("--judge", type=Path, required=True, metavar="FILE")
    parser.add_argument("--binary", type=Path, required=True, metavar="FILE")
    parser.add_argument("--arm64-binary", type=Path, required=True, metavar="FILE")
    parser.add_argument("--images", type=Path, nargs="*", default=[], metavar="FILE")
    parser.add_argument("--charts", type=Path, nargs="*", default=[], metavar="FILE")
    parser.add_argument("--authorities", type=Path, default=Path("/etc/ssl/certs/ca-certificates.crt"), metavar="FILE")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the directory and the archive go")
    args = parser.parse_args()

    out = args.out / f"trilane-{args.version}"
    try:
        shutil.rmtree(out, ignore_errors=True)
        left_out = assemble(args, out)
        put(out / "SHA256SUMS", checksums(out))
        packed = archive(out, args.time)
        file = args.out / f"{out.name}.tar.gz"
        put(file, packed)
    except (OSError, KeyError, subprocess.CalledProcessError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for what in left_out:
        print(f"warning: left out: {what}", file=sys.stderr)
    print(file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
