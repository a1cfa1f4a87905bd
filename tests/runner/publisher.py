"""Puts documents in force by `trilane render`, which writes the clusters of their accounts first."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from child import Child

#: The last line about a document that is in force. The run may go on after it, to remove what is left over.
DONE = re.compile(r"^accounts: \d+, in sources: \d+$", re.MULTILINE)


class Publisher:
    """Runs `trilane render --publish`, one run at a time. Usable by several threads at once."""

    def __init__(self, run_dir: Path, published: Path, render: Sequence[str], lead: int) -> None:
        """`published` is where Envoy reads the document, `render` the command with the options that stay.

        `lead` is how many seconds Envoy gets to take in new clusters before a document that needs them.
        """
        self.draft = run_dir / "draft.json"
        #: Where `trilane render` writes clusters and secrets.
        self.directory = run_dir / "upstreams"
        #: Further options of `trilane render`.
        self.options: list[str] = []
        #: The output of the last run, up to the moment at which its document was in force or was refused.
        self.output = ""
        self._lead = lead
        self._log = run_dir / "render.log"
        self._command = [*render, "--document", str(self.draft), "--out", str(self.directory), "--publish", str(published)]
        self._run: Child | None = None
        self._lock = threading.Lock()

    def publish(self, document: bytes, *, running: bool) -> bool:
        """Returns whether the document is in force; a document that is refused changes nothing.

        Unless Envoy is `running`, nothing waits for it. If it is, clusters that only the documents before need go some
        seconds later.
        """
        with self._lock:
            self._stop()
            self.write_draft(document)
            self._run = run = self._start(*["--lead", str(self._lead)] if running else ["--lead", "0", "--settle", "0"])
            ended = None
            while ended is None and not DONE.search(self._read_log()):
                ended = run.process.poll()
                time.sleep(0.005)
            self.output = self._read_log()
            return DONE.search(self.output) is not None

    def write_draft(self, document: bytes) -> None:
        """Replaces the document that is to be published, whole."""
        part = self.draft.with_suffix(".part")
        part.write_bytes(document)
        part.replace(self.draft)

    def watch(self, log: Path) -> Child:
        """Starts `trilane render --watch`, which publishes the draft whenever it changes."""
        with self._lock:
            self._stop()
            return Child([*self._command, *self.options, "--watch"], log)

    def clean_up(self) -> None:
        """Removes at once what only the documents before need. For callers who know that the last one is in force."""
        with self._lock:
            self._stop()
            self._start("--lead", "0", "--settle", "0").process.wait()

    def stop(self) -> None:
        """Ends the last run; the next one removes what it leaves behind."""
        with self._lock:
            self._stop()

    def _start(self, *options: str) -> Child:
        return Child([*self._command, *self.options, *options], self._log)

    def _read_log(self) -> str:
        return self._log.read_text(errors="replace")

    def _stop(self) -> None:
        if self._run:
            self._run.stop()
        self._run = None
