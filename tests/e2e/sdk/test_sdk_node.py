"""The Node SDKs of today, unmodified: `openai`, `@anthropic-ai/sdk`, `@google/genai`.

They are held to the tables of the Python SDKs, as far as they can be told to make the same requests.
"""

from __future__ import annotations

import pytest
from e2e.sdk import test_sdk_anthropic
from e2e.sdk import test_sdk_genai
from e2e.sdk import test_sdk_openai
from e2e.sdk.sdk_support import Bench, Case, Sdk, table


MODULES = [test_sdk_openai, test_sdk_anthropic, test_sdk_genai]


CALLS = [param for module in MODULES for param in table([module.NODE], module.CALLS)]
#: Without those that need a field of the body beside what the call itself sends.
ERRORS = [
    param for module in MODULES for param in table([module.NODE], [case for case in module.ERRORS if not case.body])
]


@pytest.mark.parametrize("sdk, case", CALLS)
def test_call(sdk: Sdk, case: Case, bench: Bench) -> None:
    bench.check(sdk, case)


@pytest.mark.parametrize("sdk, case", ERRORS)
def test_error(sdk: Sdk, case: Case, bench: Bench) -> None:
    bench.check(sdk, case)
