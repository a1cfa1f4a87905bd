"""What stands in for Grafana where its image cannot be had: it reads its provisioning files as Grafana does, refuses to start
where one is not as it should be, and answers three of its pages: health, a dashboard, a query passed on to the data source.

It keeps to what the container has: it writes into Grafana's data directory, as Grafana does with its database.
"""

from __future__ import annotations

import json
import os
import re
import sys
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

PROVISIONING = Path("/etc/grafana/provisioning")
DATA = Path("/var/lib/grafana")
PROXIED = re.compile(r"/api/datasources/proxy/uid/([\w-]+)(/api/v1/.*)")


def provisioned(kind: str, member: str) -> list[dict[str, Any]]:
    """The entries of all files of a kind."""
    files = sorted((PROVISIONING / kind).glob("*.yaml"))
    entries = [entry for file in files for entry in yaml.safe_load(file.read_text())[member]]
    if not entries:
        sys.exit(f"no {kind} in {PROVISIONING / kind}")
    return entries


def dashboards() -> dict[str, Any]:
    """By uid, of all providers."""
    found = {}
    for provider in provisioned("dashboards", "providers"):
        assert provider["type"] == "file"
        for file in Path(provider["options"]["path"]).glob("*.json"):
            document = json.loads(file.read_text())
            found[document["uid"]] = document
    return found


class Grafana(BaseHTTPRequestHandler):
    """The three pages."""

    sources: dict[str, str]
    shown: dict[str, Any]

    def do_GET(self) -> None:
        """Everybody may look."""
        proxied = PROXIED.fullmatch(self.path)
        if self.path == "/api/health":
            self._answer(200, {"database": "ok", "version": "stand-in"})
        elif self.path.startswith("/api/dashboards/uid/") and self.path[20:] in self.shown:
            self._answer(200, {"meta": {"provisioned": True}, "dashboard": self.shown[self.path[20:]]})
        elif proxied and proxied[1] in self.sources:
            with urllib.request.urlopen(self.sources[proxied[1]] + proxied[2], timeout=10) as answer:
                self._answer(200, json.load(answer))
        else:
            self._answer(404, {"message": "Not found"})

    def do_DELETE(self) -> None:
        """Nobody may change anything: by the environment, as with Grafana."""
        viewer = os.environ.get("GF_AUTH_ANONYMOUS_ORG_ROLE") == "Viewer"
        self._answer(403 if viewer else 200, {"message": "You'll need additional permissions to perform this action"})

    def _answer(self, status: int, body: Any) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def main() -> None:
    if os.environ.get("GF_AUTH_ANONYMOUS_ENABLED") != "true" or os.environ.get("GF_LOG_MODE") != "console":
        sys.exit("nobody could look, or the log would go to a file")
    (DATA / "grafana.db").write_text("a database")
    Grafana.sources = {source["uid"]: source["url"] for source in provisioned("datasources", "datasources")}
    Grafana.shown = dashboards()
    print(f"{len(Grafana.sources)} data sources, {len(Grafana.shown)} dashboards", flush=True)
    ThreadingHTTPServer(("0.0.0.0", 3000), Grafana).serve_forever()


if __name__ == "__main__":
    main()
