"""One console with data, and one browser, for all tests of the pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from e2e.browser.chromium import Browsers, browsers
from e2e.browser.seeded import SeededConsole, seeded


@pytest.fixture(scope="package", name="site")
def site_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeededConsole]:
    with seeded(tmp_path_factory.mktemp("console")) as console:
        yield console


@pytest.fixture(scope="package", name="chromium")
def chromium_fixture() -> Iterator[Browsers]:
    with browsers() as started:
        yield started
