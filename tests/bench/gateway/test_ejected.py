"""The contestant whose first account is ejected: it is, and requests are answered all the same."""

from __future__ import annotations

import argparse
import re
import urllib.request
from contextlib import ExitStack

from cases import ejected_case
from e2e.support import run_dir
from house import House
from results import Results

UNTIL = re.compile(r'^trilane_account_ejected_until_timestamp_seconds\{.*account="([^"]+)"\} (\d+)$', re.MULTILINE)


def test_the_first_account_is_ejected_and_no_request_fails() -> None:
    options = argparse.Namespace(out=str(run_dir("bench-ejected")), pairs=1, seconds=1.0, warmup=0.1, short=True, only=None, keys=None)
    with ExitStack() as stack:
        house, case = House(options, Results({}), stack), ejected_case()
        ejected = house.contestant("ejected")
        report = house.drive(ejected, case.call_to(ejected), connections=case.connections, seconds=2.0, warmup=0.1)
        assert report["statuses"].keys() == {"200"}, report
        with urllib.request.urlopen(f"{ejected.admin_url}/stats/prometheus") as metrics:
            until = dict(UNTIL.findall(metrics.read().decode()))
    assert (until["account-0"] != "0", until["account-1"]) == (True, "0"), until
