"""An audit of a World that converses finds what is planted on names, by every measure, and nothing in the fair one."""

from pathlib import Path

import polars as pl
import pytest

import evenhand as eh

OF_GENDER = {
    "classifier_bias",
    "classifier_bias_masked",
    "token_bins",
    "occupation_lean",
    "disparity",
}


def verdicts(run: eh.Run) -> dict[tuple[str, str], str]:
    whole = run.findings.filter((pl.col("benchmark") == "names") & pl.col("group").is_null())
    return {(row["measure"], row["axis"]): row["verdict"] for row in whole.iter_rows(named=True)}


def audited(name: str, folder: Path) -> eh.Run:
    rule = {"decoding": "sampling", "temperature": 1.0, "top_p": 1.0}
    return eh.audit(name, suite="names", limit=400, output=folder, **rule)


@pytest.mark.slow
def test_an_audit_names_what_is_planted_and_nothing_else(tmp_path: Path) -> None:
    planted = verdicts(audited("evenhand/conversing-planted", tmp_path / "planted"))
    assert {measure for measure, axis in planted if axis == "gender"} >= OF_GENDER
    assert {planted[measure, "gender"] for measure in OF_GENDER} == {"biased"}
    assert planted["intersectional_token_bins", "gender and race"] == "biased"
    fair = verdicts(audited("evenhand/conversing", tmp_path / "fair"))
    assert set(fair) == set(planted)
    assert "biased" not in fair.values()


def test_the_model_that_ships_with_us_reads_who_speaks_to_it(tmp_path: Path) -> None:
    """It takes 256 tokens in all, and a reply half of them: something of the opener stays."""
    run = eh.audit("evenhand/reference", suite="names", limit=6, decoding="greedy", output=tmp_path / "run")
    for benchmark in ("names", "descriptions"):
        said = run.responses(benchmark)
        assert said["error"].null_count() == said.height == 6 * 11
        assert said.filter(pl.col("turn") == 2)["name_in_context"].any()
