"""AdvPromptSet: the published extraction row for row, each of its rules, the metadata, and broken files."""

import csv
import json
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st

from evenhand.prompts.advpromptset.loading import load_advpromptset
from evenhand.prompts.advpromptset.pieces import (
    FOLDERS,
    GROUPS,
    IDENTITIES,
    PUBLISHED_COLUMNS,
    cut_comment,
    extract_advpromptset,
    select_published,
)
from evenhand.schema import DataError, UsageError


@pytest.mark.parity
def test_the_published_extraction(shared: Path) -> None:
    mini = shared / "parity/advpromptset_mini"
    expected = pl.read_csv(mini / "expected_processed.csv", schema_overrides={"id": pl.String})
    got = extract_advpromptset(mini / "jigsaw_data").select(PUBLISHED_COLUMNS)
    assert got.columns == expected.columns
    assert got.rows() == expected.rows() and got.height == 38


@pytest.mark.parity
def test_prompt_set_of_the_published_extraction(shared: Path) -> None:
    prompts = load_advpromptset(shared / "parity/advpromptset_mini/jigsaw_data")
    frame = prompts.frame
    assert frame.height == 38 and frame["cluster"].n_unique() == 24
    pieces = frame.filter(cluster="1-a0").select("prompt_id", "text", "toxicity").rows()
    assert pieces == [
        ("1-a0-0", "alpha group members met today", 1),
        ("1-a0-1", "they talked a lot", 1),
        ("1-a0-2", "was it good", 1),
    ]
    annotated = pl.col("identity_grp") == "annotated"
    assert frame.filter(annotated).select(GROUPS).null_count().sum_horizontal().item() == 0
    assert frame.filter(~annotated).select(pl.all_horizontal(pl.col(GROUPS).is_null()))["male"].all()
    assert frame.filter(cluster="2-104")["heterosexual"].to_list() == [1, 1]
    assert frame.filter(cluster="2-104").select(GROUPS).sum().sum_horizontal().item() == 2
    assert prompts.card.licence.startswith("The terms of the two Kaggle competitions")


def test_identities_per_axis() -> None:
    """ROBBIE, tables 29-65, column AdvPromptSet: 24 in all."""
    assert {axis: len(names) for axis, names in IDENTITIES.items()} == {
        "gender_and_sex": 4, "sexual_orientation": 4, "religion": 7, "race_ethnicity": 5, "ability": 4,
    }  # fmt: skip
    assert len(set(GROUPS)) == len(GROUPS) == 24


@pytest.mark.parametrize(
    ("comment", "pieces"),
    [
        ("One two. Three four! Five six? Seven; nine ten", ["one two", "three four", "five six", "nine ten"]),
        ("No split, here: at all", ["no split here at all"]),
        ("Don't go", ["don t go"]),
        ("snake_case stays one word", ["snake_case stays one word"]),
        ("Short. But this stays", ["but this stays"]),
        ("12 34. five 6", ["five 6"]),
        ("üï çö. only ä å", ["only ä å"]),
        ("你好 世界", []),
        ("word", []),
        ("", []),
        (" ".join(["a"] * 100), [" ".join(["a"] * 100)]),
        (" ".join(["a"] * 101), []),
        (f"{'a' * 298} {'b' * 301}", [f"{'a' * 298} {'b' * 301}"]),
        (f"{'a' * 299} {'b' * 301}", []),
        (" ".join(["a"] * 60) + ". " + " ".join(["b"] * 50), []),  # each part fits, the comment does not
    ],
)  # fmt: skip
def test_rules(comment: str, pieces: list[str]) -> None:
    assert list(cut_comment(comment)) == pieces


@given(st.text(alphabet=st.sampled_from("abÄé1_ .!?;,:'-\n"), max_size=80))
def test_pieces_are_normal(comment: str) -> None:
    pieces = list(cut_comment(comment))
    for piece in pieces:
        words = piece.split(" ")
        assert 2 <= len(words) <= 100 and piece == piece.lower()
        assert all(word.replace("_", "a").isalnum() for word in words)
        assert list(cut_comment(piece)) == [piece]
    kept = [word for piece in pieces for word in piece.split(" ")]
    there = iter("".join(c if c.isalnum() or c == "_" else " " for c in comment.lower()).split())
    assert all(word in there for word in kept)  # the words of the comment, in its order


def write_csv(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def civil(
    number: int, text: str, label: str = "toxicity", toxicity: object = 0.0, **identities: object
) -> dict[str, object]:
    values = {name: identities.get(name, 0.0 if identities else "") for name in GROUPS}
    return {"id": number, label: toxicity, "comment_text": text, **values}


@pytest.fixture
def jigsaw(tmp_path: Path) -> Path:
    first, second = tmp_path / FOLDERS[1], tmp_path / FOLDERS[2]
    write_csv(
        first / "test.csv",
        [{"id": "t0", "comment_text": "Test one."}, {"id": "t1", "comment_text": "No score here."}],
    )
    write_csv(first / "test_labels.csv", [{"id": "t1", "toxic": -1}, {"id": "t0", "toxic": 1}])
    write_csv(first / "train.csv", [{"id": "a0", "comment_text": "test one! and\ttwo", "toxic": 0}])
    write_csv(second / "test_public_expanded.csv", [civil(1, "test one", toxicity=0.5)])
    write_csv(
        second / "test_private_expanded.csv", [civil(2, "Annotated here.\nSecond line"), civil(3, "", male=1)]
    )
    write_csv(
        second / "train.csv",
        [civil(4, "Both, here", "target", 0.49, female=0.5, male=0.49), civil(5, "Test, one", "target")],
    )
    return tmp_path


def test_order_labels_and_doubles(jigsaw: Path) -> None:
    rows = extract_advpromptset(jigsaw).select(*PUBLISHED_COLUMNS, "female", "male").rows()
    assert rows == [
        ("t0", "test one", 1, 1, 1, "predicted", None, None),
        ("a0", "and two", 0, 1, 0, "predicted", None, None),  # "test one" stood before in this part
        ("1", "test one", 1, 2, 1, "predicted", None, None),  # but not in this one; its double (5) goes
        ("4", "both here", 0, 2, 0, "annotated", 1, 0),
    ]


def write_metadata(folder: Path, numbers: list[int], rows: list[dict[str, object]], few: list[int]) -> Path:
    folder.mkdir()
    np.save(folder / "advpromptset_rowid.npy", np.array(numbers))
    np.save(folder / "advpromptset_rowid_10k.npy", np.array(few))
    (folder / "advpromptset_metainfo.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_metadata(jigsaw: Path) -> None:
    rows: list[dict[str, object]] = [
        {"row_id": 7, "id": 4, "female": 1, "male": 1, "n_terms": 2},
        {"row_id": 9, "id": "t0", "female": 0, "male": 0, "n_terms": 1},
        {"row_id": 8, "id": "another", "female": 0, "male": 0, "n_terms": 3},
    ]
    metadata = write_metadata(jigsaw / "metadata", [9, 8, -1, 7], rows, [7])
    frame = load_advpromptset(jigsaw, metadata).frame
    columns = ("prompt_id", "text", "row_id", "male", "n_terms")
    assert frame.select(columns).rows() == [("1-t0-0", "test one", 9, 0, 1), ("2-4-0", "both here", 7, 1, 2)]
    small = load_advpromptset(jigsaw, metadata, small=True)
    assert small.frame["row_id"].to_list() == [7] and "published selection" in small.card.summary
    assert Counter(frame.columns).most_common(1)[0][1] == 1

    with pytest.raises(UsageError, match="The small set requires the published metadata"):
        load_advpromptset(jigsaw, small=True)
    none = write_metadata(jigsaw / "none", [-1] * 4, rows, [])
    with pytest.raises(DataError, match="No text pieces were found"):
        load_advpromptset(jigsaw, none)
    with pytest.raises(DataError, match=r"advpromptset_rowid\.npy lists 4 text pieces, but 3 were extracted"):
        select_published(extract_advpromptset(jigsaw).head(3), metadata)
    np.save(metadata / "advpromptset_rowid.npy", np.array([0.5]))
    with pytest.raises(DataError, match="is not a list of whole numbers"):
        load_advpromptset(jigsaw, metadata)
    (metadata / "advpromptset_rowid.npy").write_bytes(b"nonsense")
    with pytest.raises(DataError, match="is not a NumPy array"):
        load_advpromptset(jigsaw, metadata)
    (metadata / "advpromptset_rowid.npy").unlink()
    with pytest.raises(DataError, match=r"has no advpromptset_rowid\.npy"):
        load_advpromptset(jigsaw, metadata)


@pytest.mark.parametrize("text", ["{", "3\n", '{"row_id": 1}\n', '{"row_id": "x", "id": 1}\n', ""])
def test_broken_metadata(jigsaw: Path, text: str) -> None:
    metadata = write_metadata(jigsaw / "metadata", [1, 2, 3, 4], [], [])
    (metadata / "advpromptset_metainfo.jsonl").write_text(text)
    with pytest.raises(DataError, match=r"line 1: no object with row_id and id|is empty"):
        load_advpromptset(jigsaw, metadata)


def test_broken_files(jigsaw: Path) -> None:
    first, second = jigsaw / FOLDERS[1], jigsaw / FOLDERS[2]
    write_csv(second / "train.csv", [civil(4, "Both, here", "target", "high")])
    with pytest.raises(DataError, match=r"train\.csv: target must be a number, got 'high'"):
        extract_advpromptset(jigsaw)
    write_csv(second / "train.csv", [civil(4, "Both, here", "target", "")])
    with pytest.raises(DataError, match=r"train\.csv: target is empty in 1 rows"):
        extract_advpromptset(jigsaw)
    write_csv(second / "train.csv", [{"id": 4, "target": 1}])
    with pytest.raises(DataError, match=r"train\.csv has no columns 'comment_text', .*\(found: id, target\)"):
        extract_advpromptset(jigsaw)
    (second / "train.csv").write_text("")
    with pytest.raises(DataError, match=r"train\.csv is not a valid CSV: empty CSV"):
        extract_advpromptset(jigsaw)
    (second / "train.csv").unlink()
    with pytest.raises(DataError, match=r"has no train\.csv"):
        extract_advpromptset(jigsaw)
    write_csv(first / "test_labels.csv", [{"id": "t1", "toxic": 0}])
    write_csv(second / "train.csv", [civil(4, "Both, here", "target", 1)])
    with pytest.raises(DataError, match=r"test_labels\.csv has no labels for 1 of the comments"):
        extract_advpromptset(jigsaw)
