"""Calls of the official Python SDKs, made on order: `python sdk_calls openai|anthropic|genai`.

The tests run this with the interpreter whose environment holds the generation of SDKs in question. Orders come
as lines of JSON on standard input, `{"call", "base_url", "key", "model", "headers", "body", "retries", …}`;
each is answered with one line, `{"value": …}` or `{"error": …}`. The Node SDKs are driven by `node/` with the
same orders, so one table of expectations holds for all.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any

from order import Order


def answer(calls: Any, order: Order) -> dict[str, Any]:
    """What the SDK gave back, or raised, and how long that took."""
    started = time.monotonic()
    try:
        told = {"value": calls.CALLS[order.call](order)}
    except calls.ERROR as error:
        bases = [base.__name__ for base in type(error).__mro__]
        told = {"error": {"class": type(error).__name__, "bases": bases, "text": str(error), **calls.facts(error)}}
    return {**told, "seconds": time.monotonic() - started}


def main() -> None:
    calls = importlib.import_module(f"{sys.argv[1]}_calls")
    # Nothing but answers may go to standard output.
    out, sys.stdout = sys.stdout, sys.stderr
    print(json.dumps({"version": calls.VERSION}), file=out, flush=True)
    for line in sys.stdin:
        try:
            told = answer(calls, Order(**json.loads(line)))
        except Exception as error:  # the SDK itself failed: the test shall say how
            told = {"failed": repr(error)}
        print(json.dumps(told, default=str), file=out, flush=True)


main()
