"""Whether many keys cost more than few: the smallest request, with another key each time."""

from __future__ import annotations

import sys
import time
from typing import Optional

from cases import keys_case
from contestants import DOCUMENT_LIMIT, Contestant, document, key
from house import House, ask
from stack import StackError


def run(house: House) -> None:
    """Trilane and Envoy's own filters with each number of keys, compared with trilane with few."""
    case = keys_case()
    if not house.wanted(case.name):
        return
    crowd: list[Contestant] = []
    for number in house.options.keys:
        for kind in ("trilane", "native"):
            why = _not_tried(kind, number) or _join(house, crowd, kind, number)
            if why:
                house.results.not_measured.append({"what": f"{kind}, {number} keys", "why": why})
    house.rounds.case(case, [house.contestant("trilane"), house.contestant("native"), *crowd], "trilane")
    for made in crowd:
        house.stop(made)


def _not_tried(kind: str, keys: int) -> Optional[str]:
    """Why it is not even tried, if so."""
    # A key is of one length, but for the digits of its id.
    size = (len(document(2000)) - len(document(1000))) * keys // 1000
    if size <= DOCUMENT_LIMIT:
        return None
    if kind == "native":
        return "each key is a part of Envoy's configuration itself, which is not made for so many"
    return f"its document would have {size / 1e6:.0f} MB, and envoy.yaml serves {DOCUMENT_LIMIT / 1e6:.0f} MB at most: so many come by a feed"


def _join(house: House, crowd: list[Contestant], kind: str, keys: int) -> Optional[str]:
    """Starts it, if it starts; else says why not."""
    began = time.monotonic()
    made = house.make(kind, keys=keys)
    try:
        house.start(made, timeout=60 + keys / 10_000)
    except StackError as error:
        return str(error).splitlines()[0]
    if ask(made, "/v1/models", key(keys - 1))[0] != 200:
        house.stop(made)
        return "the last key is not known"
    print(f"{made.title}: ready after {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
    crowd.append(made)
    return None
