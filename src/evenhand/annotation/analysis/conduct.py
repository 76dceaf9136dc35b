"""Run an analysis: select the included judgements, and compute all results."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from evenhand.annotation.analysis.agreeing import agreement, beside_classifiers, reliability
from evenhand.annotation.analysis.attrition import attrition
from evenhand.annotation.analysis.options import NONE, PUBLISHED, STUDY, AnalysisOptions
from evenhand.annotation.analysis.person_groups import with_person_groups
from evenhand.annotation.analysis.preferring import (
    comparing,
    compute_win_rates_per_level,
    extract_level,
    under_rules,
)
from evenhand.annotation.analysis.rating import marks, ratings
from evenhand.annotation.analysis.rules import RuleSet, rule_set
from evenhand.annotation.analysis.surveying import read_survey, scales
from evenhand.annotation.analysis.tables import (
    PREFERENCE,
    TEXT,
    PeopleTables,
    about_persons,
    answers,
    counting,
    exclusions,
)
from evenhand.annotation.definition import About
from evenhand.annotation.exports import Export
from evenhand.measures import side_effect, win_rates
from evenhand.schema import DataError, unknown_name

MOST_TEXTS = 40
"""Maximum number of free texts per question that a page lists; the export contains all."""


@dataclass(frozen=True)
class FreeTexts:
    """Free texts of annotators for one question, possibly a sample: (what the text is about, text)."""

    question: str
    drawn: tuple[tuple[str, str], ...]
    n: int


@dataclass(frozen=True)
class Analysis:
    """The results of an analysis, and the judgements on which they are based."""

    export: Export
    options: AnalysisOptions
    rules: RuleSet
    votes: pl.DataFrame
    """VOTES, with `excluded` according to the rules."""
    tables: PeopleTables
    texts: tuple[FreeTexts, ...]
    notes: tuple[str, ...]

    @property
    def used(self) -> pl.DataFrame:
        """Return the included judgements of real items."""
        return counting(self.votes)

    @property
    def questions(self) -> dict[str, str]:
        """Return the text of each question by its name, if the export contains it."""
        listed = self.export.study.get("questions") or ()
        return {one["id"]: one["text"] for one in listed if "id" in one and "text" in one}


def analyse_export(export: Export, options: AnalysisOptions) -> Analysis:
    """Return all results of an export (see `evenhand.annotation.analyse`)."""
    export = replace(export, votes=with_person_groups(export.votes, options.by))
    _check(export, options)
    rules = rule_set(options.rules, export.study)
    votes = rules.apply(export.votes)
    stored = export.votes["excluded"]
    if options.question:
        # after the rules, which use all judgements of an annotator
        about_items = pl.col("role") != "survey"
        kept = votes.select(~about_items | pl.col("question").is_in(options.question)).to_series()
        votes, stored = votes.filter(kept), stored.filter(kept)
    used, alpha, seed = counting(votes), options.alpha, options.seed
    pairs = comparing(used)
    survey = read_survey(export.study)
    rates, differences = ratings(used, options.group, baseline=options.baseline, alpha=alpha)
    scores, statements, views = scales(
        survey, votes.filter(pl.col("excluded").is_null()), baseline=options.baseline, alpha=alpha
    )
    asked = [question.id for block in survey if isinstance(block, About) for question in block.questions]
    tables = PeopleTables(
        answers=answers(votes),
        attrition=attrition(votes, stored),
        exclusions=exclusions(votes),
        win_rates=_unless_empty(pairs, win_rates, baseline=options.baseline, alpha=alpha),
        win_rates_by=pl.DataFrame()
        if options.group is None
        else compute_win_rates_per_level(pairs, options.group, baseline=options.baseline, alpha=alpha),
        sides=_unless_empty(pairs, side_effect, alpha=alpha),
        rates=rates,
        differences=differences,
        agreement=agreement(used, export.study.get("questions") or (), seed=seed),
        reliability=reliability(used, alpha=alpha, seed=seed),
        classifiers=beside_classifiers(used, seed=seed),
        views=views,
        scores=scores,
        statements=statements,
        marks=marks(used),
        sensitivity=under_rules(
            votes, list(_other_rules(export, rules)), baseline=options.baseline, alpha=alpha
        ),
        about=about_persons(votes, asked),
    )
    return Analysis(
        export, options, rules, votes, tables, tuple(_texts(used, seed)), tuple(_notes(export, votes, rules))
    )


def _unless_empty(votes: pl.DataFrame, measure: Callable[..., pl.DataFrame], **asked: Any) -> pl.DataFrame:
    return pl.DataFrame() if votes.is_empty() else measure(votes, **asked)


def _check(export: Export, options: AnalysisOptions) -> None:
    votes = export.votes
    studies = votes["study"].drop_nulls().unique().sort().to_list()
    if len(studies) > 1:
        raise DataError(
            f"{export.path} contains judgements of {len(studies)} studies: {', '.join(map(repr, studies[:5]))}.",
            "Export and analyse each study separately.",
        )
    real = votes.filter(pl.col("role") == "real")
    if real.is_empty():
        raise DataError(
            f"{export.path} contains no judgement of an item.",
            "Export the study again when there are judgements.",
        )
    known = real["question"].unique(maintain_order=True).to_list()
    for question in options.question:
        if question not in known:
            raise unknown_name("question", question, known)
    if (
        options.group is not None
        and real.select(extract_level(options.group)).to_series().null_count() == real.height
    ):
        raise DataError(
            f"`--by {options.by}`: no item in {export.path} has the property {options.group!r}.",
            "Give a key of the object in the column groups of the export, such as --by groups.axis, or a "
            "question about the annotators, such as --by person.age.",
        )
    models = {
        model
        for column in ("model", "model_a", "model_b")
        for model in real[column].drop_nulls().unique().to_list()
    }
    if options.baseline is not None and options.baseline not in models:
        raise unknown_name("model", options.baseline, models)


def _other_rules(export: Export, chosen: RuleSet) -> Iterator[RuleSet]:
    """Yield the rule sets to compare: none, the study's, the published ones (if there was an
    onboarding), the chosen ones.
    """
    yield rule_set(NONE, export.study)
    yield rule_set(STUDY, export.study)
    if not export.votes.filter(pl.col("role") == "onboarding").is_empty():
        yield rule_set(PUBLISHED, export.study)
    if chosen.name not in ("none", "the study's", "published"):
        yield chosen


def _texts(votes: pl.DataFrame, seed: int) -> Iterator[FreeTexts]:
    """Yield a random sample of reasons and texts per question; annotators are renumbered to hide their pseudonyms."""
    written = pl.concat(
        [
            votes.filter(pl.col("measurement") == TEXT).select("question", "item", "person", text="answer"),
            votes.select("question", "item", "person", text="reason"),
        ]
    ).filter(pl.col("text").str.strip_chars().str.len_chars() > 0)
    rng = np.random.default_rng([seed, 1])
    persons = sorted(written["person"].unique())
    numbers = dict(zip(persons, (rng.permutation(len(persons)) + 1).tolist(), strict=True))
    for question in written["question"].unique(maintain_order=True):
        mine = written.filter(pl.col("question") == question)
        places = np.sort(rng.permutation(mine.height)[:MOST_TEXTS])
        drawn = tuple(
            (f"person {numbers[row['person']]}, {row['item']}", row["text"])
            for row in mine[places.tolist()].iter_rows(named=True)
        )
        yield FreeTexts(question, drawn, mine.height)


def _notes(export: Export, votes: pl.DataFrame, rules: RuleSet) -> Iterator[str]:
    used = counting(votes)
    chosen = used.filter(pl.col("measurement") == PREFERENCE)
    if unnamed := chosen.height - comparing(used).height:
        yield (
            f"{unnamed:,} of {chosen.height:,} preference judgements do not name two different models. They are "
            "excluded from the win rates."
        )
    if rules.rules is None:
        yield (
            "The export has no study file. The analysis therefore uses the export's own marks for the judgements that "
            "count, shows question names instead of their text, and cannot score the survey's scales."
        )
    elif rules.name == "the study's":
        before = _persons_out(export.votes)
        now = _persons_out(votes)
        if before != now:
            yield (
                f"The study's rules exclude {len(now):,} annotators, but the export marks {len(before):,} as excluded. "
                "It was written before the study ended, or changed since. This analysis applies the rules."
            )


def _persons_out(votes: pl.DataFrame) -> set[str]:
    """Return annotators without any judgement that counts; single judgements may be excluded for other reasons."""
    return set(votes.filter(pl.col("role") == "real")["person"]) - set(counting(votes)["person"])
