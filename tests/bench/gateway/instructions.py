"""Instructions of a request in Envoy itself: the same on a busy machine as on a quiet one, where times differ.

Counted is the thread that serves requests, without what the kernel does for it. Contestants run one after the other, each
by itself, and get their requests one at a time.
"""

from __future__ import annotations

import http.client
import statistics
import sys

from callgrind import Callgrind
from cases import Case, all_cases
from contestants import KINDS, Contestant, contestant
from driving import Call
from house import House
from results import Table
from stack import StackError
from valgrind import Unavailable, find

#: The name of the table, and of the case on the command line.
NAME = "instructions"
#: Who is counted.
COUNTED = ("bare", "retrying", "plain", "noop", "floor", "trilane", "unjudged", "accounts")
#: Case -> requests of one count. Long bodies take longer, and are more of them than what differs from one to the next.
CASES = {"1k-first": 200, "100k-first": 100, "1m-first": 40, "sse-unpaced": 100, "list": 200, "rejected": 200}
#: Of how many counts a figure is the median.
COUNTS = 3
#: Seconds of load before, of each case, in which V8 compiles what is hot: a thousand requests of 1 KB, and no count changes after 700.
WARM, WARM_SHORT = 3.0, 0.5
#: Seconds that a start may take under valgrind, and an answer.
START, ANSWER = 300.0, 60.0

COLUMNS = ["case", *COUNTED]
NOTE = (
    "Thousand instructions of the worker's thread for one request over one connection that is kept, without the kernel:"
    f" medians of {COUNTS} counts under callgrind. The copying of bodies is in it, 32 bytes at a time."
)


def run(house: House) -> None:
    """A row for each case."""
    if not house.wanted(NAME):
        return
    try:
        valgrind = find()
    except Unavailable as reason:
        house.results.not_measured.append({"what": NAME, "why": str(reason)})
        return
    cases = [case for case in all_cases() if case.name in CASES]
    rows: dict[str, list[object]] = {case.name: [case.name] for case in cases}
    for kind in COUNTED:
        print(f"instructions: {KINDS[kind][1]}", file=sys.stderr, flush=True)
        directory = house.run_dir / NAME / kind
        made = contestant(kind, directory, house.source, house.cores, house.answers())
        callgrind = Callgrind(valgrind, directory)
        made.under = callgrind.command
        made.start(timeout=START)
        try:
            for case in cases:
                house.drive(
                    made,
                    case.call_to(made),
                    connections=case.connections,
                    seconds=WARM_SHORT if house.options.short else WARM,
                    warmup=0,
                )
            with callgrind.counting(made.pid):
                for case in cases:
                    rows[case.name].append(counted(made, callgrind, case, 1 if house.options.short else COUNTS))
        finally:
            made.stop()
    house.results.tables[NAME] = Table("Instructions of a request", COLUMNS, list(rows.values()), NOTE)


def counted(made: Contestant, callgrind: Callgrind, case: Case, counts: int) -> float:
    """Thousand instructions of one request of this case."""
    requests = CASES[case.name]
    call = case.call_to(made)
    send(made, call, requests)
    found = []
    for _ in range(counts):
        callgrind.begin(made.pid)
        send(made, call, requests)
        found.append(callgrind.busiest(made.pid) / requests / 1000)
    made.forget_log()
    return statistics.median(found)


def send(made: Contestant, call: Call, requests: int) -> None:
    """So many requests, each when the one before is answered."""
    host, _, port = made.address.rpartition(":")
    headers = dict(header.replace("#", "0").split(": ", 1) for header in call.sent_headers())
    if call.body is not None:
        headers["content-type"] = "application/json"
    connection = http.client.HTTPConnection(host, int(port), timeout=ANSWER)
    try:
        for _ in range(requests):
            connection.request("GET" if call.body is None else "POST", call.path, body=call.body, headers=headers)
            answer = connection.getresponse()
            said = answer.read()
            if answer.status != call.expect:
                raise StackError(f"{made.title} answered {answer.status}: {said[:200]!r}")
    finally:
        connection.close()
