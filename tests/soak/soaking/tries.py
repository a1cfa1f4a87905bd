"""What a record says of the accounts that were asked, given what those have seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .accounts import Account, kind_of
from .documents import ACCOUNTS, source_of
from .shapes import Plan
from .sources import Entry

#: Envoy's words for a connection that nobody took: of a try behind the account hop, and of a first one, sent directly.
REFUSED = ("remote_connection_failure", "delayed connect error")
#: Failures that the soak has no cause for.
UNCAUSED = ("redirected", "tls", "no_host", "no_time", "request")
#: Those that are told by the account's answer.
BY_STATUS = ("rate_limited", "overloaded", "server_error", "unauthorized")
Line = Mapping[str, Any]


def failed_tries(line: Line) -> list[dict[str, Any]]:
    """The tries that the record calls failed."""
    return line.get("trilane.tries.failed", [])


def reached(line: Line) -> int:
    """How many requests the upstream must have seen."""
    if line.get("trilane.source") not in ACCOUNTS:
        return 1 if line.get("upstream") else 0
    tries = int(line.get("trilane.tries", 0))
    return tries - sum(not _was_sent(failed) for failed in failed_tries(line))


def _was_sent(failed: Mapping[str, Any]) -> bool:
    reason = failed.get("reason", "")
    return failed["kind"] not in ("no_credential", "no_host", "no_time") and not any(words in reason for words in REFUSED)


def outcomes(line: Line) -> list[tuple[str, str]]:
    """Each of its tries whose end is known, as the metrics have it: account and outcome."""
    found = [(failed["account"], failed["kind"]) for failed in failed_tries(line)]
    status = line["http.response.status_code"]
    ours = line.get("trilane.outcome") in ("refused", "upstream_failed", "answered")
    if "trilane.account" in line and status and not ours and kind_of(status) == "answered":
        found.append((line["trilane.account"], "answered"))
    return found


def credential(plan: Plan, entry: Entry) -> list[str]:
    """What is wrong with the credential that a request came with."""
    listed = ACCOUNTS.get(source_of(plan.group, plan.protocol), {}) if plan.group else {}
    right = [account.credential for account in listed.values() if account.listener == entry.listener]
    if list(entry.credentials) == right:
        return []
    return [f"came to {entry.listener} with {list(entry.credentials)} instead of {right}"]


def tried(plan: Plan, entries: Sequence[Entry], line: Line) -> list[str]:
    """What is wrong with the record's tries."""
    source = line.get("trilane.source")
    listed = ACCOUNTS.get(source or "", {})
    failed, last = failed_tries(line), line.get("trilane.account")
    tries = line.get("trilane.tries", 0)
    if not listed:
        told = [name for name in ("trilane.account", "trilane.tries", "trilane.tries.failed") if name in line]
        wrong = [f"{told} of a source without accounts"] if told else []
        return wrong + [f"asked again: {entry}" for entry in entries[1:]]
    if not tries:
        return [f"no try, but {failed}, {last}, {len(entries)} requests"] if failed or last or entries else []
    if last not in listed:
        return [f"asked {last}, which {source} does not have"]
    if len(listed) == 1:
        return _only(entries, tries, failed, line)
    wrong = [text for each in failed for text in _fault(each, listed)]
    if wrong:
        return wrong
    rest = list(entries)
    for each in failed:
        if _was_sent(each):
            if not rest:
                return [f"the account never saw the try {each}"]
            wrong += _differs(each, rest.pop(0), listed)
    if tries == len(failed):
        # All failed, the last one told last.
        if rest or failed[-1]["account"] != last:
            wrong.append(f"{last} and {len(rest)} requests after {tries} failed tries")
    elif tries == len(failed) + 1:
        at = [entry.listener for entry in rest]
        if at != [listed[last].listener] and (at or not _may_be_unseen(line)):
            wrong.append(f"the last try, at {last}, was seen by {at}")
    else:
        wrong.append(f"{len(failed)} of {tries} tries failed")
    return wrong


def _may_be_unseen(line: Line) -> bool:
    # The client left, or was refused, before anything of its request had come so far.
    return line["trilane.outcome"] in ("client_abort", "refused")


def _only(entries: Sequence[Entry], tries: int, failed: Sequence[Mapping[str, Any]], line: Line) -> list[str]:
    """An only account is asked again when the connection broke. Only the last try is told."""
    seen = len(entries)
    if len(failed) > 1 or not (seen == tries or (seen == tries - 1 and _may_be_unseen(line))):
        return [f"{tries} tries, {len(failed)} failed, {seen} seen"]
    cut = [entry for entry in entries[:-1] if entry.status is not None or kind_of(entry.status) != "answered"]
    return [f"asked again after {entry}" for entry in cut]


def _fault(failed: Mapping[str, Any], listed: Mapping[str, Account]) -> list[str]:
    """Failures that cannot be."""
    account = listed.get(failed["account"])
    if account is None:
        return [f"no such account: {failed}"]
    impossible = (
        failed["kind"] in UNCAUSED
        or (failed["kind"] == "no_credential" and not account.lacks_credential)
        or (failed["kind"] == "connection" and not _was_sent(failed) and not account.refuses)
    )
    return [f"nothing makes a try fail so: {failed}"] if impossible else []


def _differs(failed: Mapping[str, Any], entry: Entry, listed: Mapping[str, Account]) -> list[str]:
    """Whether the account tells the same of a failed try."""
    wrong = []
    if entry.listener != listed[failed["account"]].listener:
        wrong.append(f"{failed} was seen by {entry.listener}")
    kind = failed["kind"]
    if kind in BY_STATUS:
        if (entry.status, kind_of(entry.status)) != (failed["status"], kind):
            wrong.append(f"{failed}: the account answered {entry.status}")
    elif entry.state == "answered":
        wrong.append(f"{failed}: the account answered, {entry.status}")
    elif kind == "no_answer" and not entry.stalls:
        wrong.append(f"{failed}: the account did not hang")
    return wrong
