"""Tiny random models of what transformers knows, through scoring and writing (perf/architectures.py)."""

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "architectures.md"
MOST = 170


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "writing"),
    [
        ("lfm2", "transformers makes"),
        ("recurrent_gemma", "no cache"),  # beyond its window
        pytest.param("llama4_text", "keys and values", marks=SLOW),  # beyond its chunk
        pytest.param("qwen3_next", "transformers makes", marks=SLOW),
        pytest.param("falcon_h1", "transformers makes", marks=SLOW),
        pytest.param("nemotron_h", "no cache", marks=SLOW),  # its own cache answers otherwise
    ],
)
def test_texts_and_likelihoods_are_those_of_plain_passes(architectures: Any, name: str, writing: str) -> None:
    row = architectures.measured(name)
    assert row.is_right and row.equal == (4, 4) and writing in row.writing, row


@pytest.mark.slow
def test_every_architecture_is_right_or_refused(architectures: Any) -> None:
    rows = list(architectures.measured_all())
    assert [row for row in rows if not row.is_right] == []
    assert len(rows) >= MOST
    assert sum(row.off is not None for row in rows) >= 160  # few are refused
    assert sum(row.equal is not None for row in rows) >= 160


def test_the_page_tells_of_many_and_of_nothing_wrong() -> None:
    rows = re.findall(
        r"^\| ([\w-]+) \| (.+) \| (.*) \| (.+) \| (.*) \| .*\|$", PAGE.read_text(encoding="utf-8"), re.M
    )
    assert len(rows) >= MOST
    for name, scoring, off, writing, equal in rows:
        assert scoring.startswith("refused") or float(off) < 1e-3, name
        assert writing.startswith("refused") or equal == "4 of 4", name
