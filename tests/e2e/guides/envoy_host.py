"""A host as docs/hot-restart.md sets it up: Envoy with a configuration of its own, which other pages add filters to."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

import fetch
import httpx
import yaml
from e2e.guides.host import RELEASES, UnitHost
from e2e.guides.reader import DOCS, PROGRAMS
from e2e.guides.vendor import Vendor
from pages import Block, blocks
from ports import free_port
from stack import COMMAND, JUDGE, WASM
from waiting import until

#: A custom section: another file, the same filter.
NOTE = b"\0\x05\x04note"
#: Seconds that the page leaves a process that was taken over, and those of this test.
PATIENCE = ("--drain-time-s 600 --parent-shutdown-time-s 900", "--drain-time-s 1 --parent-shutdown-time-s 4")

#: A change of a part of Envoy's configuration.
Edit = Callable[[dict[str, Any]], None]


class EnvoyHost(UnitHost):
    """The release with the filter as a file, Envoy, and nothing else."""

    page = DOCS / "hot-restart.md"
    key = "etc/trilane/app.key"
    document = "/etc/trilane/gateway.json"

    def __init__(self, root: Path, vendor: Vendor) -> None:
        super().__init__(root, vendor, ())
        (root / "usr" / "local" / "bin" / "envoy").symlink_to(fetch.envoy_binary())
        for version, note in zip(RELEASES, (b"", NOTE)):
            for file in (WASM, JUDGE):
                (root / f"trilane-{version}" / file.name).write_bytes(file.read_bytes() + note)
        #: Not the one of somebody else's Envoy: a number in what they share.
        self.base = os.getpid()
        self.admin, config_port = free_port(), free_port()
        #: Places that are free here.
        here, config = root / "etc" / "trilane", "trilane envoy-config --mode sidecar"
        places = (
            f"--listen 127.0.0.1:{self.port} --admin 127.0.0.1:{self.admin} --document-listen 127.0.0.1:{config_port} "
            f"--filter {here}/filter/trilane.wasm --document {here}/document/gateway.json --upstreams {here}/upstreams"
        )
        self.read(
            [
                ("/etc/trilane", str(here)),
                ("--restart-epoch", f"--base-id {self.base} --restart-epoch"),
                PATIENCE,
                ("127.0.0.1:9901", f"127.0.0.1:{self.admin}"),
                (config, f"{config} {places}"),  # last: it has these places in it
            ],
            PATH=f"{PROGRAMS}:{COMMAND.parent}:{root / 'usr' / 'local' / 'bin'}:{os.environ['PATH']}",
        )

    def running(self, unit: str) -> bool:
        """Whether its process is there, and no zombie."""
        file = self.state / f"{unit}.service.pid"
        try:
            state = Path("/proc", file.read_text(), "stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return False
        return state != "Z"

    def said(self, unit: str) -> str:
        """What it wrote last."""
        log = self.state / f"{unit}.service.log"
        return log.read_text()[-3000:] if log.exists() else f"{unit} has no log"

    def epoch(self) -> Optional[int]:
        """Of the process that has the admin interface; `None` while that passes from one process to the other."""
        try:
            told = httpx.get(f"http://127.0.0.1:{self.admin}/server_info", trust_env=False, timeout=10).json()
        except httpx.TransportError:
            return None
        return int(told["command_line_options"]["restart_epoch"])

    def is_well(self) -> bool:
        """Whether requests are answered. Until the document is read clients are asked to come again; none is turned off."""
        answer = self.ask()
        assert answer.status_code == 200 or (answer.status_code == 503 and answer.headers["retry-after"]), answer.text
        return answer.status_code == 200

    def stop(self) -> None:
        """Also takes away what Envoy's hot restart leaves in shared memory."""
        super().stop()
        Path(f"/dev/shm/envoy_shared_memory_{self.base * 10}").unlink(missing_ok=True)

    # ---- Another configuration

    @property
    def envoy_yaml(self) -> Path:
        return self.root / "etc" / "trilane" / "envoy.yaml"

    def changed(self, text: str) -> str:
        """A text of a page, with the places that are free here."""
        return self._reader.changed(text)

    def edit(self, *edits: Edit) -> None:
        """Edits Envoy's configuration, as somebody with an editor does."""
        config = yaml.safe_load(self.envoy_yaml.read_text())
        for edit in edits:
            edit(config)
        self.envoy_yaml.write_text(yaml.safe_dump(config, sort_keys=False))

    def part(self, block: Block, *changes: tuple[str, str]) -> Any:
        """The one part that a block of YAML has."""
        text = self.changed(block.text)
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        (part,) = yaml.safe_load(text)
        return part

    def takes_over(self, number: int) -> None:
        """Starts the process of this number, and waits until the others have ended."""
        self.does(f"systemctl start trilane-envoy@{number}.service")
        self.is_taken_over(number)

    def is_taken_over(self, number: int) -> None:
        """Waits until this process is the only one. On a busy machine the filter is compiled for a minute."""
        until(lambda: self.epoch() == number, 240, says=lambda: self.said(f"trilane-envoy@{number}"))
        until(lambda: not any(self.running(f"trilane-envoy@{before}") for before in range(number)), 120)


def page_blocks(page: str, language: str) -> list[Block]:
    """The blocks of a page of this language."""
    return list(blocks((DOCS / page).read_text(encoding="utf-8"), language))


def _listener(config: dict[str, Any]) -> dict[str, Any]:
    """The one for clients."""
    (found,) = [each for each in config["static_resources"]["listeners"] if each["name"] == "gateway"]
    return dict(found)


def _manager(listener: dict[str, Any]) -> dict[str, Any]:
    """Its HTTP connection manager."""
    found: dict[str, Any] = listener["filter_chains"][0]["filters"][0]["typed_config"]
    return found


def in_the_listener(*edits: Edit) -> Edit:
    """Edits the HTTP connection manager of the listener for clients."""

    def edit(config: dict[str, Any]) -> None:
        for each in edits:
            each(_manager(_listener(config)))

    return edit


def another_listener(port: int, *edits: Edit) -> Edit:
    """Adds a listener like that for clients, at another port, with an HTTP connection manager that is edited."""

    def edit(config: dict[str, Any]) -> None:
        added = copy.deepcopy(_listener(config)) | {"name": f"gateway_{port}"}
        added["address"]["socket_address"]["port_value"] = port
        for each in edits:
            each(_manager(added))
        config["static_resources"]["listeners"].append(added)

    return edit


def filter_in_front_of(name: str, part: dict[str, Any]) -> Edit:
    """Adds a filter where the next one is that of this name; one of the same name as its own goes."""

    def edit(manager: dict[str, Any]) -> None:
        filters = [each for each in manager["http_filters"] if each["name"] != part["name"]]
        filters.insert([each["name"] for each in filters].index(name), part)
        manager["http_filters"] = filters

    return edit


def without_filter(name: str) -> Edit:
    """Takes a filter out."""

    def edit(manager: dict[str, Any]) -> None:
        manager["http_filters"] = [each for each in manager["http_filters"] if each["name"] != name]

    return edit


def first_mapper(part: dict[str, Any]) -> Edit:
    """Adds a mapper of Envoy's own replies before all others."""
    return lambda manager: manager["local_reply_config"]["mappers"].insert(0, part)


def without_first_mapper(manager: dict[str, Any]) -> None:
    """Takes the first mapper of Envoy's own replies out."""
    manager["local_reply_config"]["mappers"].pop(0)


def added_cluster(part: dict[str, Any]) -> Edit:
    """Adds a cluster."""
    return lambda config: config["static_resources"]["clusters"].append(part)
