"""Agreement of the classifiers of a run on the same texts, overall and by group."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from urllib.parse import unquote

import polars as pl

from evenhand.classifiers import offline_for
from evenhand.measures import agreement
from evenhand.measures.classifiers import Agreement
from evenhand.runs import RunDirectory, judgements
from evenhand.schema import DataError

GROUPED_BY = ("group", "descriptor", "axis")
"""The first of these columns that a benchmark's prompts have names the groups."""


@dataclass(frozen=True)
class ClassifierPair:
    """Two classifiers in one role of one benchmark."""

    benchmark: str
    role: str
    first: str
    """Key of its labels: name and digest. It is `a` in the tables of `result`, the second is `b`."""
    second: str
    result: Agreement


def compared_pairs(
    directory: RunDirectory, *, alpha: float = 0.05, seed: int = 0
) -> tuple[list[ClassifierPair], list[str]]:
    """Return all pairs of classifiers with the same role in a benchmark, compared on the texts that both classified.

    Parameters
    ----------
    directory : RunDirectory
        A run.
    alpha : float
        Significance level of the tests between groups.
    seed : int
        Random seed of their permutations.

    Returns
    -------
    pairs : list of ClassifierPair
        The compared pairs. Rows of one cluster, or samples of one prompt, are one sampling unit.
    notes : list of str
        Pairs that could not be compared, with the reason.

    Raises
    ------
    DataError
        No role has two classifiers.
    """
    pairs: list[ClassifierPair] = []
    notes: list[str] = []
    alone: list[tuple[str, str, str]] = []
    for benchmark, role, keys in _classifiers_of(directory):
        if len(keys) < 2:
            alone.append((benchmark, role, unquote(keys[0].rpartition("@")[0])))
        for first, second in combinations(keys, 2):
            frame = _side_by_side(directory, benchmark, role, first, second)
            both = frame.drop_nulls([f"{first}_negative", f"{second}_negative"])
            if both.is_empty():
                notes.append(
                    f"{role} in {benchmark}: {first} and {second} have no verdict (negative or not) on the same text."
                )
                continue
            cluster = "cluster" if "cluster" in frame.columns else None
            result = agreement(frame, first, second, cluster=cluster, alpha=alpha, seed=seed)
            pairs.append(ClassifierPair(benchmark, role, first, second, result))
    if not pairs:
        only = [f"{role} in {benchmark} by {name} alone" for benchmark, role, name in alone]
        reasons = "; ".join(notes or only) or "the run has no classified responses"
        raise DataError(
            f"The run {directory.path} has no two classifiers to compare: {reasons.rstrip('.')}.",
            f"Add a classifier: evenhand rescore {directory.path} --classifier {_second_classifier(alone)}\n"
            "`evenhand list classifiers` shows others.",
        )
    return pairs, notes


def _second_classifier(alone: list[tuple[str, str, str]]) -> str:
    """Return ROLE=NAME with a classifier that works offline and is not the one that the run has, if there is one."""
    for _, role, present in alone:
        for name in offline_for(role):
            if name != present:
                return f"{role}={name}"
    return f"{alone[0][1]}=NAME" if alone else "ROLE=NAME"


def _classifiers_of(directory: RunDirectory) -> Iterator[tuple[str, str, list[str]]]:
    manifest = directory.manifest
    for benchmark, roles in sorted(manifest.judged.items()):
        for role, now in roles.items():
            before = [
                judged.classifier
                for judged in manifest.judged_before
                if (judged.benchmark, judged.role) == (benchmark, role)
            ]
            yield benchmark, role, list(dict.fromkeys([*before, now.classifier]))


def _side_by_side(
    directory: RunDirectory, benchmark: str, role: str, first: str, second: str
) -> pl.DataFrame:
    keys = ["prompt_id", "sample"]
    labels = [
        judgements(directory, benchmark, role, key).select(
            *keys,
            "judged_text",
            pl.col("negative").alias(f"{key}_negative"),
            pl.col("score").alias(f"{key}_score"),
        )
        for key in (first, second)
    ]
    # Labels from before a change of the rule that selects the text are about other texts, so they are not compared.
    same = labels[0].join(labels[1], on=[*keys, "judged_text"], maintain_order="left")
    prompts = directory.prompts(benchmark, ["prompt_id", "cluster", *GROUPED_BY]).drop("request_id")
    named = next((name for name in GROUPED_BY if name in prompts.columns), None)
    if named is not None and named != "group":
        prompts = prompts.with_columns(group=pl.col(named))
    for column in ("group", "axis"):
        if column in prompts.columns and isinstance(prompts.schema[column], pl.List):
            prompts = prompts.explode(column)
    return same.join(prompts, on="prompt_id", maintain_order="left")
