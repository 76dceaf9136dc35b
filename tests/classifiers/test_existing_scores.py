"""Existing scores: every file format gives the same judgements; what is not there is missing, never 0."""

import json
import shutil

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from evenhand.classifiers import Classifier, load_classifier
from evenhand.schema import DataError, ResponseError, UsageError

ROWS = [
    {"text": " said this, and that", "toxicity": 0.5, "insult": 0.1, "label": "toxic"},
    {"text": "007", "toxicity": 0.49, "insult": 0.9, "label": "fine"},
    {"text": "no score", "toxicity": None, "insult": None, "label": None},
    {"text": 'a "quoted"\nline', "toxicity": 1.0, "insult": 0.0, "label": "toxic"},
]
ASKED = ["007", "unknown", " said this, and that", "no score", 'a "quoted"\nline', "", "007"]


def write(path):
    frame = pl.DataFrame(ROWS)
    if path.suffix == ".csv":
        frame.write_csv(path)
    elif path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        path.write_text("\n".join(json.dumps(row) for row in ROWS) + "\n\n")
    return path


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "ndjson", "parquet"])
def test_all_formats_agree(tmp_path, suffix):
    path = write(tmp_path / f"scores.{suffix}")
    classifier = load_classifier(f"scores:{path}?column=toxicity,insult&threshold=0.5")
    assert isinstance(classifier, Classifier) and classifier.labels == ("toxicity", "insult")
    said = classifier.classify(ASKED)
    nan, missing = np.nan, ResponseError.MISSING
    np.testing.assert_array_equal(said.score, [0.49, nan, 0.5, nan, 1.0, nan, 0.49])
    assert said.negative == [False, None, True, None, True, None, False]
    assert said.labels == ["fine", None, "toxic", None, "toxic", None, "fine"]
    assert said.errors == [None, missing, None, missing, None, ResponseError.EMPTY_TEXT, None]
    np.testing.assert_allclose(said.scores[[0, 2, 4], 1], [0.9, 0.1, 0.0], atol=1e-7)
    assert np.isnan(said.scores[[1, 3, 5]]).all()
    assert "no score" in said.details[3] and "not in" in said.details[1]
    assert (classifier.describe()["texts"], classifier.describe()["found"]) == (7, 5)
    assert len(classifier.classify([])) == 0


def test_verdicts_come_from_where_the_user_says(tmp_path):
    path = write(tmp_path / "scores.parquet")
    plain = load_classifier(f"scores:{path}").classify(ASKED)
    assert plain.negative == [None] * len(ASKED) and plain.score[0] == 0.49
    by_label = load_classifier(f"scores:{path}?negative=toxic").classify(ASKED)
    assert by_label.negative == [False, None, True, None, True, None, False]
    pl.DataFrame(ROWS).select("text", "label").write_csv(tmp_path / "labels.csv")
    labels = load_classifier(f"scores:{tmp_path}/labels.csv?negative=toxic")
    assert labels.labels == ("fine", "toxic")
    said = labels.classify(ASKED)
    np.testing.assert_array_equal(said.score, [0, np.nan, 1, np.nan, 1, np.nan, 0])
    assert said.errors[3] == ResponseError.MISSING


def test_fingerprints_follow_content_and_reading_not_place(tmp_path):
    path = write(tmp_path / "scores.csv")
    names = [f"scores:{path}{options}" for options in
             ("", "?threshold=0.5", "?threshold=0.6", "?column=insult", "?negative=toxic", "?strip=true")]  # fmt: skip
    prints = [load_classifier(name).fingerprint for name in names]
    assert len({json.dumps(one) for one in prints}) == len(names)
    moved = shutil.copy(path, tmp_path / "elsewhere.csv")
    assert load_classifier(f"scores:{moved}").fingerprint == prints[0]
    path.write_text(path.read_text().replace("0.49", "0.48"))
    assert load_classifier(f"scores:{path}").fingerprint != prints[0]


def test_contradicting_rows_are_errors_not_choices(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("text,score\nsame,0.2\nother,0.1\nsame,0.3\nother,0.1\nodd,nan\n")
    classifier = load_classifier(f"scores:{path}?threshold=0.25")
    said = classifier.classify(["same", "other", "odd"])
    assert said.errors == [ResponseError.CLASSIFIER_ERROR, None, ResponseError.NOT_FINITE]
    assert np.isnan(said.score[[0, 2]]).all() and said.negative == [None, False, None]
    assert classifier.describe()["conflicting_texts"] == 1


def test_white_space_can_be_forgiven(tmp_path):
    path = write(tmp_path / "scores.csv")
    texts = ["said this, and that", "007 "]
    assert load_classifier(f"scores:{path}").classify(texts).errors == [ResponseError.MISSING] * 2
    assert load_classifier(f"scores:{path}?strip=yes").classify(texts).errors == [None, None]


def test_realtoxicityprompts_as_its_owners_ship_it(tmp_path):
    names = ("toxicity", "severe_toxicity", "identity_attack", "insult", "profanity", "threat")

    def part(text, *values):
        return {"text": text, **dict(zip(names, values, strict=False))}

    lines = [
        {"filename": "0.txt", "begin": 340, "end": 564, "challenging": False,
         "prompt": part("So when they say", 0.14, 0.02, 0.03, 0.1, 0.04, 0.2),
         "continuation": part(" that they are fools", 0.86, 0.3, 0.2, 0.9, 0.5, 0.1)},
        {"filename": "1.txt", "begin": 0, "end": 5, "challenging": True,
         "prompt": part("Nobody", None, None), "continuation": part(" cares", 0.25, 0.01)},
    ]  # fmt: skip
    path = tmp_path / "prompts.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines))
    classifier = load_classifier(f"scores:{path}?threshold=0.5")
    said = classifier.classify(["So when they say", " that they are fools", "Nobody", " cares"])
    np.testing.assert_array_equal(said.score, [0.14, 0.86, np.nan, 0.25])
    assert said.negative == [False, True, None, False] and said.errors[2] == ResponseError.MISSING
    every = load_classifier(f"scores:{path}", options={"column": list(names)})
    assert every.classify([" that they are fools"]).scores[0, 3] == np.float32(0.9)


@pytest.mark.parity
def test_extracts_without_scores_say_so(shared):
    path = shared / "data" / "realtoxicityprompts" / "challenging_1199.jsonl"
    with pytest.raises(DataError, match="has no column of scores and no column of labels"):
        load_classifier(f"scores:{path}")


def test_robbies_own_results(tmp_path):
    path = tmp_path / "scores.d__bold.p__gpt2.m__toxigen.json"
    rows = [{"score": 0.9, "label": "1", "prompt": "A", "prediction": "A b", "meta": {"group": "x"}},
            {"score": 0.8, "label": "0", "prompt": "A", "prediction": "A c", "meta": {"group": "y"}}]  # fmt: skip
    path.write_text(json.dumps({"scores": rows, "stats": {}}))
    said = load_classifier(f"scores:{path}?negative=1").classify(["A c", "A b"])
    assert said.negative == [False, True] and said.labels == ["0", "1"]


@pytest.mark.parametrize(
    ("name", "content", "options", "error", "match"),
    [
        ("none.csv", None, "", DataError, "Score file not found"),
        ("a.txt", "text,score\na,1\n", "", DataError, r"unsupported file type '\.txt"),
        ("a.csv", "text,score\n", "", DataError, "no rows"),
        ("a.csv", "", "", DataError, "cannot be read"),
        ("a.csv", "words,score\na,1\n", "", DataError, "Name the column that contains the texts"),
        ("a.csv", "text,rating\na,1\n", "", DataError, "has no column of scores and no column of labels"),
        ("a.csv", "text,score\na,high\n", "", DataError, "row 1: 'score' is 'high'"),
        ("a.csv", "text,score\na,1\n", "?column=scor", UsageError, "Did you mean 'score'"),
        ("a.csv", "text,label\na,1\n", "?threshold=1", UsageError, "requires scores, but"),
        ("a.csv", "text,label\na,bad\n", "?negative=good", UsageError, "Unknown label in a.csv: 'good'"),
        ("a.csv", "text,score\na,1\n", "?colum=score", UsageError, "Did you mean 'column'"),
        ("a.jsonl", '{"text": "a", "score": 1}\n{"text"', "", DataError, "line 2: not valid JSON"),
        ("a.jsonl", "[1]\n", "", DataError, r"expected a JSON object for each text, got '\[1\]"),
        ("a.json", "3", "", DataError, "cannot be read"),
        ("a.jsonl", '{"text": "a", "score": "x"}\n', "", DataError, "not a number"),
    ],
)
def test_bad_files_are_explained(tmp_path, name, content, options, error, match):
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    with pytest.raises(error, match=match):
        load_classifier(f"scores:{path}{options}")


@settings(max_examples=25)
@given(
    rows=st.dictionaries(st.text(min_size=1), st.floats(0, 1, width=32) | st.none(), min_size=1, max_size=20),
    asked=st.lists(st.text(), max_size=10),
)
def test_a_lookup_is_a_dictionary(tmp_path_factory, rows, asked):
    path = tmp_path_factory.mktemp("scores") / "scores.parquet"
    frame = pl.DataFrame(
        {"text": list(rows), "score": list(rows.values())}, schema={"text": pl.String, "score": pl.Float64}
    )
    frame.write_parquet(path)
    texts = [*asked, *rows]
    said = load_classifier(f"scores:{path}?threshold=0.5").classify(texts)
    for text, score, verdict in zip(texts, said.score, said.negative, strict=True):
        expected = rows.get(text)
        assert np.isnan(score) if expected is None else score == expected
        assert verdict is (None if expected is None else expected >= 0.5)
