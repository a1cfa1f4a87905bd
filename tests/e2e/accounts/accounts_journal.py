"""What the accounts have seen: the simulator's journal, and what must be true of every entry."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

from e2e.accounts.document import ACCOUNT_OF, Credentials
from e2e.simulator import Simulator
from e2e.support import protocol_of
from stack import Stack

Entry = dict[str, Any]

#: How long anything may take on a busy machine, in seconds.
PATIENCE = 45.0

#: What no upstream may see of a client or of this gateway.
PRIVATE = ("x-trilane-", "x-envoy-", "x-forwarded-", "forwarded", "x-real-ip", "cookie")
#: Every header that carries a credential, whichever protocol's.
SECRETS = ("authorization", "x-api-key", "x-goog-api-key", "x-vc-api-key", "api-key", "proxy-authorization")


class Journal:
    """Reads the simulator's journal of a stack, and judges each entry once."""

    def __init__(self, stack: Stack, credentials: Credentials) -> None:
        self._credentials = credentials
        self._sims = dict(stack.sims)
        self._simulator = Simulator(stack)
        self._http = self._simulator.http
        self._lock = threading.Lock()
        self._judged = self._last_id()
        self._of_marker: dict[str, list[Entry]] = {}
        #: How many entries were found right.
        self.checked = 0

    def close(self) -> None:
        self._simulator.close()

    def of(self, marker: str) -> list[Entry]:
        """The entries of one request, a try each, in their order; if they are judged, as they were then."""
        if marker in self._of_marker:
            return self._of_marker[marker]
        return self._simulator.seen(marker)

    def wait_state(self, marker: str, state: str) -> list[Entry]:
        """The entries of a request, once the last is in this state."""
        deadline = time.monotonic() + PATIENCE
        while True:
            entries = self.of(marker)
            if entries and entries[-1]["state"] == state:
                return entries
            assert time.monotonic() < deadline, f"no request {marker} in state {state}: {entries}"
            time.sleep(0.01)

    def check(self, *, all_over: bool = True) -> int:
        """Judges every entry since the last time: the right credential, no other, the right host, nothing private.

        Returns how many there were. The simulator keeps 4096 entries: whoever sends more checks in between, and
        says that not all is over: the last entries then may be judged later.
        """
        deadline = time.monotonic() + PATIENCE
        with self._lock:
            while True:
                found = self._new()
                new = [entry for number, entry in enumerate(found) if entry["id"] == self._judged + 1 + number]
                if len(new) == len(found) or not all_over:
                    break
                # A number is given out a moment before its entry is there.
                assert time.monotonic() < deadline, f"the journal lacks no. {self._judged + 1 + len(new)}"
            wrong = [words for entry in new for words in self.judge(entry)]
            for entry in new:
                self._of_marker.setdefault(marker_of(entry), []).append(entry)
            self._judged += len(new)
            self.checked += len(new)
        assert not wrong, f"{len(wrong)} things are wrong with {len(new)} requests at accounts: {wrong[:5]}"
        return len(new)

    def _new(self) -> list[Entry]:
        """The entries that were not judged yet, by their numbers."""
        # Entries have whole bodies, so no more of them are asked for than a test mostly leaves.
        for last in (32, 256, 4096):
            entries = self._http.get("/_sim/requests", params={"last": str(last)}).json()
            new = sorted((entry for entry in entries if entry["id"] > self._judged), key=lambda entry: entry["id"])
            if len(new) < len(entries) or len(entries) < last:
                return new
        assert new[0]["id"] == self._judged + 1, "the journal has lost entries: check more often"
        return new

    def judge(self, entry: Entry) -> list[str]:
        """What is wrong with a request that an account got."""
        account = ACCOUNT_OF[entry["listener"]]
        headers = [(name, value) for name, value in entry["headers"]]
        if entry["authority"]:  # HTTP/2 has it there
            headers.append(("host", entry["authority"]))
        where = f"no. {entry['id']} {entry['path']} at {account}"
        return self.wrong(where, account, entry["path"], headers, self._sims[entry["listener"]], entry["body"] or "")

    def wrong(
        self, where: str, account: str, path: str, headers: list[tuple[str, str]], host: str, body: str = ""
    ) -> list[str]:
        """What is wrong with a request that got to this account, whose address is `host`."""
        wanted = self._credentials.header(protocol_of(path), account)
        wrong = []
        found = [pair for pair in headers if pair[0] in SECRETS]
        if found != [wanted]:
            wrong.append(f"{where}: credentials {found}, not {wanted}")
        hosts = [value for name, value in headers if name == "host"]
        if hosts != [host]:
            wrong.append(f"{where}: host {hosts}, not {host}")
        private = [pair for pair in headers if pair[0].startswith(PRIVATE)]
        if private:
            wrong.append(f"{where}: {private}")
        # Wherever it might hide: another account's credential, or the client's own key.
        text = json.dumps([pair for pair in headers if pair != wanted]) + path + body
        hidden = [value for value in (*self._credentials.all_values, "sk-client-") if value in text]
        if hidden:
            wrong.append(f"{where}: has {hidden}")
        return wrong

    def totals(self) -> dict[str, Any]:
        return self._simulator.totals()

    def reset_totals(self) -> None:
        self._simulator.reset_totals()

    def _last_id(self) -> int:
        last = self._http.get("/_sim/requests", params={"last": "1"}).json()
        return last[0]["id"] if last else 0


def marker_of(entry: Entry) -> str:
    return next((value for name, value in entry["headers"] if name == "x-sim-marker"), "")


