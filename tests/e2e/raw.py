"""Clients that do what no HTTP library allows: wrong lengths, bytes that no header may hold, trailers, resets.

Both clients are of the blocking sort and keep the time of every piece that arrives, since how an answer
arrives is half of what is tested with them.
"""

from __future__ import annotations

import dataclasses
import select
import socket
import ssl
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Optional, Union
from urllib.parse import urlsplit

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
from hpack.huffman import HuffmanEncoder
from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH

Name = Union[str, bytes]
Header = tuple[Name, Name]

#: How long a client waits for the next byte before it says that nothing comes.
PATIENCE = 45.0
#: What the HTTP/2 client is willing to receive unacknowledged, a stream and a connection.
WINDOW = 8 << 20


@dataclasses.dataclass(repr=False)
class Answer:
    """One answer, or what there was of it."""

    status: int = 0
    headers: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    #: Every piece of the body with the time it arrived at (`time.monotonic`).
    pieces: list[tuple[float, bytes]] = dataclasses.field(default_factory=list)
    #: The trailers, over HTTP/2.
    trailers: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    #: The end was announced and reached. Otherwise the connection broke or the stream was reset.
    complete: bool = False
    #: The HTTP/2 error code of a reset stream or a closed connection.
    reset: Optional[int] = None

    def header(self, name: str) -> Optional[str]:
        """The first header of that name (in lower case)."""
        return next((value for key, value in self.headers if key == name), None)

    @property
    def body(self) -> bytes:
        """All that has come of the body."""
        return b"".join(piece for _, piece in self.pieces)

    def add(self, piece: bytes) -> None:
        """A piece of the body has come."""
        if piece:
            self.pieces.append((time.monotonic(), piece))

    def __repr__(self) -> str:
        end = "complete" if self.complete else f"incomplete, reset={self.reset}"
        return f"<{self.status} {self.headers} {len(self.body)} bytes {self.body[:300]!r} {end}>"


def connect(url: str, *, ca_file: Optional[Path] = None, alpn: Optional[str] = None) -> socket.socket:
    """A connection to the host of `url`; over TLS, with this one protocol offered, if it is https."""
    parts = urlsplit(url)
    assert parts.hostname and parts.port
    sock = socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if parts.scheme != "https":
        return sock
    context = ssl.create_default_context(cafile=str(ca_file))
    if alpn:
        context.set_alpn_protocols([alpn])
    tls = context.wrap_socket(sock, server_hostname=parts.hostname)
    assert tls.selected_alpn_protocol() == alpn, tls.selected_alpn_protocol()
    return tls


def _bytes(text: Name) -> bytes:
    return text.encode("latin-1") if isinstance(text, str) else text


class Http1:
    """One HTTP/1.1 connection. What is sent is the caller's business to the last byte."""

    def __init__(self, url: str, *, ca_file: Optional[Path] = None) -> None:
        self.sock = connect(url, ca_file=ca_file, alpn="http/1.1" if ca_file else None)
        self._pending = b""

    def __enter__(self) -> Http1:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.sock.close()

    def send(self, data: bytes) -> None:
        """Sends bytes as they are. A peer that has closed already is no error: its answer is what counts."""
        try:
            self.sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            pass

    def head(self, method: Name, target: Name, headers: Iterable[Header], version: str = "HTTP/1.1") -> None:
        """Sends a head; `host` is added unless one is there."""
        headers = list(headers)
        lines = [_bytes(method) + b" " + _bytes(target) + b" " + version.encode()]
        if not any(_bytes(name).lower() == b"host" for name, _ in headers):
            lines.append(b"host: gateway")
        lines += [_bytes(name) + b": " + _bytes(value) for name, value in headers]
        self.send(b"\r\n".join(lines) + b"\r\n\r\n")

    def request(
        self, method: Name, target: Name, headers: Iterable[Header] = (), body: Optional[bytes] = None
    ) -> Answer:
        """A whole request with the right `content-length`, and its answer."""
        length = [] if body is None else [("content-length", str(len(body)))]
        self.head(method, target, [*headers, *length])
        if body:
            self.send(body)
        return self.answer(head_only=method == "HEAD")

    def chunk(self, data: bytes) -> None:
        """One chunk of a chunked body; an empty one ends it."""
        self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def reset(self) -> None:
        """Closes by RST, as a process that was killed does."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.sock.close()

    def answer(self, *, head_only: bool = False) -> Answer:
        """The next answer that is not an interim one (100 … 199)."""
        while True:
            answer = self.next_head()
            if not 100 <= answer.status < 200:
                break
        if answer.status == 0:
            return answer
        self.read_body(answer, head_only=head_only)
        return answer

    def next_head(self) -> Answer:
        """The next head, an interim one too; status 0 if the peer closes instead."""
        answer = Answer()
        while b"\r\n\r\n" not in self._pending:
            if not self._fill():
                return answer
        head, _, self._pending = self._pending.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        answer.status = int(first.split()[1])
        pairs = (line.partition(":") for line in lines)
        answer.headers = [(name.strip().lower(), value.strip()) for name, _, value in pairs]
        return answer

    def read_body(self, answer: Answer, *, head_only: bool = False) -> None:
        """What belongs to this answer, by its own framing."""
        length = answer.header("content-length")
        if head_only or answer.status in (204, 304):
            answer.complete = True
        elif answer.header("transfer-encoding") == "chunked":
            answer.complete = self._read_chunked(answer)
        elif length is not None:
            answer.complete = self._read_exactly(answer, int(length))
        else:
            while self._pending or self._fill():
                answer.add(self._take(len(self._pending)))

    def closed(self) -> bool:
        """Whether the peer closes without another byte."""
        return not self._pending and not self._fill()

    def silent(self, seconds: float) -> bool:
        """Whether nothing arrives for so long."""
        return not self._pending and not select.select([self.sock], [], [], seconds)[0]

    def _fill(self) -> bool:
        try:
            data = self.sock.recv(1 << 16)
        except (ConnectionResetError, ssl.SSLError):
            return False
        self._pending += data
        return bool(data)

    def _take(self, size: int) -> bytes:
        piece, self._pending = self._pending[:size], self._pending[size:]
        return piece

    def _read_exactly(self, answer: Answer, size: int) -> bool:
        while size:
            if not self._pending and not self._fill():
                return False
            piece = self._take(size)
            answer.add(piece)
            size -= len(piece)
        return True

    def _read_chunked(self, answer: Answer) -> bool:
        while True:
            while b"\r\n" not in self._pending:
                if not self._fill():
                    return False
            line, _, self._pending = self._pending.partition(b"\r\n")
            size = int(line, 16)
            if not self._read_exactly(answer, size):
                return False
            while len(self._pending) < 2:
                if not self._fill():
                    return False
            assert self._take(2) == b"\r\n"
            if size == 0:
                return True


class _Huffman(HuffmanEncoder):
    """The same bytes in one pass. The library's way takes a second for 64 KiB: its number grows with each byte."""

    _CODES = [f"{code:0{length}b}" for code, length in zip(REQUEST_CODES, REQUEST_CODES_LENGTH)]

    def __init__(self) -> None:
        super().__init__(REQUEST_CODES, REQUEST_CODES_LENGTH)

    def encode(self, bytes_to_encode: Optional[bytes]) -> bytes:
        if not bytes_to_encode:
            return b""
        bits = "".join(map(self._CODES.__getitem__, bytes_to_encode))
        bits += "1" * (-len(bits) % 8)
        return int(bits, 2).to_bytes(len(bits) // 8, "big")


class Http2:
    """One HTTP/2 connection: over TLS if there is a `ca_file`, else with prior knowledge."""

    def __init__(self, url: str, *, ca_file: Optional[Path] = None) -> None:
        self.sock = connect(url, ca_file=ca_file, alpn="h2" if ca_file else None)
        config = h2.config.H2Configuration(
            client_side=True,
            header_encoding="latin-1",
            # Whatever the caller wants to send, right or wrong; but what comes must be right.
            validate_outbound_headers=False,
            normalize_outbound_headers=False,
        )
        self.connection = h2.connection.H2Connection(config=config)
        self.connection.encoder.huffman_coder = _Huffman()
        self.connection.initiate_connection()
        self.connection.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: WINDOW})
        self.connection.increment_flow_control_window(WINDOW)
        self.answers: dict[int, Answer] = {}
        self.broken = False
        self.flush()

    def __enter__(self) -> Http2:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.sock.close()

    def flush(self) -> None:
        """Sends what the protocol has queued."""
        try:
            self.sock.sendall(self.connection.data_to_send())
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            self.broken = True

    def start(self, method: Name, path: Name, headers: Iterable[Header] = (), *, end: bool = False) -> int:
        """Sends a head and gives the stream's number."""
        stream = self.connection.get_next_available_stream_id()
        pseudo = [(":method", method), (":scheme", "http"), (":authority", "gateway"), (":path", path)]
        self.start_raw([*pseudo, *headers], end=end, stream=stream)
        return stream

    def start_raw(self, headers: Iterable[Header], *, end: bool = False, stream: Optional[int] = None) -> int:
        """Sends a head with its pseudo headers given by the caller."""
        stream = stream or self.connection.get_next_available_stream_id()
        self.answers[stream] = Answer()
        block = [(_bytes(name), _bytes(value)) for name, value in headers]
        self.connection.send_headers(stream, block, end_stream=end)
        self.flush()
        return stream

    def data(self, stream: int, data: bytes, *, end: bool = False) -> bool:
        """Sends body bytes as the flow control allows. `False` if the stream ended under way."""
        view = memoryview(data)
        while view or end:
            if self.is_over(stream):
                return False
            room = min(
                self.connection.local_flow_control_window(stream), self.connection.max_outbound_frame_size
            )
            if view and not room:
                self._pump()
                continue
            piece, view = view[:room], view[room:]
            self.connection.send_data(stream, bytes(piece), end_stream=end and not view)
            self.flush()
            # An answer that comes early must be seen early.
            self._pump(wait=False)
            if not view:
                break
        return True

    def trailers(self, stream: int, headers: Iterable[Header]) -> None:
        """Ends the body by trailers."""
        self.connection.send_headers(stream, [(_bytes(n), _bytes(v)) for n, v in headers], end_stream=True)
        self.flush()

    def reset(self, stream: int) -> None:
        """Gives the stream up."""
        self.connection.reset_stream(stream, h2.errors.ErrorCodes.CANCEL)
        self.flush()

    def request(self, method: Name, path: Name, headers: Iterable[Header] = (), body: Optional[bytes] = None) -> Answer:
        """A whole request and its answer."""
        stream = self.start(method, path, headers, end=body is None)
        if body is not None:
            self.data(stream, body, end=True)
        return self.answer(stream)

    def answer(self, stream: int) -> Answer:
        """The whole answer, or what there is of it when the stream or the connection ends."""
        while not self.is_over(stream):
            self._pump()
        return self.answers[stream]

    def await_head(self, stream: int) -> Answer:
        """The answer as far as its head; the rest follows with `answer`."""
        while not self.answers[stream].status and not self.is_over(stream):
            self._pump()
        return self.answers[stream]

    def await_body(self, stream: int, size: int) -> Answer:
        """The answer with at least `size` bytes of its body."""
        while len(self.answers[stream].body) < size and not self.is_over(stream):
            self._pump()
        return self.answers[stream]

    def is_over(self, stream: int) -> bool:
        """Whether nothing more can come for this stream."""
        answer = self.answers[stream]
        return self.broken or answer.complete or answer.reset is not None

    def _pump(self, *, wait: bool = True) -> None:
        """Takes in what has arrived, waiting for it if so told."""
        pending = isinstance(self.sock, ssl.SSLSocket) and self.sock.pending()
        if not wait and not pending and not select.select([self.sock], [], [], 0)[0]:
            return
        try:
            data = self.sock.recv(1 << 16)
        except (ConnectionResetError, ssl.SSLError):
            data = b""
        if not data:
            self.broken = True
            return
        try:
            events = self.connection.receive_data(data)
        except h2.exceptions.ProtocolError:
            self.broken = True
            return
        for event in events:
            self._take(event)
        self.flush()

    def _take(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.ConnectionTerminated):
            self.broken = True
            for answer in self.answers.values():
                if not answer.complete and answer.reset is None:
                    answer.reset = int(event.error_code or 0)
            return
        answer = self.answers.get(getattr(event, "stream_id", None) or 0)
        if answer is None:
            return
        if isinstance(event, h2.events.ResponseReceived):
            headers = [(_text(name), _text(value)) for name, value in event.headers]
            answer.status = int(dict(headers)[":status"])
            answer.headers = headers
        elif isinstance(event, h2.events.TrailersReceived):
            answer.trailers = [(_text(name), _text(value)) for name, value in event.headers]
        elif isinstance(event, h2.events.DataReceived):
            answer.add(event.data)
            if event.flow_controlled_length:
                self.connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            answer.complete = True
        elif isinstance(event, h2.events.StreamReset):
            answer.reset = int(event.error_code)


def _text(text: Name) -> str:
    return text if isinstance(text, str) else text.decode("latin-1")
