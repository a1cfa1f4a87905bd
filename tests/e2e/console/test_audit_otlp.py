"""`trilane console --audit-otlp-endpoint`: the audit comes to a collector that fails at first, also over a restart of the console."""

from __future__ import annotations

import json
import sqlite3
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from e2e.console.running import Console
from waiting import until


class Collector:
    """A collector of logs that answers with these statuses, and then with 200."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.taken: list[dict[str, Any]] = []
        self.asked = 0
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                collector.asked += 1
                right = self.path == "/v1/logs" and self.headers["authorization"] == "Bearer of-the-collector"
                status = (collector.statuses.pop(0) if collector.statuses else 200) if right else 401
                if status == 200:
                    collector.taken += json.loads(body)["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
                self.send_response(status)
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def objects(self) -> list[str]:
        attributes = [{each["key"]: each["value"] for each in record["attributes"]} for record in self.taken]
        return [of["trilane.audit.object"]["stringValue"] for of in attributes if of["trilane.audit.object"]["stringValue"].startswith("k-")]


def settle(place: Path) -> None:
    """Makes entries of the audit two minutes older: they are sent after one."""
    with sqlite3.connect(place / "console.db") as database:
        database.execute("UPDATE audit SET at = at - 120000000")


def test_nothing_is_lost(tmp_path: Path) -> None:
    collector = Collector(503, 500)
    headers = tmp_path / "headers"
    headers.write_text("Authorization: Bearer of-the-collector\n")
    place = tmp_path / "console"
    options = ("--audit-otlp-endpoint", collector.url, "--audit-otlp-headers-file", str(headers))
    console = Console(place, *options)
    with console:
        for number in range(3):
            console.api.new_key(f"k-{number}", "g")
        assert collector.objects() == []
        settle(place)
        until(lambda: collector.objects() == ["k-0", "k-1", "k-2"], 20)
        assert "the audit waits for its collector: it answers 503" in console.log.read_text()
        # The collector is away, and the console ends meanwhile.
        collector.statuses = [503] * 1000
        console.api.new_key("k-3", "g")
        settle(place)
        asked = collector.asked
        until(lambda: collector.asked > asked, 20)
        console.kill()
    collector.statuses = []
    with console:
        # What was sent before is not sent again.
        until(lambda: collector.objects() == ["k-0", "k-1", "k-2", "k-3"], 80)
        console.api.new_key("k-4", "g")
        settle(place)
        until(lambda: collector.objects()[-1] == "k-4", 20)
        assert collector.objects() == [f"k-{number}" for number in range(5)]
    assert "of-the-collector" not in console.log.read_text()
