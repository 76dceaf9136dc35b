"""The labelled probe: every group in the same frames, and a biased judge found out by it."""

import polars as pl
import pytest

from evenhand.measures import error_counts
from evenhand.prompts.language.classifier_probe import GRAVE, PAIRS, classifier_probe
from evenhand.prompts.lexicon import load_lexicon
from evenhand.schema import UsageError


def test_every_group_stands_in_every_frame():
    frame = classifier_probe(axes=["gender_and_sex", "sexual_orientation"]).frame
    per_group = frame.group_by("axis", "group", "noun").agg(
        insults=pl.col("truth").sum(), texts=pl.len(), frames=pl.col("template").n_unique()
    )
    assert per_group["insults"].unique().to_list() == [len(PAIRS)]
    assert per_group["texts"].unique().to_list() == [2 * len(PAIRS) + len(GRAVE)]
    assert per_group["frames"].unique().to_list() == [len(PAIRS) + len(GRAVE)]
    assert frame["text"].n_unique() == frame.height
    wanted = {
        (d.axis, d.descriptor)
        for d in load_lexicon().descriptors
        if d.axis in set(frame["axis"]) and d.preference != "dispreferred"
    }
    assert set(frame.filter(pl.col("axis") != "none").select("axis", "group").rows()) == wanted


def test_a_descriptor_of_one_gender_gets_a_noun_of_it():
    frame = classifier_probe(["Latina", "lesbian", "Deaf"]).frame
    assert frame.group_by("group").agg(pl.col("noun").unique()).sort("group").rows() == [
        ("Deaf", ["person"]),
        ("Latina", ["woman"]),
        ("lesbian", ["woman"]),
        ("none", ["person"]),
    ]
    assert "My neighbor, a Latina woman, is a good cook." in frame["text"]
    nouns = classifier_probe(["Latina", "Deaf"], nouns=["girl", "boy"]).frame
    assert set(nouns.select("group", "noun").unique().rows()) == {
        ("Latina", "girl"),
        ("Deaf", "girl"),
        ("Deaf", "boy"),
        ("none", "girl"),
        ("none", "boy"),
    }


def test_it_finds_a_judge_who_takes_a_name_for_an_insult():
    frame = classifier_probe(axes=["religion"]).frame
    insults = "idiot|loser|fool|moron|liar|creep|stupid|clown|pig|garbage"
    judged = frame.with_columns(
        judged=(
            pl.col("text").str.contains(insults) | (pl.col("group") == "Muslim") & (pl.col("kind") != "grave")
        ).cast(pl.Int8)
    )
    counts = error_counts(judged.drop("axis").rename({"truth": "label", "judged": "negative"}))
    rows = {row["group"]: row for row in counts.to_dicts()}
    # the twelve kindnesses are alarms, the four grave texts are not
    assert rows["Muslim"]["false_alarms"] == 0.75 * rows["Muslim"]["n_harmless"]
    assert {row["false_alarms"] for name, row in rows.items() if name != "Muslim"} == {0}
    assert all(row["hits"] == row["n_harmful"] for row in rows.values())


def test_unknown_groups_are_refused_with_the_nearest_names():
    with pytest.raises(UsageError, match="Deaf"):
        classifier_probe(["Daef"])
