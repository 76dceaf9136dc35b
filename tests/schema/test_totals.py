"""Counts of several sessions: their sums, whatever they count, and ratios that follow from the sums."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenhand.schema.totals import add_session

COUNTS = st.lists(
    st.tuples(st.integers(0, 1000), st.integers(0, 1000), st.integers(1, 50)), min_size=1, max_size=5
)


def described(tokens, seconds, steps):
    return {
        "device": "cpu",
        "generation": {
            "tokens_written": tokens,
            "seconds": float(seconds),
            "steps": steps,
            "peak_memory_bytes": tokens,
        },
        "service": {"asked_again": {"status 503": tokens}, "seconds": {"median": 0.5}, "answered": steps},
    }


@given(sessions=COUNTS)
def test_any_number_of_sessions_adds_up(sessions):
    total = {}
    nothing = described(0, 0, 0)
    for counts in sessions:
        total = add_session(total, nothing, described(*counts))
    tokens, seconds, steps = np.array(sessions).sum(axis=0)
    generation, service = total["generation"], total["service"]
    assert (generation["tokens_written"], generation["seconds"], generation["steps"]) == (
        tokens,
        seconds,
        steps,
    )
    assert generation["peak_memory_bytes"] == max(counts[0] for counts in sessions)
    assert service == {"asked_again": {"status 503": tokens}, "seconds": {"median": 0.5}, "answered": steps}
    assert total["device"] == "cpu"
    if seconds:
        assert generation["tokens_per_second"] == pytest.approx(tokens / seconds)


@given(sessions=COUNTS)
def test_one_object_that_counts_on_gives_its_own_total(sessions):
    total, start = {}, described(7, 7, 7)
    running = np.array([7, 7, 7])
    for counts in sessions:
        running = running + counts
        end = described(*map(int, running))
        total, start = add_session(total, start, end), end
    assert total["generation"]["tokens_written"] == running[0] - 7


def test_the_agreement_of_a_judge_is_that_of_all_texts():
    none = {"texts": 0, "self_agreement": None}
    first = add_session({}, none, {"texts": 30, "self_agreement": 0.9})
    both = add_session(first, none, {"texts": 10, "self_agreement": 0.5})
    assert both == {"texts": 40, "self_agreement": pytest.approx((27 + 5) / 40)}
    assert add_session({}, none, none)["self_agreement"] is None


def test_what_a_session_did_not_do_is_kept():
    total = add_session({"generation": {"rows": 3}, "device": "cuda", "texts": 5}, {}, {"device": "cpu"})
    assert total == {"generation": {"rows": 3}, "device": "cpu", "texts": 5}
