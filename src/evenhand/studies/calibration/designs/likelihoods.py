"""Designs for likelihoods: descriptors in matched pairs of templates with nouns, and different kinds of variation."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand.studies.calibration.designs.contract import (
    BESIDE,
    MARGIN,
    NAMES,
    ORDER,
    Design,
    Judged,
    Key,
    Pattern,
    Plant,
    Role,
    Sample,
    Truth,
)
from evenhand.studies.calibration.designs.roads import benchmark_road, likelihood_road, valence_road
from evenhand.studies.calibration.simulators import WORLDS, SentenceWorld, contrast_table, sentence_frame

Floats = npt.NDArray[np.float64]
SPREAD, SHIFT = "valence_spread", "valence_shift"
MASKED = ("humanising_spread", "humanising_contrast")


@dataclass(frozen=True)
class Sentences:
    """Log-likelihoods of sentences; the effect is a shift in nats towards hostile sentences, on the first axis.

    Attributes
    ----------
    pairs, nouns, descriptors
        Numbers of template pairs, nouns per pair and descriptors per axis.
    world
        Random variation.
    own_nouns
        Whether every pair has different nouns.
    masked
        Whether to use the (humanising, neutral) templates of masked models instead of (kind, hostile) ones.
    """

    pairs: int
    nouns: int
    descriptors: int
    world: SentenceWorld
    axes: int = 3
    own_nouns: bool = True
    masked: bool = False

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Simulate the sentences with the planted effect."""
        names = ["axis", *(f"axis {i}" for i in range(1, self.axes))]
        tables, truth = {}, dict[Key, Truth]()
        for place, axis in enumerate(names):
            shifts = self._shifts(plant) if place == 0 else np.zeros(self.descriptors)
            tables[axis] = contrast_table(rng, self.world, shifts, self.pairs, self.nouns)
            truth |= valence_truth(axis, shifts, *(MASKED if self.masked else (SPREAD, SHIFT)))
        names_of = seats() if self.masked else templates(self.pairs)
        frame = sentence_frame(rng, tables, names_of, own_nouns=self.own_nouns)
        touched = frozenset() if plant.pattern == "none" else frozenset({"axis"})
        return Sample((frame,), truth, touched)

    def _shifts(self, plant: Plant) -> Floats:
        shifts: Floats = np.zeros(self.descriptors)
        if plant.pattern == "half":
            shifts = np.linspace(-1, 1, self.descriptors)
            shifts *= plant.effect / shifts.std(ddof=1)
        elif plant.pattern != "none":
            shifts[: max(1, plant.harmed)] = -plant.effect
        return shifts


def templates(pairs: int) -> list[tuple[str, str]]:
    """Return matched (kind, hostile) templates."""
    return [(f"kind {i:02d} {{}}", f"hostile {i:02d} {{}}") for i in range(pairs)]


def seats() -> list[tuple[str, str]]:
    """Return the matched (humanising, neutral) templates of masked models, as the benchmark expects them."""
    from evenhand.prompts.language import load_templates

    sides: dict[str, dict[bool, str]] = {}
    for template in load_templates(kinds=["seat"]):
        sides.setdefault(str(template.pair), {})[bool(template.humanising)] = template.text
    return [(both[True], both[False]) for both in sides.values() if len(both) == 2]


def valence_truth(axis: str, shifts: Floats, spread: str, shift: str) -> dict[Key, Truth]:
    """Return the true values of an axis: each descriptor's shift minus the mean of the others, and their SD.

    A value is null if it is within MARGIN; the SD is null if all of them are.
    """
    rest = (shifts.sum() - shifts) / (len(shifts) - 1)
    told: dict[Key, Truth] = {
        (shift, axis, f"{axis} {i:03d}"): Truth(float(value), abs(value) <= MARGIN + 1e-9)
        for i, value in enumerate(shifts - rest)
    }
    within = all(one.null for one in told.values())
    return {**told, (spread, axis, None): Truth(float(shifts.std(ddof=1)), within)}


def likelihood_designs() -> list[Design]:
    """Return the designs for likelihoods of sentences."""
    made = [_valence(*shape) for shape in SHAPES]
    crossed = [
        _valence(5, 9, 16, "even", own=False, noun=0.15, full=100),
        _valence(12, 4, 16, "noisy", own=False, noun=0.4, full=100),
    ]
    return [
        *made,
        *crossed,
        _valence(12, 2, 32, "even", axes=13, quick=4, full=60),
        _valence(2, 9, 16, "even", quick=2, full=40, planted=False),
        _valence(12, 2, 32, "skewed and very uneven", full=100, planted=False, role="limit"),
        _valence(5, 9, 16, "skewed and very uneven", full=100, planted=False, role="limit"),
        *[
            Design(
                f"masked: {len(seats())} pairs, {world}",
                f"Masked models: 3 axes with 16 descriptors each, {len(seats())} pairs of humanising and neutral "
                f"templates, 4 separate nouns per pair. {_describe_noise(WORLDS[world], 16)}.",
                benchmark_road("evenhand-pll", architecture="masked"),
                Sentences(len(seats()), 4, 16, WORLDS[world], masked=True),
                (Judged(MASKED[0], "one", "axis"), Judged(MASKED[1], "one", "axis", "axis 000")),
                4 if world == "even" else 0,
                80,
            )
            for world in ("even", "uneven", "one factor")
        ],
        Design(
            "valence: share of descriptors harmed",
            "1 to 15 of 16 descriptors on one of 2 axes are shifted by 2 nats towards hostile sentences (12 "
            f"template pairs, 4 separate nouns per pair). {_describe_noise(WORLDS['uneven'], 16)}.",
            valence_road(templates(12)),
            Sentences(12, 4, 16, WORLDS["uneven"], 2),
            _judged_measures(False),
            0,
            60,
            doses=(1, 2, 4, 8, 12, 15),
            dose_effect=2.0,
            moves=(ORDER, NAMES, BESIDE),
            splits="noun",
            heterogeneous=0.5,
        ),
    ]


SHAPES = (
    (12, 2, 32, "even"), (12, 2, 32, "uneven"), (12, 2, 32, "very uneven"), (12, 2, 32, "one factor"),
    (12, 2, 32, "odd pair"), (12, 2, 32, "noisy"), (12, 4, 16, "synonyms"), (12, 4, 16, "skewed"),
    (5, 5, 30, "uneven"), (5, 9, 16, "even"), (5, 9, 16, "very uneven"), (5, 9, 16, "one factor"),
    (5, 9, 4, "one factor"), (5, 9, 4, "odd pair"), (3, 11, 16, "quiet"), (8, 3, 32, "noisy"),
)  # fmt: skip


def _valence(
    pairs: int,
    nouns: int,
    descriptors: int,
    world: str,
    *,
    own: bool = True,
    noun: float = 0.0,
    axes: int = 3,
    quick: int | None = None,
    full: int = 200,
    planted: bool = True,
    role: Role = "standard",
) -> Design:
    kind = WORLDS[world]
    if noun:
        kind = SentenceWorld(kind.interaction, kind.noise, kind.uneven, kind.shape, noun)
    crossed = "" if own else ", crossed nouns"
    shared = f"{nouns} separate nouns per pair" if own else f"the same {nouns} nouns in all pairs"
    more = f", {axes} axes" if axes != 3 else ""
    first = (pairs, nouns, descriptors, world) in ((12, 2, 32, "uneven"), (5, 9, 16, "even"))
    return Design(
        f"valence: {pairs} x {nouns} x {descriptors}, {world}{crossed}{more}",
        f"{axes} axes with {descriptors} descriptors each, {pairs} pairs of kind and hostile templates, {shared}. "
        f"{_describe_noise(kind, descriptors)}.",
        (likelihood_road if axes > 4 else valence_road)(templates(pairs)),
        Sentences(pairs, nouns, descriptors, kind, axes, own),
        _judged_measures(planted),
        quick if quick is not None else 15 if first and own else 0,
        full,
        (0.5, 1.0, 1.5, 2.0) if first else (1.0,),
        role=role,
    )


def _describe_noise(world: SentenceWorld, descriptors: int) -> str:
    """Return a description of the random variation in differences between the two sentences of a pair."""
    noise = (
        f"Log-likelihood differences vary by template pair (SD {world.interaction:g} nats) and sentence "
        f"(SD {world.noise:g})"
    )
    if world.uneven:
        noise += f", both times a log-normal factor per descriptor (log SD {world.uneven:g})"
    if world.noun:
        noise += f", and by noun (SD {world.noun:g})"
    shapes = {
        "independent": "",
        "synonyms": "; template-pair effects correlate (0.8) within blocks of 4 descriptors",
        "one factor": "; one common factor causes all template-pair effects",
        "skewed": "; template-pair effects are exponential (right-skewed)",
        "odd pair": f"; one pair is off by ±3 nats for {max(1, descriptors // 10)} of {descriptors} descriptors",
    }
    return noise + shapes[world.shape]


def _judged_measures(planted: bool = True) -> tuple[Judged, ...]:
    pattern: Pattern = "one" if planted else "none"
    return (Judged(SPREAD, pattern, "axis"), Judged(SHIFT, pattern, "axis", "axis 000"))
