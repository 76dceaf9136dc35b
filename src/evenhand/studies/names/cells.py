"""One table with all results: for each decoding, model and measure an estimate, its CI, its null and its change."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evenhand.reports import HIGHER, LOWER, NOT_DETECTED
from evenhand.schema import DataError, read_stored_table
from evenhand.stats import Floats, holm
from evenhand.studies.compare import compare_outputs
from evenhand.studies.names.detection import AXES, MEASURES, rescale_mde
from evenhand.studies.names.effects import (
    GROUP_TOKENS,
    OFFENCE,
    SEPARATOR,
    TOKENS,
    UTILITY,
    WORDS,
    Replicates,
    compute_shares,
    limits,
    within_bounds,
)
from evenhand.studies.names.options import BASE, NamesConfig

CELLS = {
    "decoding": pl.String,  # null for likelihoods, which do not depend on decoding
    "row": pl.String,
    "benchmark": pl.String,
    "measure": pl.String,
    "part": pl.String,  # speaker, tier, race, or type of correlation; empty: all replies together
    "estimate": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "null": pl.Float64,
    "p": pl.Float64,
    "minimum_detectable": pl.Float64,  # distance from the null, 80% power; of STATED at Bonferroni's level
    "n": pl.Int64,
    "n_missing": pl.Int64,  # replies that were not generated, or not classified
    "n_units": pl.Int64,
    "change_from": pl.Float64,  # estimate of the base row, for the replies that both rows have
    "change": pl.Float64,  # change from the base row in the same conversations; a ratio for perplexity
    "change_low": pl.Float64,
    "change_high": pl.Float64,
    "change_p": pl.Float64,
    "change_q": pl.Float64,  # by Holm's method for the rows and decodings of a measure
    "change_verdict": pl.String,  # lower, higher or not detected
    "obstacle": pl.String,
    "change_n_missing": pl.Int64,  # replies that only one of the rows has; they are left out of the change
    "change_obstacle": pl.String,  # why a change has no interval
    "change_minimum_detectable": pl.Float64,  # at Bonferroni's level, which is stricter than Holm's; a ratio
    # for perplexity; null for sentence pairs
}
PERPLEXITY = "reply_perplexity"
PAIRS = {"stereoset": "stereoset_ss", "crows-pairs": "crows_pairs"}
"""Benchmarks of sentence pairs, with the measure of each that the study reports."""
BIASES = (
    "classifier_bias",
    "classifier_bias_masked",
    TOKENS,
    GROUP_TOKENS,
    "occupation_lean",
    OFFENCE,
    *PAIRS.values(),
)
COSTS = (PERPLEXITY, *UTILITY)
JUDGED = frozenset({*BIASES, *COSTS})
"""Measures that get a verdict on their change from the base row. The others are reported without a verdict."""
STATED = ("classifier_bias", TOKENS, "occupation_lean")
"""Measures for which the report states whether replies of the base row differ between genders."""
TESTED = ("low", "high", "p", "minimum_detectable")
UNKNOWN_SIZE = {"minimum_detectable": None}
"""Replacement for the minimum detectable change of sentence pairs, which is not known for several rows."""
DESCRIBED = ("token_bins_published", "intersectional_token_bins_published")


def chat_cells(
    run: Path,
    benchmark: str,
    found: Replicates,
    base: Replicates | None,
    *,
    lost: int = 0,
    whole: bool = True,
    level: float = 0.05,
    alpha: float = 0.05,
) -> Iterator[dict[str, Any]]:
    """Yield the results of one row's self-chats, one dictionary (columns of CELLS) per measure and part.

    Parameters
    ----------
    run : Path
        Folder of the run.
    benchmark : str
        Benchmark whose conversations are reported.
    found, base : Replicates
        Replicates of this row and of the base row, both for the replies that both rows have. `base` is None if this is
        the base row.
    lost : int
        Number of replies that only one of them has.
    whole : bool
        True if replicates use all names. The run's measurements also use all names, so they and their tests are then
        reported.
    level : float
        Significance level of the test of one change. It determines the minimum detectable effect of the change.
    alpha : float
        Level of the whole study. The minimum detectable effect of a measure of STATED is for a test at
        `alpha / MEASURES` (Bonferroni's level, which is stricter than Holm's).
    """
    stored = read_stored_table(run / "measurements.parquet").filter(
        (pl.col("benchmark") == benchmark) & pl.col("group").is_null()
    )
    rows = {(row["measure"], row["stratum"] or ""): row for row in stored.to_dicts() if whole}
    keys = [key.split(SEPARATOR, 1) for key in found.values]
    wanted = [(measure, part) for measure, part in keys]
    wanted += [key for key in rows if key not in wanted and (key[0] in DESCRIBED or key[0] in BIASES)]
    for measure, part in wanted:
        cell: dict[str, Any] = {"benchmark": benchmark, "measure": measure, "part": part}
        key = f"{measure}{SEPARATOR}{part}"
        values = found.values.get(key)
        if (row := rows.get((measure, part))) is not None:
            cell |= {
                name: row[name]
                for name in ("estimate", "null", *TESTED, "n", "n_missing", "n_units", "obstacle")
            }
            if measure in STATED:
                stored_level = alpha / (AXES if benchmark == "names" else 1)
                cell["minimum_detectable"] = rescale_mde(alpha / MEASURES, row, stored_level)
        elif values is not None:
            told = limits(values, found.shares[key], alpha / MEASURES)
            if measure in (OFFENCE, *UTILITY):
                told = within_bounds(told, np.inf if measure == WORDS else 100.0)
            cell |= {name: told[name] for name in ("estimate", "low", "high")}
            if measure in STATED:
                cell |= {name: told[name] for name in TESTED}
        if base is not None and values is not None:
            before = base.values.get(key)
            if before is not None and len(before) == len(values):
                cell |= _make_change_columns(limits(values - before, base.shares[key], level))
                cell |= {"change_from": float(before[0]), "change_n_missing": lost}
        yield cell


def perplexity_cell(
    row: pl.DataFrame, base: pl.DataFrame | None, groups: Sequence[Sequence[str]], level: float = 0.05
) -> dict[str, Any]:
    """Return the perplexity per word of the base row's replies under a row's model, and its ratio to the base row's.

    Parameters
    ----------
    row, base
        Name, nats (negative log-likelihood) and words of each reply, in the same order (`language.read_replies`).
        `base` is None if this is the base row.
    groups
        Names in the groups of `effects.dealt`, for the CI.
    level
        Significance level of the test of the change. It determines the minimum detectable effect of the change.
    """
    cell: dict[str, Any] = {"benchmark": "names", "measure": PERPLEXITY, "part": ""}
    logs = _log_perplexities(row, groups)
    if not np.isfinite(logs[0]):
        return cell | {"obstacle": "The model gives these texts no likelihood."}
    cell |= _exponentials(limits(logs, _word_shares(row, groups)) | {"minimum_detectable": None})
    cell["n"] = int(row["nats"].count())
    if base is not None:
        both = row["nats"].is_not_null() & base["nats"].is_not_null()
        row, base = row.filter(both), base.filter(both)
        moved = limits(
            _log_perplexities(row, groups) - _log_perplexities(base, groups),
            _word_shares(base, groups),
            level,
        )
        cell |= _make_change_columns(moved | _exponentials(moved))
    return cell


def _word_shares(table: pl.DataFrame, groups: Sequence[Sequence[str]]) -> Floats:
    """Return each group's share of the words of all replies, shape (1, groups).

    There is one row instead of one per gender, because perplexity is computed for both genders together.
    """
    known = table.drop_nulls("nats").group_by("name").agg(said=pl.col("words").sum(), gender=pl.lit("all"))
    return compute_shares(known, groups)


def _exponentials(told: Mapping[str, float | None]) -> dict[str, float | None]:
    known = {name: told[name] for name in ("estimate", "low", "high", "minimum_detectable")}
    return {name: None if value is None else float(np.exp(value)) for name, value in known.items()}


def _log_perplexities(table: pl.DataFrame, groups: Sequence[Sequence[str]]) -> Floats:
    known = table.drop_nulls("nats")
    sums = [known] + [pl.concat([known, known.filter(pl.col("name").is_in(group))]) for group in groups]
    return np.array(
        [float(one["nats"].sum()) / max(1, int(one["words"].sum())) if one.height else np.nan for one in sums]
    )


def pair_cells(run: Path, base: Path, config: NamesConfig) -> Iterator[dict[str, Any]]:
    """Yield the likelihood benchmarks of a row: percentage of stereotypical pairs minus 50, and its change.

    The change from the base row is computed on the same pairs.

    Parameters
    ----------
    run, base
        Folders of the audits of a row and of the base row.
    """
    whole = pl.col("group").is_null() & pl.col("stratum").is_null() & (pl.col("axis") == "gender")
    stored = {
        row["measure"]: row
        for row in read_stored_table(run / "measurements.parquet").filter(whole).to_dicts()
    }
    changes = {} if run == base else _pair_changes(run, base, config)
    for benchmark, measure in PAIRS.items():
        if (row := stored.get(measure)) is None:
            continue
        cell = {"benchmark": benchmark, "measure": measure, "part": "", "null": 0.0}
        cell |= {name: _beyond(row[name]) for name in ("estimate", "low", "high")}
        cell |= {name: row[name] for name in ("p", "n", "n_units", "obstacle")}
        yield cell | (_make_change_columns(changes[measure] | UNKNOWN_SIZE) if measure in changes else {})


def _pair_changes(run: Path, base: Path, config: NamesConfig) -> dict[str, dict[str, Any]]:
    try:
        compared = compare_outputs(base, run, names=(BASE, "row"), alpha=config.alpha, seed=config.seed)
    except DataError:  # no pair has a likelihood under both models
        return {}
    here = compared.changes.filter(pl.col("group").is_null() & (pl.col("axis") == "gender"))
    return {row["measure"].removesuffix("_change"): row for row in here.to_dicts()}


def _beyond(percent: float | None) -> float | None:
    return None if percent is None else percent - 50.0


def _make_change_columns(told: dict[str, Any]) -> dict[str, Any]:
    return {
        "change": told["estimate"],
        **{f"change_{name}": told[name] for name in ("low", "high", "p")},
        "change_obstacle": told.get("obstacle"),
        "change_minimum_detectable": told.get("minimum_detectable"),
    }


def judged_cells(rows: Sequence[dict[str, Any]], alpha: float) -> pl.DataFrame:
    """Return the table of all results (CELLS), with q and verdict of each change.

    q is p by Holm's method across all rows and decodings, separately for each measure and benchmark.
    """
    table = pl.DataFrame(
        [{name: row.get(name) for name in CELLS} for row in rows], schema=CELLS, orient="row", strict=False
    ).with_columns(pl.col(pl.Float64).fill_nan(None))
    judged = []
    for part in table.with_row_index("place").partition_by("benchmark", "measure", maintain_order=True):
        tested = (
            (pl.col("part") == "") & pl.col("change_p").is_not_null() & pl.col("measure").is_in(list(JUDGED))
        )
        found = part.filter(tested)
        if found.height:
            q = holm(found["change_p"].to_numpy())
            null = 1.0 if found["measure"][0] == PERPLEXITY else 0.0
            told = [
                NOT_DETECTED if value > alpha else HIGHER if change > null else LOWER
                for value, change in zip(q, found["change"].to_list(), strict=True)
            ]
            found = found.with_columns(
                pl.Series("change_q", q, dtype=pl.Float64), pl.Series("change_verdict", told, dtype=pl.String)
            )
        judged += [found, part.filter(~tested)]
    return pl.concat(judged).sort("place").drop("place") if judged else table
