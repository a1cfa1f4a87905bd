"""The same with numbers of the tests' own, every ending and every way of writing that the simulator knows."""

from __future__ import annotations

import dataclasses
from typing import Any, Iterable, Mapping, Optional

import pytest
from e2e.both_kinds import KEYS as VALUES
from e2e.ledger_reader import Ledger, Record
from e2e.sdk_usage.response_fixtures import IMAGE_MODEL, TEXT_MODELS
from e2e.sdk_usage.sdk_errors import NO_ANSWER, OURS, error_class, judge_ours
from e2e.sdk_usage.sdk_rounds import Call, Made, Sdks, made_of, of_protocol
from e2e.sdk_usage.usage_lines import flat, judge
from e2e.support import Gateway
from stack import Stack

KEYS = {"A": VALUES["key_a"], "B": VALUES["key_b_current"], "C": VALUES["key_c_current"]}

#: No two numbers, and no two sums of any of them, are equal.
TEXT_USAGE = "input=100003,cache_read=20011,cache_write_5m=4001,cache_write_1h=809,tool_use=163,output=37,reasoning=11"
IMAGE_USAGE = "input=1009,input_image=211,output=47,images=3"

#: Outcome and status of those that do not simply finish.
PARTIAL = {
    "error": ("error_event", "partial"),
    "failed": ("error_event", "partial"),
    "truncated": ("truncated", "partial"),
    "torn": ("truncated", "partial"),
    "no-end": ("truncated", "partial"),
    "no-usage": ("finished", "partial"),
}

#: Ways of writing that all SDKs can read.
WRITINGS = ["crlf", "big", "decoy"]
#: What each call is put through. Not every SDK can read every way of writing that is allowed: google-genai for Python
#: knows no comments between events.
SCENARIOS: dict[tuple[str, str], list[str]] = {
    ("A", "chat"): ["", "decoy", "big", "no-usage", "torn"],
    ("A", "chat_stream"): [
        "", "error", "truncated", "torn", "no-end", "no-usage", "usage-on-last-choice", "usage-on-every-chunk",
        "multiline", "cr", "pings", *WRITINGS,
    ],
    ("A", "chat_helper"): ["", "error", "usage-on-last-choice", "usage-on-every-chunk", "crlf"],
    ("A", "responses"): ["", "incomplete", "failed", "decoy", "no-usage", "torn"],
    ("A", "responses_stream"): [
        "", "error", "failed", "incomplete", "truncated", "torn", "no-end", "no-usage", "multiline", "pings",
        *WRITINGS,
    ],
    ("A", "responses_helper"): ["", "incomplete", "crlf"],
    ("A", "images"): ["", "no-usage"],
    ("A", "images_edit"): [""],
    ("A", "images_stream"): ["", "error", "truncated", "no-usage", "crlf"],
    ("B", "messages"): ["", "decoy", "big", "torn"],
    ("B", "messages_stream"): ["", "error", "truncated"],
    ("B", "messages_helper"): [
        "", "error", "truncated", "torn", "no-end", "cumulative", "multiline", "cr", "pings", *WRITINGS,
    ],
    ("C", "generate"): ["", "decoy", "no-usage", "torn"],
    ("C", "generate_stream"): ["", "error", "truncated", "torn", "no-end", "no-usage", "usage-at-end", *WRITINGS],
}  # fmt: skip

#: The upstream's own errors, which are relayed, and those that are replaced.
STATUSES = [400, 401, 403, 404, 429, 500, 503, 529]
#: Where the upstream's connection is reset.
CUTS = ["head", "body", "after=3"]

STREAMS = {"A": ["chat_stream", "responses_stream"], "B": ["messages_helper"], "C": ["generate_stream"]}
DOCUMENTS = {"A": ["chat"], "B": ["messages"], "C": ["generate"]}


@dataclasses.dataclass(frozen=True)
class Case:
    """A call, and what the simulator is told to do with it."""

    protocol: str
    call: Call
    scenario: str = ""
    status: int = 200
    cut: Optional[str] = None

    @property
    def streams(self) -> bool:
        return self.call.call.endswith(("_stream", "_helper"))


def cases(protocol: str, calls: Iterable[str], name: str, steer: Mapping[str, str], **facts: Any) -> list[Case]:
    """One for each SDK and call."""
    made = []
    for sdk in of_protocol(protocol):
        for call in calls:
            images = call.startswith("images")
            model = IMAGE_MODEL if images else TEXT_MODELS[protocol]
            headers = {"x-sim-usage": IMAGE_USAGE if images else TEXT_USAGE, **steer}
            made.append(Case(protocol, Call(sdk, name, call, model, KEYS[protocol], headers), **facts))
    return made


USED = [
    case
    for (protocol, call), scenarios in SCENARIOS.items()
    for scenario in scenarios
    for case in cases(
        protocol, [call], scenario or "plain", {"x-sim-scenario": scenario} if scenario else {}, scenario=scenario
    )
]
REFUSED = [
    case
    for protocol in "ABC"
    for status in STATUSES
    for case in cases(
        protocol,
        DOCUMENTS[protocol] + STREAMS[protocol][:1],
        str(status),
        {"x-sim-status": str(status), **({"x-sim-retry-after": "7"} if status == 429 else {})},
        status=status,
    )
]
BROKEN = [
    case
    for protocol in "ABC"
    for cut in CUTS
    for case in cases(
        protocol,
        STREAMS[protocol] + (DOCUMENTS[protocol] if cut != "after=3" else []),
        f"cut-{cut}",
        {"x-sim-cut": cut},
        cut=cut,
    )
]


class Round:
    """All calls, made; their entries in the simulator's journal, and their lines."""

    def __init__(self, made: dict[str, Made], seen: dict[str, dict[str, Any]], lines: dict[str, Record]) -> None:
        self._made = made
        self._seen = seen
        self._lines = lines

    def of(self, case: Case) -> tuple[Made, dict[str, Any], Record]:
        """What came of a call, what the simulator gave for it, and its line."""
        made = made_of(self._made, case.call)
        entry = self._seen[made.mark]
        return made, entry, self._lines[own_id(entry)]


def own_id(entry: Mapping[str, Any]) -> str:
    """The gateway's id of a request, as the upstream saw it."""
    return str(dict(entry["headers"])["x-request-id"])


@pytest.fixture(scope="module")
def made(stack_as_reported: Stack, sdks: Sdks) -> Round:
    stack, gateway = stack_as_reported, Gateway(stack_as_reported)
    lines = Ledger(stack.access_log).skip()
    calls = [case.call for case in USED + REFUSED + BROKEN]
    made = sdks.make(stack.base_url, lambda mark: {"x-sim-marker": f"usage-{mark}"}, calls)
    seen = {}
    for each in made.values():
        entries = gateway.seen(f"usage-{each.mark}")
        assert len(entries) == 1, f"{each.where}: {len(entries)} requests, {each.told}"
        seen[each.mark] = entries[0]
    return Round(made, seen, lines.of_requests(map(own_id, seen.values())))


def table(wanted: list[Case]) -> list[Any]:
    return [pytest.param(case, id=str(case.call)) for case in wanted]


@pytest.mark.parametrize("case", table(USED))
def test_the_numbers_agree_three_times(case: Case, made: Round) -> None:
    """What the simulator issued, what the SDK reports, what the ledger says."""
    each, entry, line = made.of(case)
    outcome, status = PARTIAL.get(case.scenario, ("finished", "complete"))
    if case.scenario == "no-usage" and case.call.call.startswith("images"):
        status = "complete"  # models that are paid by the image report no tokens
    if case.scenario == "error" and case.call.call.startswith("images") and not case.streams:
        status = "failed"  # an error in the place of an answer
    if case.scenario == "no-end" and case.call.call == "chat_stream":
        outcome, status = "finished", "complete"  # only `[DONE]` is missing, behind reason and report
    judge(each.where, line, {"trilane.outcome": outcome, "trilane.usage.status": status})
    judge(each.where, line, members(entry["issued"] if case.scenario != "torn" or case.streams else None))
    assert ("error.type" in line) == (outcome == "error_event"), f"{each.where}: {line}"
    if case.scenario == "no-usage":
        assert not each.raised and not flat(each.usage), f"{each.where}: {each.told}"
        assert "trilane.usage.reported" not in line, each.where
    elif status == "complete":
        assert not each.raised, f"{each.where}: {each.told}"
        if case.call.call != "messages_stream":
            assert flat(each.usage) == line["trilane.usage.reported"], each.where
        if case.call.call.startswith("images"):
            assert each.told["images"] == line["trilane.usage.images"], each.where
        if "request_id" in each.told:
            assert each.told["request_id"] == line["trilane.upstream_request_id"], each.where
    elif each.usage is not None:
        assert flat(each.usage) == line.get("trilane.usage.reported", {}), f"{each.where}: {each.told}"
    if case.scenario == "error" and not case.call.call.startswith("responses"):
        told = each.raised
        words = {told.get("type"), told.get("code"), told.get("status")}
        assert told and (line["error.type"] in words or line["error.type"] in told["text"]), f"{each.where}: {told}"


@pytest.mark.parametrize("case", table(REFUSED))
def test_an_error_of_the_upstream(case: Case, made: Round) -> None:
    each, _, line = made.of(case)
    if case.status in OURS:
        judge_ours(each, case.protocol, case.status)
        code = OURS[case.status][1]
        judge(each.where, line, {"trilane.outcome": "upstream_failed", "error.type": code})
        judge(each.where, line, {"trilane.usage.status": "failed", "trilane.upstream_status": case.status})
        return
    told = each.raised
    assert told.get("class") == error_class(case.protocol, case.status, case.call.sdk.where), f"{each.where}: {told}"
    assert told["status"] == case.status, f"{each.where}: {told}"
    judge(each.where, line, {"trilane.outcome": "upstream_error", "trilane.usage.status": "failed"})
    assert line["http.response.status_code"] == case.status, each.where
    if told.get("headers"):
        assert told["headers"].get("retry-after") == ("7" if case.status == 429 else None), f"{each.where}: {told}"
        assert told["headers"]["x-request-id"] == line["trilane.upstream_request_id"], each.where
    if case.protocol == "B":
        assert told["request_id"] == line["trilane.upstream_request_id"], f"{each.where}: {told}"


@pytest.mark.parametrize("case", table(BROKEN))
def test_a_reset_of_the_upstream(case: Case, made: Round) -> None:
    """Before the head it is an answer of ours; in the middle the stream breaks, and never looks whole."""
    each, entry, line = made.of(case)
    if case.cut == "head":
        judge_ours(each, case.protocol, NO_ANSWER)
        judge(each.where, line, {"trilane.outcome": "upstream_failed", "trilane.usage.status": "failed"})
        assert "reset" in line["trilane.upstream_failure"], f"{each.where}: {line}"
        return
    assert each.raised, f"{each.where}: {each.told}"
    # Nothing was written yet.
    empty = {"body": ("chat", "responses", "messages"), "after=3": ("responses", "messages")}
    began = case.streams and case.call.call.startswith(empty[case.cut or ""])
    status = "failed" if began else "partial"
    judge(each.where, line, {"trilane.outcome": "upstream_reset", "trilane.usage.status": status})
    if case.streams and not began:
        judge(each.where, line, members(entry["issued"]))
        return
    if began:
        return
    # Half a document may have shown some of its numbers. They are charged, so none may be more than in the whole.
    whole = dict(pair.split("=") for pair in TEXT_USAGE.split(","))
    cached = ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_creation.input_tokens")
    plain = line.get("gen_ai.usage.input_tokens", 0) - sum(line.get(name, 0) for name in cached)
    most = int(whole["input"]) + int(whole["tool_use"])
    assert plain <= most, f"{each.where}: {plain} tokens of plain input, of {most}: charged as if nothing was cached"


def members(issued: Optional[Mapping[str, int]]) -> dict[str, Optional[int]]:
    """What the line must say of the usage that the simulator issued."""
    if issued is None:
        return {"gen_ai.usage.input_tokens": None, "gen_ai.usage.output_tokens": None, "trilane.charge": None}
    known = {name: issued.get(name, 0) for name in issued}
    reads, short, long = known["cache_read"], known["cache_write_5m"], known["cache_write_1h"]
    whole = known["input"] + known["input_image"] + reads + short + long + known["tool_use"]
    return {
        "gen_ai.usage.input_tokens": whole,
        "gen_ai.usage.output_tokens": known["output"] + known["reasoning"],
        "gen_ai.usage.cache_read.input_tokens": reads or None,
        "gen_ai.usage.cache_creation.input_tokens": short + long or None,
        "trilane.usage.cache_creation_5m.input_tokens": short or None,
        "trilane.usage.cache_creation_1h.input_tokens": long or None,
        "trilane.usage.tool_use.input_tokens": known["tool_use"] or None,
        "trilane.usage.image.input_tokens": known["input_image"] or None,
        "gen_ai.usage.reasoning.output_tokens": known["reasoning"] or None,
        "trilane.usage.images": known["images"] or None,
    }
