"""Time a token and memory over several runs: what is asked, what is averaged, what is not asked twice."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evenhand.models import Decoding, Generations
from evenhand.models.puppets import load_puppet, writes
from evenhand.schema import UsageError
from evenhand.studies.audit import AskingOptions, AuditConfig, conduct_audit
from evenhand.studies.before_after.timing import TIMINGS, timed_batches, timed_costs, timing_rows

TEXTS = pl.Series([f"Sentence {i}" for i in range(37)])


class Watched:
    """A model that writes three words, and notes what it was asked, in what order, by whom."""

    def __init__(self, name: str, asked: list[tuple[str, int, int]]):
        self.name, self.asked, self.model = name, asked, writes(lambda prompt, sample: " and so on")

    def __getattr__(self, name: str) -> object:
        return getattr(self.model, name)

    def generate(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        assert decoding.samples == 1 and decoding.max_new_tokens == 200
        self.asked.append((self.name, len(prompts), decoding.seed))
        return self.model.generate(prompts, decoding)

    def log_likelihoods(self, texts: object) -> object:
        raise AssertionError("only writing is timed")

    def describe(self) -> dict[str, object]:
        return {"family": "gpt2"}

    fingerprint: dict[str, object] = {"name": "watched"}
    architecture = "causal"


def test_all_batches_are_written_anew_in_each_run_by_turns(tmp_path: Path) -> None:
    asked: list[tuple[str, int, int]] = []
    models = {side: Watched(side, asked) for side in ("before", "after")}
    options = AskingOptions(timing_runs=5, seed=3, samples=9)
    frame = timed_batches(tmp_path, TEXTS, models, options)  # type: ignore[arg-type]
    warm, counted = asked[:2], asked[2:]
    assert [side for side, _, _ in warm] == ["before", "after"]
    sizes = (16, 16, 5)
    assert counted == [
        (side, size, 3 + run) for run in range(5) for size in sizes for side in ("before", "after")
    ]
    assert frame.schema == pl.Schema(TIMINGS) and frame.height == len(counted)
    assert frame["tokens"].sum() == 3 * 37 * 5 * 2 and frame["seconds"].min() > 0
    again = timed_batches(tmp_path, TEXTS, models, options)  # type: ignore[arg-type]
    assert again.equals(frame) and len(asked) == 2 + len(counted), "found in the study's folder"
    timed_batches(tmp_path, TEXTS, models, options.model_copy(update={"timing_runs": 1}))  # type: ignore[arg-type]
    assert len(asked) == 2 + len(counted) + 2 + 6, "another number of runs is another question"


def table(runs: int, seed: int = 0, batches: int = 30) -> pl.DataFrame:
    """Batches of ten tokens: 50 ms a token and 70 behind, runs and batches off by a little, 1e6 bytes a batch."""
    rng = np.random.default_rng(seed)
    by_run, by_batch = rng.normal(0, 2, runs), rng.normal(0, 3, batches)
    rows = [
        (side, r, b, (level + by_run[r] + by_batch[b] + rng.normal()) / 100, 10, 1_000_000 + b, "x")
        for side, level in (("before", 50.0), ("after", 70.0))
        for r in range(runs)
        for b in range(batches)
    ]
    return pl.DataFrame(rows, schema=TIMINGS, orient="row")


def test_means_are_over_batches_and_limits_cover_what_runs_and_batches_vary_by() -> None:
    covered = 0
    for seed in range(60):
        row = timing_rows(table(5, seed), 0).row(0, named=True)
        covered += row["before_low"] <= 50.0 <= row["before_high"]
    assert covered >= 52
    known = table(5)
    row = timing_rows(known, 0).row(0, named=True)
    of_after = known.filter(side="after")
    assert row["after"] == pytest.approx(float((1000 * of_after["seconds"] / of_after["tokens"]).mean()))
    memory = timing_rows(known, 0).row(1, named=True)
    assert (memory["measure"], memory["unit"]) == ("batch_memory", "bytes")
    assert memory["before"] == pytest.approx(1_000_014.5)


def test_one_run_has_no_limits_and_silence_no_time_a_token() -> None:
    row = timing_rows(table(1), 0).row(0, named=True)
    assert row["before"] is not None and row["before_low"] is None
    silent = table(5).with_columns(tokens=pl.when(side="after").then(0).otherwise("tokens"), peak_bytes=None)
    (row,) = timing_rows(silent.cast(TIMINGS), 0).to_dicts()
    assert row["measure"] == "token_latency" and row["after"] is None and row["before"] is not None


def test_nothing_is_timed_unasked_and_a_model_that_cannot_write_says_so(tmp_path: Path) -> None:
    masked = load_puppet("uniform")
    models = {"before": masked, "after": masked}
    assert timed_costs(tmp_path, TEXTS, models, AskingOptions())[0].is_empty()
    if not hasattr(masked, "generate"):
        frame, reason = timed_costs(tmp_path, TEXTS, models, AskingOptions(timing_runs=5))
        assert frame.is_empty() and "cannot write" in reason


def test_an_audit_has_nothing_to_time(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="before-after"):
        conduct_audit(AuditConfig(model="m", timing_runs=5), load_puppet("uniform"), output=tmp_path / "run")
