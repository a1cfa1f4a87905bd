"""What a request costs each of the contestants, case by case."""

from __future__ import annotations

from cases import all_cases, credential_case, ejected_case, ledger_file_case, retry_cases
from house import House


def run(house: House) -> None:
    """All cases that compare everybody with bare Envoy, one with the ledger in a file, and what the credential alone costs."""
    cases = [case for case in all_cases() if house.wanted(case.name)]
    if cases:
        contestants = house.lineup()
        house.rounds.warm([case for case in cases if not case.paced], contestants)
        for case in cases:
            house.rounds.case(case, contestants, "trilane")
    case = ledger_file_case()
    if house.wanted(case.name):
        names = ("bare-file", "plain", "trilane-file")
        bare, plain, trilane = (house.contestant(name) for name in names)
        house.rounds.warm([case], [bare, plain, trilane])
        house.rounds.case(case, [bare, plain, trilane], trilane.name)
        house.stop(bare)
        house.stop(trilane)
    retried = [case for case in retry_cases() if house.wanted(case.name)]
    if retried:
        bare, retrying = house.contestant("bare"), house.contestant("retrying")
        house.rounds.warm(retried, [retrying])
        for case in retried:
            house.rounds.case(case, [bare, retrying], "bare")
        house.stop(retrying)
    case = ejected_case()
    if house.wanted(case.name):
        bare, accounts, ejected = (house.contestant(name) for name in ("bare", "accounts", "ejected"))
        house.rounds.warm([case], [accounts, ejected])
        house.rounds.case(case, [bare, accounts, ejected], "accounts")
        house.stop(ejected)
    case = credential_case()
    if house.wanted(case.name):
        without, bare = house.contestant("uncredentialed"), house.contestant("bare")
        house.rounds.case(case, [without, bare], "bare")
        house.stop(without)
