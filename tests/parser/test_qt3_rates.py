"""The W3C's test queries: valid ones parse, invalid ones are rejected."""

from __future__ import annotations

import pytest

from tests.parser.parse_rates import CASES, measure


@pytest.mark.skipif(not CASES.exists(), reason=f"the QT3 cases are not at {CASES}")
@pytest.mark.slow
def test_rates() -> None:
    valid, invalid = measure()
    assert valid.percent >= 99.5, "\n".join(valid.misses)
    assert invalid.percent >= 95, "\n".join(invalid.misses)
