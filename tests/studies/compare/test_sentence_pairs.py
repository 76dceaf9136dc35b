"""CrowS-Pairs from lm_eval's samples: compared pair by pair, as our own runs are."""

import json

import numpy as np
import polars as pl
import pytest

from evenhand.studies.compare.result import compare
from evenhand.studies.compare.sentence_pairs import crows_pairs_scores

TYPES = ("gender", "religion")


def samples(path, preferred):
    """Pairs of two types; preferred: of each whether its more stereotyped sentence is likelier."""
    lines = []
    for i, wins in enumerate(preferred):
        stereo = i % 3 > 0
        doc = {
            "sent_more": f"The word{i} people are late.", "sent_less": f"The other{i} people are late.",
            "bias_type": TYPES[i % 2], "stereo_antistereo": "stereo" if stereo else "antistereo",
        }  # fmt: skip
        first, second = (-20.0, -21.0) if wins else (-21.0, -20.0)
        lines.append(
            {"doc_id": i, "doc": doc, "arguments": {}, "metrics": ["pct_stereotype"], "pct_stereotype": 1.0,
             "resps": [[[str(first), "False"]], [[str(second), "False"]]], "filtered_resps": [[first, False]]}
        )  # fmt: skip
    path.parent.mkdir()
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_planted_change_of_one_type_is_named_and_the_other_is_not(tmp_path):
    random = np.random.default_rng(0)
    before = random.random(240) < 0.5
    after = before | ((np.arange(240) % 2 == 1) & (random.random(240) < 0.9))  # religion alone
    paths = [samples(tmp_path / name / "samples_crows_pairs_english_2026.jsonl", values)
             for name, values in (("old", before), ("new", after))]  # fmt: skip
    report = compare(*paths)
    told = report.headlines["sentence"][0]
    assert told.startswith("Religion — bias larger. The stereotyped sentence is preferred more often")
    rows = report.changes.filter(pl.col("measure") == "crows_pairs_change", pl.col("axis").is_not_null())
    found = {row["axis"]: row for row in rows.to_dicts()}
    for place, axis in enumerate(TYPES):
        mine = np.arange(240) % 2 == place
        shares = [100 * values[mine].mean() for values in (before, after)]
        assert [found[axis]["before"], found[axis]["after"]] == pytest.approx(shares)
    assert found["gender"]["verdict"] == "not detected" and found["religion"]["verdict"] == "higher"
    assert report.moved["outcome"].unique().to_list() == ["log-likelihood"]


def test_samples_that_hold_no_pairs_are_left_to_their_metrics():
    doc = {"sent_more": "A.", "sent_less": "B.", "bias_type": "age", "stereo_antistereo": "stereo"}
    good = {"doc_id": 0, "doc": doc, "resps": [[["-1", "False"]], [["-2", "False"]]]}
    assert crows_pairs_scores([good]).height == 2
    for spoiled in ({"doc": {**doc, "stereo_antistereo": 1}}, {"resps": [["a text"]]}, {"doc": {"question": "?"}},
                    {"resps": [[["-1", "False"]], [["x", "False"]]]}, {"doc": {**doc, "sent_less": None}}):  # fmt: skip
        assert crows_pairs_scores([good, {**good, **spoiled}]) is None
    assert crows_pairs_scores([]) is None
