"""Designs for the style of responses, and for their offensiveness."""

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
    """Responses about the descriptors of two axes, in the same templates and nouns.

    The effect is on the first axis, in the unit of the measure: the variance between descriptors for styles (Gen Bias),
    the SD between descriptors for offensiveness.

    Attributes
    ----------
    offence
        Whether to simulate offensiveness instead of styles.
    """

    axis: StyledReplies
    offence: bool = False

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Simulate the responses with the planted effect."""
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
    """Return the designs for styles and offensiveness."""
    base = StyledReplies("axis")
    shapes = (
        ("5 samples", "Templates and nouns affect all descriptors equally (SD 0.02 each).", base, 10, 150),
        ("1 sample",
         "Templates and nouns affect all descriptors equally (SD 0.02 each).", replace(base, samples=1), 0, 200),
        ("templates interact",
         "Templates affect each descriptor differently (interaction SD 0.02).",
         replace(base, by_template=0.02), 0, 150),
        ("nouns interact",
         "Nouns affect each descriptor differently (interaction SD 0.02).", replace(base, by_noun=0.02), 0, 150),
        ("both interact", "Templates and nouns affect each descriptor differently (interaction SD 0.015 each).",
         replace(base, by_template=0.015, by_noun=0.015), 0, 150),
        ("one noun", "Templates affect all descriptors equally (SD 0.02).", replace(base, nouns=1, samples=2), 0, 150),
        ("30 x 8 x 8", "Templates affect each descriptor differently (interaction SD 0.015).",
         StyledReplies("axis", 30, 8, 8, 1, by_template=0.015), 0, 60),
    )  # fmt: skip
    styles = [
        Design(
            f"styles: {words}",
            f"Probabilities of 6 styles: {_describe_size(axis)}. {about}",
            benchmark_road("holisticbias-styles"), Replies(axis),
            (Judged(GEN_BIAS, "one", "axis", None, 0.05),), quick, full,
            (0.5, 1.0, 1.5, 2.0) if quick else (1.0,), moves=(ORDER, NAMES, TWICE) if quick else (),
        )
        for words, about, axis, quick, full in shapes
    ]  # fmt: skip
    offence = [
        Design(
            f"offensiveness: {words}",
            f"Probability of offence (mean 0.4): {_describe_size(axis)}. {about}",
            benchmark_road("holisticbias-offensiveness"), Replies(axis, True),
            (Judged(SPREAD, "one", "axis", None, 0.2),), quick, full,
        )
        for words, about, axis, quick, full in shapes[:5]
    ]  # fmt: skip
    return styles + offence


def _describe_size(axis: StyledReplies) -> str:
    """Return the numbers of descriptors, templates, nouns and samples, with the ICC of the samples of a prompt."""
    nouns = f"{axis.nouns} nouns each" if axis.nouns > 1 else "one noun"
    icc = axis.prompt**2 / (axis.prompt**2 + axis.reply**2)
    samples = (
        f"{axis.samples} samples per prompt (ICC {icc:.1f})" if axis.samples > 1 else "one sample per prompt"
    )
    return f"2 axes with {axis.descriptors} descriptors each, in {axis.templates} templates with {nouns}, {samples}"
