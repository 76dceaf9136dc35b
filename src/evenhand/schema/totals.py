"""Add up what models and classifiers report of their work over the sessions of a run."""

from collections.abc import Mapping
from typing import Any

SUMMED = frozenset(
    {
        *("texts", "texts_judged", "truncated", "calls", "found", "ties", "asked", "from_store", "answered"),
        *(
            "rows",
            "batches",
            "steps",
            "seconds",
            "seconds_to_first_token",
            "tokens",
            "tokens_given",
            "tokens_run",
        ),
        *("tokens_read", "tokens_written", "tokens_read_before", "prompts", "prompts_begun_before"),
        *("states_left_for_want_of_room", "answers_from_store"),
    }
)
SUMMED_BY_NAME = frozenset({"models_answered", "asked_again", "failed", "tokens", "system_fingerprints"})
"""Mappings from a name to a count."""
GREATEST = frozenset({"most_bytes", "peak_memory_bytes"})
GROWING = frozenset({"halvings"})
"""Lists to which each session adds."""


def add_session(
    before: Mapping[str, Any], start: Mapping[str, Any], end: Mapping[str, Any]
) -> dict[str, Any]:
    """Add the counts of a session to those of earlier sessions of a run.

    Parameters
    ----------
    before : mapping of str
        The stored description, of earlier sessions; empty for the first.
    start, end : mapping of str
        What the model or classifier reports at the beginning and the end of this session. The counts of an
        object that worked before do not start at 0, so the difference counts.

    Returns
    -------
    dict of str
        The description with the total counts. Facts that are not counts are those of `end`.

    Examples
    --------
    >>> add_session({"device": "cpu", "texts": 78}, {"device": "cuda", "texts": 10}, {"device": "cuda", "texts": 220})
    {'device': 'cuda', 'texts': 288}
    """
    total = {
        name: _add_session_value(name, before.get(name), start.get(name), value)
        for name, value in end.items()
    }
    # parts without work in this session do not change
    total |= {
        name: value
        for name, value in before.items()
        if name not in end and (isinstance(value, dict) or name in SUMMED | GREATEST | GROWING)
    }
    return total | _compute_ratios(total, before, start, end)


def _add_session_value(name: str, before: Any, start: Any, end: Any) -> Any:
    if isinstance(end, Mapping):
        earlier, began = (value if isinstance(value, Mapping) else {} for value in (before, start))
        if name in SUMMED_BY_NAME:
            names = [*end, *(key for key in earlier if key not in end)]
            return {
                key: _add_session_value("calls", earlier.get(key), began.get(key), end.get(key, 0))
                for key in names
            }
        if name == "seconds":  # quantiles of latency cannot be added
            return dict(end)
        return add_session(earlier, began, end)
    if name in SUMMED and _is_number(end):
        return end + _number(before) - _number(start)
    if name in GREATEST and _is_number(end):
        return max(end, _number(before))
    if name in GROWING and isinstance(end, list):
        return [*(before or []), *end[len(start or []) :]]
    return end


def _compute_ratios(
    total: Mapping[str, Any], before: Mapping[str, Any], start: Mapping[str, Any], end: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the ratios of a description, recomputed from its sums."""
    found: dict[str, Any] = {}
    if "tokens_written" in total and total.get("seconds"):
        found["tokens_per_second"] = total["tokens_written"] / total["seconds"]
    if "seconds_to_first_token" in total and total.get("steps"):
        found["seconds_per_step"] = (total["seconds"] - total["seconds_to_first_token"]) / total["steps"]
    if "self_agreement" in end:
        agreed = sum(sign * _count_agreements(part) for sign, part in ((1, before), (-1, start), (1, end)))
        both = any(part.get("self_agreement") is not None for part in (before, end))
        found["self_agreement"] = agreed / total["texts"] if both and total.get("texts") else None
    return found


def _count_agreements(part: Mapping[str, Any]) -> float:
    """Return the number of texts of which both answers of a judge agreed."""
    return float(_number(part.get("self_agreement")) * _number(part.get("texts")))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Any) -> Any:
    return value if _is_number(value) else 0
