"""Accounts' credentials: sent in the right header, changed under load, missing, and never to be seen anywhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, Optional

import httpx
import pytest
from e2e.accounts.accounts_desk import Asked, Desk, AccountsStack
from e2e.ledger_reader import kinds
from e2e.accounts.document import CREDENTIAL_HEADERS, Credentials
from e2e.accounts.operations import is_native_error
from e2e.accounts.own_groups import USUAL, Group, credential_of, document_of, group_of, headers_of, secret_headers
from e2e.support import run_dir
from e2e.vitals import counters, machines, stats
from stack import COMMAND

#: How a credential is written, by the name in documents.
STYLES = {"bearer": ("authorization", "Bearer "), "x-api-key": ("x-api-key", ""), "x-goog-api-key": ("x-goog-api-key", "")}
#: The protocol's own style, and one that is another's.
HEADERS: dict[str, tuple[str, Optional[str]]] = {
    "a-default": ("A", None),
    "b-default": ("B", None),
    "c-default": ("C", None),
    "a-key": ("A", "x-api-key"),
    "b-bearer": ("B", "bearer"),
    "c-key": ("C", "x-api-key"),
    "b-goog": ("B", "x-goog-api-key"),
}
#: Of a group: account -> style. In HTTP/2, whose headers Envoy logs by another piece of code.
EACH_ITS_OWN = {"a1": "bearer", "a2": "x-api-key", "a3": "x-goog-api-key"}
PORTS = {"a1": 9101, "a2": 9102, "a3": 9103}


def account(group: str, name: str = "only", port: int = 9101, **fields: Any) -> dict[str, Any]:
    return {"id": name, "url": f"http://upstream:{port}", "credential": f"{group}.{name}", **fields}


def _groups() -> dict[str, dict[str, Any]]:
    groups = [
        group_of(name, protocol, [account(name, **({"header": style} if style else {}))])
        for name, (protocol, style) in HEADERS.items()
    ]
    mixed = [account("mixed", name, PORTS[name], header=style, http="2") for name, style in EACH_ITS_OWN.items()]
    soon = {"set_aside_seconds": 1}
    groups.append(group_of("mixed", "B", mixed, failover=soon))
    # Missing when Envoy starts: the only account's, and that of the first of two.
    groups.append(group_of("missing", "B", [account("missing")]))
    some = [account("some", "a1"), account("some", "a2", 9102, priority=1)]
    groups.append(group_of("some", "C", some, failover=soon))
    groups.append(group_of("swapped", "A", [{**account("swapped"), "credential": "kubernetes/key"}]))
    return {group["id"]: group for group in groups}


GROUPS = _groups()
MISSING = ["missing.only", "some.a1"]
#: What the mounted secret holds, one after the other.
KUBERNETES = ["SECRET-first-of-kubernetes", "SECRET-second-of-kubernetes"]


class Safe:
    """A stack that logs at its most talkative, and all that its clients were answered."""

    def __init__(self, desk: Desk, kubernetes: Kubernetes) -> None:
        self.desk = desk
        self.stack = desk.stack
        self.kubernetes = kubernetes
        self.answers: list[Asked] = []

    def ask(self, group: Group, *, stream: bool = False, **sim: Any) -> Asked:
        operation = USUAL[group["protocol"]][stream]
        asked = self.desk.ask(operation, headers=headers_of(group, operation), sim=sim)
        self.answers.append(asked)
        return asked

    def used(self, asked: Asked) -> list[tuple[str, tuple[str, str]]]:
        """The listeners that have seen a request, and the only credential that each of them got."""
        found = []
        for entry in asked.seen:
            (secret,) = secret_headers(entry)
            found.append((entry["listener"], secret))
        return found

    def put(self, file: str, value: Optional[str] = None) -> str:
        return self.desk.credentials.put(file, value)

    def value(self, file: str) -> str:
        return credential_of(self.desk.credentials, file)

    def refused(self, group: str, account: str) -> int:
        """How often Envoy had no credential to send."""
        name = f"cluster.account~{group}~{account}.credential_injector.failed"
        return stats(self.stack, re.escape(name)).get(name, 0)

    def counted(self, group: str, account: str) -> int:
        """The same in the filter's metrics."""
        wanted = f"trilane_account_tries_total;source={group};account={account};outcome=no_credential;"
        found = counters(self.stack, self.desk.ledger, "trilane_account_tries_total")
        return next((count for name, count in found.items() if name.endswith(wanted)), 0)

    def log_level(self, level: str) -> None:
        assert httpx.post(f"{self.stack.admin_url}/logging", params={"level": level}, trust_env=False).status_code == 200


@pytest.fixture(scope="module")
def safe() -> Iterator[Safe]:
    directory = run_dir("accounts-credentials")
    shutil.rmtree(directory / "credentials", ignore_errors=True)
    credentials = Credentials(directory / "credentials")
    for group in GROUPS.values():
        for written in group["accounts"]:
            if written["credential"] not in MISSING and "/" not in written["credential"]:
                credentials.put(written["credential"])
    kubernetes = Kubernetes(credentials.directory / "kubernetes")
    kubernetes.swap(KUBERNETES[0])
    wanted = document_of(*GROUPS.values())
    with AccountsStack(
        directory, document=wanted, credentials=credentials.directory, envoy_log_level="trace"
    ) as stack, Desk(stack, credentials) as desk:
        yield Safe(desk, kubernetes)
        assert machines(stack)["wasm.trilane.vm_reload"] == 0


class Kubernetes:
    """A directory as Kubernetes mounts a secret: the files are links through `..data`, which is replaced."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._count = 0
        directory.mkdir(parents=True)
        (directory / "key").symlink_to("..data/key")

    def swap(self, value: str) -> None:
        self._count += 1
        version = self._directory / f"..version-{self._count}"
        version.mkdir()
        (version / "key").write_text(value)
        link = self._directory / "..data_tmp"
        link.symlink_to(version.name)
        link.replace(self._directory / "..data")


# ---- Missing. First of all: nothing has been put there since the start.


def test_missing_at_the_start_and_healed_without_a_restart(safe: Safe) -> None:
    assert "missing" in safe.stack.rendered, safe.stack.rendered
    before = safe.refused("missing", "only"), safe.counted("missing", "only")
    for stream in (False, True):
        asked = safe.ask(GROUPS["missing"], stream=stream)
        assert asked.status == 502 and asked.headers["x-trilane-error"] == "bad_gateway", asked
        assert is_native_error("B", asked.body) and asked.seen == [], asked
        record = asked.record()
        assert kinds(record) == [("only", "no_credential")], record
        assert record["trilane.usage.status"] == "failed" and "trilane.charge" not in record, record
    after = safe.refused("missing", "only"), safe.counted("missing", "only")
    assert after == (before[0] + 2, before[1] + 2)

    asked = safe.ask(GROUPS["some"])
    assert asked.status == 200, asked
    assert safe.used(asked) == [("b_official", ("x-goog-api-key", safe.value("some.a2")))]
    record = asked.record()
    assert kinds(record) == [("a1", "no_credential")] and record["trilane.account"] == "a2", record
    assert (safe.refused("some", "a1"), safe.counted("some", "a1")) == (1, 1)

    files = safe.stack.upstreams_dir.rglob("*.json")
    written = {file: file.stat().st_mtime_ns for file in files}
    for group, account_, header in (("missing", "only", "x-api-key"), ("some", "a1", "x-goog-api-key")):
        value = safe.put(f"{group}.{account_}")
        began = time.monotonic()
        while safe.used(asked := safe.ask(GROUPS[group])) != [("a_official", (header, value))]:
            # The first of two is set aside for a second.
            assert time.monotonic() < began + 5, asked
            time.sleep(0.02)
        assert asked.status == 200, asked
    assert {file: file.stat().st_mtime_ns for file in written} == written, "nothing was rendered"


@pytest.mark.parametrize("how", ["emptied", "directory"])
def test_gone_while_running(safe: Safe, how: str) -> None:
    for group, name, protocol in (("b-default", "only", "B"), ("some", "a1", "C")):
        file = safe.desk.credentials.directory / f"{group}.{name}"
        safe.put(file.name)
        _until(lambda: safe.ask(GROUPS[group]).status == 200)
        before = safe.refused(group, name), safe.counted(group, name)
        if how == "directory":
            file.unlink()
            draft = file.with_name("draft")
            draft.mkdir()
            draft.rename(file)
        else:
            safe.put(file.name, "")
        if group == "some":  # the other one serves
            _until(lambda: kinds(safe.ask(GROUPS[group]).record()) == [(name, "no_credential")])
            asked = safe.ask(GROUPS[group])
            assert asked.status == 200 and [at for at, _ in safe.used(asked)] == ["b_official"], asked
        else:
            _until(lambda: safe.ask(GROUPS[group]).status == 502)
            asked = safe.ask(GROUPS[group])
            assert asked.status == 502 and is_native_error(protocol, asked.body) and asked.seen == [], asked
            assert kinds(asked.record()) == [(name, "no_credential")], asked.record()
        refused, counted = safe.refused(group, name) - before[0], safe.counted(group, name) - before[1]
        assert refused == counted > 0, f"Envoy counts {refused}, the filter {counted}"
        if file.is_dir():
            file.rmdir()
        safe.put(file.name)
        _until(lambda: [at for at, _ in safe.used(safe.ask(GROUPS[group]))] == ["a_official"])


def _until(holds: Any) -> None:
    """Waits for what must come within a moment, or a second where an account was set aside."""
    deadline = time.monotonic() + 5
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_one_that_cannot_be_read_does_not_take_the_place_of_a_good_one(safe: Safe) -> None:
    group, file = GROUPS["b-bearer"], safe.desk.credentials.directory / "b-bearer.only"
    value = safe.value(file.name)
    name = r"^sds\.account~b-bearer~only\.key_rotation_failed$"
    before = sum(stats(safe.stack, name).values())
    draft = file.with_name("draft")
    draft.write_text("SECRET-nobody-may-read-this")
    draft.chmod(0)
    draft.rename(file)
    _until(lambda: sum(stats(safe.stack, name).values()) > before)
    asked = safe.ask(group)
    assert asked.status == 200 and safe.used(asked) == [("a_official", ("authorization", f"Bearer {value}"))], asked
    value = safe.put(file.name)
    _until(lambda: safe.used(safe.ask(group)) == [("a_official", ("authorization", f"Bearer {value}"))])


# ---- Headers


@pytest.mark.parametrize("name", HEADERS)
def test_the_credential_is_in_the_header_that_was_asked_for(safe: Safe, name: str) -> None:
    protocol, style = HEADERS[name]
    header, prefix = STYLES[style] if style else CREDENTIAL_HEADERS[protocol]
    for stream in (False, True):
        asked = safe.ask(GROUPS[name], stream=stream)
        assert asked.status == 200, asked
        assert safe.used(asked) == [("a_official", (header, prefix + safe.value(f"{name}.only")))]


def test_each_account_has_its_own_header(safe: Safe) -> None:
    listeners = {"a_official": "a1", "b_official": "a2", "b_low_rate": "a3"}
    wanted = {}
    for listener, name in listeners.items():
        header, prefix = STYLES[EACH_ITS_OWN[name]]
        wanted[listener] = header, prefix + safe.value(f"mixed.{name}")
    asked = safe.ask(GROUPS["mixed"], status=503)
    assert asked.status == 503, asked
    used = safe.used(asked)
    assert dict(used) == wanted, "all three were tried"
    assert all(wanted[listener] == secret for listener, secret in used), used
    assert {entry["version"] for entry in asked.seen} == {"HTTP/2"}


# ---- Changed


class Sent(NamedTuple):
    """A request and when it was sent."""

    at: float
    asked: Asked


def test_a_renamed_credential_holds_within_a_second_under_load(safe: Safe, record_property: Any) -> None:
    safe.log_level("info")
    try:
        lag, rate = _rotate_under_load(safe, ["a-default.only", "mixed.a1", "mixed.a2", "mixed.a3"], rounds=4)
    finally:
        safe.log_level("trace")
    record_property("lag_seconds", round(lag, 4))
    record_property("requests_per_second", round(rate))
    print(f"a new credential was in force after {lag * 1000:.0f} ms at most, {rate:.0f} requests a second")
    assert lag < 1


def _rotate_under_load(safe: Safe, files: list[str], rounds: int) -> tuple[float, float]:
    """The longest time that a replaced value was still sent, and how many requests there were in a second."""
    groups = [GROUPS["a-default"], GROUPS["mixed"]]
    values = {file: [(0.0, safe.value(file))] for file in files}
    sent: list[Future[Sent]] = []

    def ask(group: Group, number: int) -> Sent:
        began = time.monotonic()
        operation = USUAL[group["protocol"]][number % 4 == 0]
        headers = {**headers_of(group, operation), "x-session-id": f"session-{number % 24}"}
        return Sent(began, safe.desk.ask(operation, headers=headers))

    with ThreadPoolExecutor(max_workers=16) as pool:
        began = time.monotonic()
        seconds = 0.3 * (rounds + 1)
        step = 1
        for number in range(int(seconds * 100)):
            due = began + number / 100
            time.sleep(max(0.0, due - time.monotonic()))
            sent.append(pool.submit(ask, groups[number % 2], number))
            if number == step * 30 and step <= rounds:
                step += 1
                for file in files:
                    value = safe.put(file)
                    values[file].append((time.monotonic(), value))
    took = time.monotonic() - began
    all_sent = [future.result() for future in sent]
    safe.answers += [one.asked for one in all_sent]
    failed = [one.asked for one in all_sent if one.asked.status != 200 or one.asked.trouble]
    assert not failed, f"{len(failed)} of {len(all_sent)} failed: {failed[:3]}"

    seen: dict[str, list[Any]] = {}
    journal = httpx.get(f"{safe.stack.sim_url}/_sim/requests", trust_env=False).json()
    for entry in journal:
        marker = next((value for name, value in entry["headers"] if name == "x-sim-marker"), "")
        seen.setdefault(marker, []).append(entry)
    history = {value: (file, i) for file, all_values in values.items() for i, (_, value) in enumerate(all_values)}
    lag = 0.0
    used = set()
    for at, asked in all_sent:
        (entry,) = seen[asked.marker]
        ((_, text),) = secret_headers(entry)
        value = text.removeprefix("Bearer ")
        assert value in history, f"{text} is none of these accounts'"
        used.add(value)
        file, index = history[value]
        following = values[file][index + 1 :]
        if following:
            lag = max(lag, at - following[0][0])
    unused = [history[value] for value in history if value not in used and not value.startswith("SECRET-mixed")]
    assert not unused, f"these values were never sent: {unused}"
    return lag, len(all_sent) / took


def test_kubernetes_swaps_a_link(safe: Safe) -> None:
    def sends(value: str) -> bool:
        return safe.used(safe.ask(GROUPS["swapped"])) == [("a_official", ("authorization", f"Bearer {value}"))]

    assert sends(KUBERNETES[0])
    safe.kubernetes.swap(KUBERNETES[1])
    began = time.monotonic()
    _until(lambda: sends(KUBERNETES[1]))
    assert time.monotonic() - began < 5


# ---- Never to be seen. Last of all: everything above has left its traces.


def leaks(content: bytes) -> list[bytes]:
    """What is secret in it, with some of what is around. Every credential begins with the same word."""
    return [content[max(0, at - 100) : at + 60] for at in (content.find(b"SECRET-"),) if at >= 0]


def test_no_page_of_the_admin_shows_a_credential(safe: Safe) -> None:
    pages = ["/config_dump?include_eds", "/clusters?format=json", "/listeners?format=json", "/stats?format=json"]
    with httpx.Client(base_url=safe.stack.admin_url, timeout=30.0, trust_env=False) as admin:
        told = re.findall(r"^  (/[a-z0-9_/]*)(.*)$", admin.get("/help").text, re.M)
        pages += [page for page, what in told if "(POST)" not in what and page not in ("/", "/tap")]
        assert {"/config_dump", "/certs", "/init_dump", "/server_info", "/memory", "/stats/prometheus"} <= set(pages), pages
        for page in pages:
            answer = admin.get(page)
            assert not leaks(answer.content), (page, leaks(answer.content))
        dump = admin.get("/config_dump?include_eds").text
        # What is searched is what it should be: it speaks of these accounts.
        assert "account~b-default~only" in dump and "credential_injector" in dump


def test_no_log_shows_a_credential(safe: Safe) -> None:
    asked = safe.ask(GROUPS["mixed"])
    safe.put("b-default.only")
    _until(lambda: safe.ask(GROUPS["b-default"]).status == 200)
    asked.record()
    for log in (safe.stack.envoy_log, safe.stack.access_log):
        assert not leaks(log.read_bytes()), (log, leaks(log.read_bytes()))
    log = safe.stack.envoy_log.read_text(errors="replace")
    assert "[trace]" in log and asked.marker in log and "credential" in log, "the log is not what it should be"


def test_no_answer_and_no_written_file_shows_a_credential(safe: Safe) -> None:
    for group in GROUPS.values():
        for sim in ({}, {"status": 401}, {"status": 400}, {"status": 429}, {"cut": "head"}):
            safe.ask(group, **sim)
    values = [value for value in safe.desk.credentials.all_values if value.strip()]
    assert all(value.startswith("SECRET-") for value in (*values, *KUBERNETES))
    for asked in safe.answers:
        assert not leaks(repr(asked.headers).encode() + asked.body), asked
    files = [file for file in safe.stack.run_dir.rglob("*") if file.is_file()]
    files = [file for file in files if safe.desk.credentials.directory not in file.parents]
    assert len([file for file in files if safe.stack.upstreams_dir in file.parents]) > 10
    for file in files:
        assert not leaks(file.read_bytes()), file
    assert not leaks(safe.stack.rendered.encode())


#: What may be in a credential's file, and what the command says of it; `#` stands for the secret.
CONTENTS: list[tuple[str, bytes, int, str]] = [
    ("good", b"#\n", 0, ""),
    ("no end of line", b"#", 0, ""),
    ("empty", b"", 0, "is empty"),
    ("two lines", b"#\n#\n", 1, "more than one line"),
    ("return within", b"#\r#", 1, "more than one line"),
    ("blank behind", b"# \n", 1, "blanks"),
    ("blank within", b"# #", 1, "blanks"),
    ("NUL", b"#\0", 1, "blanks"),
    ("no UTF-8", b"#\xff\xfe", 1, "blanks"),
    ("too long", b"#" * 1000, 1, "longer than"),
    ("of the shell", b"export KEY=#\n", 1, "blanks"),
]


@pytest.mark.parametrize("case", CONTENTS, ids=[case[0] for case in CONTENTS])
def test_the_command_never_says_what_is_in_a_file(tmp_path: Path, case: tuple[str, bytes, int, str]) -> None:
    _, content, code, says = case
    secret = b"sk-secret-0123456789abcdef"
    (tmp_path / "key").write_bytes(content.replace(b"#", secret))
    good = tmp_path / "document.json"
    group = group_of("b", "B", [{**account("b"), "credential": "key"}])
    good.write_text(json.dumps(document_of(group)))
    authorities = tmp_path / "tls.json"
    accounts = [{**account("b"), "credential": "key", "url": "https://localhost", "ca": "key"}]
    authorities.write_text(json.dumps(document_of(group_of("b", "B", accounts))))
    out = tmp_path / "out"
    for document, wanted in ((good, code), (authorities, 1), (tmp_path / "key", 1)):
        for options in (["--out", str(out)], ["--out", str(out), "--check"], ["--check"]):
            command = [str(COMMAND), "render", "--document", str(document), "--credentials", str(tmp_path), *options]
            done = subprocess.run(command, capture_output=True, check=False)
            said = done.stdout + done.stderr
            assert secret not in said and b"0123456789" not in said, said
            if document is good:
                absent = says == "is empty" and "--check" in options
                assert done.returncode == (1 if absent else wanted) and says.encode() in said, done
            else:
                assert done.returncode == wanted, done
    for file in out.rglob("*"):
        assert file.is_dir() or secret not in file.read_bytes(), file
