"""Apply exclusion rules: to an annotator's rows during a study, and to an export in the analysis."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from evenhand.annotation.definition import Action, Rule
from evenhand.annotation.quality.known_answers import gold_below, inconsistent_duplicates, onboarding_below
from evenhand.annotation.quality.reasons import copied_reasons
from evenhand.annotation.quality.sameness import constant_side
from evenhand.annotation.quality.speed import too_fast

RULES: Mapping[str, Callable[[pl.DataFrame, Any], dict[str, str]]] = {
    "onboarding_below": onboarding_below,
    "gold_below": gold_below,
    "inconsistent_duplicates": inconsistent_duplicates,
    "too_fast": too_fast,
    "constant_side": constant_side,
    "copied_reasons": copied_reasons,
}
"""Function of each rule: given VOTES, it returns a sentence for each annotator who breaks the rule."""
REJECTED = "rejected"
"""Name in `excluded` of judgements that the review rejected."""
PLACE_TAKEN = "place_taken"
"""Name in `excluded` of a judgement whose place went to another annotator after a rule or review excluded it."""


@dataclass(frozen=True)
class Broken:
    """An exclusion rule that applies to an annotator."""

    person: str
    rule: str
    action: Action
    sentence: str
    """Reason with numbers: "2 of 8 gold items right, 75 % wanted"."""


def broken_rules(votes: pl.DataFrame, rules: Sequence[Rule]) -> list[Broken]:
    """Return the annotators who break rules, with the rules that they break.

    `constant_side` needs other annotators to compare ratings with. Rules apply to the rows given: an unfinished
    onboarding is judged by its answers so far. Annotators are in alphabetical order, each with the rules in the order
    given.

    Parameters
    ----------
    votes
        VOTES of one annotator or of all.
    """
    found = [
        Broken(person, rule.rule, rule.action, sentence)
        for rule in rules
        for person, sentence in RULES[rule.rule](votes, rule).items()
    ]
    return sorted(found, key=lambda broken: broken.person)


def apply_rules(votes: pl.DataFrame, rules: Sequence[Rule]) -> pl.DataFrame:
    """Return VOTES with `excluded` filled in: the names of rules that block or exclude the annotator, and "rejected".

    `votes` are those of all annotators. Existing values that are not rule names (such as "blocked") are kept in front.
    Names of rules that no longer apply are removed. "place_taken" is kept, because another annotator may have the item
    by now. Null: the row counts.
    """
    by_person: dict[str, list[str]] = {}
    for broken in broken_rules(votes, [rule for rule in rules if rule.action != "flag"]):
        held = by_person.setdefault(broken.person, [])
        if broken.rule not in held:
            held.append(broken.rule)
    table = pl.DataFrame(
        {"person": list(by_person), "_rules": [",".join(names) for names in by_person.values()]},
        schema={"person": pl.String, "_rules": pl.String},
    )
    ours = [*RULES, REJECTED]
    named = pl.col("excluded").str.split(",")
    named = (
        pl.when(pl.col("_rules").is_null()).then(named).otherwise(named.list.set_difference([PLACE_TAKEN]))
    )
    others = named.list.eval(pl.element().filter(~pl.element().is_in(ours)))
    parts = (
        pl.when(others.list.len() > 0).then(others.list.join(",")),
        pl.col("_rules"),
        pl.when(pl.col("review") == "rejected").then(pl.lit(REJECTED)),
    )
    names = pl.concat_str(parts, separator=",", ignore_nulls=True)
    return (
        votes.join(table, on="person", how="left", maintain_order="left")
        .with_columns(excluded=pl.when(names != "").then(names))
        .drop("_rules")
    )
