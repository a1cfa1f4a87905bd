"""A light HTTP/2 client with prior knowledge: many clients on one connection."""

from __future__ import annotations

import asyncio
import time
from typing import Optional, cast

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings

from .seen import PATIENCE, Seen
from .shapes import Plan

WINDOW = 1 << 20
#: A connection is left for a new one after so many requests.
STREAMS = 400


class _Stream:
    def __init__(self, plan: Plan, seen: Seen) -> None:
        self.plan = plan
        self.seen = seen
        self.changed = asyncio.Event()
        self.over = False


class _Connection(asyncio.Protocol):
    def __init__(self) -> None:
        config = h2.config.H2Configuration(
            client_side=True,
            header_encoding="latin-1",
            validate_outbound_headers=False,
            normalize_outbound_headers=False,
            validate_inbound_headers=False,
        )
        self.http = h2.connection.H2Connection(config=config)
        self.streams: dict[int, _Stream] = {}
        self.ready = asyncio.Event()
        self.dead = False
        self.used = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.http.initiate_connection()
        self.http.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: WINDOW})
        self.http.increment_flow_control_window(WINDOW * 16)
        self.flush()

    def connection_lost(self, exc: Optional[Exception]) -> None:
        self.dead = True
        self.ready.set()
        for stream in self.streams.values():
            stream.over = True
            stream.changed.set()

    def flush(self) -> None:
        data = self.http.data_to_send()
        if data and not self.dead:
            self.transport.write(data)

    def data_received(self, data: bytes) -> None:
        try:
            events = self.http.receive_data(data)
        except h2.exceptions.ProtocolError:
            self.transport.abort()
            return
        for event in events:
            self._take(event)
        self.flush()

    def _take(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.RemoteSettingsChanged):
            self.ready.set()
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.dead = True  # for new requests; those under way go on
        if isinstance(event, (h2.events.WindowUpdated, h2.events.RemoteSettingsChanged)):
            for stream in self.streams.values():
                stream.changed.set()
        stream = self.streams.get(getattr(event, "stream_id", None) or 0)
        if isinstance(event, h2.events.DataReceived) and event.flow_controlled_length:
            # Also for a stream that was given up: it counts on the connection.
            self.http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        if stream is None:
            return
        if isinstance(event, h2.events.ResponseReceived):
            headers = {str(name): str(value) for name, value in event.headers}
            stream.seen.head(int(headers[":status"]), headers)
        elif isinstance(event, h2.events.DataReceived):
            stream.seen.piece(event.data)
        elif isinstance(event, h2.events.StreamEnded):
            stream.seen.complete = stream.over = True
        elif isinstance(event, h2.events.StreamReset):
            stream.over = True
        stream.changed.set()


class Http2:
    """Some clients' common connection, made anew now and then."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._connection: Optional[_Connection] = None
        self._connecting = asyncio.Lock()
        self.connections = 0
        self.reused = 0

    def close(self) -> None:
        """Closes the connection, once nothing is under way."""
        if self._connection is not None:
            self._connection.transport.close()
            self._connection = None

    async def exchange(self, plan: Plan) -> Seen:
        """Sends the request and takes the answer, as the plan has it."""
        seen = Seen(began=time.time())
        connection = await self._connected()
        pseudo = [(":method", plan.method), (":scheme", "http"), (":authority", "gateway"), (":path", plan.path)]
        number = connection.http.get_next_available_stream_id()
        # At once: until then the number is free for the next one too.
        connection.http.send_headers(number, [*pseudo, *plan.headers], end_stream=plan.method == "GET")
        stream = connection.streams[number] = _Stream(plan, seen)
        try:
            await asyncio.wait_for(self._exchange(connection, number, stream), PATIENCE)
        except asyncio.TimeoutError:
            seen.trouble = "hangs"
        except h2.exceptions.ProtocolError as error:
            stream.over = True  # the gateway was faster
            seen.trouble = "" if seen.status else f"no answer: {error!r}"
        del connection.streams[number]
        if not stream.over and not connection.dead:
            connection.http.reset_stream(number, h2.errors.ErrorCodes.CANCEL)
            connection.flush()
        if not seen.complete and not seen.left and not seen.status and not seen.trouble:
            seen.trouble = "no answer"
        if connection is not self._connection and not connection.streams:
            connection.transport.close()
        seen.ended = time.time()
        return seen

    async def _connected(self) -> _Connection:
        async with self._connecting:
            connection = self._connection
            if connection is None or connection.dead or connection.used >= STREAMS:
                if connection is not None and not connection.streams:
                    connection.transport.close()
                loop = asyncio.get_running_loop()
                _, connection = await loop.create_connection(_Connection, "127.0.0.1", self._port)
                await asyncio.wait_for(connection.ready.wait(), PATIENCE)
                self._connection = connection
                self.connections += 1
            else:
                self.reused += 1
            connection.used += 1
            return connection

    async def _exchange(self, connection: _Connection, number: int, stream: _Stream) -> None:
        plan, seen = stream.plan, stream.seen
        if plan.method != "GET":
            body = plan.body[: plan.leaves_at] if plan.leaves == "request" else plan.body
            await self._send(connection, number, stream, body, end=plan.leaves != "request")
        connection.flush()
        if plan.leaves in ("request", "wait"):
            seen.left = True
            await asyncio.sleep(plan.leaves_at if plan.leaves == "wait" else plan.leaves_at % 20 / 1000)
            return
        while not stream.over:
            if seen.enough(plan):
                seen.left = True
                return
            stream.changed.clear()
            await stream.changed.wait()

    async def _send(self, connection: _Connection, number: int, stream: _Stream, body: bytes, *, end: bool) -> None:
        view = memoryview(body)
        while view and not stream.over:
            room = min(connection.http.local_flow_control_window(number), connection.http.max_outbound_frame_size)
            if room <= 0:
                connection.flush()
                stream.changed.clear()
                await stream.changed.wait()
                continue
            connection.http.send_data(number, bytes(view[:room]))
            view = view[room:]
        if end and not stream.over:
            connection.http.end_stream(number)
