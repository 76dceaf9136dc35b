"""Which of the found triggers is of use: by what the model writes behind it, on prompts it was not searched on."""

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
class Written:
    """What a model wrote for some prompts, judged: one row a prompt and sample.

    frame: prompt_id, group, sample, negative (null where there is no judgement), nll (nats a token of the
    continuation behind its prompt alone, under the model without a trigger; null where there is none), tokens.
    """

    frame: pl.DataFrame

    @property
    def rates(self) -> dict[str, float]:
        """Share of negative continuations by group."""
        rows = self.frame.drop_nulls("negative").group_by("group", maintain_order=True)
        return {
            group: float(rate)
            for group, rate in rows.agg(pl.col("negative").cast(pl.Float64).mean()).iter_rows()
        }

    @property
    def rate(self) -> float:
        """Share of negative continuations, all groups counting alike. Raises DataError if none was judged."""
        if not self.rates:
            raise DataError("No continuation could be judged.", "Check the classifier and the model's texts.")
        return float(np.mean(list(self.rates.values())))

    @property
    def perplexity(self) -> float:
        """Of all continuations together, per token; infinite if the model without a trigger cannot score any."""
        scored = self.frame.drop_nulls("nll")
        if scored.is_empty():
            return float("inf")
        tokens = scored["tokens"].to_numpy().astype(np.float64)
        return float(np.exp((scored["nll"].to_numpy() * tokens).sum() / tokens.sum()))


def written_with(
    model: LanguageModel,
    trigger: TriggerFile | None,
    prompts: pl.DataFrame,
    classifier: Classifier,
    decoding: Decoding,
    rule: ClassifiedText,
) -> Written:
    """What a model writes for prompts with a trigger, or without one, judged and scored without it.

    prompts: columns prompt_id, text, group, and what the rule masks. The trigger is neither judged nor scored.
    """
    writes = model if trigger is None else Trigger(trigger)(model)
    rows, verdicts = labelled_continuations(writes, prompts, classifier, decoding, rule)
    continuations = rows["continuation"].fill_null("").to_list()
    likelihoods = model.log_likelihoods(Texts(continuations, rows["text"].to_list(), spaced=False))
    counts, sums = likelihoods.counts, likelihoods.sums
    nll = [
        float(-total / n) if n and np.isfinite(total) else None for total, n in zip(sums, counts, strict=True)
    ]
    # An empty continuation cannot be judged, and is no harm: the model said nothing.
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
    return Written(frame)


@dataclass(frozen=True)
class Choice:
    """The chosen trigger among several, and the numbers it was chosen by."""

    trigger: TriggerFile
    rows: tuple[dict[str, Any], ...]
    """For no trigger and each trigger: text, rate, rates by group, perplexity, whether the guard lets it pass."""
    note: str
    """Empty, or what is wrong with even the best one."""


def select_trigger(
    model: LanguageModel,
    triggers: Sequence[TriggerFile],
    prompts: pl.DataFrame,
    classifier: Classifier,
    decoding: Decoding,
    *,
    rule: ClassifiedText | None = None,
    most_perplexity_ratio: float = 1.5,
) -> Choice:
    """Choose among triggers by the model's own continuations of prompts that none was searched on.

    Modes mitigate and neutral: the lowest share of negative continuations, all groups counting alike; induce: the
    largest difference between the group it is against and the one it favours. Triggers behind which continuations
    are more than `most_perplexity_ratio` times as perplexing to the model without one are passed over; if that
    leaves none, the one with the lowest perplexity is used and the note reports this. Raises DataError without
    triggers. Source: Sheng et al. 2020, section 3; ROBBIE, section B.3.3.
    """
    if not triggers:
        raise DataError("There is no trigger to choose from.")
    rule = rule or ClassifiedText()
    plain = written_with(model, None, prompts, classifier, decoding, rule)
    behind = [written_with(model, one, prompts, classifier, decoding, rule) for one in triggers]
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
            f"Behind every trigger continuations are more than {most_perplexity_ratio:g} times as perplexing as "
            "without one; this is the least perplexing."
        )
    elif not worth[best] < badness(plain, objectives[best]):
        note = "On the prompts it was chosen by, it does no better than no trigger at all."
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
    return Choice(triggers[best], tuple(rows), note)


def badness(written: Written, objective: Objective) -> float:
    """The number a trigger is chosen by, lower is better. Raises DataError where a group has no judgement."""
    if objective.mode != "induce":
        return written.rate
    rates = written.rates
    if lacking := [group for group in (objective.against, objective.favour) if group not in rates]:
        raise DataError(f"No judged continuation is about {' or '.join(map(str, lacking))}.")
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
    """What a trigger does on prompts that it was neither searched nor chosen on.

    Returns JSON-serialisable: `change`, the rows of `paired_change` (over all, and by group) of the share of
    negative continuations; `perplexity_before` and `perplexity_after`; `classifier`; and a `sentence`.
    """
    rule = rule or ClassifiedText()
    before = written_with(model, None, prompts, classifier, decoding, rule)
    after = written_with(model, trigger, prompts, classifier, decoding, rule)
    keys = ["prompt_id", "group", "sample"]
    both = before.frame.select(*keys, before=pl.col("negative").cast(pl.Float64)).join(
        after.frame.select(*keys, after=pl.col("negative").cast(pl.Float64)), on=keys, maintain_order="left"
    )
    change = paired_change(both, seed=seed).to_dicts()
    overall = change[0]
    shown = (
        "" if overall["low"] is None else f" (95 % interval {overall['low']:+.3f} to {overall['high']:+.3f})"
    )
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
            f"On {overall['n_prompts']} prompts kept for the test, {overall['before']:.1%} of continuations were "
            f"negative without it and {overall['after']:.1%} behind it, a change of {overall['estimate']:+.3f}"
            f"{shown}; their perplexity went from {before.perplexity:.2f} to {after.perplexity:.2f}."
        ),
    }
