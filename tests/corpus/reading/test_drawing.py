"""Samples: as large as asked, the same however the work is divided and wherever the corpus is kept."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from evenhand.corpus.reading import FOLDS, ReadingOptions
from evenhand.corpus.reading.drawing import Draw
from evenhand.schema import UsageError

Read = Callable[..., Any]


def test_places_are_drawn_independently() -> None:
    for places in (np.arange(200_000), np.arange(200_000) * 4096):
        drawn = Draw(0.1, seed=3, name="a").are_drawn(places)
        other = Draw(0.1, seed=4, name="a").are_drawn(places)
        third = Draw(0.1, seed=3, name="b").are_drawn(places)
        assert abs(drawn.sum() - 20_000) < 4 * np.sqrt(200_000 * 0.09)
        for one, two in ((drawn, other), (drawn, third), (drawn[1:], drawn[:-1])):
            table = np.array(
                [[(one & two).sum(), (one & ~two).sum()], [(~one & two).sum(), (~one & ~two).sum()]]
            )
            assert stats.chi2_contingency(table).pvalue > 1e-4
    assert Draw(0.1, seed=3, name="a").draws(7) == Draw(0.1, seed=3, name="a").are_drawn(np.arange(10))[7]


@pytest.mark.parametrize("name", ["a.jsonl", "a.txt", "a.parquet", "a.csv", "paragraphs.txt"])
def test_a_sample_does_not_depend_on_division_or_folder(tmp_path: Path, read: Read, name: str) -> None:
    texts = [f"document {n}" for n in range(2000)]
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / name
        if name.endswith("parquet"):
            pq.write_table(pa.table({"text": texts}), path, row_group_size=100)
        elif name.endswith("jsonl"):
            path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        else:
            path.write_text("text\n" * name.endswith("csv") + ("\n\n" if "par" in name else "\n").join(texts))
    how = {"documents": "paragraph"} if "par" in name else {}
    options = ReadingOptions(sample=0.1, seed=5)
    whole = read(tmp_path / "here" / name, options=options, **how)
    assert 140 < len(whole.texts) < 260
    assert whole.skipped == {"not_sampled": 2000 - len(whole.texts)}
    assert whole.texts == [text for text in texts if text in set(whole.texts)]
    for largest in (1000, 3333):
        divided = read(tmp_path / "there" / name, options=options, largest=largest, **how)
        assert (divided.texts, divided.skipped) == (whole.texts, whole.skipped)
    assert read(tmp_path / "here", options=options, **how).texts != []
    other = read(tmp_path / "here" / name, options=ReadingOptions(sample=0.1, seed=6), **how)
    assert other.texts != whole.texts


def test_lines_that_are_not_drawn_are_not_parsed(tmp_path: Path, read: Read) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "fine"}\n' + "{broken}\n" * 5000)
    found = read(tmp_path / "a.jsonl", options=ReadingOptions(sample=0.01))
    assert found.skipped["not_json"] < 100
    assert found.skipped["not_sampled"] + found.skipped["not_json"] + len(found.texts) == 5001


def test_folds_are_even_and_shared_by_equal_texts(tmp_path: Path, read: Read) -> None:
    texts = [f"document {n % 5000}" for n in range(10_000)]
    (tmp_path / "a.txt").write_text("\n".join(texts))
    folds = read(tmp_path / "a.txt").folds
    assert folds[:5000] == folds[5000:]
    assert stats.chisquare(np.bincount(folds[:5000], minlength=FOLDS)).pvalue > 1e-3


@pytest.mark.parametrize(
    "wrong", [{"sample": 0}, {"sample": 1.5}, {"sample": -1}, {"column": ""}, {"batch_bytes": 0}]
)
def test_options_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        ReadingOptions(**wrong)
