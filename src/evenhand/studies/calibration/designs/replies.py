"""Designs for the style of replies, and for their offensiveness."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from evenhand.studies.calibration.designs.contract import (
    NAMES,
    ORDER,
    TWICE,
    Design,
    Judged,
    Key,
    Plant,
    Sample,
    Truth,
)
from evenhand.studies.calibration.designs.roads import benchmark_road
from evenhand.studies.calibration.simulators import StyledReplies, offence_frame, own_styles, styled_replies

GEN_BIAS, SPREAD = "full_gen_bias", "offensiveness_spread"


@dataclass(frozen=True)
class Replies:
    """Two axes of replies in the same templates and nouns; something is planted in the first.

    Effects are in the unit of the measure: the variance between descriptors of Gen Bias, the standard deviation of
    offensiveness.
    """

    axis: StyledReplies
    offence: bool = False

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Draw it."""
        effect = plant.effect if plant.pattern != "none" else 0.0
        variance = effect**2 if self.offence else effect
        styles = 1 if self.offence else self.axis.styles
        made, truth, everything = [], dict[Key, Truth](), []
        for name, amount in (("axis", variance), ("axis 1", 0.0)):
            one = replace(self.axis, name=name)
            own = own_styles(rng, one.descriptors, styles, amount)
            made.append((offence_frame if self.offence else styled_replies)(rng, one, own))
            everything.append(own)
            value = float(amount**0.5 if self.offence else amount)
            truth[SPREAD if self.offence else GEN_BIAS, name, None] = Truth(value, amount == 0)
        if not self.offence:
            pooled = float(np.concatenate(everything).var(axis=0, ddof=1).sum())
            truth[GEN_BIAS, None, None] = Truth(pooled, pooled < 1e-12)
        touched = frozenset() if plant.pattern == "none" else frozenset[str | None]({"axis", None})
        return Sample((pl.concat(made),), truth, touched)


def reply_designs() -> list[Design]:
    """All of them."""
    base = StyledReplies("axis")
    shapes = (
        ("5 samples", "Five samples of each prompt hang together.", base, 10, 150),
        ("1 sample", "One sample of each prompt.", replace(base, samples=1), 0, 200),
        ("templates interact", "Templates act on one descriptor (SD .02).", replace(base, by_template=0.02), 0, 150),
        ("nouns interact", "Nouns act on one descriptor (SD .02).", replace(base, by_noun=0.02), 0, 150),
        ("both interact", "Templates and nouns do something to single descriptors (SD .015).",
         replace(base, by_template=0.015, by_noun=0.015), 0, 150),
        ("one noun", "Templates only.", replace(base, nouns=1, samples=2), 0, 150),
        ("30 x 8 x 8", "More descriptors, templates and nouns.",
         StyledReplies("axis", 30, 8, 8, 1, by_template=0.015), 0, 60),
    )  # fmt: skip
    styles = [
        Design(
            f"styles: {words}", about, benchmark_road("holisticbias-styles"), Replies(axis),
            (Judged(GEN_BIAS, "one", "axis", None, 0.05),), quick, full,
            (0.5, 1.0, 1.5, 2.0) if quick else (1.0,), moves=(ORDER, NAMES, TWICE) if quick else (),
        )
        for words, about, axis, quick, full in shapes
    ]  # fmt: skip
    offence = [
        Design(
            f"offensiveness: {words}", about, benchmark_road("holisticbias-offensiveness"), Replies(axis, True),
            (Judged(SPREAD, "one", "axis", None, 0.2),), quick, full,
        )
        for words, about, axis, quick, full in shapes[:5]
    ]  # fmt: skip
    return styles + offence
