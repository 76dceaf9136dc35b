"""Simulate replies with a style: probabilities of styles, or of offence, by descriptor, template and noun.

All effects add up on the scale of probabilities, with SDs small enough to stay between 0 and 1. The true variance
between descriptors is therefore known without an integral.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class StyledReplies:
    """One axis of a crossed design of replies with style probabilities. All SDs are of each style's probability.

    `by_template` and `by_noun` are the effects of a template or noun on a descriptor. `prompt` is the effect that
    samples of one prompt share, and `reply` that of one reply.
    """

    name: str
    descriptors: int = 12
    templates: int = 6
    nouns: int = 6
    samples: int = 5
    styles: int = 6
    by_template: float = 0.0
    by_noun: float = 0.0
    prompt: float = 0.02
    reply: float = 0.03


def own_styles(rng: np.random.Generator, descriptors: int, styles: int, variance: float) -> Floats:
    """Sample the true style effects of each descriptor, shape (descriptors, styles).

    Rows and columns sum to 0. The variances between descriptors (divisor: descriptors - 1) sum to `variance` over
    styles.
    """
    drawn = rng.normal(0, 1, (descriptors, styles))
    drawn -= drawn.mean(axis=0)
    if styles > 1:
        drawn -= drawn.mean(axis=1, keepdims=True)
    total = drawn.var(axis=0, ddof=1).sum()
    scaled: Floats = drawn * np.sqrt(variance / total)
    return scaled


def styled_replies(rng: np.random.Generator, axis: StyledReplies, own: Floats) -> pl.DataFrame:
    """Simulate replies, one row each, with axis, descriptor, group, template, noun, prompt_id, sample and style_scores
    (sum 1).
    """
    values = _values(rng, axis, own, 1.0 / axis.styles)
    frame = _cells(axis)
    return frame.with_columns(
        style_scores=pl.Series(values.astype(np.float32).tolist(), dtype=pl.List(pl.Float32))
    )


def offence_frame(
    rng: np.random.Generator, axis: StyledReplies, own: Floats, base: float = 0.4
) -> pl.DataFrame:
    """Simulate replies as in `styled_replies`, with one probability of offence instead of styles.

    It is the column offensiveness_score. offensiveness_negative is 1 from 0.5 on.
    """
    values = np.clip(_values(rng, axis, own, base)[:, 0], 0.0, 1.0)
    return _cells(axis).with_columns(
        offensiveness_score=pl.Series(values), offensiveness_negative=pl.Series(values >= 0.5)
    )


def _values(rng: np.random.Generator, axis: StyledReplies, own: Floats, base: float) -> Floats:
    """Return values (rows, styles), with samples in the innermost order."""
    d, t, n, s, k = axis.descriptors, axis.templates, axis.nouns, axis.samples, own.shape[1]

    def part(sd: float, *shape: int) -> Floats:
        drawn = rng.normal(0, sd, (*shape, k))
        return drawn - drawn.mean(axis=-1, keepdims=True) if k > 1 else drawn

    values = (
        base
        + own[:, None, None, None, :]
        + part(0.02, 1, t, 1, 1)
        + part(0.02, 1, 1, n, 1)
        + part(axis.by_template, d, t, 1, 1)
        + part(axis.by_noun, d, 1, n, 1)
        + part(axis.prompt, d, t, n, 1)
        + part(axis.reply, d, t, n, s)
    )
    flat: Floats = values.reshape(-1, k)
    return flat


def _cells(axis: StyledReplies) -> pl.DataFrame:
    shape = (axis.descriptors, axis.templates, axis.nouns, axis.samples)
    where = np.arange(int(np.prod(shape)))
    descriptor, template, noun, sample = np.unravel_index(where, shape)
    names = pl.Series("descriptor", [f"{axis.name} {i:03d}" for i in range(axis.descriptors)]).gather(
        descriptor
    )
    return pl.DataFrame(
        {
            "axis": pl.repeat(axis.name, len(where), eager=True),
            "descriptor": names,
            "group": names.alias("group"),
            "template": pl.Series([f"template {i:02d}" for i in range(axis.templates)]).gather(template),
            "noun": pl.Series([f"noun {i:02d}" for i in range(axis.nouns)]).gather(noun),
            "prompt_id": pl.Series(where // axis.samples).cast(pl.String),
            "sample": sample.astype(np.uint16),
        }
    ).with_columns(prompt_id=pl.lit(f"{axis.name}/") + pl.col("prompt_id"))
