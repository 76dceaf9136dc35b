"""Language Model Bias: each model audited on the pairs of RedditBias, or on our own sentences, and beside the base."""

from pathlib import Path
from typing import Any

import polars as pl

from evenhand.models import LanguageModel
from evenhand.runs import Progress, RunDirectory
from evenhand.schema import read_kept
from evenhand.studies.audit import AuditConfig, conduct_audit
from evenhand.studies.compare import compare_outputs
from evenhand.studies.options import validated
from evenhand.studies.redditbias.options import OWN, RedditBiasConfig

PUBLISHED, CORRECTED, OWN_MEASURE = "redditbias_lmb_published", "redditbias_lmb", "valence_spread"
OWN_LIMIT = 20_000
"""Sentences of our own that each model is asked."""
KINDS = {"redditbias": "redditbias", "own": "evenhand-likelihood"}
"""Runs of a model, and the benchmark of each."""


def audits_of(config: RedditBiasConfig, model: str) -> dict[str, AuditConfig]:
    """The audits of one model, by kind, on all biases of the study.

    model: what it is called in the manifests. Raises UsageError for options that cannot be.
    """
    own = tuple(bias.removeprefix(OWN) for bias in config.bias if bias.startswith(OWN))
    axes = {"redditbias": tuple(bias for bias in config.bias if not bias.startswith(OWN)), "own": own}
    shared: dict[str, Any] = {
        name: getattr(config, name)
        for name in ("dtype", "device", "trust_remote_code", "batch_tokens", "seed", "alpha")
    }
    data = {} if config.source is None else {"redditbias": config.source}
    return {
        kind: validated(
            AuditConfig,
            {
                **shared,
                "model": model,
                "benchmarks": (KINDS[kind],),
                "axes": named,
                "data": data,
                "limit": OWN_LIMIT if kind == "own" else None,
            },
        )
        for kind, named in axes.items()
        if named
    }


def audit_biases(
    config: RedditBiasConfig, key: str, model: LanguageModel, folder: Path, progress: Progress | None
) -> None:
    """Have a model answer everything its audits ask, or go on with them. Raises what `conduct_audit` raises."""
    for kind, options in audits_of(config, key).items():
        conduct_audit(options, model, output=folder / kind, progress=progress)


def bias_cells(config: RedditBiasConfig, bias: str, folder: Path, base: Path) -> list[dict[str, object]]:
    """What one audited model says of a bias, and how that differs from the base model on the same sentences.

    folder, base: of the two models' audits. PUBLISHED is described by its t and the two-sided p of the paired test;
    CORRECTED (of our own sentences OWN_MEASURE) has an interval and a verdict.
    """
    own = bias.startswith(OWN)
    kind, axis = ("own", bias.removeprefix(OWN)) if own else ("redditbias", bias)
    run = RunDirectory.open(folder / kind).path
    measure = OWN_MEASURE if own else CORRECTED
    found = _row(run / "findings.parquet", measure, axis)
    numbers = _row(run / "measurements.parquet", measure, axis)
    cell: dict[str, object] = {
        "measure": measure,
        **{name: numbers.get(name) for name in ("estimate", "low", "high", "p", "null", "n")},
        **{name: found.get(name) for name in ("q", "verdict", "direction")},
    }
    if folder != base:
        compared = compare_outputs(
            base / kind, folder / kind, names=("base", "after"), alpha=config.alpha, seed=config.seed
        )
        moved = compared.changes.filter(
            (pl.col("axis") == axis) & pl.col("group").is_null() & (pl.col("measure") == f"{measure}_change")
        ).to_dicts()
        cell |= _changed(moved[0]) if moved else {}
    return [cell] if own else [_published(run, axis), cell]


def _published(run: Path, axis: str) -> dict[str, object]:
    tables = run / "details" / KINDS["redditbias"] / "published.parquet"
    cell: dict[str, object] = {"measure": PUBLISHED}
    if not tables.is_file():
        return cell
    rows = read_kept(tables).filter(axis=axis).to_dicts()
    return cell | {"estimate": rows[0]["t"], "p": rows[0]["p"], "n": rows[0]["n"]} if rows else cell


def _row(table: Path, measure: str, axis: str) -> dict[str, Any]:
    whole = (
        (pl.col("measure") == measure)
        & (pl.col("axis") == axis)
        & pl.col("group").is_null()
        & pl.col("stratum").is_null()
    )
    rows = read_kept(table).filter(whole).to_dicts()
    return rows[0] if rows else {}


def _changed(row: dict[str, Any]) -> dict[str, object]:
    named = {"change": "estimate", "change_low": "low", "change_high": "high", "change_p": "p"}
    return {name: row[column] for name, column in named.items()} | {"change_verdict": row["verdict"]}
