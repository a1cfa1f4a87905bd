"""A rate limit service that speaks Envoy's protocol over a real Redis.

It counts as the reference service does: fixed windows, one counter a descriptor and window, raised by INCRBY in
one round trip for all descriptors of a request, whatever the others say. Several of them may share one Redis.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

# What tests start becomes another program at once: gRPC need not prepare for a fork, nor warn of it.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

import grpc  # noqa: E402
import redis  # noqa: E402
from grpc_tools import protoc  # noqa: E402

from limits_file import Limit, Limits  # noqa: E402

HERE = Path(__file__).resolve().parent
METHOD = "envoy.service.ratelimit.v3.RateLimitService"


def _messages() -> Any:
    """The messages of `rls.proto`."""
    with tempfile.TemporaryDirectory() as scratch:
        include = Path(protoc.__file__).parent / "_proto"
        arguments = [
            "protoc",
            f"-I{HERE}",
            f"-I{include}",
            f"--python_out={scratch}",
            str(HERE / "rls.proto"),
        ]
        if protoc.main(arguments) != 0:
            raise RuntimeError("rls.proto cannot be compiled")
        sys.path.insert(0, scratch)
        try:
            return importlib.import_module("rls_pb2")
        finally:
            sys.path.remove(scratch)


pb = _messages()


@dataclass(frozen=True)
class Asked:
    """One descriptor of one question."""

    #: `key=k1/model=m`
    descriptor: str
    hits: int


class RateLimitService:
    """The service on a port of its own, and what it was asked."""

    def __init__(
        self,
        limits: str,
        store: redis.Redis,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`clock` gives seconds since 1970: it says which window it is."""
        self.limits = Limits(limits)
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        #: The questions, each with its descriptors.
        self.asked: list[list[Asked]] = []
        #: Seconds that each question waits for its answer.
        self.delay = 0.0
        self._host = host
        self._wanted = port
        self._server: grpc.Server | None = None
        self.start()

    # ---- Life

    def start(self) -> None:
        self._server = server = grpc.server(ThreadPoolExecutor(32), options=[("grpc.so_reuseport", 0)])
        handler = grpc.unary_unary_rpc_method_handler(
            self._answer,
            request_deserializer=pb.RateLimitRequest.FromString,
            response_serializer=pb.RateLimitResponse.SerializeToString,
        )
        server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler(METHOD, {"ShouldRateLimit": handler})]
        )
        self._wanted = server.add_insecure_port(f"{self._host}:{self._wanted}")
        server.start()

    def stop(self) -> None:
        """Its port stays known: a later start takes it again."""
        if self._server:
            self._server.stop(0).wait(10)
        self._server = None

    @property
    def address(self) -> str:
        return f"{self._host}:{self._wanted}"

    def __enter__(self) -> RateLimitService:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # ---- The protocol

    def _answer(self, request: Any, context: grpc.ServicerContext) -> Any:
        hits = [
            d.hits_addend.value if d.HasField("hits_addend") else request.hits_addend or 1
            for d in request.descriptors
        ]
        entries = [[(e.key, e.value) for e in d.entries] for d in request.descriptors]
        names = ["/".join(f"{key}={value}" for key, value in descriptor) for descriptor in entries]
        with self._lock:
            self.asked.append([Asked(*pair) for pair in zip(names, hits)])
        if self.delay:
            time.sleep(self.delay)
        limits = [self.limits.find(request.domain, descriptor) for descriptor in entries]
        statuses = self._count(request.domain, list(zip(names, hits, limits)))
        over = any(status.code == pb.RateLimitResponse.OVER_LIMIT for status in statuses)
        code = pb.RateLimitResponse.OVER_LIMIT if over else pb.RateLimitResponse.OK
        return pb.RateLimitResponse(overall_code=code, statuses=statuses)

    def _count(self, domain: str, asked: list[tuple[str, int, Limit | None]]) -> list[Any]:
        """Raises the counters in one round trip, and says of each whether that was too much."""
        now = int(self._clock())
        pipeline = self._store.pipeline(transaction=False)
        for name, hits, limit in asked:
            if limit:
                key = f"{domain}_{name}_{now // limit.seconds * limit.seconds}"
                pipeline.incrby(key, hits)
                pipeline.expire(key, limit.seconds)
        counts = iter(pipeline.execute()[::2])
        return [self._status(next(counts), limit, now) if limit else _unlimited() for _, _, limit in asked]

    def _status(self, count: int, limit: Limit, now: int) -> Any:
        over = count > limit.per_unit and not limit.shadow
        response = pb.RateLimitResponse
        status = response.DescriptorStatus(
            code=response.OVER_LIMIT if over else response.OK,
            current_limit=response.RateLimit(
                requests_per_unit=limit.per_unit, unit=response.RateLimit.Unit.Value(limit.unit.upper())
            ),
            limit_remaining=max(limit.per_unit - count, 0),
        )
        status.duration_until_reset.seconds = limit.seconds - now % limit.seconds
        return status


def _unlimited() -> Any:
    return pb.RateLimitResponse.DescriptorStatus(code=pb.RateLimitResponse.OK)
