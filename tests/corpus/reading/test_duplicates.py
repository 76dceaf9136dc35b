"""Repeated documents are left out once each, whichever ranks read which pieces; checked against a plain set."""

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand.corpus.reading import (
    ReadingOptions,
    duplicates as counted_duplicates,
    find_repeats,
    pieces,
    read_batches,
    read_repeats,
    write_hashes,
)
from evenhand.schema import DataError, UsageError

DROP = ReadingOptions(duplicates="drop")


@pytest.fixture
def corpus(tmp_path: Path) -> list[str]:
    """Two corpora of five files whose documents repeat within files, between files, and between corpora."""
    drawn = random.Random(1)
    for name in ("one/a", "one/b", "one/c", "two/d", "two/e"):
        rows = [json.dumps({"text": f"text {drawn.randint(0, 400)}"}) for _ in range(300)]
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.jsonl").write_text("\n".join(rows))
    return [str(tmp_path / "one"), str(tmp_path / "two")]


def dropped(
    sources: list[str], folder: Path, ranks: int, options: ReadingOptions, **how: Any
) -> tuple[Any, Counter[str]]:
    found = pieces(sources, **how)
    mine = [found[rank::ranks] for rank in range(ranks)]
    hashes = [folder / f"hashes-{rank}" for rank in range(ranks)]
    outputs = [folder / f"repeats-{rank}" for rank in range(ranks)]
    written = [write_hashes(own, options, path) for own, path in zip(mine, hashes, strict=True)]
    repeated = find_repeats(hashes, outputs)
    kept, skipped = [], Counter[str]()
    for own, output in zip(mine, outputs, strict=True):
        repeats = read_repeats(output, own)
        for piece in own:
            for batch in read_batches(piece, options, repeats[piece.number]):
                kept += [
                    (piece.number, place, piece.corpus, text)
                    for place, text in zip(batch.places, batch.texts, strict=True)
                ]
                skipped.update(batch.skipped)
    assert repeated == skipped["duplicate"]
    assert sum(written) == len(kept) + repeated
    assert sorted(path.name for path in folder.iterdir() if "hashes" not in path.name) == sorted(
        p.name for p in outputs
    )
    return [(corpus, text) for _, _, corpus, text in sorted(kept)], skipped


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("largest", [1 << 30, 1000])
def test_each_text_of_a_corpus_is_kept_once(
    tmp_path: Path, corpus: list[str], ranks: int, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted_duplicates, "ROWS_AT_ONCE", 100)
    monkeypatch.setattr(counted_duplicates, "HELD", 50)
    (tmp_path / "work").mkdir()
    texts = [
        (piece.corpus, text)
        for piece in pieces(corpus)
        for batch in read_batches(piece)
        for text in batch.texts
    ]
    kept, skipped = dropped(corpus, tmp_path / "work", ranks, DROP, largest=largest)
    assert kept == list(dict.fromkeys(texts))  # the first of each, in the order of the files
    assert skipped == {"duplicate": 1500 - len(kept)}


def test_a_sample_holds_all_copies_of_a_text_or_none(tmp_path: Path, corpus: list[str]) -> None:
    (tmp_path / "work").mkdir()
    every = {
        (piece.corpus, text)
        for piece in pieces(corpus)
        for batch in read_batches(piece)
        for text in batch.texts
    }
    options = ReadingOptions(duplicates="drop", sample=0.5, seed=2)
    kept, skipped = dropped(corpus, tmp_path / "work", 2, options)
    assert len(kept) == len(set(kept)) and set(kept) < every
    # of the different texts, and not of the documents, half
    assert abs(len(kept) - len(every) / 2) < 4 * (len(every) / 4) ** 0.5
    assert skipped["not_sampled"] + skipped["duplicate"] + len(kept) == 1500


def test_reading_without_having_looked_is_refused(corpus: list[str]) -> None:
    with pytest.raises(UsageError, match="Duplicate documents have not been searched for yet"):
        list(read_batches(pieces(corpus)[0], DROP))


@pytest.mark.parametrize("damage", [lambda c: c[:-3], lambda c: c[:40] + b"?" + c[41:], lambda c: b""])
def test_damaged_files_of_hashes_are_refused(
    tmp_path: Path, corpus: list[str], damage: Callable[[bytes], bytes]
) -> None:
    path, output = tmp_path / "hashes", tmp_path / "repeats"
    found = pieces(corpus)
    write_hashes(found, DROP, path)
    find_repeats([path], [output])
    output.write_bytes(damage(output.read_bytes()))
    with pytest.raises(DataError, match="damaged"):
        read_repeats(output, found)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match="damaged"):
        find_repeats([path], [output])
