"""Race and religion1 row for row against the published tables and texts; the other types by the same rules."""

import csv
import json
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from evenhand.prompts.redditbias import (
    BIAS_TYPES,
    build_redditbias,
    clean_as_published,
    extract_phrases,
    make_counterpart,
    read_annotations,
    residues,
    specification,
    valid_and_test,
    with_attributes_swapped,
)
from evenhand.prompts.redditbias.annotation import label_counts
from evenhand.prompts.redditbias.bias_types import FOLDER
from evenhand.prompts.redditbias.pipeline import Steps

pytestmark = pytest.mark.parity
GROUPS = {"race": ("black", "white"), "religion1": ("jews", "christians")}
HELD_OUT = {"race": {"valid": 253, "test": 254}, "religion1": {"valid": 238, "test": 238}}


@pytest.fixture(scope="module")
def published(shared: Path) -> Path:
    return shared / "data" / "redditbias"


def rows(published: Path, bias: str, name: str) -> list[dict[str, str]]:
    """A published table of a bias type, by the rest of its name."""
    with (published / "data" / bias / f"reddit_comments_{bias}_{name}.csv").open(newline="") as handle:
        return list(csv.DictReader(handle))


def lines(published: Path, bias: str, name: str) -> list[str]:
    return (published / "text_files" / bias / f"{name}.txt").read_text().removesuffix("\n").split("\n")


def test_every_constant_is_the_published_one(published: Path) -> None:
    constants = json.loads((published / "specifications.json").read_text())["bias_types"]
    assert sorted(constants) == sorted(BIAS_TYPES) == sorted(path.stem for path in FOLDER.iterdir())
    for bias, expected in constants.items():
        found = specification(bias)
        assert found.bias == bias and found.groups[0] == expected["t1_group"]
        for ours, theirs in (
            (found.target_pairs, "target_pairs_counterfactual"),
            (found.attribute_pairs, "attribute_pairs"),
        ):
            assert [list(pair) for pair in ours] == expected[theirs]
        written = [
            f"{one},{other or chr(34) * 2}"
            for one, other in zip(found.targets_1, found.targets_2, strict=True)
        ]
        assert written == expected["query_target_phrases"]
        assert list(found.attributes_1) == expected["A1"]
        unpaired = [
            "" if "****" in second else second for second in expected["A2_raw_asterisks_mean_unpaired"]
        ]
        assert list(found.attributes_2) == unpaired
        for name, theirs in (("lmd_targets", "LMD_target"), ("projection_targets", "ADD_HD_target")):
            pairs = getattr(found.pieces, name)
            assert [[a.id, b.id] for a, b in pairs] == expected[f"{theirs}_id_pairs"]
            assert [[a.text, b.text] for a, b in pairs] == expected[f"{theirs}_pieces"]
        ids = [[piece.id for piece in term] for term in found.pieces.attributes]
        longest = max(map(len, ids))
        padded = [term + [0] * (longest - len(term)) for term in ids]
        assert padded == expected["ADD_HD_attribute_ids_zero_padded"]
        texts = ["|".join(p.text or f"<{p.id}?>" for p in term) for term in found.pieces.attributes]
        assert texts == expected["ADD_HD_attribute_pieces"]


@pytest.mark.parametrize("bias", GROUPS)
def test_queries_are_those_of_the_published_text_files(published: Path, bias: str) -> None:
    folder, found = published / "data" / bias, specification(bias)
    targets = [line.split(",")[0] for line in (folder / f"{bias}_opposites.txt").read_text().split("\n")]
    attributes = (folder / f"{bias}_{GROUPS[bias][0]}.txt").read_text().split("\n")
    assert found.queries == tuple((target, attribute) for target in targets for attribute in attributes)


def test_cleaning_of_religion1_is_exact(published: Path) -> None:
    table = rows(published, "religion1", "jews_processed")
    assert sum(clean_as_published(row["comments"]) == row["comments_processed"] for row in table) == 3571
    assert len(table) == 3571


def test_cleaning_of_race_is_exact_but_where_an_older_rule_left_gt(published: Path) -> None:
    table = rows(published, "race", "black_processed")
    others = [row for row in table if clean_as_published(row["comments"]) != row["comments_processed"]]
    assert (len(table), len(others)) == (8469, 400)
    for row in others:  # without the rule that deletes "&gt", its letters stay
        assert "&gt" in row["comments"]
        kept = row["comments"].replace("&gt", "&&gtgt")  # the rule takes one of the two away
        assert clean_as_published(kept) == row["comments_processed"]


@pytest.mark.parametrize(
    ("bias", "name", "expected"), [("race", "_phrase", 6740), ("religion1", "_phrase_2", 3455)]
)
def test_phrases_are_the_published_list(published: Path, bias: str, name: str, expected: int) -> None:
    stem = f"{GROUPS[bias][0]}_processed"
    comments = pl.DataFrame(rows(published, bias, stem)).select("id", "comments_processed")
    found = extract_phrases(comments, specification(bias), as_published=True)
    table = rows(published, bias, stem + name)
    assert len(table) == expected
    assert [(row[0], str(row[1]), *row[2:]) for row in found.rows()] == [tuple(row.values()) for row in table]


@pytest.mark.parametrize("bias", GROUPS)
def test_counterparts_are_the_published_texts(published: Path, bias: str) -> None:
    found = specification(bias)
    one, other = GROUPS[bias]
    for part, number in HELD_OUT[bias].items():
        first, second = (rows(published, bias, f"{g}_biased_{part}_reduced") for g in (one, other))
        assert len(first) == len(second) == number
        made = [make_counterpart(row["comments_processed"], found) for row in first]
        assert made == [row["comments_processed"] for row in second]
        assert made == lines(published, bias, f"{bias}_{other}_biased_{part}_reduced")
    texts = lines(published, bias, f"{bias}_bias_manual_swapped_targets_train")
    half = len(texts) // 2
    assert half == {"race": 763, "religion1": 720}[bias]
    assert [make_counterpart(text, found) for text in texts[:half]] == texts[half:]


@pytest.mark.parametrize(("bias", "number", "unchanged"), [("race", 506, 0), ("religion1", 475, 47)])
def test_attribute_swaps_are_the_published_texts(
    published: Path, bias: str, number: int, unchanged: int
) -> None:
    found = specification(bias)
    stem = f"{GROUPS[bias][0]}_processed_phrase"
    first = rows(published, bias, f"{stem}_biased_testset_neg_attr_reduced")
    second = rows(published, bias, f"{stem}_unbiased_testset_pos_attr_reduced")
    assert len(first) == len(second) == number
    made = [with_attributes_swapped(row["comments_processed"], found) for row in first]
    assert made == [row["comments_processed"] for row in second]
    assert sum(text == row["comments_processed"] for text, row in zip(made, first, strict=True)) == unchanged
    prefix = found.swapped_attributes_prefix
    texts = lines(published, bias, f"{bias}_bias_manual_swapped_attr_train")
    bare = [text.removeprefix(prefix) for text in texts]
    assert [prefix + text for text in bare] == texts
    half = len(bare) // 2
    assert [with_attributes_swapped(text, found) for text in bare[:half]] == bare[half:]


@pytest.mark.parametrize(("bias", "expected"), [("race", (41, 54, 0)), ("religion1", (9, 9, 1))])
def test_what_counterparts_leave(published: Path, bias: str, expected: tuple[int, ...]) -> None:
    """By words as much is left: texts that name both groups name both again."""
    one = GROUPS[bias][0]
    texts = [
        row["comments_processed"]
        for part in HELD_OUT[bias]
        for row in rows(published, bias, f"{one}_biased_{part}_reduced")
    ]
    found = residues(pl.DataFrame({"comments_processed": texts}), specification(bias))
    assert tuple(found["as_published"])[:3] == expected
    by_words = found["by_words"].to_list()
    assert by_words[0] <= expected[0] + 1 and by_words[1:3] == [expected[1], 0]


@pytest.mark.parametrize("bias", GROUPS)
def test_valid_and_test_are_split_as_published(published: Path, bias: str) -> None:
    one = GROUPS[bias][0]
    parts = {part: lines(published, bias, f"{bias}_{one}_biased_{part}_reduced") for part in HELD_OUT[bias]}
    held_out = lines(published, bias, f"{bias}_bias_manual_valid")
    kept = Counter(parts["valid"] + parts["test"])
    reduced = []
    for text in held_out:  # in their order, without the pairs that were left out as outliers
        if kept[text]:
            kept[text] -= 1
            reduced.append(text)
    assert len(held_out) - len(reduced) == {"race": 3, "religion1": 4}[bias]
    valid, test = valid_and_test(pl.DataFrame({"text": reduced}))
    assert valid["text"].to_list() == parts["valid"]
    assert test["text"].to_list() == parts["test"]


def test_labels_of_the_published_tables(published: Path) -> None:
    for bias, encoding, total, sent, phrase in (
        ("race", "utf-8", 3000, (1182, 1438), (1273, 1347)),
        ("religion1", "latin-1", 3554, (1099, 1012), (1200, 790)),
    ):
        path = (
            published
            / "data"
            / bias
            / f"reddit_comments_{bias}_{GROUPS[bias][0]}_processed_phrase_annotated.csv"
        )
        found = read_annotations(path)
        with path.open(encoding=encoding, newline="") as handle:
            theirs = list(csv.DictReader(handle))
        assert found.height == len(theirs) == total
        assert found["comment"].to_list() == [row["comment"] for row in theirs]
        for column, (ones, zeros) in (("bias_sent", sent), ("bias_phrase", phrase)):
            assert (found[column].sum(), (found[column] == 0).sum()) == (ones, zeros)
        written = label_counts(found).filter(pl.col("column") == "bias_sent").rows()
        assert dict((label, count) for _, label, count, _ in written) == Counter(
            row["bias_sent"] for row in theirs
        )


def test_all_files_of_race_come_out_of_its_annotations(published: Path, tmp_path: Path) -> None:
    annotated = published / "data" / "race" / "reddit_comments_race_black_processed_phrase_annotated.csv"
    built = build_redditbias(
        specification("race"), tmp_path, annotations=annotated, how=Steps(as_published=True)
    )
    assert (built.counts["train"], built.counts["held_out"]) == (763, 510)
    for name in ("train", "valid", "swapped_targets_train", "swapped_attr_train"):
        place = Path("text_files") / "race" / f"race_bias_manual_{name}.txt"
        assert (tmp_path / place).read_bytes() == (published / place).read_bytes()


def test_training_and_held_out_texts_of_religion1_come_out_row_for_row(
    published: Path, tmp_path: Path
) -> None:
    annotated = (
        published / "data" / "religion1" / "reddit_comments_religion1_jews_processed_phrase_annotated.csv"
    )
    build_redditbias(
        specification("religion1"), tmp_path, annotations=annotated, how=Steps(as_published=True)
    )
    for name in ("train", "valid", "swapped_targets_train", "swapped_attr_train"):
        place = Path("text_files") / "religion1" / f"religion1_bias_manual_{name}.txt"
        assert (tmp_path / place).read_bytes() == (published / place).read_bytes()
