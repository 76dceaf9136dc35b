"""Make the checklist of a consistency check from classified continuations: scores, tests, and undecided tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from evenhand.measures import consistency
from evenhand.measures.changes import (
    CONTROLS,
    LEVELS,
    RULES,
    Boundary,
    Consistency,
    Decision,
    DomainEvidence,
    Outcome,
    Rule,
    decide,
    sampled_contrast,
)
from evenhand.schema import DataError
from evenhand.studies.consistency.levels import Levels
from evenhand.studies.consistency.scores import Attributes, Floats

NEEDED = ("default", "original")
Judged = Mapping[tuple[str, str], pl.DataFrame]
"""Classified continuations of `runs.judgements`, one row per prompt, by domain and key of the level."""


@dataclass(frozen=True)
class Matrices:
    """Scores for the protocol.

    Attributes
    ----------
    scores
        By domain and level, a list of arrays of shape (prompts, attributes): one array per nonsense wording, and a
        single one for the other levels.
    lacking
        Levels that were run but have no score in at least one domain, with the reason.
    """

    scores: dict[str, dict[str, list[Floats]]]
    lacking: dict[str, str] = field(default_factory=dict)


def score_matrices(
    levels: Levels,
    judged: Judged,
    attributes: Attributes,
    labels: tuple[str, ...],
    prompts: Mapping[str, pl.Series],
) -> Matrices:
    """Return the scores that the protocol compares.

    A level without any complete score in a domain is left out of both domains, because a test needs it. For the levels
    default and original, DataError is raised with the reason.

    Parameters
    ----------
    levels : Levels
        The levels of the method.
    judged : mapping
        Classified continuations by domain and key of the level.
    attributes : Attributes
        Attributes of the classifier that are scored.
    labels : tuple of str
        Labels of the classifier.
    prompts : mapping
        Prompt ids of each domain, in the order of the arrays' rows. Prompts that a level was not run with have NaN.
    """
    scores: dict[str, dict[str, list[Floats]]] = {}
    lacking: dict[str, str] = {}
    names = list(dict.fromkeys(level.name for level in levels.all))
    for domain in dict.fromkeys(domain for domain, _ in judged):
        scores[domain] = {}
        for name in names:
            frames = [judged[domain, level.key] for level in levels.named(name)]
            arrays = [_in_order(frame, attributes.scores(frame, labels), prompts[domain]) for frame in frames]
            scores[domain][name] = arrays
            if not any(has_scores(array) for array in arrays):
                lacking[name] = _why(name, domain, pl.concat([frame.select("error") for frame in frames]))
    for name in NEEDED:
        if name in lacking:
            raise DataError(
                lacking[name],
                "Try another classifier (--classifier toxicity=NAME), or retry failed rows: --retry-errors.",
            )
    left = [name for name in names if name not in lacking]
    return Matrices(
        {domain: {name: found[name] for name in left} for domain, found in scores.items()}, lacking
    )


def _in_order(frame: pl.DataFrame, scores: Floats, prompts: pl.Series) -> Floats:
    rows = pl.DataFrame({"prompt_id": prompts}).join(
        frame.select("prompt_id").with_row_index("row"), on="prompt_id", how="left", maintain_order="left"
    )["row"]
    placed = np.full((len(prompts), scores.shape[1]), np.nan)
    asked = rows.is_not_null().to_numpy()
    placed[asked] = scores[rows.drop_nulls().to_numpy()]
    return placed


def has_scores(array: Floats) -> bool:
    """Return True if some prompt has the scores of all attributes."""
    return bool(np.isfinite(array).all(axis=1).any())


def score_table(
    levels: Levels, judged: Judged, attributes: Attributes, labels: tuple[str, ...]
) -> pl.DataFrame:
    """Return one row per domain, level, nonsense wording (`group`) and prompt.

    There is a column for the score of each attribute (null without a score), and `error` with the reason.
    """
    by_key = {level.key: level for level in levels.all}
    tables = []
    for (domain, key), frame in judged.items():
        scores = attributes.scores(frame, labels)
        columns = [pl.Series(name, scores[:, i]).fill_nan(None) for i, name in enumerate(attributes.names)]
        table = frame.select(
            pl.lit(domain).alias("domain"),
            pl.lit(by_key[key].name).alias("level"),
            pl.lit(by_key[key].group, pl.Int64).alias("group"),
            "prompt_id",
            *columns,
            "error",
        )
        tables.append(table)
    return pl.concat(tables)


def _why(level: str, domain: str, errors: pl.DataFrame) -> str:
    codes = errors["error"].drop_nulls().value_counts(sort=True).rows()
    counts = ", ".join(f"{count:,} {code}" for code, count in codes)
    reason = counts or "the classifier does not decide which texts are harmful, or lacks an attribute"
    return f"No continuation of the level {level} has a score on the {domain} prompts ({reason})."


DECISIONS = {
    "rule": pl.String,
    "test": pl.String,  # effect, polarity, importance, transfer
    "domain": pl.String,  # null: both
    "outcome": pl.String,
    "reason": pl.String,
    "amount": pl.String,  # size of the effect, as text
    "advised_prompts": pl.Int64,  # number of prompts that would decide an undecided test with 80% power
    "advised_wordings": pl.Int64,  # the same for nonsense wordings, for tests that depend on them
}
UNKNOWN = sampled_contrast(np.full((1, 1), np.nan))
NEEDS = {"polarity": ("opposite",), "importance": CONTROLS}
"""Levels that a test needs in addition to default and original."""


def checklists(
    numbers: Consistency, lacking: Mapping[str, str], *, specified: bool, margin: float
) -> dict[str, list[Decision]]:
    """Return the outcome of every test under every rule, by rule, including tests that do not apply.

    The test "effect" asks whether the method lowers harm at all (the paper's initial test). Source: Morabito et al.
    2023, section 3.

    Parameters
    ----------
    numbers
        Results of the protocol, computed from the available levels.
    lacking
        The reason for each missing level.
    specified
        True if the method has a wording. Transfer then compares all tests between the domains, otherwise only the
        effect.
    margin
        Largest difference in percentage points that counts as similar.
    """
    return {str(rule): _checklist(numbers, lacking, specified, margin, rule) for rule in RULES}


def decision_frame(decisions: Mapping[str, Sequence[Decision]]) -> pl.DataFrame:
    """Return DECISIONS: every decision under every rule."""
    rows = []
    for rule, made in decisions.items():
        for one in made:
            advised = (None, None) if one.advice is None else (one.advice.prompts, one.advice.wordings)
            rows.append((rule, one.test, one.domain, str(one.outcome), one.reason, one.amount, *advised))
    return pl.DataFrame(rows, schema=DECISIONS, orient="row")


def nonsense_by_group(
    scores: Mapping[str, Mapping[str, Sequence[Floats]]],
    attributes: Sequence[str],
    threshold: float,
    seed: int,
) -> pl.DataFrame:
    """Return the table of the protocol for each nonsense wording separately.

    The result has the rows of the level nonsensical of `measures.consistency.TABLE`, and a column `group` with the
    number of the wording, from 1. It is empty if this level was not run.

    Parameters
    ----------
    scores
        By domain and level, one array of shape (prompts, attributes) per wording.
    attributes
        Names of the attributes.
    threshold
        Score from which a continuation is harmful.
    seed
        Random seed.
    """
    tables = []
    for domain, levels in scores.items():
        for group, array in enumerate(levels.get("nonsensical", ()), 1):
            if not has_scores(array):
                continue  # this wording has no score; the level consists of the others
            # compare on the prompts that this wording was run with
            here = np.isfinite(array).any(axis=1)
            default = [one[here] for one in levels["default"]]
            alone = {domain: {"default": default, "nonsensical": [array[here]]}}
            table = consistency(alone, attributes=attributes, threshold=threshold, seed=seed).table
            row = table.filter(pl.col("level") == "nonsensical").with_columns(group=pl.lit(group, pl.Int64))
            tables.append(row)
    return pl.concat(tables) if tables else pl.DataFrame()


def _checklist(
    numbers: Consistency, lacking: Mapping[str, str], specified: bool, margin: float, rule: Rule
) -> list[Decision]:
    evidence = {domain: _fill_missing_levels(known) for domain, known in numbers.evidence.items()}
    made = decide(evidence, rule=rule, margin=margin)
    effects = [one for one in made if one.test == "effect"]
    decisions: list[Decision] = []
    for one in made:
        why = _why_not(one.test, lacking, specified)
        if one.test == "transfer" and not specified and len(effects) > 1:
            decisions.append(_transfer_of_effect(effects))
        elif why and not (one.test == "transfer" and len(effects) < 2):
            decisions.append(replace(one, outcome=Outcome.NOT_APPLICABLE, reason=why, amount="", advice=None))
        else:
            decisions.append(one)
    return decisions


def _fill_missing_levels(known: DomainEvidence) -> DomainEvidence:
    """Return the evidence with NaN for missing levels; decisions that depend on these are not reported."""
    return DomainEvidence(
        {level: known.rates.get(level, np.nan) for level in LEVELS},
        {control: known.differs.get(control, False) for control in CONTROLS},
        known.effect or UNKNOWN,
        {level: known.boundaries.get(level, Boundary(level, UNKNOWN, None, 0.0)) for level in LEVELS[2:]},
    )


def _why_not(test: str, lacking: Mapping[str, str], specified: bool) -> str | None:
    if test == "effect":
        return None
    if test == "transfer":
        untested = [name for name, needed in NEEDS.items() if any(level in lacking for level in needed)]
        return (
            f"needs polarity and importance, and {' and '.join(untested)} could not be tested"
            if untested
            else None
        )
    return next((lacking[level] for level in NEEDS[test] if level in lacking), None)


def _transfer_of_effect(effects: Sequence[Decision]) -> Decision:
    """Return whether the effect is the same in both domains: the only test of transfer for a method without wording."""
    first, second = effects[:2]
    what = "the effect itself, because the method has no wording"
    if first.outcome != Outcome.PASS:
        reason = f"tested only if the effect is shown on the {first.domain} prompts ({what})"
        return Decision("transfer", None, Outcome.NOT_APPLICABLE, reason)
    return Decision(
        "transfer", None, second.outcome, f"{what}: on the {second.domain} prompts {second.reason}",
        second.amount, second.advice,
    )  # fmt: skip
