"""What a release has beside its images: bills of materials, licences, checksums, the compose bundle."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import beside
import crates
import dist
import notices
import pytest
import sbom
import tarball

ROOT = Path(__file__).resolve().parents[2]


def test_the_image_is_built_of_all_files_that_are_compiled_in() -> None:
    copied = [name for line in re.findall(r"^COPY (?!--)(.+) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE) for name in line.split()]
    let_in = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    included = {
        (source.parent / name).resolve().relative_to(ROOT)
        for crate in ("abi", "src", "console/src", "control/src")
        for source in (ROOT / crate).rglob("*.rs")
        if not {"tests", "tests.rs"} & set(source.parts)
        for name in re.findall(r'include_(?:str|bytes)!\(\s*"([^"]+)"', source.read_text(encoding="utf-8"))
    }
    assert Path("envoy/envoy.yaml") in included
    for place, there in (("Dockerfile", copied), (".dockerignore", let_in)):
        lacking = [str(file) for file in included if not any(file.is_relative_to(name) for name in there)]
        assert not lacking, f"{place} lacks {sorted(lacking)}"


@pytest.fixture(scope="module", params=sorted(sbom.ARTIFACTS))
def made_of(request: pytest.FixtureRequest) -> tuple[str, list[crates.Crate], list[beside.Library]]:
    """What each artifact is made of."""
    package, target = sbom.ARTIFACTS[request.param]
    found = crates.linked(package, target)
    return request.param, found, beside.libraries(target, found)


def test_the_bill_has_what_is_linked_and_nothing_else(made_of: tuple[str, list[crates.Crate], list[beside.Library]]) -> None:
    what, found, libraries = made_of
    names = {crate.name for crate in found}
    assert found[0].name == sbom.ARTIFACTS[what][0]
    assert "serde_json" in names
    assert not names & {"proptest", "wasmi", "serde_derive", "syn", "cc"}, "what tests, macros and builds need"
    beside_it = {library.name for library in libraries}
    if what in ("filter", "judge"):
        assert ("proxy-wasm" in names) == (what == "filter") and not names & {"tokio", "rusqlite"}
        assert beside_it == {"rust-std", "wasi-libc"}
    else:
        assert {"rusqlite", "libsqlite3-sys", "trilane"} <= names and "proxy-wasm" not in names
        assert beside_it == {"rust-std", "musl", "sqlite", "mimalloc"}


def test_the_bill_is_whole(made_of: tuple[str, list[crates.Crate], list[beside.Library]]) -> None:
    what, found, libraries = made_of
    bill = sbom.bill(found, libraries, b"artifact")
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    assert not {"serialNumber", "timestamp"} & (set(bill) | set(bill["metadata"])), "they would differ from build to build"
    subject = bill["metadata"]["component"]
    assert subject["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(b"artifact").hexdigest()}], what
    references = [subject["bom-ref"], *(component["bom-ref"] for component in bill["components"])]
    assert len(references) == len(set(references)), what
    assert sorted(references) == [need["ref"] for need in bill["dependencies"]], what
    reached, ahead = set(), [subject["bom-ref"]]
    needs = {need["ref"]: need["dependsOn"] for need in bill["dependencies"]}
    while ahead:
        one = ahead.pop()
        if one not in reached:
            reached.add(one)
            ahead += needs[one]
    assert reached == set(references), f"{what}: whatever is there is there because something needs it"
    for component in bill["components"]:
        assert component["licenses"], component["bom-ref"]
        if component["purl"].startswith("pkg:cargo/") and not component["name"].startswith("trilane"):
            (digest,) = component["hashes"]
            assert re.fullmatch("[0-9a-f]{64}", digest["content"]), component["bom-ref"]


def test_checksums_of_crates_are_those_of_the_lock_file() -> None:
    lock = (ROOT / "Cargo.lock").read_text()
    found = crates.linked(*sbom.ARTIFACTS["filter"])
    (one,) = (crate for crate in found if crate.name == "serde_json")
    assert f'name = "serde_json"\nversion = "{one.version}"' in lock and f'checksum = "{one.checksum}"' in lock


def test_the_notices_name_every_part_once(made_of: tuple[str, list[crates.Crate], list[beside.Library]]) -> None:
    what, found, libraries = made_of
    theirs = [crate for crate in found if not crate.ours]
    page = notices.notices(theirs, libraries)
    for part in [*theirs, *libraries]:
        lines = [line for line in page.splitlines() if line.startswith(f"{part.name} {part.version}: ")]
        assert len(lines) == 1 and part.license in lines[0], f"{what}: {part.name}"
    assert page.count("musl as a whole is licensed") == 1, "a text stands once, however many come with it"
    assert str(Path.home()) not in page


def test_a_licence_is_one_that_can_be_passed_on(made_of: tuple[str, list[crates.Crate], list[beside.Library]]) -> None:
    known = {"MIT", "Apache-2.0", "LLVM-exception", "Unlicense", "Zlib", "BSL-1.0", "BSD-3-Clause", "ISC", "0BSD", "blessing"}
    known |= {"CC0-1.0", "MIT-0"}  # constant_time_eq, whose third choice is Apache-2.0
    known |= {"BSD-2-Clause"}  # zerocopy, whose other choices are Apache-2.0 and MIT
    known |= {"Unicode-3.0"}  # tables of names of hosts: as the MIT licence, the notice goes along
    what, found, libraries = made_of
    for part in [*found, *libraries]:
        words = set(re.findall(r"[\w.-]+", part.license)) - {"AND", "OR", "WITH"}
        assert words <= known, f"{what}: {part.name} is under {part.license}; look whether it can be released"


def test_checksums_are_read_by_sha256sum(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/b").write_bytes(b"b")
    (tmp_path / "a").write_bytes(b"a")
    sums = dist.checksums(tmp_path)
    assert [line.split("  ")[1] for line in sums.decode().splitlines()] == ["a", "bin/b"]
    (tmp_path / "SHA256SUMS").write_bytes(sums)
    check = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
    assert subprocess.run(check, cwd=tmp_path, check=False).returncode == 0
    (tmp_path / "a").write_bytes(b"another")
    assert subprocess.run(check, cwd=tmp_path, capture_output=True, check=False).returncode == 1


def test_the_archive_is_sorted_and_nobodys(tmp_path: Path) -> None:
    out = tmp_path / "trilane-1.2.3"
    for name, executable in (("z", False), ("bin/trilane", True), ("a", False)):
        dist.put(out / name, name.encode(), executable)
    packed = dist.archive(out, time=1_700_000_000)
    assert packed == dist.archive(out, time=1_700_000_000)
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(packed))) as archive:
        members = archive.getmembers()
    names = [member.name for member in members]
    assert names == sorted(names) and f"{out.name}/bin/trilane" in names
    for member in members:
        assert (member.uid, member.gid, member.uname, member.mtime) == (0, 0, "", 1_700_000_000), member.name
        assert member.mode == (0o755 if member.isdir() or member.name.endswith("bin/trilane") else 0o644), member.name


def test_a_chart_loses_the_time_of_its_packing() -> None:
    packed = []
    for time in (1, 2):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as chart:
            for name in ("trilane/values.yaml", "trilane/Chart.yaml"):
                member = tarfile.TarInfo(name)
                member.size, member.mtime, member.uname = len(name), time, f"user{time}"
                chart.addfile(member, io.BytesIO(name.encode()))
        packed.append(dist.repacked(buffer.getvalue(), time=7))
    assert packed[0] == packed[1]
    with tarfile.open(fileobj=io.BytesIO(packed[0])) as chart:
        assert {member.name: chart.extractfile(member).read().decode() for member in chart} == {  # type: ignore[union-attr]
            name: name for name in ("trilane/Chart.yaml", "trilane/values.yaml")
        }


@pytest.mark.parametrize("data", [b"", b"a", bytes(range(256)) * 1000])
def test_gzip_is_gzip(data: bytes) -> None:
    packed = tarball.gzip(data)
    assert gzip.decompress(packed) == data
    assert packed[:10] == b"\x1f\x8b\x08\0\0\0\0\0\x02\xff", "no flags, no name, no time, no system"


def service(text: str, name: str) -> str:
    """The lines of a service of a compose file, comments left out."""
    (block,) = re.findall(rf"^  {name}:\n((?:    .*\n|\n)+)", text, re.MULTILINE)
    return "".join(line + "\n" for line in block.splitlines() if not line.lstrip().startswith("#"))


def test_the_compose_bundle_is_the_repositorys_gateway() -> None:
    """Commands, ports, volumes and rights are the same; the image's base, networks and the demonstration are not."""
    texts = [(ROOT / file).read_text() for file in ("docker-compose.yaml", "release/compose/docker-compose.yaml")]
    common = re.compile(r"^    <<: \*service\n", re.MULTILINE)
    (anchor,) = re.findall(r"^x-service: &service\n((?:  .*\n)+)", texts[0], re.MULTILINE)
    spread = "".join(f"  {line}\n" for line in anchor.splitlines() if not line.lstrip().startswith("#"))
    ours, theirs = (common.sub(lambda _: spread, service(text, "gateway")) for text in texts)
    own = re.compile(r"^    (?:build:\n(?:      .*\n)+|image: .*\n|networks: .*\n)", re.MULTILINE)
    assert "TRILANE_DEMO:-true}" in ours and "TRILANE_DEMO:-false}" in theirs
    assert own.sub("", ours).replace("TRILANE_DEMO:-true}", "TRILANE_DEMO:-false}") == own.sub("", theirs)


def test_the_compose_bundle_fits_the_release() -> None:
    text = (ROOT / "release/compose/docker-compose.yaml").read_text()
    ours, theirs = ((ROOT / file).read_text() for file in ("Dockerfile", "release/compose/Dockerfile"))
    common = "# From here on as in "
    assert ours.partition(common)[2].partition("\n")[2] == theirs.partition(common)[2].partition("\n")[2] != ""
    (stock,) = re.findall(r"^ARG ENVOY_IMAGE=(.+)$", ours, re.MULTILINE)
    assert f"ARG ENVOY_IMAGE={stock}\n" in theirs and f"{{ENVOY_IMAGE:-{stock}}}" in text
    assert "      context: ../bin\n      dockerfile: ../compose/Dockerfile\n" in text
    assert dist.COPIED["release/compose/Dockerfile"] == "compose/Dockerfile"
    copied = re.findall(r"^COPY (?!--from)(.*) /$", theirs, re.MULTILINE)
    assert copied == ["trilane trilane-arm64"], "the files of bin/"
    mounted = re.findall(r"^      - \.\.?/", text, re.MULTILINE)
    assert not mounted, "nothing of the release is mounted"


@pytest.mark.parametrize("file", ["docker-compose.yaml", "release/compose/docker-compose.yaml"])
def test_ports_are_published_on_loopback(file: str) -> None:
    text = "".join(line for line in (ROOT / file).read_text().splitlines(keepends=True) if not line.lstrip().startswith("#"))
    lists = re.findall(r"^    ports:((?: \[.*\]\n)|\n(?:      - .*\n)+)", text, re.MULTILINE)
    published = [port for each in lists for port in re.findall(r'"([^"]+)"', each)]
    assert published
    for port in published:
        assert port.startswith("127.0.0.1:$") or port.startswith("${LISTEN:-127.0.0.1}:${TLS_PORT"), port


def test_git_ignores_what_the_page_on_compose_puts_into_the_clone() -> None:
    text = (ROOT / "docs/compose.md").read_text()
    commands = "".join(re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    made = set(re.findall(r">+ ([\w./-]+)$", commands, re.MULTILINE))
    made |= {f"{directory}/any" for directory in re.findall(r"=\./([\w/]+)", commands)}
    assert {".env", "key_new.json", "certs/any", "mine/any", "sealing.keys"} <= made
    ignored = subprocess.run(["git", "check-ignore", *made], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    assert made == set(ignored.split()), "secrets must not be committed by accident"


def test_compose_names_the_base_images_of_the_dockerfile() -> None:
    ours = re.findall(r"^ARG (\w+_IMAGE)=(.+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    composed = (ROOT / "docker-compose.yaml").read_text()
    assert dict(ours) == dict(re.findall(r'^ +(\w+_IMAGE): "\$\{\1:-(.+)\}"$', composed, re.MULTILINE)) != {}
    images = [image for _, image in ours] + re.findall(r'image: "\$\{\w+_IMAGE:-(.+?)\}"', composed)
    assert len(images) == 7
    for image in images:
        assert re.search(r":[\w.-]*\d{2}[\w.-]*$|:v?\d+\.\d+\.\d+", image), f"{image} is what it is today"


def test_the_compiler_is_that_of_the_dockerfile() -> None:
    (image,) = re.findall(r"^ARG RUST_IMAGE=rust:([\d.]+)-", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert beside.rust_version().startswith(image)
    needed = {target for _, target in sbom.ARTIFACTS.values()}
    pinned = (ROOT / "release/rust-toolchain.toml").read_text()
    assert all(f'"{target}"' in pinned for target in needed)


@pytest.mark.parametrize(
    ("what", "file", "pattern"),
    [
        ("policy", "src/config/snapshot.rs", r"^const FORMAT: u8 = (\d+);"),
        ("bucket of keys of a feed", "src/keys/bucket.rs", r"^const FORMAT: u8 = (\d+);"),
        ("record of a key of a feed", "src/keys/codec.rs", r"^const FORMAT: u8 = (\d+);"),
        ("how far the feed is read", "src/feed/state.rs", r"^const FORMAT: u32 = (\d+);"),
        ("counters of limits", "src/limits/**/*.rs", r'format!\("trilane/limit/(\d+)/'),
        ("tables of the [console](console-inside.md#the-tables)", "console/src/store/migration.rs", r"^    number: (\d+),$"),
    ],
)
def test_the_formats_in_the_page_are_those_in_the_code(what: str, file: str, pattern: str) -> None:
    """Who makes another format must say in docs/release.md what an upgrade and a rollback then meet."""
    sources = [source for source in ROOT.glob(file) if "tests" not in source.parts]
    found = {number for source in sources for number in re.findall(pattern, source.read_text(), re.MULTILINE)}
    rows = re.findall(r"^\| ([^|]+) \| (\d+) \|", (ROOT / "docs/release.md").read_text(), re.MULTILINE)
    assert found == {dict(rows)[what]}, what


@pytest.mark.parametrize("page", ["architecture", "helm", "laptop", "operations", "release", "security", "sidecar", "hot-restart", "command"])
def test_what_a_page_points_at_is_there(page: str) -> None:
    """Links to other pages and their sections, tests that are named as proof, alerts."""
    text = (ROOT / "docs" / f"{page}.md").read_text()
    for place, section in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", text):
        target = ROOT / "docs" / place if place else ROOT / "docs" / f"{page}.md"
        assert target.exists(), f"{page}: {place}"
        if section:
            headings = re.findall(r"^#+ (.+)$", target.read_text(), re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert section in slugs, f"{page}: {place}#{section}"
    file = ""
    for named, name in re.findall(r"`((?:tests|src|control|console)/[\w/.]+)?(?:::(\w+))?`", text):
        file = named or file  # `::test` alone is in the file named last
        assert (ROOT / file).exists(), f"{page}: {file}"
        assert not name or re.search(rf"(def|fn) {name}\b", (ROOT / file).read_text()), f"{page}: {file} has no {name}"
    for alert in re.findall(r"`(Trilane\w+)`", text):
        assert f"alert: {alert}\n" in (ROOT / "envoy/prometheus/rules.yml").read_text(), f"{page}: {alert}"


def test_the_mutations_can_be_made() -> None:
    """`make mutations` takes these very texts out of the source."""
    command = [sys.executable, str(ROOT / "tests" / "mutations" / "run.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
