"""Sentences that `--plan` prints on an estimate: the probe, the estimated time, and failures."""

from collections.abc import Mapping
from typing import Any

from evenhand.reports import wording


def plan_title(plan: Mapping[str, Any]) -> str:
    """Return the heading of a plan, which describes its probe.

    plan: as `evenhand.runs.estimate` gives it.

    >>> plan_title({"asked": 8})
    'Plan (nothing has been run, apart from 8 test requests for the estimate)'
    """
    n = plan.get("asked")
    asked = f", apart from {n:,} test request{'s' * (n > 1)} for the estimate" if n else ""
    return f"Plan (nothing has been run{asked})"


def planned_time(plan: Mapping[str, Any]) -> str:
    """Return a sentence with the estimated time, or with the reason why it is unknown; "" if it was not requested.

    plan: as `evenhand.runs.estimate` gives it.

    >>> planned_time({"seconds": 90.0, "at_once": 7, "concurrency": 64})
    '1 min 30 s, if the server answers 64 requests at a time as fast as 7'
    >>> planned_time({"seconds": None, "not_estimated": "http://localhost:1/v1 cannot be reached: refused."})
    'not known: http://localhost:1/v1 cannot be reached: refused.'
    """
    if plan.get("not_estimated"):
        return f"not known: {str(plan['not_estimated']).rstrip('.')}."
    if plan.get("seconds") is None:
        return ""
    few, many = plan.get("at_once", 1), plan.get("concurrency", 1)
    if 2 * few >= many:
        return wording.duration(plan["seconds"])
    return f"{wording.duration(plan['seconds'])}, if the server answers {many:,} requests at a time as fast as {few}"


def planned_errors(plan: Mapping[str, Any]) -> str:
    """Return a sentence on the share of the probe that failed; "" if nothing failed.

    >>> planned_errors({"probe_errors": 2, "probe_requests": 8})
    '2 of the 8 test requests for the estimate failed'
    """
    errors, n = plan.get("probe_errors"), plan.get("probe_requests") or plan.get("probe_errors")
    return f"{errors:,} of the {n:,} test requests for the estimate failed" if errors else ""
