"""Every way in which an exchange can end, and what its record must say."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Any, Optional

from e2e.ledger.ledger_calls import CALLS, Kinds, told
from e2e.ledger.ledger_desk import Act, Client, Sent, whole
from e2e.raw import Answer

ASKED: Kinds = {
    "input": 1001,
    "input_image": 77,
    "cache_read": 203,
    "cache_write_5m": 305,
    "cache_write_1h": 407,
    "tool_use": 11,
    "output": 509,
    "reasoning": 613,
    "images": 1,
}
USAGE = ",".join(f"{kind}={number}" for kind, number in ASKED.items() if kind != "images")

#: A stream of each form, with what stands in each of its deltas, and the last thing that it says.
STREAMS = {
    "chat, stream": (rb'"delta":\{"content"', rb"data: \[DONE\]\n\n"),
    "responses, stream": (rb"response\.output_text\.delta", rb'"response\.completed".*\n\n'),
    "messages, stream": (rb"text_delta", rb'"message_stop"\}\n\n'),
    "generate, stream": (rb'"candidates"', rb'"finishReason":"STOP".*\r\n\r\n'),
    "generate, array": (rb'"candidates"', rb'"finishReason":"STOP".*\]'),
    "images, stream": (rb"partial_image", rb'"image_generation\.completed".*\n\n'),
}
DOCUMENTS = ("chat", "responses", "messages", "generate", "images", "embed", "edits, form")
GROUP = {"A": "a", "B": "b", "C": "c"}
FREE = {"A": "a-free", "B": "b-free", "C": "c-free"}
DEAD = {"A": "a-dead", "B": "b-dead", "C": "c-dead"}

#: What had been told when the answer broke off: compared with what the simulator issued, and what the client saw.
EARLY: Kinds = {"early": 1}
#: Members that a request without an answer cannot have.
UNANSWERED: dict[str, Any] = {
    "gen_ai.response.id": None,
    "gen_ai.response.model": None,
    "gen_ai.response.finish_reasons": None,
    "trilane.upstream_request_id": None,
    "trilane.time_to_first_byte_us": None,
}


@dataclasses.dataclass(frozen=True)
class Case:
    """An exchange, how it is made to end, and what its record must say."""

    call: str
    outcome: str
    usage: str
    #: The status that was sent to the client; 0: none.
    status: int
    sim: dict[str, str] = dataclasses.field(default_factory=dict)
    act: Act = whole
    #: The key's group; its protocol's own unless given.
    group: str = ""
    #: What is known of the usage; `None`: nothing; `EARLY`: what had been told by then.
    kinds: Optional[Kinds] = None
    #: Further members, or patterns that they match in full. `None`: must not be there.
    more: dict[str, Any] = dataclasses.field(default_factory=dict)
    #: How the answer reaches the client: whole or not.
    complete: Optional[bool] = None
    #: Through the gateway that waits for no more than a second.
    hasty: bool = False
    #: Where the part of the body ends that is sent at first.
    part: Optional[int] = None
    #: Sent in place of the rest of it.
    rest: Optional[bytes] = None
    #: Envoy's response flags.
    flags: Optional[str] = None


# ---- What clients do


def leave_at(token: bytes, linger: float = 0) -> Act:
    """Goes in the middle of the answer, once it has seen this and nothing more has come for so many seconds."""

    def act(sent: Sent, client: Client) -> Optional[Answer]:
        client.post(sent.post)
        client.await_match(token)
        sent.left = client.linger(linger)
        client.leave()
        return None

    return act


def leave_unanswered(sent: Sent, client: Client) -> Optional[Answer]:
    """Goes when the upstream has the request and says nothing."""
    client.post(sent.post)
    sent.wait_seen("request_complete")
    client.leave()
    return None


def leave_unasked(sent: Sent, client: Client) -> Optional[Answer]:
    """Goes with the request half sent, the head having gone upstream."""
    client.post(sent.post)
    sent.wait_bytes(len(sent.post.part))
    client.leave()
    return None


def spoil(sent: Sent, client: Client) -> Optional[Answer]:
    """Waits for the answer to begin, which the request's first part was enough for, and sends the rest."""
    client.post(sent.post)
    client.await_match(b'"')
    client.more((sent.post.body or b"")[len(sent.post.part) :], end=True)
    return client.rest()


# ---- Cases

#: How many events of each stream are in its middle, all of them, and the type of its error event.
EVENTS = {
    "chat, stream": (3, 9, "server_error"),
    "responses, stream": (7, 13, "server_error"),
    "messages, stream": (7, 11, "overloaded_error"),
    "generate, stream": (3, 6, "UNAVAILABLE"),
    "generate, array": (3, 6, "UNAVAILABLE"),
    "images, stream": (3, 6, "server_error"),
}


def _streams() -> Iterator[tuple[str, Case]]:
    for name, (delta, end) in STREAMS.items():
        middle, events, error = EVENTS[name]
        form = CALLS[name].form
        all_told = told(form, ASKED)
        unfinished: dict[str, Any] = {"gen_ai.response.finish_reasons": None}
        if form != "images":  # Of those that are left an image is estimated.
            unfinished["trilane.usage.images"] = None
        early: dict[str, Any] = {"kinds": EARLY, "more": unfinished}
        rows = {
            "client leaves in the middle": Case(
                name, "client_abort", "estimated", 200, {"stall": f"after={middle}"}, leave_at(delta, 0.2), **early
            ),
            # Agents hang up when they have read the protocol's end.
            "client leaves at the end": Case(
                name, "finished", "complete", 200, {"stall": f"after={events}"}, leave_at(end), kinds=all_told
            ),
            "client leaves unanswered": Case(
                name, "client_abort", "estimated", 0, {"stall": "head"}, leave_unanswered, more=UNANSWERED
            ),
            "reset before the head": Case(
                name,
                "upstream_failed",
                "failed",
                502,
                {"cut": "head"},
                more=_failed("upstream_reset_before_response.*"),
            ),
            "reset in the first event": Case(
                name,
                "upstream_reset",
                "estimated" if form in ("generate", "images") else "failed",
                200,
                {"cut": "body"},
                complete=False,
                **early,
            ),
            "reset in the middle": Case(
                name, "upstream_reset", "estimated", 200, {"cut": f"after={middle}"}, complete=False, **early
            ),
            "reset after the end": Case(
                name,
                "finished",
                "complete",
                200,
                {"cut": f"after={events}", "gap-ms": "50"},
                complete=False,
                kinds=all_told,
            ),
            # Of pictures that are not done nobody reports anything.
            "error event": Case(
                name,
                "error_event",
                "estimated",
                200,
                {"scenario": "error"},
                complete=True,
                kinds=EARLY,
                more={**unfinished, "error.type": error},
            ),
            "truncated": Case(name, "truncated", "estimated", 200, {"scenario": "truncated"}, complete=True, **early),
            "torn": Case(name, "truncated", "estimated", 200, {"scenario": "torn"}, complete=True, kinds=EARLY),
            "silence in the middle": Case(
                name, "timeout", "estimated", 200, {"stall": f"after={middle}"}, complete=False, hasty=True, **early
            ),
            "silence before the head": Case(
                name,
                "upstream_failed",
                "failed",
                502,
                {"stall": "head"},
                hasty=True,
                more=_failed("stream_idle_timeout"),
            ),
        }
        no_usage = {"scenario": "no-usage"}
        if form == "images":  # Pictures are counted, whatever is told of tokens.
            rows["no usage"] = Case(name, "finished", "complete", 200, no_usage, complete=True, kinds={"images": 1})
        else:
            rows["no usage"] = Case(name, "finished", "estimated", 200, no_usage, complete=True)
        if form == "chat":  # Behind the reason to finish its report is the last one.
            rows["no end"] = Case(name, "finished", "complete", 200, {"scenario": "no-end"}, complete=True, kinds=all_told)
        elif form != "images":
            rows["no end"] = Case(
                name, "truncated", "estimated", 200, {"scenario": "no-end"}, complete=True, kinds=EARLY
            )
        for way, case in rows.items():
            yield f"{name}: {way}", case
        ways = {"chat": ("usage-on-last-choice", "usage-on-every-chunk"), "messages": ("cumulative",)}
        ways["generate"] = ("usage-at-end",)
        dress = () if form == "images" or "array" in name else ("crlf", "cr", "pings", "multiline", "decoy")
        for scenario in (*ways.get(form, ()), *dress, "big"):
            yield (
                f"{name}: {scenario}",
                Case(name, "finished", "complete", 200, {"scenario": scenario}, complete=True, kinds=all_told),
            )
    for name in ("responses", "responses, stream"):
        yield (
            f"{name}: failed",
            Case(
                name,
                "error_event",
                "estimated",
                200,
                {"scenario": "failed"},
                complete=True,
                more={"error.type": "rate_limit_exceeded", "gen_ai.response.finish_reasons": ["failed"]},
            ),
        )
        yield (
            f"{name}: incomplete",
            Case(
                name,
                "finished",
                "complete",
                200,
                {"scenario": "incomplete"},
                complete=True,
                kinds=told("responses", ASKED),
                more={"gen_ai.response.finish_reasons": ["max_output_tokens"]},
            ),
        )


def _failed(reason: str, error: str = "bad_gateway") -> dict[str, Any]:
    return {"error.type": error, "trilane.upstream_failure": re.compile(reason), "trilane.upstream_request_id": None}


def _documents() -> Iterator[tuple[str, Case]]:
    for name in DOCUMENTS:
        call = CALLS[name]
        kinds = told(call.form, ASKED)
        yield (
            f"{name}: client leaves unanswered",
            Case(name, "client_abort", "estimated", 0, {"stall": "head"}, leave_unanswered, more=UNANSWERED),
        )
        yield (
            f"{name}: client leaves half asked",
            # What may be made to ask for its usage is held until that is known.
            Case(
                name,
                "client_abort",
                "none",
                0,
                act=leave_unasked,
                group="a-never" if name == "chat" else "",
                # Without the end of its JSON, or of its last boundary.
                part=-6 if call.multipart else -2,
                more=UNANSWERED,
            ),
        )
        yield (
            f"{name}: connection refused",
            Case(
                name,
                "upstream_failed",
                "failed",
                502,
                group=DEAD[call.protocol],
                more=_failed("upstream_reset_before_response_started.*"),
                flags="UF",
            ),
        )
        yield (
            f"{name}: reset before the head",
            Case(
                name,
                "upstream_failed",
                "failed",
                502,
                {"cut": "head"},
                more=_failed("upstream_reset_before_response_started.*"),
            ),
        )
        yield (
            f"{name}: reset in the middle",
            Case(name, "upstream_reset", "estimated", 200, {"cut": "body"}, complete=False, kinds=EARLY),
        )
        yield (
            f"{name}: torn",
            Case(name, "truncated", "estimated", 200, {"scenario": "torn"}, complete=True, kinds=EARLY),
        )
        if call.form not in ("images", "embed"):
            yield f"{name}: no usage", Case(name, "finished", "estimated", 200, {"scenario": "no-usage"}, complete=True)
            yield (
                f"{name}: big",
                Case(name, "finished", "complete", 200, {"scenario": "big"}, kinds=kinds, complete=True),
            )
            yield (
                f"{name}: decoy",
                Case(name, "finished", "complete", 200, {"scenario": "decoy"}, kinds=kinds, complete=True),
            )
    yield "embed: no usage", Case("embed", "finished", "estimated", 200, {"scenario": "no-usage"}, complete=True)
    yield (
        "a cluster that Envoy does not have",
        Case(
            "chat", "upstream_failed", "failed", 502, group="a-unknown", more=_failed("cluster_not_found"), flags="NC"
        ),
    )


_ERRORS = {
    400: ("invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"),
    404: ("invalid_request_error", "not_found_error", "NOT_FOUND"),
    413: ("invalid_request_error", "request_too_large", "INVALID_ARGUMENT"),
    429: ("rate_limit_error", "rate_limit_error", "RESOURCE_EXHAUSTED"),
    500: ("server_error", "api_error", "INTERNAL"),
    503: ("server_error", "api_error", "UNAVAILABLE"),
    529: ("server_error", "overloaded_error", "UNAVAILABLE"),
}


def _upstream_errors() -> Iterator[tuple[str, Case]]:
    for status, types in _ERRORS.items():
        for name, error in zip(("chat, stream", "messages", "generate, stream"), types):
            yield (
                f"{name}: upstream says {status}",
                Case(
                    name,
                    "upstream_error",
                    "failed",
                    status,
                    {"status": str(status)},
                    more={"error.type": error},
                    complete=True,
                ),
            )
    for name in ("responses", "images", "edits, form", "messages, stream", "generate", "embed"):
        yield (
            f"{name}: upstream says 401",
            Case(
                name,
                "upstream_failed",
                "failed",
                502,
                {"status": "401", "scenario": "leak"},
                more={
                    "error.type": "bad_gateway",
                    "trilane.upstream_status": 401,
                    "trilane.upstream_failure": None,
                    "trilane.upstream_request_id": re.compile(r"sim-\d+"),
                },
                complete=True,
            ),
        )
        yield (
            f"{name}: upstream says 403",
            Case(
                name,
                "upstream_failed",
                "failed",
                403,
                {"status": "403", "scenario": "leak"},
                more={
                    "error.type": "model_not_entitled",
                    "trilane.upstream_status": 403,
                    "trilane.upstream_failure": None,
                },
                complete=True,
            ),
        )


def _late() -> Iterator[tuple[str, Case]]:
    # The upstream answers without having the whole request, and the rest of it is wrong.
    for name, sim in {
        "generate, stream": {"early": "1", "gap-ms": "100", "events": "60"},
        "chat": {"early": "1", "stall": "body"},
        "messages": {"early": "1", "stall": "body"},
    }.items():
        yield (
            f"{name}: refused after the answer has begun",
            Case(
                name,
                "refused",
                "estimated",
                200,
                sim,
                spoil,
                group="a-never" if name == "chat" else "",
                complete=False,
                part=-1,
                rest=b"]]",
                kinds=EARLY,
                more={"error.type": "invalid_body"},
            ),
        )
    for name in ("chat", "messages", "generate"):
        yield (
            f"{name}: request stalls",
            Case(
                name,
                "refused",
                "none",
                408,
                part=-2,
                hasty=True,
                complete=True,
                more={**UNANSWERED, "error.type": "request_timeout"},
            ),
        )


SOURCES = (_streams, _documents, _upstream_errors, _late)
CASES: dict[str, Case] = {name: case for cases in SOURCES for name, case in cases()}
#: The same endings in groups that charge nothing for what is not reported: what was reported counts, and no more.
CASES |= {
    f"free: {name}": dataclasses.replace(case, usage="partial", group=FREE[CALLS[case.call].protocol])
    for name, case in CASES.items()
    if case.usage == "estimated"
}
