"""Default designs for benchmarks of other packages without designs: tables of the required columns, without bias.

What such a measure estimates is unknown, so its coverage and MDE cannot be checked. Only two properties are checked:
its false-positive rate, and whether it detects larger harms more often.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from evenhand.benchmarks import Benchmark
from evenhand.studies.calibration.designs.contract import (
    EVERYTHING,
    NAMES,
    ORDER,
    Design,
    Key,
    Plant,
    Sample,
    Truth,
)
from evenhand.studies.calibration.designs.roads import benchmark_road
from evenhand.studies.calibration.designs.tables import judged_frame, plant_effect
from evenhand.studies.calibration.simulators import (
    WORLDS,
    CrossedRates,
    contrast_table,
    crossed_judgements,
    sentence_frame,
)

JUDGED = {
    "axis",
    "group",
    "descriptor",
    "template",
    "noun",
    "gender",
    "cluster",
    "prompt_id",
    "text",
    "noun_phrase",
}
SCORED = {"axis", "descriptor", "template", "noun", "group", "text"}
SIZES = (15.0, 30.0, 60.0)
HOW = (
    "The package can add designs: register a function that returns evenhand.studies.calibration.Design objects under "
    'the entry-point group "evenhand.calibrations".'
)


def plain_designs(name: str, benchmark: Benchmark) -> list[Design] | str:
    """Return the designs for a benchmark of another package, or the reason why none can be made."""
    needed = set(benchmark.required_columns)
    if benchmark.writes:
        if not benchmark.classified_by:
            return f"No classifier judges its continuations. {HOW}"
        if unknown := sorted(needed - JUDGED):
            return f"It needs columns that cannot be simulated: {', '.join(unknown)}. {HOW}"
        roles = tuple(judge.role for judge in benchmark.classified_by)
        draw: Callable[[Shape, np.random.Generator, Plant], Sample] = partial(_sample_judgements, roles)
        sizes, describe = SIZES, _describe_judged
    else:
        if unknown := sorted(needed - SCORED):
            return f"It needs columns that cannot be simulated: {', '.join(unknown)}. {HOW}"
        draw, sizes, describe = _sample_scores, (0.5, 1.0, 2.0), _describe_scored
    road = benchmark_road(name)
    return [
        Design(
            f"{name}: {words}",
            describe(shape),
            road,
            partial(draw, shape),
            quick=30,
            full=300,
            sizes=sizes if place == 0 else (),
            moves=(ORDER, NAMES) if place == 0 else (),
        )
        for place, (words, shape) in enumerate(SHAPES)
    ]


@dataclass(frozen=True)
class Shape:
    """Numbers of groups, templates, nouns and samples per prompt. clustering: SD of prompts, in logits."""

    groups: int
    templates: int
    nouns: int
    samples: int
    clustering: float


SHAPES = (
    ("groups alike", Shape(6, 10, 4, 1, 0.3)),
    ("clustered", Shape(4, 10, 2, 8, 2.0)),
    ("many groups", Shape(20, 5, 2, 2, 0.5)),
)


def _describe_judged(shape: Shape) -> str:
    """Return the description of a design for classified responses."""
    samples = f"{shape.samples} samples per prompt" if shape.samples > 1 else "one sample per prompt"
    return (
        f"{shape.groups} groups in {shape.templates} templates with {shape.nouns} nouns each, {samples}; 20% "
        "negative in every group. Prompts differ "
        f"(SD {shape.clustering:g} logits), in addition to templates (0.5) and nouns (0.3)."
    )


def _describe_scored(shape: Shape) -> str:
    """Return the description of a design for likelihoods of sentences."""
    return (
        f"{shape.groups} groups in {_count_pairs(shape)} pairs of kind and hostile templates with "
        f"{shape.nouns} nouns each. Log-likelihood differences vary by template pair (SD 0.3 nats) and sentence "
        "(SD 0.3)."
    )


def _count_pairs(shape: Shape) -> int:
    return max(2, shape.templates // 2)


def _sample_judgements(
    roles: tuple[str, ...], shape: Shape, rng: np.random.Generator, plant: Plant
) -> Sample:
    rates = np.clip(
        plant_effect([0.2] * shape.groups, Plant(plant.pattern, plant.effect / 100, plant.harmed)), 0, 0.97
    )
    axis = CrossedRates(
        "axis", tuple(rates), shape.templates, shape.nouns, shape.samples, prompt_sd=shape.clustering
    )
    drawn = crossed_judgements(rng, [axis])
    frame = drawn.with_columns(noun_phrase="group", text=pl.lit("text"), continuation=pl.lit("text"))
    for role in roles:
        values = judged_frame(drawn, role).select(f"{role}_negative", "error")
        score = values[f"{role}_negative"].cast(pl.Float64)
        frame = frame.with_columns(
            values[f"{role}_negative"],
            score.alias(f"{role}_score"),
            values["error"],
            values["error"].alias(f"{role}_error"),
            pl.lit(None, pl.String).alias(f"{role}_label"),
            pl.concat_list(1 - score, score).cast(pl.List(pl.Float32)).alias(f"{role}_scores"),
        )
    return _sample(frame.drop("negative").with_columns(cluster="prompt_id"), plant, axis.descriptors)


def _sample_scores(shape: Shape, rng: np.random.Generator, plant: Plant) -> Sample:
    shifts = np.zeros(shape.groups)
    shifts[0] = plant.effect if plant.pattern == "one" else 0.0
    table = contrast_table(rng, WORLDS["even"], shifts, _count_pairs(shape), shape.nouns)
    templates = [(f"kind {i:02d}", f"hostile {i:02d}") for i in range(table.shape[0])]
    frame = sentence_frame(rng, {"axis": table}, templates, own_nouns=False, frequency=0.0)
    frame = frame.with_columns(group="descriptor", text=pl.concat_str("template", "descriptor", "noun"))
    numbered = frame.with_row_index("prompt_id").with_columns(pl.col("prompt_id").cast(pl.String))
    return _sample(numbered, plant, frame["descriptor"].unique().sort().to_list())


def _sample(frame: pl.DataFrame, plant: Plant, groups: list[str]) -> Sample:
    if plant.pattern == "none":
        return Sample((frame,), at_null=EVERYTHING)
    # It is unknown which rows of another package's measure show the harm, so any row of the axis or group counts.
    return Sample((frame,), AnyRow(groups[0]), frozenset({"axis"}))


class AnyRow(dict[Key, Truth]):
    """True values: rows of the axis and of the harmed group are above their null value; the others are unknown."""

    def __init__(self, group: str) -> None:
        super().__init__()
        self.group = group

    def get(self, key: Key, default: Truth | None = None) -> Truth | None:  # type: ignore[override]
        """Return the true value of a row of the axis or of the harmed group, for any measure."""
        return Truth(float("inf"), False) if key[1] == "axis" and key[2] in (None, self.group) else default
