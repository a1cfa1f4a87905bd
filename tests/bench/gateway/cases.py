"""What is measured: the request, and how the load is made."""

from __future__ import annotations

from typing import NamedTuple

from agents import agent, image, languages
from bodies import chat
from contestants import WRONG_KEY
from driving import Call, Driven

CHAT = "/v1/chat/completions"
#: The mock's headers for an answer with all that a vendor sends, and for one of so many bytes.
VENDORS_HEADERS = "x-bench-vendors-headers: 1"
ANSWER_BYTES = "x-bench-answer-bytes: {}"
LIST = "/v1/models"
#: Events of a stream.
EVENTS = 200
#: Between two events of a paced stream, in microseconds: a fast model.
GAP_US = 2000
#: Paced streams begun in a second: some eight at a time, and never in step, whose events would wait for each other.
STREAMS = 19.0

#: The smallest request that is forwarded.
_SMALLEST = Call(CHAT, chat(1024, model_first=True))
_SIZES = (("1k", "1 KB", 1024, 16), ("100k", "100 KB", 100 * 1024, 8), ("1m", "1 MB", 1024 * 1024, 4))


class Case(NamedTuple):
    name: str
    title: str
    call: Call
    #: In the closed loop. Few, where each moves much: more would only wait for each other.
    connections: int
    #: Whether the open loop is run as well.
    latency: bool = False
    #: Whether it is a paced stream, at a rate of its own.
    paced: bool = False
    #: Whether the wrong key makes it, which bare Envoy has another path for.
    rejected: bool = False

    def call_to(self, contestant: Driven) -> Call:
        """The request as this contestant takes it."""
        path = getattr(contestant, "rejected_path", None) if self.rejected else None
        return self.call._replace(path=path or self.call.path)


def all_cases() -> list[Case]:
    """In the order in which they run and are shown."""
    cases = []
    for name, title, size, connections in _SIZES:
        for place in ("first", "last"):
            body = chat(size, model_first=place == "first")
            cases.append(Case(f"{name}-{place}", f"{title}, model {place}", Call(CHAT, body), connections, latency=True))
    asked = chat(1024, model_first=True, stream=True)
    cases += [
        Case("vendors-headers", "1 KB, the answer with a vendor's 25 headers", _SMALLEST._replace(headers=(VENDORS_HEADERS,)), 16),
        Case("agent", "64 KB of an agent: 18 tools, calls, results", Call(CHAT, agent(64 * 1024)), 8),
        Case("languages", "30 KB of Chinese, Japanese, Korean, Russian", Call(CHAT, languages(32 * 1024)), 8),
        Case("escapes", "30 KB of the same in escapes", Call(CHAT, languages(32 * 1024, escaped=True)), 8),
        Case("image", "an image of 1 MB as base64", Call(CHAT, image()), 4),
        Case("sse-unpaced", f"stream of {EVENTS} events at once", Call(CHAT, asked, events=EVENTS), 8),
        Case(
            "sse-paced",
            f"stream of {EVENTS} events, one every {GAP_US / 1000:g} ms",
            Call(CHAT, asked, events=EVENTS, gap_us=GAP_US),
            32,
            paced=True,
        ),
        Case("list", "model list", Call(LIST), 16),
        Case("rejected", "wrong key, no body", Call(LIST, key=WRONG_KEY, expect=401), 16, rejected=True),
        Case(
            "rejected-body",
            "wrong key, 1 KB (each ends its connection)",
            Call(CHAT, chat(1024, model_first=True), key=WRONG_KEY, expect=401),
            16,
            rejected=True,
        ),
    ]
    return cases


def keys_case() -> Case:
    """The smallest request, a different key each time; for contestants with many keys."""
    return Case("keys", "1 KB, model first, by number of keys", _SMALLEST, 16, latency=True)


def ledger_file_case() -> Case:
    """As somebody measures who has just installed it: more connections, an ordinary answer, the ledger on disk."""
    call = _SMALLEST._replace(headers=(ANSWER_BYTES.format(800),))
    return Case("ledger-file", "1 KB over 32 connections, an answer of 0.8 KB, ledger to a file", call, 32, latency=True)


def retry_cases() -> list[Case]:
    """Bodies that are sent once, and that might be sent again."""
    return [
        Case(f"retry-{name}", f"{title}, model first, that may be sent again", Call(CHAT, chat(size, model_first=True)), connections)
        for name, title, size, connections in _SIZES
    ]


def ejected_case() -> Case:
    """The smallest request, while the account that would be asked first is ejected."""
    return Case("ejected", "1 KB, model first, the first of two accounts ejected", _SMALLEST, 16)


def credential_case() -> Case:
    """The smallest request, with and without the credential that everybody puts in."""
    return Case("credential", "1 KB, model first, with and without the source's credential", _SMALLEST, 16)
