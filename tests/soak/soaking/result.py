"""The result of a run: the sums of all sides against each other, and a table for people."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from stack import TARGET

from .books import zeros
from .documents import KINDS
from .metrics import unequal
from .tries import BY_STATUS
from .sources import get

if TYPE_CHECKING:
    from soak import Soak

#: Envoy may grow by so much after its first seconds, in MiB.
GROWTH = 150
#: A document that holds for so long must be seen in records, in seconds.
ENOUGH = 2.5
#: What Envoy and the filter's VM write when the filter dies.
DEATHS = re.compile(r"panicked|unreachable|proc_exit|wasm.*(?:crash|fail|terminat)|assert failure|Caught Signal", re.I)
#: The command that adds ledgers up for operators, where it is built.
COMMAND = TARGET / "release" / "trilane"


class Result:
    """What came of a run."""

    def __init__(self, run: Soak) -> None:
        self._run = run
        self._counts: dict[str, int] = {}
        self._command = f"not built ({COMMAND})"

    async def balance(self) -> None:
        """The sums of all sides."""
        run, books, tally = self._run, self._run.books, self._run.books.tally
        records = sum(tally.metrics["requests_total"].values())
        envoys = sum(count for (outcome, _), count in books.endings["refused by Envoy"].items() if outcome == "(Envoy)")
        counts = {
            "requests sent": books.sent,
            "records joined with their requests": books.settled,
            "ledger lines": tally.lines - books.before,
            "trilane_requests_total": sum(run.metrics["requests_total"].values()) - books.before + envoys,
            "trilane_usage_records_total": sum(run.metrics["usage_records_total"].values()) - books.before + envoys,
        }
        self._counts = {**counts, "of these refused by Envoy, not in the metrics": envoys}
        if len(set(counts.values())) != 1 or records != tally.lines - envoys:
            books.differ(f"counts differ: {self._counts}")
        for text in unequal(run.metrics, tally.metrics):
            books.differ(text)
        for kind in KINDS:
            if books.issued[kind] != books.recorded[kind]:
                books.differ(f"complete: {books.issued[kind]} {kind} issued, {books.recorded[kind]} recorded")
        if books.computed != books.charged:
            books.differ(f"complete: {books.charged} charged instead of {books.computed}")
        self._balance_accounts()
        await self._balance_upstream()
        await self._balance_command()
        ends = [*(at for at, _ in run.versions[1:]), run.loaded_until]
        long = {version for (at, version), end in zip(run.versions, ends) if end - at >= ENOUGH}
        if not long <= books.versions_seen:
            books.differ(f"documents {sorted(long - books.versions_seen)} never came into force")
        if run.ledger.files != 2:
            books.differ(f"the ledger was rotated once, into {run.ledger.files} files")
        log = run.stack.envoy_log.read_text(errors="replace")
        if found := DEATHS.search(log):
            books.differ(f"Envoy's log says {found.group()!r}")
        for error in run.died:
            books.differ(f"the soak itself: {error}")
        base = run.memory[min(2, len(run.memory) - 1)]
        if run.memory[-1] - base > GROWTH:
            books.differ(f"Envoy grew from {base:.0f} to {run.memory[-1]:.0f} MiB")

    def _balance_accounts(self) -> None:
        """Failures that accounts told of: as many as were counted."""
        counted = self._run.metrics["account_tries_total"]
        failed = {labels: count for labels, count in counted.items() if labels[-1] in BY_STATUS}
        for labels in sorted(failed.keys() | self._run.books.failed.keys()):
            if failed.get(labels, 0) != self._run.books.failed[labels]:
                told = self._run.books.failed[labels]
                self._run.books.differ(f"tries {labels}: {failed.get(labels, 0)} in the metrics, {told} at the account")

    async def _balance_upstream(self) -> None:
        run, books = self._run, self._run.books
        totals = json.loads(await get(f"{run.stack.sim_url}/_sim/totals"))
        if run.journal.missed or totals["requests"] != books.entries:
            books.differ(f"upstream: {totals['requests']} requests, {books.entries} read, {run.journal.missed} missed")
        if totals["issued"] != zeros(books.entries_issued):
            books.differ(f"upstream: {totals['issued']} issued in all, {zeros(books.entries_issued)} by request")

    async def _balance_command(self) -> None:
        """`trilane usage` over the same files, with code of its own."""
        if not COMMAND.exists():
            return
        run, tally = self._run, self._run.books.tally
        files = sorted(str(file) for file in run.ledger.path.parent.glob("ledger*.jsonl"))
        process = await asyncio.create_subprocess_exec(
            *(str(COMMAND), "usage", "--strict", "--by", "group", "--format", "json", *files),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, errors = await process.communicate()
        if process.returncode:
            run.books.differ(f"trilane usage: {errors.decode()}")
            return
        found = json.loads(output)
        total: dict[str, Any] = found["total"]
        tokens = tally.metrics["tokens_total"]
        summed = {
            kind: sum(count for labels, count in tokens.items() if labels[-1] == kind)
            for kind in (*KINDS, "output_image")
            if kind != "images"
        }
        summed["input"] += sum(summed[kind] for kind in KINDS[1:6])
        summed["output"] += summed["reasoning"] + summed["output_image"]
        summed["images"] = sum(tally.metrics["images_total"].values())
        summed["requests"] = tally.lines
        said = {name: total[name] for name in summed}
        estimated = Decimal(sum(tally.metrics["estimated_charge_nanos_total"].values())) / 10**9
        # Each of them was rounded to a nano for the metric.
        near = abs(Decimal(total["estimated_charge"]) - estimated) <= tally.lines * Decimal("1e-9")
        if said != summed or Decimal(total["charge"]) != tally.charge or not near:
            run.books.differ(f"trilane usage says {total}, the lines {summed} and {tally.charge}")
        self._command = f"{total['requests']} requests, charge {total['charge']}"

    def table(self) -> str:
        """What happened, for people."""
        run, books, tally = self._run, self._run.books, self._run.books.tally
        lines = [f"{'ending':31} {'outcome':16} {'usage':9} {'requests':>9}"]
        for ending, counts in sorted(books.endings.items()):
            for (outcome, status), count in sorted(counts.items()):
                lines.append(f"{ending:31} {outcome:16} {status:9} {count:9}")
        lines += ["", f"{'tokens':16} {'issued':>15} {'recorded':>15} {'all records':>15} {'metrics':>15}"]
        lines.append(f"{'':16} {'(complete)':>15} {'(complete)':>15}")
        for kind in KINDS:
            name = "images_total" if kind == "images" else "tokens_total"
            sums = [
                sum(count for labels, count in of[name].items() if kind == "images" or labels[-1] == kind)
                for of in (tally.metrics, run.metrics)
            ]
            lines.append(f"{kind:16} {books.issued[kind]:15} {books.recorded[kind]:15} {sums[0]:15} {sums[1]:15}")
        nanos = sum(run.metrics["charge_nanos_total"].values())
        lines += [
            "",
            f"charges of {books.complete} complete records: {books.charged} recorded, {books.computed} computed",
            f"charges of all records: {tally.charge}; {nanos} nanos in the metrics",
            *(f"{name}: {count}" for name, count in self._counts.items()),
            f"trilane usage: {self._command}",
            f"requests that reached the upstream: {books.entries}; told to hang, and hang there still: {run.journal.open}",
            "",
            *self._tries(),
            "",
            *self._limits(),
            "",
            f"documents published: {len(run.versions)}; ledger files: {run.ledger.files}",
            *self._connections(),
            f"Envoy's memory: {run.memory[0]:.0f} MiB at first, {max(run.memory):.0f} at most, "
            f"{run.memory[-1]:.0f} in the end",
            f"rate: {books.sent / run.seconds:.0f} requests a second over {run.seconds:.0f} s",
        ]
        return "\n".join(lines)

    def _tries(self) -> list[str]:
        """Tries at accounts, by source and outcome: in the metrics, in the ledger, and those that accounts told of."""
        books = self._run.books
        sums: list[Counter[tuple[str, str]]] = []
        for counts in (
            self._run.metrics["account_tries_total"],
            books.tally.metrics["account_tries_total"],
            books.failed,
        ):
            by_source: Counter[tuple[str, str]] = Counter()
            for (source, _, outcome), count in counts.items():
                by_source[source, outcome] += count
            sums.append(by_source)
        metrics, ledger, told = sums
        lines = [f"{'tries at accounts of':21} {'outcome':16} {'metrics':>9} {'ledger':>9} {'accounts':>9}"]
        for source, outcome in sorted(metrics):
            at = str(told[source, outcome]) if outcome in BY_STATUS else ""
            lines.append(f"{source:21} {outcome:16} {metrics[source, outcome]:9} {ledger[source, outcome]:9} {at:>9}")
        return lines

    def _limits(self) -> list[str]:
        """What limits refused: in the metrics, in the ledger, and as clients read it; and what is spent of budgets."""
        books = self._run.books
        metrics, ledger = (of["limited_total"] for of in (self._run.metrics, books.tally.metrics))
        lines = [f"{'refused by limits of':21} {'limit':20} {'scope':5} {'metrics':>9} {'ledger':>9}"]
        for group, limit, scope in sorted(metrics):
            labels = group, limit, scope
            lines.append(f"{group:21} {limit:20} {scope:5} {metrics[labels]:9} {ledger[labels]:9}")
        read = ", ".join(f"{count} {code}" for code, count in sorted(books.limited.read.items()))
        lines.append(f"of these read by clients: {read}; not read, the client had left: {books.limited.unread}")
        spending = books.tally.spending
        lines.append(f"{'spent by':21} {'told':>30} {'charged':>30}")
        for (scope, name), charged in sorted(spending.charged.items()):
            told = sum(spending.told[scope, name]["month"].values(), Decimal(0))
            lines.append(f"{scope} {name:{20 - len(scope)}} {told.normalize():30f} {charged.normalize():30f}")
        return lines

    def _connections(self) -> list[str]:
        by_name: dict[str, set[Any]] = {}
        for transport in self._run.transports:
            by_name.setdefault(type(transport).__name__, set()).add(transport)
        return [
            f"{name}: {sum(t.connections for t in of)} connections, "
            f"{sum(t.reused for t in of)} requests on one that was there"
            for name, of in by_name.items()
        ]
