"""One gateway with everything it needs, on loopback.

That is the simulator of the model sources, a development certificate, and Envoy with the filter, for tests and benchmarks that
change what `trilane up` does not offer to change. It runs the annotated `envoy.yaml`, with its few literal paths, ports and addresses
replaced (`Stack._substitutions`): so a test can replace more of them, comments included.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Union

import fetch
import file_watches
import limits_service as limits_parts
from child import Child, StackError, tail
from publisher import Publisher

#: Where `envoy.yaml` is, and the sample document.
HERE = Path(__file__).resolve().parents[2] / "envoy"
TARGET = fetch.TARGET
ENVOY_YAML = HERE / "envoy.yaml"
SAMPLE_DOCUMENT = HERE / "gateway.json"
#: The credentials of its accounts: placeholders. The simulator accepts any credential.
SAMPLE_CREDENTIALS = HERE / "credentials"
#: What is built, by `make build` and `make programs`: the tests set these variables to use other builds.
WASM = Path(os.environ.get("TRILANE_WASM") or TARGET / "wasm32-wasip1" / "release" / "trilane.wasm")
JUDGE = WASM.with_name("trilane_judge.wasm")
PROGRAMS = Path(os.environ.get("TRILANE_PROGRAMS") or TARGET / "release")
SIMULATOR = PROGRAMS / "trilane-upstream"
COMMAND = PROGRAMS / "trilane"

#: The clusters of model sources in `envoy.yaml`, with their ports in that file.
SOURCES = {"a_official": 9101, "b_official": 9102, "b_low_rate": 9103, "c_official": 9104}

#: The access logger of `envoy.yaml`, and its replacement that writes to a file.
STDOUT_LOGGER = '"@type": type.googleapis.com/envoy.extensions.access_loggers.stream.v3.StdoutAccessLog'
FILE_LOGGER = '"@type": type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog'

#: The start of the clusters in `envoy.yaml`, and the cluster of a feed of keys.
CLUSTERS = "\n  clusters:\n"
KEY_FEED = """\
    - name: key_feed
      type: STATIC
      connect_timeout: 1s
      load_assignment:
        cluster_name: key_feed
        endpoints: [{{lb_endpoints: [{{endpoint: {{address: {{socket_address: {{address: {}, port_value: {}}}}}}}}}]}}]
"""

#: The cause of an abort of Envoy that finds no inotify instance left for a file that it watches.
OUT_OF_INOTIFY = (
    " It takes two inotify instances for each account, and this user had none left. End something that holds"
    " some, or grant more: sysctl -w fs.inotify.max_user_instances=1024."
)

Document = Union[Path, bytes, Mapping[str, Any]]


class Stack:
    """A running gateway. Use it as a context manager, or call `start` and `stop`.

    A free port is chosen for every port that is 0, and held, so that stacks that run at the same time never share one.
    All files (rendered configuration, document, certificate, logs) are in `run_dir`.
    """

    #: Whether answers of a group's several accounts are judged.
    judges = True

    def __init__(
        self,
        run_dir: Path,
        *,
        document: Document = SAMPLE_DOCUMENT,
        port: int = 0,
        tls_port: int = 0,
        admin_port: int = 0,
        upstream: str | None = None,
        key_feed: str | None = None,
        limits_service: str | None = None,
        limits_timeout: float | None = None,
        ledger: Path | None = None,
        credentials: Path | None = None,
        strict: bool = False,
        lead: int = 1,
        concurrency: int = 2,
        envoy_log_level: str = "info",
        extra_substitutions: Iterable[tuple[str, str]] = (),
        wasm: Path = WASM,
        simulator: Path = SIMULATOR,
        command: Path = COMMAND,
        envoy: Path | None = None,
    ) -> None:
        """`upstream` is a `host:port` that replaces the simulator for all sources.

        `key_feed` is the `host:port` of a feed of keys: Envoy gets a cluster of that name for it.
        `limits_service` is the `host:port` of a rate limit service: Envoy gets the filters that ask it, and waits
        `limits_timeout` seconds for each answer.
        `ledger` is a file for the access log's lines; the default is `access.log` in `run_dir`.
        `credentials` is the directory of credentials that the document names by a relative path. The default is
        `credentials/` beside a document that is a file, and a copy of the sample's for any other document.
        `strict`: a document that `trilane render` refuses is not published, and raises. Otherwise it is published
        without clusters, for the filter to refuse.
        `lead` is how many seconds Envoy gets to take in new clusters before a document that needs them.
        """
        self.run_dir = run_dir.resolve()
        self.document_path = self.run_dir / "document" / "gateway.json"
        self.certs_dir = self.run_dir / "certs"
        self._own_credentials = credentials is None and not isinstance(document, Path)
        if credentials is None:
            credentials = document.parent / "credentials" if isinstance(document, Path) else self.run_dir / "credentials"
        #: The directory of credentials that the document names by a relative path.
        self.credentials_dir = credentials.resolve()
        self.envoy_yaml = self.run_dir / "envoy.yaml"
        self.envoy_log = self.run_dir / "envoy.log"
        self.access_log = (ledger or self.run_dir / "access.log").resolve()
        self.simulator_log = self.run_dir / "simulator.log"
        #: The simulator's listeners: cluster -> "127.0.0.1:port". Empty with `upstream`.
        self.sims: dict[str, str] = {}

        self._document = _document_bytes(document)
        self._wanted_ports = {"PORT": port, "TLS_PORT": tls_port, "ADMIN_PORT": admin_port}
        self._upstream = _host_and_port(upstream) if upstream else None
        self._key_feed = _host_and_port(key_feed) if key_feed else None
        self._limits_service = _host_and_port(limits_service) if limits_service else None
        self._limits_timeout = limits_timeout
        self._ledger = ledger is not None
        self._concurrency = concurrency
        self._envoy_log_level = envoy_log_level
        self._extra_substitutions = list(extra_substitutions)
        self._wasm = wasm
        self._simulator = simulator
        self._command = command
        self._strict = strict
        self._envoy = envoy
        self._ports: dict[str, int] = {}
        self._held: list[socket.socket] = []
        self._children: dict[str, Child] = {}
        self._publishing = threading.Lock()
        render = [str(command), "render", "--credentials", str(self.credentials_dir)]
        if self.judges:
            render += ["--filter", str(WASM)]
        self.publisher = Publisher(self.run_dir, self.document_path, render, lead)

    # ---- Life

    def __enter__(self) -> Stack:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, timeout: float = 60.0) -> Stack:
        """Starts everything and waits until the gateway answers. A failure leaves no process behind."""
        try:
            self.prepare()
            if self._upstream is None:
                self._start_simulator(timeout)
            self.publish(self._document)
            self.render()
            self._start_ready(timeout)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Ends what `start` started, and only that. May be called at any time, more than once."""
        self.publisher.stop()
        for name in reversed(list(self._children)):
            self._children.pop(name).stop()
        while self._held:
            self._held.pop().close()

    def kill_envoy(self) -> None:
        """Kills Envoy; `restart_envoy` starts it again."""
        envoy = self._children.pop("Envoy").process
        envoy.kill()
        envoy.wait()

    def restart_envoy(self, timeout: float = 60.0) -> None:
        """Starts the Envoy that was killed, and waits until the gateway answers."""
        self._start_ready(timeout)

    def prepare(self) -> None:
        """Everything before the first process: ports, directories, certificate."""
        _require(self._wasm, "the filter", "make build")
        _require(JUDGE, "the judge", "make build")
        _require(self._simulator, "the simulator", "make programs")
        _require(self._command, "the command", "make programs")
        # Ports first: the process that has one of them may be running from this very directory.
        for variable in ("PORT", "TLS_PORT"):
            self._ports[variable] = self._hold(self._wanted_ports[variable], variable)
        self._ports["CONFIG"] = self._hold(0, "CONFIG")
        # Envoy chooses a free admin port by itself and says which (`admin_url`); a given one must be free.
        if self._wanted_ports["ADMIN_PORT"]:
            _require_free(self._wanted_ports["ADMIN_PORT"], "ADMIN_PORT")
        self.run_dir.mkdir(parents=True, exist_ok=True)
        if self._own_credentials:
            self.credentials_dir.mkdir(exist_ok=True)
            for file in SAMPLE_CREDENTIALS.iterdir():
                (self.credentials_dir / file.name).write_bytes(file.read_bytes())
        if self._ledger:
            _require_writable(self.access_log)
        self.document_path.parent.mkdir(exist_ok=True)
        self._make_certificate()

    def wait_ready(self, timeout: float = 60.0) -> None:
        """Returns when the gateway has a policy in force (`GET /healthz` is 200)."""
        last = "no answer"
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            self.check()
            try:
                with urllib.request.urlopen(f"{self.base_url}/healthz", timeout=2):
                    return
            except urllib.error.HTTPError as error:
                last = f"status {error.code}"
            except OSError as error:
                last = str(error)
            time.sleep(0.05)
        raise StackError(
            f"The gateway was not ready within {timeout:.0f} s: {self.base_url}/healthz: {last}.\n"
            + tail(self.envoy_log)
        )

    def check(self) -> None:
        """Raises if one of the processes has ended by itself, with the end of its log."""
        for name, child in self._children.items():
            code = child.process.poll()
            if code is not None:
                why = OUT_OF_INOTIFY if "inotify_fd_ >= 0" in tail(child.log, 100) else ""
                raise StackError(
                    f"{name} (pid {child.process.pid}) ended with code {code}.{why}\n" + tail(child.log)
                )

    # ---- What to talk to

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._ports['PORT']}"

    @property
    def tls_url(self) -> str:
        """With the host `localhost`, which the certificate names. Clients must trust `ca_file`."""
        return f"https://localhost:{self._ports['TLS_PORT']}"

    @property
    def admin_url(self) -> str:
        return "http://" + (self.run_dir / "admin-address").read_text().strip()

    @property
    def sim_url(self) -> str:
        """One of the simulator's listeners; the control requests (`/_sim/...`) are the same on all."""
        return f"http://{self.sims['a_official']}"

    @property
    def ca_file(self) -> Path:
        return self.certs_dir / "ca.crt"

    @property
    def pids(self) -> dict[str, int]:
        return {name: child.process.pid for name, child in self._children.items()}

    # ---- The document

    def publish(self, document: Document) -> None:
        """Puts another document in force, as `trilane render --publish` does it.

        `rendered` has the command's output then. Clusters that only the documents before need go some seconds later.
        """
        content = _document_bytes(document)
        with self._publishing:
            if not self.publisher.publish(self._with_addresses(content), running="Envoy" in self._children):
                if self._strict:
                    raise StackError("The document is not published:\n" + self.rendered.strip())
                self._publish_without_clusters(content)
            self._document = content

    def follow(self, document: bytes) -> None:
        """Hands a document to the `trilane render --watch` that `watch` started."""
        self.publisher.write_draft(self._with_addresses(document))

    def watch(self) -> Path:
        """Starts `trilane render --watch`, which publishes what `follow` hands it, and returns its log."""
        log = self.run_dir / "watch.log"
        self._children["render"] = self.publisher.watch(log)
        return log

    def clean_up(self) -> None:
        """Removes at once what only the documents before need. For callers who know that the last one is in force."""
        self.publisher.clean_up()

    @property
    def upstreams_dir(self) -> Path:
        """Where `trilane render` writes clusters and secrets."""
        return self.publisher.directory

    @property
    def rendered(self) -> str:
        """The output of the last `trilane render`."""
        return self.publisher.output

    @property
    def document(self) -> bytes:
        """What `publish` was given last."""
        return self._document

    # ---- Parts

    def _with_addresses(self, document: bytes) -> bytes:
        """The document with the simulator's addresses in the accounts of the sample."""
        for source, port in SOURCES.items():
            _, _, name = self._source_address(source)
            if name == "upstream" and source in self.sims:
                name = self.sims[source]
            # In containers the sample's accounts are at three simulators, here at one.
            document = re.sub(rb'"http://upstream(-[23])?:%d\b' % port, f'"http://{name}'.encode(), document)
        return document

    def _publish_without_clusters(self, document: bytes) -> None:
        clusters = self.upstreams_dir / "clusters" / "clusters.json"
        if not clusters.exists():  # Envoy does not start without one
            clusters.parent.mkdir(parents=True, exist_ok=True)
            clusters.write_text('{"resources": []}')
        # Complete before it gets there, and beside it on the same disk.
        part = self.run_dir / "gateway.json.part"
        part.write_bytes(document)
        part.replace(self.document_path)

    def render(self) -> Path:
        """Writes the configuration to run: `envoy.yaml` with the literal values of this stack."""
        text = _replaced(ENVOY_YAML.read_text(encoding="utf-8"), self._substitutions())
        if self._limits_service:
            text = limits_parts.added(text, *self._limits_service, self._limits_timeout)
        for pair in self._extra_substitutions:
            text = _replaced(text, [pair])
        self.envoy_yaml.write_text(text, encoding="utf-8")
        return self.envoy_yaml

    def envoy_command(self, *arguments: str) -> list[str]:
        """Envoy on the rendered file."""
        envoy = self._envoy or fetch.envoy_binary()
        # Hot restart would make two Envoys on one machine fight for one shared memory segment.
        return [str(envoy), "--config-path", str(self.envoy_yaml), "--disable-hot-restart",
                "--concurrency", str(self._concurrency),
                "--log-level", self._envoy_log_level, *arguments]  # fmt: skip

    def _substitutions(self) -> list[tuple[str, str]]:
        admin = self._wanted_ports["ADMIN_PORT"]
        local = "address: 127.0.0.1, port_value: "
        pairs = [
            ("/etc/trilane/filter/trilane.wasm", _yaml(self._wasm)),
            ("/etc/trilane/document/gateway.json", _yaml(self.document_path)),
            ("{path: /etc/trilane/document}", f"{{path: {_yaml(self.document_path.parent)}}}"),
            ("path: /etc/trilane/upstreams/clusters/clusters.json", f"path: {_yaml(self.upstreams_dir / 'clusters' / 'clusters.json')}"),
            ("{path: /etc/trilane/upstreams/clusters}", f"{{path: {_yaml(self.upstreams_dir / 'clusters')}}}"),
            ("/etc/trilane/certs/server.crt", _yaml(self.certs_dir / "server.crt")),
            ("/etc/trilane/certs/server.key", _yaml(self.certs_dir / "server.key")),
            ("address: 0.0.0.0, port_value: 10000", f"{local}{self._ports['PORT']}"),
            ("address: 0.0.0.0, port_value: 10443", f"{local}{self._ports['TLS_PORT']}"),
            (f"{local}10090", f"{local}{self._ports['CONFIG']}"),
            (f"{local}9901", f"{local}{admin}"),
        ]
        if self._ledger:
            pairs.append((STDOUT_LOGGER, f"{FILE_LOGGER}\n{' ' * 22}path: {_yaml(self.access_log)}"))
        if self._key_feed:
            pairs.append((CLUSTERS, CLUSTERS + KEY_FEED.format(*self._key_feed)))
        endpoint = "hostname: {}, address: {{socket_address: {{address: {}, port_value: {}}}}}"
        for source, port in SOURCES.items():
            host, number, name = self._source_address(source)
            pairs.append(
                (endpoint.format("upstream", "upstream", port), endpoint.format(_yaml(name), _yaml(host), number))
            )
        return pairs

    def _source_address(self, source: str) -> tuple[str, int, str]:
        """Where a source is, and its name for the `host` header."""
        if self._upstream:
            host, port = self._upstream
            return host, port, f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        host, port = _host_and_port(self.sims.get(source, "127.0.0.1:1"))
        return host, port, "upstream"

    def _make_certificate(self) -> None:
        # A certificate that is still valid is kept, so that clients need not be told to trust another one.
        self.certs_dir.mkdir(exist_ok=True)
        command = [str(self._simulator), "certificate", "--out", str(self.certs_dir)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise StackError(f"The development certificate could not be made: {done.stderr.strip()}")

    def _start_simulator(self, timeout: float) -> None:
        command = [str(self._simulator), "serve"]
        for source in SOURCES:
            command += ["--listen", f"{source}=127.0.0.1:0"]
        self._spawn("simulator", command, self.simulator_log)
        deadline = time.monotonic() + timeout
        while True:
            lines = self.simulator_log.read_text(errors="replace").splitlines(keepends=True)
            words = [line.split() for line in lines if line.startswith("listening ") and line.endswith("\n")]
            self.sims = {word[1]: word[2] for word in words if len(word) == 3}
            if self.sims.keys() >= SOURCES.keys():
                return
            self.check()
            if time.monotonic() > deadline:
                raise StackError(
                    f"The simulator did not start within {timeout:.0f} s.\n" + tail(self.simulator_log)
                )
            time.sleep(0.02)

    def _start_ready(self, timeout: float) -> None:
        with file_watches.room(self._watches(), TARGET / "file-watches"):
            self._start_envoy()
            self.wait_ready(timeout)

    def _watches(self) -> int:
        """The files that Envoy watches, two for each account. Of what is no document there are none."""
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
            groups = json.loads(_document_bytes(self._document))["groups"]
            return 2 * sum(len(group.get("accounts") or []) for group in groups)
        return 0

    def _start_envoy(self) -> None:
        (self.run_dir / "admin-address").unlink(missing_ok=True)
        arguments = [
            "--admin-address-path",
            str(self.run_dir / "admin-address"),
            "--file-flush-interval-msec",
            "200",
        ]
        output = None if self._ledger else self.access_log  # Envoy opens a ledger itself, and adds to it
        self._spawn("Envoy", self.envoy_command(*arguments), self.envoy_log, output)

    def _spawn(self, name: str, command: list[str], log: Path, output: Path | None = None) -> None:
        self._children[name] = Child(command, log, output)

    def _hold(self, port: int, variable: str) -> int:
        """Takes a port (0: any free one) and keeps it until `stop`.

        Envoy listens with SO_REUSEPORT, so it can share the port with the socket held here, which never listens. But two
        Envoys could share it too, without an error, and would take each other's requests. Hence first a check that no
        process has the port, and then a socket that keeps it from being given to others.
        """
        if port:
            _require_free(port, variable)
        held = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind(("127.0.0.1", port))
        self._held.append(held)
        return int(held.getsockname()[1])


def _replaced(text: str, pairs: list[tuple[str, str]]) -> str:
    """`text` with each first string replaced by its second, in one pass over the original."""
    for old, _ in pairs:
        if old not in text:
            raise StackError(f"{ENVOY_YAML} does not contain {old!r}, which is to be replaced.")
    new = dict(pairs)
    return re.sub("|".join(map(re.escape, new)), lambda found: new[found.group()], text)


def _document_bytes(document: Document) -> bytes:
    if isinstance(document, bytes):
        return document
    if isinstance(document, Path):
        try:
            return document.read_bytes()
        except OSError as error:
            raise StackError(f"The document cannot be read: {error}") from error
    return json.dumps(document).encode()


def _host_and_port(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or not 0 < int(port) < 65536 or "/" in host:
        raise StackError(f"{text!r} is not of the form host:port.")
    return host.strip("[]"), int(port)


def _yaml(value: Path | str) -> str:
    """A string as YAML: bare where that is safe, else as JSON, which YAML reads too."""
    text = str(value)
    return text if re.fullmatch(r"[A-Za-z0-9_./-]*[A-Za-z_/-][A-Za-z0-9_./-]*", text) else json.dumps(text)


def _require(path: Path, what: str, command: str) -> None:
    if not path.exists():
        raise StackError(f"{what} is not built: {path} does not exist. Run `{command}`.")


def _require_writable(ledger: Path) -> None:
    try:
        with ledger.open("ab"):
            pass
    except OSError as error:
        raise StackError(f"The ledger {ledger} cannot be written ({error.strerror}). Choose another: LEDGER=<file>.") from error


def _require_free(port: int, variable: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            reason = f"Port {port} cannot be used ({error.strerror})."
            raise StackError(f"{reason} Choose another: {variable}=<port>.") from error
