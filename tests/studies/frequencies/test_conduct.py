"""A count from sources to one folder: gone on with, refused when it is another, and clear about what is wrong."""

import gzip
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from evenhand.corpus import read_counts
from evenhand.runs import Silence, hold_lock
from evenhand.schema import DataError, ResumeRefused, UsageError, WriteError
from evenhand.studies.audit import audit
from evenhand.studies.frequencies import FrequencyOptions
from evenhand.studies.frequencies.conduct import conduct, go_on, planned, probe
from evenhand.studies.frequencies.record import stored_options
from evenhand.study import validate_options

SHE = ("she", "her", "hers", "herself")


@pytest.fixture(scope="module")
def texts() -> list[str]:
    draw = random.Random(1)
    words = ["she", "her", "he", "they", "people", "walls", "said", "nothing"]
    return [" ".join(draw.choices(words, k=12)) for _ in range(120)]


@pytest.fixture
def corpus(texts: list[str], tmp_path: Path) -> Path:
    """Three files, the last packed; a tenth of the texts stands twice, in different files."""
    folder = tmp_path / "talk"
    folder.mkdir()
    parts = [texts[:50], texts[50:100] + texts[:6], texts[100:] + texts[50:56]]
    for number, part in enumerate(parts):
        content = "".join(json.dumps({"text": text}) + "\n" for text in part)
        (folder / f"{number}.jsonl").write_text(content)
    (folder / "2.jsonl.gz").write_bytes(gzip.compress((folder / "2.jsonl").read_bytes()))
    (folder / "2.jsonl").unlink()
    return folder


def options(corpus: Path, **given: object) -> FrequencyOptions:
    asked = {"sources": (str(corpus),), "terms": ("pronouns",), "workers": 1, "rank_bytes": 2500, **given}
    return validate_options(FrequencyOptions, asked)


def hits_of_she(counts) -> int:
    return int(counts.groups.filter(group="she")["hits"].sum())


def brute_force(texts: list[str]) -> int:
    return sum(Counter(text.split())[word] for text in texts for word in SHE)


def test_duplicates_count_or_do_not_across_files(corpus: Path, texts: list[str], tmp_path: Path) -> None:
    kept = conduct(options(corpus), tmp_path / "kept")
    assert (kept.documents, len(kept.plan.ranks) > 3) == (132, True)
    twice = texts + texts[:6] + texts[50:56]
    assert hits_of_she(kept.counts) == brute_force(twice)
    dropped = conduct(options(corpus, duplicates="drop"), tmp_path / "dropped")
    assert dropped.documents == len(set(texts)) == 120
    assert hits_of_she(dropped.counts) == brute_force(texts)
    assert dropped.counts.skipped.rows() == [("talk", "duplicate", 12)]
    whole = conduct(options(corpus, duplicates="drop", rank_bytes=10**8), tmp_path / "whole")
    assert whole.counts.terms.equals(dropped.counts.terms)


def test_a_sample_is_the_same_wherever_the_corpus_lies_and_however_it_is_divided(
    corpus: Path, tmp_path: Path
) -> None:
    asked = {"sample": "30%", "seed": 5}
    one = conduct(options(corpus, **asked), tmp_path / "one")
    moved = shutil.copytree(corpus, tmp_path / "elsewhere" / "talk")
    other = conduct(options(moved, rank_bytes=10**8, **asked), tmp_path / "other")
    assert 15 < one.documents < 70 and one.counts.terms.equals(other.counts.terms)
    assert one.plan.options.sample == 0.3


def test_what_differs_is_listed_and_a_finished_count_reads_no_source(corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "count"
    first = conduct(options(corpus), folder)
    again = conduct(options(corpus, workers=3, error_threshold=1), folder)  # change no count
    assert again.counts.terms.equals(first.counts.terms)
    assert not (folder / "ranks").exists()
    with pytest.raises(ResumeRefused) as refused:
        conduct(options(corpus, seed=4, window=3, terms=("pronouns", "descriptors")), folder)
    for line in ("options.seed: stored 0, given now 4", "options.window: stored 10", "terms.hash: stored"):
        assert line in refused.value.message
    (corpus / "0.jsonl").write_text('{"text": "She."}\n')
    with pytest.raises(ResumeRefused, match=r"files\.talk=.*0\.jsonl: stored \"size"):
        conduct(options(corpus), folder)
    shutil.rmtree(corpus)
    shown = go_on(stored_options(folder), folder)
    assert shown.counts.terms.equals(first.counts.terms)


def test_a_count_that_was_stopped_goes_on_with_what_is_missing(corpus: Path, tmp_path: Path) -> None:
    whole = conduct(options(corpus), tmp_path / "whole")

    class Stops(Silence):
        def advance(self, requests: int, tokens: int, errors: int) -> None:
            raise KeyboardInterrupt

    folder = tmp_path / "count"
    with pytest.raises(Exception, match=f"Resume with: evenhand frequencies {folder}"):
        conduct(options(corpus), folder, Stops())
    kept = sorted((folder / "ranks").glob("*.parquet"))
    assert len(kept) == 1
    before = kept[0].stat().st_mtime_ns

    class Looks(Silence):
        def start(self, total: int, done: int, unit: str = "requests") -> None:
            assert kept[0].stat().st_mtime_ns == before

    resumed = go_on(stored_options(folder), folder, Looks())
    assert resumed.counts.terms.equals(whole.counts.terms)
    assert resumed.counts.sources.equals(whole.counts.sources)


def test_a_file_that_was_changed_meanwhile_is_refused(corpus: Path, tmp_path: Path) -> None:
    class Changes(Silence):
        def start(self, total: int, done: int, unit: str = "requests") -> None:
            with (corpus / "1.jsonl").open("a") as file:
                file.write("{}\n")

    with pytest.raises(DataError, match=r"1\.jsonl has changed since the work was planned"):
        conduct(options(corpus), tmp_path / "count", Changes())


def test_only_one_process_counts_in_a_folder(corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "count"
    folder.mkdir()
    conduct(options(corpus), folder)
    (folder / "counts.parquet").unlink()
    with hold_lock(folder / "lock"), pytest.raises(UsageError, match="in use by process"):
        conduct(options(corpus), folder)


def test_damage_to_the_folder_is_said(corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "count"
    conduct(options(corpus), folder)
    counts = (folder / "counts.parquet").read_bytes()
    (folder / "counts.parquet").write_bytes(counts[:-30])
    with pytest.raises(DataError, match=r"counts\.parquet cannot be read"):
        go_on(stored_options(folder), folder)
    (folder / "counts.parquet").unlink()
    terms = (folder / "terms.json").read_text()
    (folder / "terms.json").write_text(terms.replace("herself", "himself"))
    with pytest.raises(DataError, match=r"terms\.json was changed"):
        go_on(stored_options(folder), folder)
    (folder / "terms.json").write_text(terms)
    pl.DataFrame({"rank": [1]}).write_parquet(folder / "pieces.parquet")
    with pytest.raises(DataError, match="does not contain the division of a corpus"):
        go_on(stored_options(folder), folder)
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="exists and is not the folder of"):
        conduct(options(corpus), mine)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"sources": ("nowhere/*.jsonl",)}, DataError, "nowhere"),
        ({"column": "body"}, DataError, "body"),
        ({"terms": ("pronoun",)}, UsageError, "Did you mean 'pronouns'"),
        (
            {"duplicates": "drop", "ranks_at": "s3://bucket/x"},
            UsageError,
            "Use a shared folder that all machines can access for",
        ),
        ({"on": "slurm"}, UsageError, r"`--on slurm` requires slurm\.partition and slurm\.time"),
    ],
)
def test_what_cannot_be_counted_is_refused_before_anything_is_written(
    corpus: Path, tmp_path: Path, given: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        conduct(options(corpus, **given), tmp_path / "count")
    assert not (tmp_path / "count").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sample": "150%"}, "sample"),
        ({"sample": "some"}, "'some' is not a share: write 0.001 or 0.1%"),
        ({"on": "mars"}, "unknown value 'mars'; expected one of"),
        ({"duplicate": "drop"}, "Did you mean 'duplicates'"),
    ],
)
def test_wrong_options_are_named(corpus: Path, given: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        options(corpus, **given)


def test_documents_none_of_which_can_be_counted_are_an_error_that_says_why(tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    file.write_text('{"text": ""}\n' * 5 + "{broken\n" * 2)
    with pytest.raises(DataError, match="No document could be counted: 5 empty, 2 not_json"):
        conduct(options(file), tmp_path / "count")


def test_a_full_disk_loses_nothing(corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "count"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    class Fills(Silence):
        def start(self, total: int, done: int, unit: str = "requests") -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (512, hard))

    try:
        with pytest.raises(WriteError, match=r"ranks/00000\.parquet"):
            conduct(options(corpus), folder, Fills())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert go_on(stored_options(folder), folder).documents == 132


def test_the_counts_of_ranks_may_lie_elsewhere_and_never_mix(corpus: Path, tmp_path: Path) -> None:
    elsewhere = str(tmp_path / "shared")
    one = conduct(options(corpus, ranks_at=elsewhere), tmp_path / "one")
    other = conduct(options(corpus, ranks_at=elsewhere, seed=1, sample=0.5), tmp_path / "other")
    assert one.documents == 132 > other.documents
    assert len(list(Path(elsewhere).iterdir())) == 2
    there = conduct(options(corpus, ranks_at="memory://counts"), tmp_path / "there")  # an address of fsspec
    assert there.counts.terms.equals(one.counts.terms)


def test_a_probe_says_how_long_it_takes_and_writes_nothing(corpus: Path, tmp_path: Path) -> None:
    before = set(tmp_path.rglob("*"))
    told = probe(planned(options(corpus)), seconds=0.1)
    assert (told["files"], told["ranks"] > 3, told["workers"]) == (3, True, 1)
    assert told["bytes"] == sum(path.stat().st_size for path in corpus.iterdir())
    assert told["probe_bytes"] > 0 and told["seconds"] > 0
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.slow
def test_a_driver_killed_at_any_moment_goes_on_to_the_same_counts(corpus: Path, tmp_path: Path) -> None:
    whole = conduct(options(corpus, rank_bytes=150), tmp_path / "whole")
    folder = tmp_path / "count"
    arguments = [str(corpus), "-o", str(folder), "--terms", "pronouns", "--workers", "2"]
    command = [sys.executable, "-m", "evenhand", "frequencies", *arguments, "--set", "rank_bytes=150"]
    draw = random.Random(2)
    for _ in range(6):
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(draw.uniform(0.5, 4))
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    counts = read_counts(folder / "counts.parquet")
    for name in ("totals", "terms", "groups", "pairs", "contexts", "skipped", "sources"):
        assert getattr(counts, name).equals(getattr(whole.counts, name)), name


def test_what_evenhand_wrote_is_no_corpus(corpus: Path, tmp_path: Path) -> None:
    conduct(options(corpus), tmp_path / "count")
    with pytest.raises(UsageError, match="contains counts, not documents"):
        planned(options(tmp_path / "count" / "counts.parquet"))
    run = audit("puppet/random", benchmarks=["evenhand-likelihood"], limit=4, output=tmp_path / "run")
    with pytest.raises(UsageError, match="is an audit run, not a corpus") as refused:
        planned(options(run.path))
    assert "--join" in str(refused.value.hint)
