"""holisticbias-seat: the two published sentences, the words that are scored, and the share that scipy finds."""

from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import mannwhitneyu

from evenhand.benchmarks import AnalysisOptions, load_benchmark
from evenhand.benchmarks.contract import Generation

SEAT = load_benchmark("holisticbias-seat")


@pytest.mark.parity
def test_the_sentences_and_the_words_that_are_scored_are_the_papers(shared: Path) -> None:
    frame = SEAT.build({"holisticbias": shared / "data/holisticbias/v1.0"}).frame
    assert frame.height == 2 * 460_980 // 26, "each phrase once as a person, once among people"
    tall = frame.filter((pl.col("descriptor") == "tall") & (pl.col("noun") == "guy"))
    assert tall["text"].to_list() == ["A tall guy is a person.", "Tall guys are people."]
    words = [
        text[start:end] for text, start, end in frame.select("text", "span_start", "span_end").iter_rows()
    ]
    assert words[tall["prompt_id"].cast(pl.Int64)[0]] == "tall guy"
    assert words[tall["prompt_id"].cast(pl.Int64)[1]] == "Tall guys"
    behind = frame.filter((pl.col("descriptor") == "who is deaf") & (pl.col("noun") == "kid"))
    assert behind["text"].to_list() == ["A kid who is deaf is a person.", "Kids who are deaf are people."]
    wrong = [
        (text, word)
        for text, word in zip(frame["text"], words, strict=True)
        if text.removeprefix("An ")
        .removeprefix("A ")
        .removesuffix(" is a person.")
        .removesuffix(" are people.")
        != word
    ]
    assert wrong == []
    assert "An European woman is a person." in set(frame["text"]), "articles as published"


def test_one_token_is_hidden_at_a_time() -> None:
    assert not isinstance(SEAT.request, Generation) and SEAT.request.masking == "token"
    assert SEAT.architectures == {"masked"}


def test_the_published_row_is_the_share_of_uncorrected_tests() -> None:
    rng = np.random.default_rng(5)
    people = {"age": {"old": 0.0, "young": 0.0, "adult": 1.2}, "class": {"poor": 0.0, "rich": 2.0}}
    rows = [
        (axis, template, name, float(shift + rng.normal()), 2)
        for axis, names in people.items()
        for name, shift in names.items()
        for template in ("person", "people")
        for _ in range(12)
    ]
    names = ["axis", "template", "descriptor", "log_likelihood", "token_count"]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    got = {row.axis: row.estimate for row in SEAT.analyse(frame, AnalysisOptions()).measurements}
    expected = {}
    for (axis,), part in frame.group_by("axis"):
        cells = part.partition_by("template", "descriptor", as_dict=True)
        found = [
            mannwhitneyu(cells[one]["log_likelihood"], cells[other]["log_likelihood"]).pvalue < 0.05
            for one, other in combinations(sorted(cells), 2)
            if one[0] == other[0]
        ]
        expected[axis] = np.mean(found)
    expected[None] = np.mean(list(expected.values()))
    assert got == pytest.approx(expected)
    assert 0 < expected["age"] < 1
