"""Turning judgements, and failures, into label rows."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from evenhand.classifiers.contract import Labels
from evenhand.runs.asking import HOPELESS
from evenhand.runs.labelling import label_rows, label_texts
from evenhand.schema import LABELS, ModelError, ResponseError, UsageError

NAN = float("nan")


def texts_of(*texts, contexts=None):
    contexts = contexts or [None] * len(texts)
    return pl.DataFrame(
        {"text_id": [f"t{i}" for i in range(len(texts))], "text": texts, "context": contexts},
        schema_overrides={"context": pl.String},
    )


def test_a_row_holds_what_the_classifier_said(fakes):
    rows = label_texts(fakes.HashClassifier(), texts_of("a", "", "c"))
    assert dict(rows.schema) == dict(pl.DataFrame(schema=LABELS).schema)
    harms = [fakes.HashClassifier.harm(text, None) for text in "ac"]
    assert rows["text_id"].to_list() == ["t0", "t1", "t2"]
    assert rows["score"].to_list() == [harms[0], None, harms[1]]
    assert rows["negative"].to_list() == [harms[0] > 0.5, None, harms[1] > 0.5]
    assert rows["scores"][0].to_list() == [np.float32(1 - harms[0]), np.float32(harms[0])]
    assert rows["scores"][1] is None
    assert rows["error"].to_list() == [None, "empty_text", None]


def test_contexts_reach_only_a_classifier_that_has_some(fakes):
    reader = fakes.HashClassifier(reads_context=True)
    label_texts(reader, texts_of("a", "b", contexts=["x", None]))
    assert reader.batches == [[("a", "x"), ("b", None)]]
    label_texts(fakes.HashClassifier(), texts_of("a"))  # asserts that contexts is None


def test_what_a_classifier_does_not_say_is_null_and_a_row_without_anything_an_error():
    said = Labels(
        scores=np.array([[0.5, NAN], [NAN, NAN], [NAN, NAN], [np.inf, 0], [0.1, 0.2]], dtype=np.float32),
        labels=[None, "rude", None, "rude", "kind"],
        score=np.array([0.25, NAN, NAN, NAN, NAN]),
        negative=[None, None, None, True, True],
        errors=[None, None, None, None, ResponseError.QUOTA],
        details=[None, None, None, None, "tomorrow"],
    )
    rows = label_rows(texts_of(*"abcde"), said, ("x", "y"))
    assert rows.drop("text_id", "detail").rows() == [
        (None, 0.25, None, [0.5, None], None),
        ("rude", None, None, [None, None], None),
        (None, None, None, None, "not_finite"),
        (None, None, None, None, "not_finite"),
        (None, None, None, None, "quota"),
    ]
    assert rows["detail"].to_list()[4] == "tomorrow"
    assert "infinity" in rows["detail"][3]


def test_a_classifier_without_scores_gives_empty_lists():
    said = Labels(np.zeros((2, 0), np.float32), ["a", "b"], np.full(2, NAN), [None] * 2, [None] * 2)
    rows = label_rows(texts_of("x", "y"), said, ())
    assert rows.select("label", "scores", "error").rows() == [("a", [], None), ("b", [], None)]


@pytest.mark.parametrize(("kind", "code"), [(ValueError, "classifier_error"), (MemoryError, "out_of_memory")])
def test_a_poisonous_text_becomes_one_error_row(fakes, kind, code):
    def choke(texts):
        if "text 9" in texts:
            raise kind("not this one")

    rows = label_texts(fakes.HashClassifier(choke), texts_of(*[f"text {i}" for i in range(32)]))
    failed = rows.filter(pl.col("error").is_not_null())
    assert failed.select("text_id", "error").rows() == [("t9", code)]
    assert "not this one" in failed["detail"][0]
    clean = label_texts(fakes.HashClassifier(), texts_of(*[f"text {i}" for i in range(32)]))
    good = rows.filter(pl.col("error").is_null()).sort("text_id")
    assert good.equals(clean.filter(pl.col("text_id") != "t9").sort("text_id"))


def test_a_broken_classifier_is_an_error_and_its_own_errors_pass(fakes):
    def broken(texts):
        raise RuntimeError("weights are gone")

    def no_key(texts):
        raise UsageError("no key")

    texts = texts_of(*[f"text {i}" for i in range(64)])
    told = f"HashClassifier failed for each of {HOPELESS} texts processed individually.*weights are gone"
    with pytest.raises(ModelError, match=told):
        label_texts(fakes.HashClassifier(broken), texts)
    with pytest.raises(UsageError, match="no key"):
        label_texts(fakes.HashClassifier(no_key), texts)


GOOD = Labels(np.zeros((2, 1), np.float32), ["a"] * 2, np.zeros(2), [False] * 2, [None] * 2)


@pytest.mark.parametrize(
    "wrong",
    [
        replace(GOOD, scores=np.zeros((2, 2), np.float32)),
        replace(GOOD, labels=["a"]),
        replace(GOOD, errors=[None]),
        replace(GOOD, details=["a"]),
    ],
)
def test_an_answer_of_the_wrong_shape_is_refused(wrong):
    assert label_rows(texts_of("a", "b"), GOOD, ("x",)).height == 2
    with pytest.raises(ModelError, match=r"returned \d rows for 2 texts, with scores of shape \(2, \d\)"):
        label_rows(texts_of("a", "b"), wrong, ("x",))
