"""What stands in for envoyproxy/ratelimit where its image cannot be had: tests/ratelimit, set up by the same environment, with
the same files, ports and page of health.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

# The root is read-only; this Docker gives every container.
os.environ["TMPDIR"] = "/dev/shm"
sys.dont_write_bytecode = True

import redis  # noqa: E402
from service import RateLimitService  # noqa: E402


def main() -> None:
    environment = os.environ
    if environment["REDIS_SOCKET_TYPE"] != "tcp":
        sys.exit("tests/ratelimit knows no other than tcp")
    host, port = environment["REDIS_URL"].split(":")
    store = redis.Redis(host=host, port=int(port), socket_timeout=1, socket_connect_timeout=1)
    directory = Path(environment["RUNTIME_ROOT"]) / environment["RUNTIME_SUBDIRECTORY"] / "config"
    (limits,) = (file.read_text() for file in directory.glob("*.yaml"))

    class Health(BaseHTTPRequestHandler):
        """200 while its Redis answers."""

        def do_GET(self) -> None:
            try:
                well = self.path == "/healthcheck" and store.ping()
            except redis.RedisError:
                well = False
            self.send_response(200 if well else 500)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Not of every look."""

    threading.Thread(target=ThreadingHTTPServer(("0.0.0.0", 8080), Health).serve_forever, daemon=True).start()
    with RateLimitService(limits, store, host="0.0.0.0", port=8081):
        print("listening", flush=True)
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    main()
