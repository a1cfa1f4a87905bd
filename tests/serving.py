"""A console with its agent, for benchmarks: the feed of keys that a gateway reads, and the database whose keys it is of."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from e2e.console.running import Console
from e2e.crash import fleet

_EDGE = "edge"


class Serving:
    """A console over SQLite and an agent, both on loopback."""

    def __init__(self, run_dir: Path, document: Path) -> None:
        self._place = run_dir.resolve()
        self._place.mkdir(parents=True, exist_ok=True)
        self._console = Console(self._place / "console", "--import-document", str(document))
        self._agent: fleet.Program | None = None

    @property
    def database(self) -> Path:
        """The console's, whose table `keys` any program may change."""
        return self._place / "console" / "console.db"

    @property
    def address(self) -> str:
        """The agent's, where the feed is."""
        return f"127.0.0.1:{self._running.port}"

    @property
    def pid(self) -> int:
        """The agent's."""
        return self._running.pid

    @property
    def _running(self) -> fleet.Program:
        assert self._agent, "it runs"
        return self._agent

    def start(self) -> Serving:
        """Starts both, and waits until the feed is there."""
        self._console.start()
        token = ""
        if not (self._place / _EDGE / "agent.json").exists():
            token = self._console.api.post("/envoys", {"id": _EDGE})["token"]
        ledger = self._place / "ledger.jsonl"
        ledger.touch()
        self._agent = fleet.agent(_EDGE, self._place, self._console.port, ledger, token)
        self._agent.start()
        return self

    def stop(self) -> None:
        """Asks both to end."""
        if self._agent:
            self._agent.stop()
        self._agent = None
        self._console.stop()

    def __enter__(self) -> Serving:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
