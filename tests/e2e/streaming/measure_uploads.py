"""How much memory Envoy takes for many large uploads at once, the upstream being slower than the clients.

    PYTHONPATH=envoy:tests/runner:tests target/venv/bin/python tests/e2e/streaming/measure_uploads.py [UPLOADS [MEBIBYTES]]

prints a table, for a source with one upstream; `test_uploads.py` asserts on the same measure.
"""

from __future__ import annotations

import dataclasses
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Union

from e2e.raw import Header, Http1, Http2
from e2e.support import bearer, by_hand, run_dir
from stack import Stack

MIB = 1 << 20
CHAT = "/v1/chat/completions"
BEGIN = b'{"model":"gpt-5.1","messages":[{"role":"user","content":"'
END = b'"}]}'


@dataclasses.dataclass(frozen=True)
class Growth:
    """What a number of uploads did to Envoy's resident memory, in bytes."""

    before: int
    peak: int
    #: How much the clients could send altogether before everything stood still, or altogether.
    sent: int
    seconds: float

    @property
    def grown(self) -> int:
        return self.peak - self.before


def resident(pid: int) -> int:
    """VmRSS."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS:"))


class Sender(threading.Thread):
    """One upload, in a thread, until it is done or told to stop."""

    def __init__(self, stack: Stack, wire: str, size: int, slow_ms: int) -> None:
        super().__init__(daemon=True)
        self.sent = 0
        self.status = 0
        self._size = size
        headers: list[Header] = [*bearer("key_a").items(), ("x-sim-slow-read-ms", str(slow_ms))]
        self.client: Union[Http1, Http2] = (Http2 if wire == "h2" else Http1)(stack.base_url)
        # What lies in the kernel is not the gateway's.
        self.client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
        self.client.sock.settimeout(300)
        length = len(BEGIN) + size + len(END)
        if isinstance(self.client, Http2):
            self._stream = self.client.start("POST", CHAT, headers)
        else:
            framing = ("content-length", str(length)) if wire == "h1" else ("transfer-encoding", "chunked")
            self.client.head("POST", CHAT, [*headers, framing])
        self._is_chunked = wire == "h1-chunked"

    def run(self) -> None:
        try:
            self._put(BEGIN)
            piece = b"x" * 65536
            while self.sent < self._size:
                self._put(piece)
            self._put(END, end=True)
            answer = (
                self.client.answer(self._stream) if isinstance(self.client, Http2) else self.client.answer()
            )
            self.status = answer.status
        except OSError:
            pass  # stopped

    def _put(self, data: bytes, *, end: bool = False) -> None:
        if isinstance(self.client, Http2):
            if not self.client.data(self._stream, data, end=end):
                raise OSError("the stream is over")
        elif self._is_chunked:
            self.client.sock.sendall(b"%x\r\n%s\r\n" % (len(data), data) + (b"0\r\n\r\n" if end else b""))
        else:
            self.client.sock.sendall(data)
        self.sent += len(data)

    def stop(self) -> None:
        try:
            self.client.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.join(10)
        self.client.sock.close()


def measure(stack: Stack, wire: str, count: int, size: int, *, slow_ms: int, patience: float = 120.0) -> Growth:
    """Runs `count` uploads of `size` bytes until all are answered, or nothing moves for a second: buffers are full."""
    pid = stack.pids["Envoy"]
    start = time.monotonic()
    before = peak = resident(pid)
    senders = [Sender(stack, wire, size, slow_ms) for _ in range(count)]
    for sender in senders:
        sender.start()
    sent, moved = 0, time.monotonic()
    while any(sender.is_alive() for sender in senders):
        time.sleep(0.05)
        peak = max(peak, resident(pid))
        now = sum(sender.sent for sender in senders)
        if now != sent:
            sent, moved = now, time.monotonic()
        if time.monotonic() - moved > 1 or time.monotonic() - start > patience:
            break
    growth = Growth(before, max(peak, resident(pid)), sent, time.monotonic() - start)
    for sender in senders:
        sender.stop()
    return growth


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    size = (int(sys.argv[2]) if len(sys.argv) > 2 else 32) * MIB
    print(f"{count} uploads of {size // MIB} MiB; MiB of Envoy's resident memory")
    print("| wire | upstream | before | peak | grown | grown an upload | sent | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for wire in ("h1", "h1-chunked", "h2"):
        for name, slow_ms in (("stalled", 5000), ("slow", 2), ("fast", 0)):
            # A new stack for each: memory once taken is not all given back.
            with Stack(run_dir("measure-uploads"), document=by_hand()) as stack:
                got = measure(stack, wire, count, size, slow_ms=slow_ms)
            numbers = (got.before / MIB, got.peak / MIB, got.grown / MIB, got.grown / MIB / count, got.sent / MIB)
            cells = " | ".join(f"{number:.1f}" for number in (*numbers, got.seconds))
            print(f"| {wire} | {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
