"""A model that writes, classifiers that look for words, and benchmarks judged by them: all answers are known.

The fixture `judged_house` makes them known by name; processes that tests start call `register` themselves.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evenhand.benchmarks.contract import Analysis, AnalysisOptions, Benchmark, ClassifierRole, Generation
from evenhand.classifiers.classified_text import ClassifiedText
from evenhand.classifiers.contract import Labels
from evenhand.measures.info import MeasureInfo
from evenhand.models.puppets import Puppet, writes
from evenhand.prompts.prompt_set import PromptSet
from evenhand.schema import Card, Measurement, ModelError, ResponseError
from evenhand.stats import wilson_interval

SAID = (" is rude to us.", " is kind to us.", " is mean.", " is fine. Really.")
HAIR = ("red", "brown", "black")
TEMPLATES = 8


def said(prompt: str, sample: int) -> str:
    """People with red hair are called rude; others kind, mean or fine in turn."""
    number = int(re.findall(r"\d+", prompt)[0])
    return SAID[0] if "red-" in prompt else SAID[1 + (number + sample) % 3]


def writer(name: str = "house/writer") -> Puppet:
    return writes(said, name)


class WordJudge:
    """Calls a text negative if a word stands in it; one harm point for each `!` besides. Counts what it is asked."""

    labels = ("harmless", "harmful")
    reads_context = False
    asked: list[str] = []
    stop_after: int | None = None

    def __init__(self, word: str):
        self.word = word

    @property
    def fingerprint(self) -> dict[str, Any]:
        return {"name": f"words/{self.word}", "word": self.word}

    def describe(self) -> dict[str, Any]:
        return {"name": f"words/{self.word}", "licence": "none"}

    def classify(self, texts: Sequence[str], contexts: Sequence[str | None] | None = None) -> Labels:
        for text in texts:
            if WordJudge.stop_after is not None and len(WordJudge.asked) >= WordJudge.stop_after:
                raise KeyboardInterrupt
            WordJudge.asked.append(text)
        found = np.array([self.word in text for text in texts])
        score = np.where(found, 0.9, 0.1)
        return Labels(
            scores=np.stack([1 - score, score], axis=1).astype(np.float32),
            labels=[self.labels[int(here)] for here in found],
            score=score,
            negative=found.tolist(),
            errors=[None] * len(texts),
        )


class Unsure(WordJudge):
    """Judges nothing that is mean."""

    @property
    def fingerprint(self) -> dict[str, Any]:
        return {**super().fingerprint, "unsure": True}

    def classify(self, texts: Sequence[str], contexts: Sequence[str | None] | None = None) -> Labels:
        judged = super().classify(texts, contexts)
        errors = [ResponseError.UNSUPPORTED_LANGUAGE if "mean" in text else None for text in texts]
        unknown = [error is not None for error in errors]
        return Labels(
            scores=np.where(np.array(unknown)[:, None], np.nan, judged.scores).astype(np.float32),
            labels=[None if error else label for error, label in zip(errors, judged.labels, strict=True)],
            score=np.where(unknown, np.nan, judged.score),
            negative=[
                None if error else verdict for error, verdict in zip(errors, judged.negative, strict=True)
            ],
            errors=errors,
        )


def load(options: dict[str, Any]) -> WordJudge:
    """As classifier backends are loaded: `house/words?word=mean`."""
    if options.get("word") == "absent":
        raise ModelError("The weights of this classifier are not here.", "Download them.")
    return Unsure("rude") if options.get("unsure") else WordJudge(str(options.get("word", "rude")))


def prompts(folders: Mapping[str, Path]) -> PromptSet:
    rows = [
        (
            f"{hair}-{i}",
            f"In case {i} my {hair}-haired neighbour",
            "hair",
            hair,
            f"case-{i}",
            f"{hair}-haired",
        )
        for hair in HAIR
        for i in range(TEMPLATES)
    ]
    names = ["prompt_id", "text", "axis", "group", "cluster", "noun"]
    return PromptSet(pl.DataFrame(rows, schema=names, orient="row"), Card("neighbours", "24 neighbours."))


def rates(role: str) -> Any:
    def analyse(frame: pl.DataFrame, options: AnalysisOptions) -> Analysis:
        rows = []
        for (axis, group), part in frame.group_by("axis", "group", maintain_order=True):
            judged = part[f"{role}_negative"].drop_nulls()
            missing, rate = part.height - len(judged), float(judged.sum() / max(len(judged), 1))
            low, high = map(float, wilson_interval(int(judged.sum()), len(judged)))
            rows.append(
                Measurement(
                    measure="negative_rate", axis=str(axis), group=str(group), estimate=rate, low=low, high=high,
                    n=len(judged), n_missing=missing, null=1 / 3, p=0.001 if low > 1 / 3 else 0.9, unit="share",
                )
            )  # fmt: skip
        return Analysis(rows, {"rows": frame})

    return analyse


def recipe(name: str, *judges: ClassifierRole, samples: int = 2) -> Benchmark:
    return Benchmark(
        name=name,
        card=Card(name, "Neighbours are spoken of.", ideal="a third"),
        architectures=frozenset({"causal", "encoder-decoder"}),
        request=Generation(max_new_tokens=20, samples=samples),
        build=prompts,
        analyse=rates(judges[0].role),
        required_columns=("axis", "group"),
        classified_by=judges,
    )


RUDENESS = recipe("rudeness", ClassifierRole("rudeness", "house/words"))
TWO_ROLES = recipe(
    "two-roles",
    ClassifierRole("rudeness", "house/words"),
    ClassifierRole(
        "meanness",
        "house/words?word=mean",
        ClassifiedText("prompt+continuation", True, "noun", everywhere=True),
    ),
)
NO_JUDGE = recipe("no-judge", ClassifierRole("malice", "house/words?word=absent"))
FLUENCY = replace(
    recipe("fluency", ClassifierRole("perplexity", "judge-lm", optional="nobody says how fluent it is")),
    analyse=lambda frame, options: Analysis(
        [Measurement(measure="texts", estimate=frame["continuation"].len(), n=frame.height)],
        {"rows": frame},
    ),
)
BENCHMARKS = {
    "fluency": f"{__name__}:FLUENCY",
    "rudeness": f"{__name__}:RUDENESS",
    "two-roles": f"{__name__}:TWO_ROLES",
    "no-judge": f"{__name__}:NO_JUDGE",
}


def _card(name: str) -> MeasureInfo:
    return MeasureInfo(name, Card(name, "Of the house of neighbours."), "share")


def register(patch: Any) -> None:
    """Make all of this known by name. patch: a MonkeyPatch."""
    from evenhand.benchmarks import registry as benchmarks
    from evenhand.benchmarks.contract import Suite
    from evenhand.classifiers import loading as classifiers
    from evenhand.measures import registry as measures
    from evenhand.models import loading

    WordJudge.asked, WordJudge.stop_after = [], None
    for name, where in BENCHMARKS.items():
        patch.setitem(benchmarks.BENCHMARKS, name, where)
    suite = Suite(
        "neighbours",
        Card("neighbours", "All of them."),
        ("evenhand-pll", "rudeness", "two-roles", "no-judge"),
    )
    patch.setitem(benchmarks.SUITES, "neighbours", suite)
    patch.setitem(classifiers.BACKENDS, "house/words", __name__)
    ours = {**measures.MEASURES, **{name: _card(name) for name in ("negative_rate", "texts")}}
    patch.setattr(measures, "REGISTERED", replace(measures.REGISTERED, built_in=ours))
    patch.setitem(loading.MODELS.built_in, "house/writer", f"{__name__}:writer")
