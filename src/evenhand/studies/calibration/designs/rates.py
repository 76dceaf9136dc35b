"""Designs for rates of groups: sizes, clusters, rare events, tails, missing answers, several axes."""

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
from evenhand.studies.calibration.designs.tables import JudgedTable, alike, graded
from evenhand.studies.calibration.simulators import JudgedAxis, left_out, misjudged

ROAD = benchmark_road("toxigen")
ALL_MOVES = (ORDER, NAMES, TWICE, BESIDE, SPLIT)
CURVE = (0.5, 1.0, 1.5, 2.0)


def _judged(axis: str = "axis", *, planted: bool = True, missing: bool = False) -> tuple[Judged, ...]:
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
    judged = _judged(planted=planted)
    return Design(f"rates: {name}", about, ROAD, table, judged, quick, full, factors, role=role)


def rate_designs() -> list[Design]:
    """All of them."""
    small_noisy = [0.6 if size < 60 else 0.05 for size in graded(5, 400, 10)]
    return [
        _table(
            "10 x 20 x 5",
            "Ten groups of 20 prompts, five samples each, 10 % negative.",
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
            "Two groups of 100 prompts, one sample each.",
            2,
            100,
            (1,),
            0.1,
            quick=40,
            full=400,
        ),
        _table("2 x 20 x 10", "Two groups of 20 prompts, ten samples each.", 2, 20, (10,), 0.1),
        _table("10 x 100 x 1", "Ten groups of 100 prompts, one sample each.", 10, 100, (1,), 0.1, full=400),
        _table(
            "10 x 8 x 25", "Few prompts, many samples that hang together (ICC .5).", 10, 8, (25,), 0.1, 0.5
        ),
        _table("10 x 3 x 25", "Three prompts a group.", 10, 3, (25,), 0.1),
        _table("10 x 2 x 25", "Two prompts a group.", 10, 2, (25,), 0.1),
        _table(
            "10 x 1 x 25",
            "One prompt per group: prompt and group effects cannot be separated.",
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
            "A hundred samples of each prompt, half of them negative.",
            4,
            10,
            (100,),
            0.5,
            0.5,
        ),
        _table("10 x 40 x 5, rare", "Rare events: one answer of 200 is negative.", 10, 40, (5,), 0.005),
        _table(
            "10 x 200 x 5, very rare", "Very rare events: one of a thousand.", 10, 200, (5,), 0.001, full=200
        ),
        _table(
            "5 to 400 prompts", "Groups of 5 to 400 prompts.", 10, graded(5, 400, 10), (5,), 0.1, quick=30
        ),
        _table(
            "5 to 400 prompts, rare",
            "Groups of 5 to 400 prompts, one sample each, 1 % negative.",
            10,
            graded(5, 400, 10),
            (1,),
            0.01,
        ),
        _table(
            "25 and 1 samples", "Prompts with 25 samples and with one in the same file.", 10, 30, (25, 1), 0.1
        ),
        _table(
            "unequal clustering",
            "Samples hang together in small groups (ICC .6) and not in large ones (.05).",
            10,
            graded(5, 400, 10),
            (5,),
            0.1,
            small_noisy,
            planted=False,
            full=400,
        ),
        _table(
            "heavy tail",
            "3 % of the prompts bring out nearly all negative answers.",
            10,
            40,
            (5,),
            0.02,
            tail=0.03,
        ),
        _table("40 x 5 x 5", "Forty groups of five prompts.", 40, 5, (5,), 0.1, full=200),
        _table("200 x 20 x 1", "Two hundred groups.", 200, 20, (1,), 0.1, full=80, planted=False),
        _table(
            "600 x 100 x 1", "Six hundred groups, 2 % negative.", 600, 100, (1,), 0.02, full=30, planted=False
        ),
        _table("6 x 5000 x 1", "Large groups: 5,000 prompts each.", 6, 5000, (1,), 0.02, full=60),
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
        JudgedAxis("others", (0.05, 0.05, 0.2, 0.2, 0.35, 0.35, 0.6, 0.6, 0.9), tuple(graded(200, 20, 9))),
    )
    return [
        Design("rates: 13 axes", "Thirteen axes of eight groups, alike.", ROAD, JudgedTable(alike_axes),
               _judged(), 10, 120),
        Design("rates: axes that differ", "Women and men alike; religions at 40 % and nonce words at 2 %.",
               ROAD, JudgedTable(uneven, (1,)), _judged(), 20, 250),
        Design("rates: beside an uneven axis", "One axis without bias, and one whose groups differ.",
               ROAD, JudgedTable(wider), _judged(), 0, 250),
    ]  # fmt: skip


def _missing() -> list[Design]:
    gone = partial(left_out, if_negative=0.4, if_harmless=0.1)
    return [
        Design("rates: missing not at random", "Negative answers go missing four times as often, in every group.",
               ROAD, JudgedTable((alike("axis", 10, 30, 0.1),), distort=gone), _judged(planted=False), 10, 300),
        Design("missing: 8 x 40 x 3", "5 % of the answers are missing.", ROAD,
               JudgedTable((alike("axis", 8, 40, 0.05),), (3,), missing=True), _judged(missing=True), 20, 300),
    ]  # fmt: skip


def _harm() -> list[Design]:
    table = JudgedTable((alike("axis", 10, 40, 0.1),))
    mixed = JudgedTable(
        (JudgedAxis("axis", (0.05,) * 3 + (0.2,) + (0.35,) * 3, (40,) * 3 + (40,) + (6,) * 3),)
    )
    return [
        Design("rates: share of groups harmed", "Groups at 40 % among groups at 10 %: from one of ten to nine.",
               ROAD, table, _judged(planted=False), 0, 150, doses=(1, 2, 4, 6, 8, 9, 10), dose_effect=30.0,
               moves=ALL_MOVES, splits="prompt_id", heterogeneous=8.0),
        Design("rates: innocent among unequal", "A group at exactly the others' mean; the others differ.",
               ROAD, mixed, _judged(planted=False), 0, 300),
    ]  # fmt: skip


def _limits() -> list[Design]:
    table = alike("axis", 10, 40, 0.1)
    uneven = np.abs(np.random.default_rng(5).normal(0, 0.04, 10)) + 0.08

    def limit(
        name: str, about: str, alarms: Sequence[float] | float, hits: Sequence[float] | float
    ) -> Design:
        wrong = partial(misjudged, false_alarms=alarms, hits=hits)
        return Design(f"classifier: {name}", about, ROAD, JudgedTable((table,), distort=wrong),
                      _judged(planted=False), 0, 100, sizes=(10.0, 20.0, 30.0), role="limit")  # fmt: skip

    odd = (0.7,) + (0.05,) * 9
    return [
        *[
            _table(
                f"10 x {prompts} x 25, one odd",
                "Samples of one group hang together (ICC .7), of nine hardly.",
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
        limit("no error", "Every judgement is right.", 0.0, 1.0),
        limit("errs alike", "8 % false alarms and 80 % hits, in every group.", 0.08, 0.8),
        limit(
            "errs by group",
            "False alarms of 8 % and more, by up to 8 points between groups.",
            list(uneven),
            0.9,
        ),
    ]
