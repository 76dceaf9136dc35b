"""Designs for rates of negative responses: group sizes, correlated samples, rare events, missing responses."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from evenhand.studies.calibration.designs.contract import (
    BESIDE,
    NAMES,
    ORDER,
    SPLIT,
    TWICE,
    Design,
    Judged,
    Role,
)
from evenhand.studies.calibration.designs.roads import benchmark_road
from evenhand.studies.calibration.designs.tables import JudgedTable, alike, space_sizes
from evenhand.studies.calibration.simulators import JudgedAxis, add_classifier_errors, left_out

ROAD = benchmark_road("toxigen")
ALL_MOVES = (ORDER, NAMES, TWICE, BESIDE, SPLIT)
CURVE = (0.5, 1.0, 1.5, 2.0)


def _judged_measures(
    axis: str = "axis", *, planted: bool = True, missing: bool = False
) -> tuple[Judged, ...]:
    kind = "missing_" if missing else ""
    spread, difference = (f"{kind}disparity", f"{kind}difference" if missing else "group_difference")
    if not planted:
        return (Judged(spread, axis=axis), Judged(difference, axis=axis, group=f"{axis} 000"))
    return (
        Judged(spread, "half", axis, None, largest=45.0),
        Judged(difference, "one", axis, f"{axis} 000", largest=89.0),
    )


def _table(
    name: str,
    about: str,
    groups: int,
    prompts: int | Sequence[int],
    samples: Sequence[int],
    rate: float,
    icc: float | Sequence[float] = 0.3,
    *,
    quick: int = 0,
    full: int = 300,
    planted: bool = True,
    factors: tuple[float, ...] = (1.0,),
    tail: float | None = None,
    role: Role = "standard",
) -> Design:
    table = JudgedTable((alike("axis", groups, prompts, rate, icc, tail),), tuple(samples))
    judged = _judged_measures(planted=planted)
    return Design(f"rates: {name}", about, ROAD, table, judged, quick, full, factors, role=role)


def rate_designs() -> list[Design]:
    """Return the designs for rates of negative responses, and those for missing responses and classifier errors."""
    small_noisy = [0.6 if size < 60 else 0.05 for size in space_sizes(5, 400, 10)]
    return [
        _table(
            "10 x 20 x 5",
            "10 groups, 20 prompts per group, 5 samples per prompt (ICC 0.3). 10% of responses are negative "
            "in every group.",
            10,
            20,
            (5,),
            0.1,
            quick=40,
            full=600,
            factors=CURVE,
        ),
        _table(
            "2 x 100 x 1",
            "2 groups, 100 prompts per group, one sample per prompt. 10% of responses are negative in both groups.",
            2,
            100,
            (1,),
            0.1,
            quick=40,
            full=400,
        ),
        _table(
            "2 x 20 x 10",
            "2 groups, 20 prompts per group, 10 samples per prompt (ICC 0.3). 10% of responses are negative "
            "in both groups.",
            2,
            20,
            (10,),
            0.1,
        ),
        _table(
            "10 x 100 x 1",
            "10 groups, 100 prompts per group, one sample per prompt. 10% of responses are negative in every group.",
            10,
            100,
            (1,),
            0.1,
            full=400,
        ),
        _table(
            "10 x 8 x 25",
            "Few prompts, many correlated samples: 10 groups, 8 prompts per group, 25 samples per prompt (ICC "
            "0.5). 10% of responses are negative in every group.",
            10,
            8,
            (25,),
            0.1,
            0.5,
        ),
        _table(
            "10 x 3 x 25",
            "Only 3 prompts per group: 10 groups, 25 samples per prompt (ICC 0.3). 10% of responses are "
            "negative in every group.",
            10,
            3,
            (25,),
            0.1,
        ),
        _table(
            "10 x 2 x 25",
            "Only 2 prompts per group: 10 groups, 25 samples per prompt (ICC 0.3). 10% of responses are "
            "negative in every group.",
            10,
            2,
            (25,),
            0.1,
        ),
        _table(
            "10 x 1 x 25",
            "One prompt per group, so prompt and group effects cannot be separated: 10 groups, 25 samples per "
            "prompt (ICC 0.3). 10% of responses are negative in every group.",
            10,
            1,
            (25,),
            0.1,
            quick=10,
            full=100,
            planted=False,
        ),
        _table(
            "4 x 10 x 100",
            "Many samples per prompt: 4 groups, 10 prompts per group, 100 samples per prompt (ICC 0.5). 50% "
            "of responses are negative in every group.",
            4,
            10,
            (100,),
            0.5,
            0.5,
        ),
        _table(
            "10 x 40 x 5, rare",
            "Rare events: 0.5% of responses are negative in every group. 10 groups, 40 prompts per group, 5 "
            "samples per prompt (ICC 0.3).",
            10,
            40,
            (5,),
            0.005,
        ),
        _table(
            "10 x 200 x 5, very rare",
            "Very rare events: 0.1% of responses are negative in every group. 10 groups, 200 prompts per "
            "group, 5 samples per prompt (ICC 0.3).",
            10,
            200,
            (5,),
            0.001,
            full=200,
        ),
        _table(
            "5 to 400 prompts",
            "Unequal group sizes: 10 groups with 5 to 400 prompts, 5 samples per prompt (ICC 0.3). 10% of "
            "responses are negative in every group.",
            10,
            space_sizes(5, 400, 10),
            (5,),
            0.1,
            quick=30,
        ),
        _table(
            "5 to 400 prompts, rare",
            "Unequal group sizes and rare events: 10 groups with 5 to 400 prompts, one sample per prompt. 1% "
            "of responses are negative in every group.",
            10,
            space_sizes(5, 400, 10),
            (1,),
            0.01,
        ),
        _table(
            "25 and 1 samples",
            "Half of the prompts have 25 samples (ICC 0.3), the other half only one. 10 groups, 30 prompts "
            "per group; 10% of responses are negative in every group.",
            10,
            30,
            (25, 1),
            0.1,
        ),
        _table(
            "unequal clustering",
            "Samples of a prompt have ICC 0.6 in groups of 5 to 57 prompts but 0.05 in groups of 93 to 400. "
            "10 groups, 5 samples per prompt; 10% negative in every group.",
            10,
            space_sizes(5, 400, 10),
            (5,),
            0.1,
            small_noisy,
            planted=False,
            full=400,
        ),
        _table(
            "heavy tail",
            "A random 3% of prompts cause 95% of the negative responses, which are 2% of responses in every "
            "group. 10 groups, 40 prompts per group, 5 samples per prompt.",
            10,
            40,
            (5,),
            0.02,
            tail=0.03,
        ),
        _table(
            "40 x 5 x 5",
            "Many small groups: 40 groups, 5 prompts per group, 5 samples per prompt (ICC 0.3). 10% of "
            "responses are negative in every group.",
            40,
            5,
            (5,),
            0.1,
            full=200,
        ),
        _table(
            "200 x 20 x 1",
            "Very many groups: 200 groups, 20 prompts per group, one sample per prompt. 10% of responses are "
            "negative in every group.",
            200,
            20,
            (1,),
            0.1,
            full=80,
            planted=False,
        ),
        _table(
            "600 x 100 x 1",
            "Very many groups: 600 groups, 100 prompts per group, one sample per prompt. 2% of responses are "
            "negative in every group.",
            600,
            100,
            (1,),
            0.02,
            full=30,
            planted=False,
        ),
        _table(
            "6 x 5000 x 1",
            "Very large groups: 6 groups, 5,000 prompts per group, one sample per prompt. 2% of responses are "
            "negative in every group.",
            6,
            5000,
            (1,),
            0.02,
            full=60,
        ),
        *_several_axes(),
        *_missing(),
        *_harm(),
        *_limits(),
    ]


def _several_axes() -> list[Design]:
    alike_axes = tuple(alike("axis" if i == 0 else f"axis {i}", 8, 20, 0.1) for i in range(13))
    uneven = (
        alike("axis", 2, 100, 0.3),
        alike("religions", 8, 100, 0.4),
        alike("nonce", 5, 100, 0.02),
    )
    wider = (
        JudgedAxis("axis", (0.1,) * 9, (20,) * 9),
        JudgedAxis(
            "others", (0.05, 0.05, 0.2, 0.2, 0.35, 0.35, 0.6, 0.6, 0.9), tuple(space_sizes(200, 20, 9))
        ),
    )
    return [
        Design("rates: 13 axes",
               "13 axes with 8 groups each, 20 prompts per group, 5 samples per prompt (ICC 0.3). 10% of "
               "responses are negative in every group.", ROAD, JudgedTable(alike_axes),
               _judged_measures(), 10, 120),
        Design("rates: axes that differ",
               "3 axes with different rates of negative responses: 30% in each of 2 groups, 40% in each of 8, "
               "2% in each of 5. 100 prompts per group, one sample per prompt.",
               ROAD, JudgedTable(uneven, (1,)), _judged_measures(), 20, 250),
        Design("rates: beside an uneven axis",
               "An axis without bias (9 groups, 10% negative, 20 prompts each) next to one whose 9 groups "
               "differ (5 to 90% negative, 200 to 20 prompts). 5 samples per prompt (ICC 0.3).",
               ROAD, JudgedTable(wider), _judged_measures(), 0, 250),
    ]  # fmt: skip


def _missing() -> list[Design]:
    gone = partial(left_out, if_negative=0.4, if_harmless=0.1)
    return [
        Design("rates: missing not at random",
               "40% of negative and 10% of other responses are missing, in every group alike. 10 groups, 30 "
               "prompts per group, 5 samples per prompt (ICC 0.3); 10% negative.",
               ROAD, JudgedTable((alike("axis", 10, 30, 0.1),), distort=gone), _judged_measures(planted=False),
               10, 300),
        Design("missing: 8 x 40 x 3",
               "8 groups, 40 prompts per group, 3 samples per prompt. In every group, 5% of responses are "
               "missing (ICC 0.3) and 10% of the others are negative.", ROAD,
               JudgedTable((alike("axis", 8, 40, 0.05),), (3,), missing=True), _judged_measures(missing=True), 20, 300),
    ]  # fmt: skip


def _harm() -> list[Design]:
    table = JudgedTable((alike("axis", 10, 40, 0.1),))
    mixed = JudgedTable(
        (JudgedAxis("axis", (0.05,) * 3 + (0.2,) + (0.35,) * 3, (40,) * 3 + (40,) + (6,) * 3),)
    )
    return [
        Design("rates: share of groups harmed",
               "10 groups, 40 prompts per group, 5 samples per prompt (ICC 0.3). 10% of responses are "
               "negative; bias raises this to 40% in 1 to 10 of the groups.",
               ROAD, table, _judged_measures(planted=False), 0, 150, doses=(1, 2, 4, 6, 8, 9, 10), dose_effect=30.0,
               moves=ALL_MOVES, splits="prompt_id", heterogeneous=8.0),
        Design("rates: innocent among unequal",
               "One group without bias (20% negative, 40 prompts) equals the mean of 6 others: 3 at 5% (40 "
               "prompts each), 3 at 35% (6 prompts each). 5 samples per prompt (ICC 0.3).",
               ROAD, mixed, _judged_measures(planted=False), 0, 300),
    ]  # fmt: skip


def _limits() -> list[Design]:
    table = alike("axis", 10, 40, 0.1)
    uneven = np.abs(np.random.default_rng(5).normal(0, 0.04, 10)) + 0.08

    def limit(
        name: str, about: str, alarms: Sequence[float] | float, hits: Sequence[float] | float
    ) -> Design:
        wrong = partial(add_classifier_errors, false_alarms=alarms, hits=hits)
        data = (
            "10 groups, 40 prompts per group, 5 samples per prompt (ICC 0.3); 10% of responses are negative."
        )
        return Design(f"classifier: {name}", f"{about} {data}", ROAD, JudgedTable((table,), distort=wrong),
                      _judged_measures(planted=False), 0, 100, sizes=(10.0, 20.0, 30.0), role="limit")  # fmt: skip

    odd = (0.7,) + (0.05,) * 9
    return [
        *[
            _table(
                f"10 x {prompts} x 25, one odd",
                f"10 groups, {prompts} prompts per group, 25 samples per prompt: ICC 0.7 in one group, 0.05 in "
                "the other 9. 10% of responses are negative in every group.",
                10,
                prompts,
                (25,),
                0.1,
                odd,
                planted=False,
                role="limit",
            )
            for prompts in (5, 10, 20, 40)
        ],
        limit("no error", "The simulated classifier makes no errors.", 0.0, 1.0),
        limit(
            "errs alike",
            "The simulated classifier reports 80% of negative and 8% of other responses as negative, the same "
            "in every group.",
            0.08,
            0.8,
        ),
        limit(
            "errs by group",
            "The simulated classifier reports 90% of negative responses as negative, and 8 to 15% of the "
            "others, depending on the group.",
            list(uneven),
            0.9,
        ),
    ]
