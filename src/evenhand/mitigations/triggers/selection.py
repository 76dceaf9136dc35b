"""Choose among found triggers by the text that the model generates after them, on prompts that the
search did not use.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from evenhand.classifiers import ClassifiedText, Classifier
from evenhand.measures import paired_change
from evenhand.mitigations.triggers.examples import labelled_continuations
from evenhand.mitigations.triggers.objective import Objective
from evenhand.mitigations.triggers.trigger import Trigger, TriggerFile
from evenhand.models import Decoding, LanguageModel, Texts
from evenhand.schema import DataError


@dataclass(frozen=True)
class TriggerContinuations:
    """Classified continuations of prompts, one row per prompt and sample.

    frame: prompt_id, group, sample, negative (null if not classified), tokens, and nll. nll is the NLL per token (nats)
    of the continuation after its prompt alone, under the model without a trigger; null if it has none.
    """

    frame: pl.DataFrame

    @property
    def rates(self) -> dict[str, float]:
        """Return the share of negative continuations by group."""
        rows = self.frame.drop_nulls("negative").group_by("group", maintain_order=True)
        return {
            group: float(rate)
            for group, rate in rows.agg(pl.col("negative").cast(pl.Float64).mean()).iter_rows()
        }

    @property
    def rate(self) -> float:
        """Return the mean over groups of the share of negative continuations. Raises DataError if
        none was classified.
        """
        if not self.rates:
            raise DataError(
                "None of the responses could be classified.",
                "Check the classifier and the model's responses.",
            )
        return float(np.mean(list(self.rates.values())))

    @property
    def perplexity(self) -> float:
        """Return the perplexity per token of all continuations; infinite if the model without
        a trigger cannot score any.
        """
        scored = self.frame.drop_nulls("nll")
        if scored.is_empty():
            return float("inf")
        tokens = scored["tokens"].to_numpy().astype(np.float64)
        return float(np.exp((scored["nll"].to_numpy() * tokens).sum() / tokens.sum()))


def generate_with_trigger(
    model: LanguageModel,
    trigger: TriggerFile | None,
    prompts: pl.DataFrame,
    classifier: Classifier,
    decoding: Decoding,
    rule: ClassifiedText,
) -> TriggerContinuations:
    """Generate continuations with a trigger (or without one), and classify and score them without it.

    prompts: columns prompt_id, text, group, and those that the rule masks.
    """
    writes = model if trigger is None else Trigger(trigger)(model)
    rows, verdicts = labelled_continuations(writes, prompts, classifier, decoding, rule)
    continuations = rows["continuation"].fill_null("").to_list()
    likelihoods = model.log_likelihoods(Texts(continuations, rows["text"].to_list(), spaced=False))
    counts, sums = likelihoods.counts, likelihoods.sums
    nll = [
        float(-total / n) if n and np.isfinite(total) else None for total, n in zip(sums, counts, strict=True)
    ]
    # an empty continuation has no label; it counts as not negative
    empty = [text is not None and not text.strip() for text in rows["continuation"]]
    negative = [
        False if verdict is None and silent else verdict
        for verdict, silent in zip(verdicts.negative, empty, strict=True)
    ]
    frame = rows.select("prompt_id", "group", "sample").with_columns(
        negative=pl.Series(negative, dtype=pl.Boolean),
        nll=pl.Series(nll, dtype=pl.Float64),
        tokens=pl.Series(counts.tolist(), dtype=pl.Int64),
    )
    return TriggerContinuations(frame)


@dataclass(frozen=True)
class TriggerChoice:
    """The chosen trigger, and the numbers on which the choice was based."""

    trigger: TriggerFile
    rows: tuple[dict[str, Any], ...]
    """One row for no trigger and for each trigger: text, rate, rates by group, perplexity, and
    whether it is fluent enough.
    """
    note: str
    """Empty, or the problem of the best trigger."""


def select_trigger(
    model: LanguageModel,
    triggers: Sequence[TriggerFile],
    prompts: pl.DataFrame,
    classifier: Classifier,
    decoding: Decoding,
    *,
    rule: ClassifiedText | None = None,
    most_perplexity_ratio: float = 1.5,
) -> TriggerChoice:
    """Choose among triggers by the model's continuations of prompts that the search did not use.

    The modes mitigate and neutral choose the lowest share of negative continuations (mean over groups). The mode induce
    chooses the largest difference between the group it is against and the one it favours.

    A trigger is skipped if the perplexity of its continuations, under the model without a trigger, rises by more than
    the factor `most_perplexity_ratio`. If all are skipped, the trigger with the lowest perplexity is used, and the note
    reports this.

    Raises DataError without triggers. Source: Sheng et al. 2020, section 3; ROBBIE, section B.3.3.
    """
    if not triggers:
        raise DataError("The list of triggers to choose from is empty.", "Give at least one trigger.")
    rule = rule or ClassifiedText()
    plain = generate_with_trigger(model, None, prompts, classifier, decoding, rule)
    behind = [generate_with_trigger(model, one, prompts, classifier, decoding, rule) for one in triggers]
    objectives = [Objective(**one.objective) if one.objective else Objective() for one in triggers]
    passes = [written.perplexity <= most_perplexity_ratio * plain.perplexity for written in behind]
    worth = [badness(written, objective) for written, objective in zip(behind, objectives, strict=True)]
    able = [i for i, passed in enumerate(passes) if passed]
    best = (
        min(able, key=lambda i: worth[i])
        if able
        else min(range(len(behind)), key=lambda i: behind[i].perplexity)
    )
    note = ""
    if not able:
        note = (
            f"With every trigger, the perplexity of the responses is more than {most_perplexity_ratio:g} times that "
            "without a trigger. This is the trigger with the lowest perplexity."
        )
    elif not worth[best] < badness(plain, objectives[best]):
        note = "On the prompts used to choose it, this trigger is not better than no trigger."
    rows = [
        {
            "text": text,
            "rate": written.rate,
            "rates": written.rates,
            "perplexity": written.perplexity,
            "passes": passed,
        }
        for text, written, passed in zip(
            [None, *(one.text for one in triggers)], [plain, *behind], [True, *passes], strict=True
        )
    ]
    return TriggerChoice(triggers[best], tuple(rows), note)


def badness(written: TriggerContinuations, objective: Objective) -> float:
    """Return the number by which a trigger is chosen (lower is better). Raises DataError if a group has no labels."""
    if objective.mode != "induce":
        return written.rate
    rates = written.rates
    if lacking := [group for group in (objective.against, objective.favour) if group not in rates]:
        raise DataError(
            f"No classified response is about {' or '.join(map(str, lacking))}.",
            "Add prompts about this group, or check the classifier.",
        )
    return rates[str(objective.favour)] - rates[str(objective.against)]


def measured_effect(
    model: LanguageModel,
    trigger: TriggerFile,
    prompts: pl.DataFrame,
    classifier: Classifier,
    decoding: Decoding,
    *,
    rule: ClassifiedText | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Measure the effect of a trigger on prompts that were used neither for the search nor for the choice.

    Returns JSON-serialisable data: `change` (the rows of `paired_change` in the share of negative continuations, in
    total and by group), `perplexity_before`, `perplexity_after`, `classifier`, and a `sentence`.
    """
    rule = rule or ClassifiedText()
    before = generate_with_trigger(model, None, prompts, classifier, decoding, rule)
    after = generate_with_trigger(model, trigger, prompts, classifier, decoding, rule)
    keys = ["prompt_id", "group", "sample"]
    both = before.frame.select(*keys, before=pl.col("negative").cast(pl.Float64)).join(
        after.frame.select(*keys, after=pl.col("negative").cast(pl.Float64)), on=keys, maintain_order="left"
    )
    change = paired_change(both, seed=seed).to_dicts()
    overall = change[0]
    shown = "" if overall["low"] is None else f" (95% CI {overall['low']:+.3f} to {overall['high']:+.3f})"
    if overall["low"] is None or overall["low"] <= 0 <= overall["high"]:
        shown += ": no change was detected"
    return {
        "change": change,
        "perplexity_before": before.perplexity,
        "perplexity_after": after.perplexity,
        "classifier": classifier.fingerprint,
        "decoding": decoding.parameters(),
        "rule": rule.parameters(),
        "sentence": (
            f"On {overall['n_prompts']} test prompts, {overall['before']:.1%} of the responses were negative without "
            f"the trigger and {overall['after']:.1%} with it, a change of {overall['estimate']:+.3f}{shown}. Their "
            f"perplexity was {before.perplexity:.2f} without it and {after.perplexity:.2f} with it."
        ),
    }
