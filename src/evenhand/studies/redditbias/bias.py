"""Language Model Bias: audits on the pairs of RedditBias or evenhand's sentences, compared with the base model."""

from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.analysis import one_row_per_pair, select_scoring
from evenhand.measures import redditbias_lmb, redditbias_size_change, valence_spread_change
from evenhand.models import LanguageModel
from evenhand.runs import Progress, RunDirectory, answers
from evenhand.schema import read_stored_table
from evenhand.studies.audit import AuditConfig, conduct_audit
from evenhand.studies.compare import compare_outputs
from evenhand.studies.redditbias.options import OWN, RedditBiasConfig
from evenhand.study import validate_options

PUBLISHED, CORRECTED, OWN_MEASURE = "redditbias_lmb_published", "redditbias_lmb", "valence_spread"
EFFECT_SIZE, LIKELIER = "redditbias_effect_size", "redditbias_likelier"
OWN_LIMIT = 20_000
"""Number of evenhand's own sentences for each model."""
KINDS = {"redditbias": "redditbias", "own": "evenhand-likelihood"}
"""Benchmark of each audit of a model, by the sentences that the audit uses: RedditBias' or evenhand's own."""


def audit_options(config: RedditBiasConfig, model: str) -> dict[str, AuditConfig]:
    """Return the options of the audits of one model; the keys are those of KINDS that the study needs.

    One audit measures all biases of the study that use the same sentences.

    model: name of the model in the manifests. Raises UsageError for invalid options.
    """
    own = tuple(bias.removeprefix(OWN) for bias in config.bias if bias.startswith(OWN))
    axes = {"redditbias": tuple(bias for bias in config.bias if not bias.startswith(OWN)), "own": own}
    shared: dict[str, Any] = {
        name: getattr(config, name)
        for name in ("dtype", "device", "trust_remote_code", "batch_tokens", "seed", "alpha")
    }
    data = {} if config.source is None else {"redditbias": config.source}
    return {
        kind: validate_options(
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
    """Run or resume the audits of a model. Raises as `conduct_audit`."""
    for kind, options in audit_options(config, key).items():
        conduct_audit(options, model, output=folder / kind, progress=progress)


def bias_cells(
    config: RedditBiasConfig, bias: str, folder: Path, base: Path, control: Path | None
) -> list[dict[str, object]]:
    """Return the bias of one audited model, and its difference from the base model on the same sentences.

    Parameters
    ----------
    config
        Options of the study.
    bias
        Bias type of RedditBias, or an axis of evenhand's sentences with the prefix OWN.
    folder, base, control
        Folders of the audits of this model, of the base model and of the control. The control had the same training
        without the debiasing method; None if no control was trained.

    Returns
    -------
    list of dict
        One cell (columns of `cells.CELLS`) for each measure. For evenhand's sentences this is OWN_MEASURE alone. For
        RedditBias there are four measures:

        - PUBLISHED: t and two-sided p of the paired test, as in the paper.
        - CORRECTED: the bias with CI and verdict. `size` is its distance from no bias minus that of the base model,
          and `beyond` is its distance minus that of the control. OWN_MEASURE has the same columns.
        - EFFECT_SIZE: the bias in standard deviations, also with `size` and `beyond`.
        - LIKELIER: percentage of phrases that are more likely for the group.
    """
    own = bias.startswith(OWN)
    kind, axis = ("own", bias.removeprefix(OWN)) if own else ("redditbias", bias)
    run = RunDirectory.open(folder / kind).path
    measure = OWN_MEASURE if own else CORRECTED
    found = _row(run / "findings.parquet", measure, axis)
    names = ("estimate", "low", "high", "p", "null", "n")
    cell: dict[str, object] = {
        "measure": measure,
        **{name: _row(run / "measurements.parquet", measure, axis).get(name) for name in names},
        **{name: found.get(name) for name in ("q", "verdict", "direction")},
    }
    if folder != base:
        compared = compare_outputs(
            base / kind, folder / kind, names=("base", "after"), alpha=config.alpha, seed=config.seed
        )
        moved = compared.changes.filter(
            (pl.col("axis") == axis) & pl.col("group").is_null() & (pl.col("measure") == f"{measure}_change")
        ).to_dicts()
        cell |= _make_change_columns(moved[0]) if moved else {}
    sizes = _sizes(folder, base, control, kind, axis)
    cell |= {f"{what}{part}": row[name] for what, row in sizes.items() for part, name in PARTS.items()}
    if own:
        return [cell]
    beside = []
    for name in (EFFECT_SIZE, LIKELIER):
        row = _row(run / "measurements.parquet", name, axis)
        beside.append(
            {"measure": name, "null": row.get("ideal"), **{part: row.get(part) for part in names[:3]}}
        )
    effect = {
        f"{what}{part}": row["d_z" if name == "estimate" else f"d_z_{name}"]
        for what, row in sizes.items()
        for part, name in PARTS.items()
    }
    return [_read_published(run, axis), cell, beside[0] | effect, beside[1]]


PARTS = {"": "estimate", "_low": "low", "_high": "high", "_p": "p"}
"""Column of the measure that is stored in each column of `size` and `beyond`, by the suffix of the latter."""


def _sizes(folder: Path, base: Path, control: Path | None, kind: str, axis: str) -> dict[str, dict[str, Any]]:
    """Return the change in the distance from no bias, compared with the base model and with the control.

    The keys are `size` (compared with the base model) and `beyond` (compared with the control). A comparison that
    does not exist has no key. The values are rows of `redditbias_size_change` or, for evenhand's own sentences, of
    `valence_spread_change`. An estimate above 0 means that this model has the larger bias.
    """
    held_against = {"size": base, "beyond": control}
    found = {}
    for what, other in held_against.items():
        if other is None or other == folder:
            continue
        frames = [answers(RunDirectory.open(audited / kind), KINDS[kind]) for audited in (other, folder)]
        mine = [frame.filter(axis=axis) for frame in frames]
        if kind == "own":
            pairs = (
                mine[0].filter(pl.col("valence").is_not_null()).select("pair", "valence", "template").unique()
            )
            sides = pairs.pivot(on="valence", index="pair", values="template").drop_nulls().sort("pair")
            table = valence_spread_change(
                *mine, positive=sides["positive"].to_list(), negative=sides["negative"].to_list()
            )
        else:
            biases = (redditbias_lmb(one_row_per_pair(select_scoring("corrected", frame))) for frame in mine)
            table = redditbias_size_change(*biases)
        found[what] = table.row(0, named=True)
    return found


def _read_published(run: Path, axis: str) -> dict[str, object]:
    tables = run / "details" / KINDS["redditbias"] / "published.parquet"
    cell: dict[str, object] = {"measure": PUBLISHED, "null": 0.0}
    if not tables.is_file():
        return cell
    rows = read_stored_table(tables).filter(axis=axis).to_dicts()
    return cell | {"estimate": rows[0]["t"], "p": rows[0]["p"], "n": rows[0]["n"]} if rows else cell


def _row(table: Path, measure: str, axis: str) -> dict[str, Any]:
    whole = (
        (pl.col("measure") == measure)
        & (pl.col("axis") == axis)
        & pl.col("group").is_null()
        & pl.col("stratum").is_null()
    )
    rows = read_stored_table(table).filter(whole).to_dicts()
    return rows[0] if rows else {}


def _make_change_columns(row: dict[str, Any]) -> dict[str, object]:
    named = {"change": "estimate", "change_low": "low", "change_high": "high", "change_p": "p"}
    return {name: row[column] for name, column in named.items()} | {"change_verdict": row["verdict"]}
