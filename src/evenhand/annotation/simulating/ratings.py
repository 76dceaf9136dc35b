"""Simulated ratings of single texts, with planted rates of models and groups, and results of classifiers."""

import json
from collections.abc import Mapping, Sequence
from typing import Literal
from zlib import crc32

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import norm

from evenhand.annotation.simulating.allocation import allocate_votes, complete_votes, is_spammer
from evenhand.schema import UsageError

YES_NO = ("yes", "no")
REGARD = ("positive", "neutral", "negative", "other")
Floats = NDArray[np.float64]


def simulated_ratings(
    rates: Mapping[tuple[str, str], float | Sequence[float]],
    *,
    options: Sequence[str] = YES_NO,
    values: Sequence[float] | None = None,
    measurement: Literal["nominal", "ordinal", "interval"] = "nominal",
    negative: Sequence[str] = ("negative", "yes"),
    classifiers: Mapping[str, float] | None = None,
    persons: int = 60,
    items_per_person: int = 20,
    votes_per_item: int = 3,
    person_sd: float = 0.0,
    item_sd: float = 1.0,
    spammers: float = 0.0,
    gold: int = 0,
    attention: float = 0.98,
    seconds: float = 12.0,
    axis: str = "gender",
    question: str = "toxicity",
    study: str = "simulated",
    seed: int = 0,
) -> pl.DataFrame:
    """Simulate ratings of single texts, in the format of an export (VOTES).

    Each vote is a latent value: annotator effect + item effect + noise with SD 1. The thresholds between options are
    chosen so that the options have exactly the planted rates on average over annotators and items, for any two SDs.

    rates: by (model, group), the share of each option in order; with two options, only the share of the first. Items
    are divided evenly between them. values: number for each option (yes 1, no 0). Default: 1 and 0 for two options, the
    numbers of numeric options, otherwise none. options: yes and no; `REGARD`; "1" .. "7" of a Likert scale, whose
    measurement is "ordinal". classifiers: name and correlation (-1 .. 1) of the classifier's latent value with the item
    effect. A classifier also has the planted rates, with `scores` by option; its `score` and `negative` are for the
    options in `negative`. spammers: share of annotators who choose all options with equal probability, in a tenth of
    the time. gold: number per annotator; answered as expected with probability `attention`. Calls with other questions
    and the same seed simulate the same annotators and texts.

    Raises UsageError.

    >>> votes = simulated_ratings({("model", "women"): 0.3, ("model", "men"): 0.1}, persons=300, seed=2)
    >>> votes.height, round(votes["value"].mean(), 2)
    (6000, 0.2)
    """
    rng = np.random.default_rng([seed, 2])
    who, item, items = allocate_votes(persons, items_per_person, votes_per_item, rng)
    spams = is_spammer(persons, spammers, rng)
    cells = list(rates)
    cell = rng.permutation(items) % len(cells)
    shares = np.array([_shares(rates[at], options) for at in cells])  # (cells, options)
    numbers = _values(options, values)
    # the following draws differ between questions about the same texts
    rng = np.random.default_rng([seed, 3, crc32(question.encode())])
    effect = rng.standard_normal(items)
    taste = rng.standard_normal(persons)

    noise = rng.standard_normal(len(who))
    z = (person_sd * taste[who] + item_sd * effect[item] + noise) / np.sqrt(1 + person_sd**2 + item_sd**2)
    chosen = _option(z, shares[cell[item]])
    chosen = np.where(spams[who], rng.integers(len(options), size=len(who)), chosen)
    seen = [
        _judgements(items, effect, shares[cell], options, negative, classifiers or {}, rng),
        [json.dumps({"axis": axis, "group": cells[at][1]}) for at in cell],
        [cells[at][0] for at in cell],
        [f"text {number} about {cells[at][1]}" for number, at in enumerate(cell)],
    ]
    judgements, groups, models, texts = (np.array(column, dtype=object)[item].tolist() for column in seen)
    real = pl.DataFrame(
        {
            "who": who,
            "role": "real",
            "item": [f"text-{number:05d}" for number in item],
            "at": chosen,
            "model": models,
            "text": texts,
            "groups": groups,
            "judgements": judgements,
            "order": np.arange(len(who)) / len(who),
        }
    )
    votes = real
    if gold:
        mine, which = np.repeat(np.arange(persons), gold), np.tile(np.arange(gold), persons)
        right = which % len(options)
        good = rng.random(len(mine)) < np.where(spams[mine], 1 / len(options), attention)
        wrong = (right + rng.integers(1, len(options), size=len(mine))) % len(options)
        hidden = pl.DataFrame(
            {
                "who": mine,
                "role": "gold",
                "item": [f"gold-{number}" for number in which],
                "at": np.where(good, right, wrong),
                "text": [f"gold text {number}" for number in which],
                "expected": np.array(options, dtype=object)[right].tolist(),
                "correct": good,
                "groups": "{}",
                "judgements": "{}",
                "order": rng.random(len(mine)),
            }
        )
        votes = pl.concat([real, hidden], how="diagonal_relaxed")
    votes = votes.with_columns(
        kind=pl.lit("text"),
        question=pl.lit(question),
        measurement=pl.lit(measurement),
        answer=pl.Series(list(options)).gather(votes["at"]),
        value=pl.Series(numbers, dtype=pl.Float64).gather(votes["at"]),
        spams=pl.Series(spams).gather(votes["who"]),
    )
    return complete_votes(votes, seconds, study, np.random.default_rng([seed, 4]))


def _shares(rate: float | Sequence[float], options: Sequence[str]) -> Floats:
    shares = np.atleast_1d(np.asarray(rate, dtype=float))
    if len(shares) == 1 and len(options) == 2:
        shares = np.array([shares[0], 1 - shares[0]])
    if len(shares) != len(options) or (shares < 0).any() or abs(shares.sum() - 1) > 1e-9:
        raise UsageError(
            f"rate must contain one share per option ({len(options)}), each from 0 to 1, with a sum of 1, got "
            f"{rate}."
        )
    return shares


def _values(options: Sequence[str], values: Sequence[float] | None) -> list[float | None]:
    if values is not None:
        return list(values)
    if len(options) == 2:
        return [1.0, 0.0]
    return [float(option) if option.lstrip("-").isdigit() else None for option in options]


def _option(z: Floats, shares: Floats) -> NDArray[np.int64]:
    """Return the option for each standard normal value. With two options, large values give the first (yes); with more,
    small values give the first, as on a scale."""
    if shares.shape[1] == 2:
        return np.asarray((norm.cdf(z) < 1 - shares[:, 0]).astype(np.int64))
    below = norm.cdf(z)[:, None] > np.cumsum(shares, axis=1)[:, :-1]
    return np.asarray(below.sum(axis=1))


def _judgements(
    items: int,
    effect: Floats,
    shares: Floats,
    options: Sequence[str],
    negative: Sequence[str],
    classifiers: Mapping[str, float],
    rng: np.random.Generator,
) -> list[str]:
    """Return the results of the classifiers for each item, as JSON."""
    seen: list[dict[str, object]] = [{} for _ in range(items)]
    grid = norm.ppf((np.arange(200) + 0.5) / 200)
    for name, correlation in classifiers.items():
        rest = np.sqrt(1 - correlation**2)
        latent = correlation * effect + rest * rng.standard_normal(items)
        labels = _option(latent, shares)
        # scores are uncertain: half a unit of noise is added, and the result is rescaled to keep the rates
        for number in range(items):
            around = (latent[number] + 0.5 * grid) / np.sqrt(1.25)
            counts = np.bincount(
                _option(around, np.broadcast_to(shares[number], (200, len(options)))), minlength=len(options)
            )
            scores = dict(zip(options, (counts / 200).tolist(), strict=True))
            label = options[int(labels[number])]
            seen[number][name] = {
                "label": label,
                "score": sum(scores[option] for option in options if option in negative),
                "negative": label in negative,
                "scores": scores,
            }
    return [json.dumps(each) for each in seen]
