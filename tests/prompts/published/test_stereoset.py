"""CrowS-Pairs and StereoSet: the published counts, the target words, and what broken files say."""

import csv
import json
import string
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from evenhand.benchmarks.crows_pairs import load_crows_pairs
from evenhand.prompts.datasets.register import dataset
from evenhand.prompts.published.stereoset import COLUMNS, content_sha256, load_stereoset
from evenhand.schema import DataError

# counted in the published file
CROWS_TYPES = {
    "race-color": (473, 43), "gender": (159, 103), "socioeconomic": (157, 15), "nationality": (148, 11),
    "religion": (99, 6), "age": (73, 14), "sexual-orientation": (72, 12), "physical-appearance": (52, 11),
    "disability": (57, 3),
}  # fmt: skip


@pytest.fixture
def crows_row() -> dict[str, str]:
    return {
        "": "7",
        "sent_more": 'The "old" man, he sat.',
        "sent_less": "The young man, he sat.",
        "stereo_antistereo": "stereo",
        "bias_type": "age",
        "annotations": "[['age'], []]",
        "anon_writer": "a0",
        "anon_annotators": "['a1', 'a2']",
    }


def write_crows(folder: Path, *rows: dict[str, str]) -> Path:
    with (folder / "crows_pairs_anonymized.csv").open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return folder


def cluster(dataset_type: str = "intrasentence", number: int = 0, **changes: object) -> dict[str, object]:
    context, words = "The BLANK, they said.", ["wise", '"grim"', "so-so"]
    sentences = [
        {
            "sentence": context.replace("BLANK", word),
            "gold_label": label,
            "id": f"{dataset_type[:5]}{number}{i}",
        }
        for i, (word, label) in enumerate(
            zip(words, ["stereotype", "anti-stereotype", "unrelated"], strict=True)
        )
    ]
    made = {
        "id": f"c{number}",
        "bias_type": "race",
        "target": "they",
        "context": context,
        "sentences": sentences,
    }
    return {**made, **changes}


def write_stereoset(folder: Path, intra: list[object], inter: list[object]) -> Path:
    content = {"version": "1.0", "data": {"intrasentence": intra, "intersentence": inter}}
    (folder / "dev.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


# ----------------------------------------------------------------------------------------- CrowS-Pairs


@pytest.mark.parity
def test_crows_counts(shared: Path) -> None:
    frame = load_crows_pairs(shared / "data/crows_pairs").frame
    assert frame.height == 2 * 1508
    more, less = frame.filter(role="more"), frame.filter(role="less")
    assert more["pair_id"].equals(less["pair_id"]) and more["pair_id"].n_unique() == 1508
    assert more["text"].equals(more["sent_more"].alias("text"))
    assert less["text"].equals(more["sent_less"].alias("text"))
    counts = Counter(more.select("axis", "direction").rows())
    for axis, (stereo, anti) in CROWS_TYPES.items():
        assert (counts[axis, "stereo"], counts[axis, "antistereo"]) == (stereo, anti)
    assert counts.total() == 1508
    assert set(more["annotations"].list.len()) == set(more["annotators"].list.len()) == {5}


def test_crows_row(tmp_path: Path, crows_row: dict[str, str]) -> None:
    frame = load_crows_pairs(write_crows(tmp_path, crows_row)).frame
    assert frame["prompt_id"].to_list() == ["7-more", "7-less"]
    assert frame["text"].to_list() == ['The "old" man, he sat.', "The young man, he sat."]
    assert frame["annotations"].to_list()[0] == [["age"], []]
    assert frame["annotators"].to_list()[0] == ["a1", "a2"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stereo_antistereo": "both"}, "pair 7: the direction is 'both'; expected stereo or antistereo"),
        ({"annotations": "[['age'"}, "pair 7, annotations: .* is not a list"),
        ({"anon_annotators": "3"}, "pair 7, anon_annotators: '3' is not a list"),
    ],
)
def test_broken_crows_rows(tmp_path: Path, crows_row: dict[str, str], changes: dict, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_crows_pairs(write_crows(tmp_path, crows_row | changes))


def test_broken_crows_files(tmp_path: Path, crows_row: dict[str, str]) -> None:
    with pytest.raises(DataError, match=r"has no crows_pairs_anonymized\.csv"):
        load_crows_pairs(tmp_path)
    write_crows(tmp_path, {k: v for k, v in crows_row.items() if k != "bias_type"})
    with pytest.raises(DataError, match="has no column bias_type"):
        load_crows_pairs(tmp_path)
    with pytest.raises(DataError, match="'7-more' occurs 2 times"):
        load_crows_pairs(write_crows(tmp_path, crows_row, crows_row))
    write_crows(tmp_path, crows_row)
    path = tmp_path / "crows_pairs_anonymized.csv"
    path.write_text(path.read_text().splitlines()[0] + "\n")
    with pytest.raises(DataError, match="contains no pairs"):
        load_crows_pairs(tmp_path)
    path.write_text(path.read_text() + "1,cut short\n")
    with pytest.raises(DataError, match="pair 1: the row has too few values"):
        load_crows_pairs(tmp_path)


# ------------------------------------------------------------------------------------------- StereoSet


@pytest.fixture(scope="module")
def stereoset(shared: Path) -> pl.DataFrame:
    return load_stereoset(shared / "data/stereoset").frame


@pytest.mark.parity
def test_stereoset_counts(stereoset: pl.DataFrame) -> None:
    assert stereoset.height == 12_687
    assert stereoset["cluster_id"].n_unique() == 4_229
    assert stereoset["target"].n_unique() == 79
    intra = stereoset.filter(dataset_type="intrasentence", gold_label="stereotype")
    assert dict(intra["axis"].value_counts().rows()) == {
        "gender": 255, "profession": 810, "race": 962, "religion": 79,
    }  # fmt: skip
    assert stereoset.filter(dataset_type="intersentence").height == 3 * 2_123


@pytest.mark.parity
def test_stereoset_spans_hold_the_published_target_word(stereoset: pl.DataFrame) -> None:
    """The published scorer takes the word at BLANK's place and removes its punctuation."""
    intra, inside = stereoset.filter(dataset_type="intrasentence"), 0
    bare = str.maketrans("", "", string.punctuation)
    assert intra["context"].null_count() == intra.height
    for text, context, start, end in intra.select(
        "text", "blank_context", "span_start", "span_end"
    ).iter_rows():
        place = [i for i, word in enumerate(context.split(" ")) if "BLANK" in word][-1]
        word = text.split(" ")[place]
        span = text[start:end]
        assert span.translate(bare) == word.translate(bare)
        inside += span != span.translate(bare)
        assert text[:start].count(" ") == place
    assert inside == 9  # such as "sometimes.pizza": punctuation within a word stays in a span
    inter = stereoset.filter(dataset_type="intersentence")
    assert inter["context"].null_count() == inter["text"].null_count() == 0
    assert inter["span_start"].null_count() == inter.height


@pytest.mark.parity
def test_stereoset_content_hash_is_independent_of_the_format(shared: Path, tmp_path: Path) -> None:
    source = shared / "data/stereoset"
    clusters: dict[str, dict[str, dict]] = {"intrasentence": {}, "intersentence": {}}
    with (source / "dev.csv").open(encoding="utf-8", newline="") as handle:
        for row in csv.DictReader(handle):
            made = clusters[row["dataset_type"]].setdefault(
                row["cluster_id"],
                {
                    "id": row["cluster_id"],
                    **{c: row[c] for c in ("bias_type", "target", "context")},
                    "sentences": [],
                },
            )
            sentence = {
                "sentence": row["sentence"],
                "gold_label": row["gold_label"],
                "id": row["sentence_id"],
            }
            made["sentences"].append(sentence)
    write_stereoset(tmp_path, *(list(reversed(c.values())) for c in clusters.values()))
    pinned = dataset("stereoset").version().content_sha256
    assert content_sha256(source) == content_sha256(tmp_path) == pinned
    same = load_stereoset(tmp_path).frame.sort("prompt_id")
    assert same.equals(load_stereoset(source).frame.sort("prompt_id"))
    (tmp_path / "dev.json").write_text((tmp_path / "dev.json").read_text().replace("hispanic", "Hispanic", 1))
    assert content_sha256(tmp_path) != pinned


def test_stereoset_json(tmp_path: Path) -> None:
    intra, inter = cluster(), cluster("intersentence", 1, context="They came.")
    frame = load_stereoset(write_stereoset(tmp_path, [intra], [inter])).frame
    assert frame["text"].to_list()[:2] == ["The wise, they said.", 'The "grim", they said.']
    words = [t[s:e] for t, s, e in frame.select("text", "span_start", "span_end").head(3).rows()]
    assert words == ["wise", "grim", "so-so"]
    assert frame["context"].to_list() == [None] * 3 + ["They came."] * 3
    assert frame["span_end"].to_list()[3:] == [None] * 3
    assert set(COLUMNS) - {"context", "sentence"} <= set(frame.columns)


@pytest.mark.parametrize(
    ("intra", "message"),
    [
        ([{"id": "c0"}], "intrasentence cluster 0: no key 'bias_type'"),
        ([cluster(context=3)], "intrasentence cluster 0: 'context' is not a str"),
        ([cluster(context="Nothing here.")], "no word found at the position of BLANK"),
        ([cluster(sentences=[])], "contains no rows"),
        (
            [cluster(sentences=cluster()["sentences"][:2])],
            "cluster c0 has the labels stereotype, anti-stereotype",
        ),
        (
            [cluster(sentences=[{"sentence": "x", "gold_label": "good", "id": "1"}])],
            "sentence 1 has type 'intrasentence' and label 'good'",
        ),
        ({}, "'intrasentence' is not a list"),
    ],
)
def test_broken_stereoset_json(tmp_path: Path, intra: list[object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_stereoset(write_stereoset(tmp_path, intra, []))


def test_broken_stereoset_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has neither dev\.json nor dev\.csv"):
        load_stereoset(tmp_path)
    (tmp_path / "dev.csv").write_text("dataset_type,cluster_id\nintrasentence,c0\n")
    with pytest.raises(
        DataError, match=r"has no columns 'bias_type', .* \(found: dataset_type, cluster_id\)"
    ):
        load_stereoset(tmp_path)
    (tmp_path / "dev.csv").write_text(",".join(COLUMNS) + "\nintrasentence,c0\n")
    with pytest.raises(DataError, match="row 1: expected 8 fields"):
        load_stereoset(tmp_path)
    (tmp_path / "dev.json").write_text("{")
    with pytest.raises(DataError, match=r"dev\.json is not valid JSON"):
        load_stereoset(tmp_path)
