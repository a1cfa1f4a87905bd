"""The tests of the limits service need a Redis, and say so where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis_server


@pytest.fixture(scope="module")
def redis_binary() -> Path:
    try:
        return redis_server.find()
    except redis_server.Unavailable as reason:
        pytest.skip(f"no redis-server: {reason}")
