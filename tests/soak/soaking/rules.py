"""What one record may say, given what the client did and saw and what the upstream issued."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Optional

from .documents import CURRENCY, KINDS, TOKENS, charge, key_id, multipliers
from .draw import drawn
from .estimates import reported, wrong_estimates
from .limited import refused_by, spent
from .limits import refusing
from .seen import Seen
from .shapes import Plan
from .sources import Entry
from .tries import failed_tries, tried

#: So long after its publication the last document may still decide, in seconds: the loader asks twice a second.
SETTLING = 8.0
#: Plain notation without needless zeros.
AMOUNT = re.compile(r"(0|[1-9]\d*)(\.\d*[1-9])?")
#: What refusals the client gets.
REFUSED = {"key": 401, "no key": 401, "model": 404, "body": 400, "path": 404, "method": 405}

_PARTS = {
    "input_image": "trilane.usage.image.input_tokens",
    "cache_read": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_5m": "trilane.usage.cache_creation_5m.input_tokens",
    "cache_write_1h": "trilane.usage.cache_creation_1h.input_tokens",
    "tool_use": "trilane.usage.tool_use.input_tokens",
}


def usage_of(line: Mapping[str, Any]) -> Optional[dict[str, int]]:
    """The record's usage, by kinds that do not overlap; `None` where it has none."""
    if "gen_ai.usage.input_tokens" not in line:
        return None
    usage = {kind: line.get(name, 0) for kind, name in _PARTS.items()}
    usage["input"] = line["gen_ai.usage.input_tokens"] - sum(usage.values())
    usage["reasoning"] = line.get("gen_ai.usage.reasoning.output_tokens", 0)
    usage["output"] = line["gen_ai.usage.output_tokens"] - usage["reasoning"]
    usage["images"] = line.get("trilane.usage.images", 0)
    return usage


def violations(
    plan: Plan, seen: Seen, entries: Sequence[Entry], line: Mapping[str, Any], versions: Sequence[tuple[float, int]]
) -> tuple[list[str], Optional[int], Optional[Decimal]]:
    """What is wrong with this record; the version of the document that it was made by; its charge."""
    wrong: list[str] = []
    # The last request that came to the upstream. Those before it were tries that failed, and cost nothing.
    entry = entries[-1] if entries else None
    outcome, status = line.get("trilane.outcome"), line.get("trilane.usage.status")
    if seen.trouble:
        wrong.append(seen.trouble)
    if seen.status and seen.status != line["http.response.status_code"]:
        wrong.append(f"the client saw {seen.status}")
    if seen.complete and outcome in ("upstream_reset", "timeout"):
        wrong.append("the client took it for whole")
    if plan.ending == "refused" and seen.status != REFUSED.get(plan.detail, seen.status):
        wrong.append(f"{seen.status} is no answer to a wrong {plan.detail}")
    if outcome is None:
        if plan.ending != "refused by Envoy":
            wrong.append("the filter has no record")
        return wrong, None, None
    allowed = endings(plan, seen, entry, _unanswered(line))
    if "trilane.limit" in line:
        wrong += _limited(plan, seen, entries, line)
        allowed = {("refused", "none")}
    wrong += tried(plan, entries, line) + spent(line)
    if (outcome, status) not in allowed:
        wrong.append(f"{outcome}/{status} instead of {' or '.join(map('/'.join, sorted(allowed)))}")
    issued = entry.issued if entry else None
    usage = usage_of(line)
    wrong += _usage(plan, seen, issued, usage, line)
    wrong += _identity(plan, seen, entry, line)
    version, computed, more = _money(plan, seen, usage, line, versions)
    return wrong + more, version, computed


def _limited(plan: Plan, seen: Seen, entries: Sequence[Entry], line: Mapping[str, Any]) -> list[str]:
    """What is wrong with a refusal by a limit."""
    by = refused_by(line)
    wrong = []
    if by not in refusing(plan.key) or plan.ending in ("refused", "list", "slot is free"):
        wrong.append(f"refused by {by}")
    if line["http.response.status_code"] != 429 or (seen.status and seen.error != line.get("error.type")):
        wrong.append(f"refused by {by} with {seen.status} {seen.error!r}")
    if entries or line.get("upstream"):
        wrong.append(f"refused by {by}, and sent upstream")
    return wrong


def _unanswered(line: Mapping[str, Any]) -> bool:
    """Whether the last account that was asked gave no answer of its own."""
    failed = failed_tries(line)
    return bool(failed) and len(failed) == line.get("trilane.tries") and bool(failed[-1].get("reason"))


def endings(plan: Plan, seen: Seen, entry: Optional[Entry], unanswered: bool) -> set[tuple[str, str]]:
    """The outcomes that this ending may have, each with how good its numbers are."""
    told = plan.told if plan.told is not None else bool(entry and entry.issued)
    finished = ("finished", "complete" if told else "estimated")
    answered = 200 <= seen.status < 300
    ending, detail = plan.ending, plan.detail
    if ending in ("finished", "client leaves after end", "account fails", "account hangs", "slot is free"):
        return {finished}
    if ending == "client leaves in request":
        return {("client_abort", "estimated" if plan.sends_all() else "none")}
    if ending == "client leaves before answer":
        return {("client_abort", "estimated"), ("client_abort", "none")}
    if ending == "client leaves in answer":
        return {finished} if seen.complete else {finished, ("client_abort", "estimated")}
    if ending in ("source cuts before head", "source cuts in answer"):
        # A reset right behind the head may overtake it.
        return _broken_off("upstream_reset", seen) if answered else {("upstream_failed", "failed")}
    if ending == "source stalls":
        return _broken_off("timeout", seen) if answered else {("upstream_failed", "failed")}
    if ending == "source says error":
        # An error in the place of an answer costs nothing.
        return {("error_event", "estimated"), ("error_event", "failed")}
    if ending == "source ends early":
        return _broken_off("truncated", seen)
    if ending == "source tells nothing":
        return {finished}
    if ending == "source status":
        if unanswered:
            return {("upstream_failed", "failed")}
        return {("upstream_failed" if detail in ("401", "403") else "upstream_error", "failed")}
    if ending in ("refused", "refused late"):
        return {("refused", "none")}
    if ending == "list":
        return {("answered", "none")}
    return {("finished", "none")}


def _broken_off(outcome: str, seen: Seen) -> set[tuple[str, str]]:
    """How good the numbers are of an answer that its source broke off: what has nothing of an answer in it costs nothing."""
    statuses = ["estimated"] if seen.has_answer() else ["estimated", "failed"]
    return {(outcome, status) for status in statuses}


def _usage(
    plan: Plan,
    seen: Seen,
    issued: Optional[Mapping[str, int]],
    usage: Optional[Mapping[str, int]],
    line: Mapping[str, Any],
) -> list[str]:
    status = line["trilane.usage.status"]
    if status in ("none", "failed"):
        return [f"usage in a record that is {status}"] if usage else []
    if usage is not None:
        wrong = wrong_estimates(plan, seen, usage, line)
        if wrong:
            return wrong
        usage = reported(usage, line)
        usage = usage if any(usage.values()) or status == "complete" else None
    halved = ("source ends early", "source cuts in answer")
    whole = plan.events or not (plan.leaves or plan.ending in halved)
    if status == "complete" or (seen.complete and whole):
        # All that was issued has passed the meter.
        if usage is None or issued is None:
            return [] if usage is None and issued is None and status != "complete" else [f"{issued} was issued"]
        wrong = [kind for kind in KINDS if issued[kind] != usage[kind]]
        return [f"{kind}: {issued[kind]} issued, {usage[kind]} recorded" for kind in wrong]
    if usage is None:
        return []
    if plan.events:
        most = issued or dict.fromkeys(KINDS, 0)
        wrong = [kind for kind in KINDS if usage[kind] > most[kind]]
        return [f"{kind}: {most[kind]} issued, {usage[kind]} recorded" for kind in wrong]
    # Half of a JSON answer may show totals and not their parts.
    full = drawn(plan.marker)
    over = []
    for side in ("input", "output"):
        kinds = [kind for kind in TOKENS if (kind in ("output", "reasoning")) == (side == "output")]
        most, has = sum(full[kind] for kind in kinds), sum(usage[kind] for kind in kinds)
        if has > most:
            over.append(f"{side}: {most} drawn, {has} recorded")
    return over


def _identity(plan: Plan, seen: Seen, entry: Optional[Entry], line: Mapping[str, Any]) -> list[str]:
    want: dict[str, Any] = {"http.request.method": plan.method, "url.path": plan.path.partition("?")[0]}
    if seen.error and line["trilane.outcome"] in ("refused", "upstream_failed"):
        want["error.type"] = seen.error
    if entry and entry.status and "trilane.upstream_request_id" in line:
        want["trilane.upstream_request_id"] = f"sim-{entry.number}"
    if plan.endpoint and plan.ending not in ("client leaves in request", "refused", "refused late"):
        source, _ = multipliers(plan.group, plan.protocol)
        want |= {
            "trilane.endpoint": plan.endpoint,
            "trilane.protocol": plan.protocol,
            "trilane.key.id": key_id(plan.key),
            "trilane.group": plan.group,
        }
        # A client that leaves soon may not have been heard out.
        if "trilane.limit" in line:
            # Refused before all of the body was there.
            want |= {"trilane.source": source, "trilane.model": plan.model}
        elif plan.ending != "client leaves before answer" or "trilane.model" in line:
            want |= {"trilane.source": source, "trilane.model": plan.model, "http.request.body.size": plan.inflated}
            if plan.form:
                want["trilane.stream"] = plan.stream
    if plan.form and seen.complete and line["trilane.outcome"] not in ("refused", "upstream_failed"):
        want["http.response.body.size"] = seen.size
    return [f"{name}: {value!r} expected" for name, value in want.items() if line.get(name) != value]


def _money(
    plan: Plan,
    seen: Seen,
    usage: Optional[Mapping[str, int]],
    line: Mapping[str, Any],
    versions: Sequence[tuple[float, int]],
) -> tuple[Optional[int], Optional[Decimal], list[str]]:
    written = line.get("trilane.multiplier")
    if written is None:
        return None, None, ["a charge without a multiplier"] if "trilane.charge" in line else []
    _, known = multipliers(line["trilane.group"], line["trilane.protocol"])
    version = known.get(written)
    if version is None:
        return None, None, [f"no document has the multiplier {written}"]
    wrong = []
    ends = [*(at for at, _ in versions[1:]), float("inf")]
    if not any(
        at <= seen.ended and end + SETTLING >= seen.began and was == version for (at, was), end in zip(versions, ends)
    ):
        wrong.append(f"document {version} was not in force")
    amount = line.get("trilane.charge")
    computed = None
    if usage is not None and line.get("trilane.model"):
        computed = charge(version, line["trilane.group"], line["trilane.protocol"], line["trilane.model"], usage)
    if computed is None:
        return version, None, wrong + ([f"a charge of {amount}"] if amount is not None else [])
    if amount is None or not AMOUNT.fullmatch(amount) or Decimal(amount) != computed:
        wrong.append(f"charge {amount} instead of {computed.normalize():f}")
    if line.get("trilane.currency") != CURRENCY:
        wrong.append("no currency")
    return version, computed, wrong
