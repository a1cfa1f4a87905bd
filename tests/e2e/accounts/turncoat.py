"""An account that answers, and then fails at the very same address."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType
from typing import Callable, Optional

from e2e.accounts.failing import PATIENCE, read_head
from e2e.accounts.wiretap import pump

#: What is done with a connection instead of answering.
Act = Callable[[socket.socket], None]


class Turncoat:
    """Passes connections on to an upstream, until it is told otherwise."""

    def __init__(self, to: int) -> None:
        """`to` is the upstream's port on loopback."""
        self._to = to
        self._lead: Optional[int] = to
        self._act: Optional[Act] = None
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._listener: Optional[socket.socket] = None
        #: Heads of the requests that were not passed on.
        self.heads: list[bytes] = []
        held = socket.create_server(("127.0.0.1", 0))
        self.port = int(held.getsockname()[1])
        held.close()

    def __enter__(self) -> Turncoat:
        self._listen()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hang_up()

    def refuse(self) -> None:
        """Nobody listens from now on."""
        self._hang_up()

    def act(self, act: Act) -> None:
        """From now on a connection's request is read to the end of its head, and this is done then."""
        self._hang_up()
        self._act = act
        self._listen()

    def lead_to(self, port: int) -> None:
        """From now on connections are passed on to this port."""
        self._hang_up()
        self._act, self._lead = None, port
        self._listen()

    def mend(self) -> None:
        """It is as it was."""
        self.lead_to(self._to)

    def _listen(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=512)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def _hang_up(self) -> None:
        """Ends the connections that there are, and listens no more."""
        listener, self._listener = self._listener, None
        with self._lock:
            peers, self._open = self._open, set()
        for each in [listener, *peers]:
            if each:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                each.close()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            peer.settimeout(PATIENCE)
            with self._lock:
                self._open.add(peer)
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if self._act is not None:
                self.heads.append(read_head(peer))
                self._act(peer)
                peer.close()
                return
            far = socket.create_connection(("127.0.0.1", self._lead))
            with self._lock:
                self._open.add(far)
            threading.Thread(target=pump, args=(far, peer), daemon=True).start()
            pump(peer, far)
