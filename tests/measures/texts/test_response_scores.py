"""Scores of replies against DSTC7's published demonstration and literal counting; changes that were planted."""

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest

from evenhand.measures import response_score_changes, response_scores
from evenhand.measures.texts import meteor as meteor_file
from evenhand.measures.texts.overlap import bleu, mteval_tokens, nist, overlap
from evenhand.schema import DataError, Unsupported
from tests.measures.texts.test_overlap import HYPOTHESES, REFERENCES, WORDS

DEMO = pl.DataFrame({"key": ["a", "b", "c"], "reply": HYPOTHESES, "references": REFERENCES})


def estimates(table: pl.DataFrame) -> dict[str, float]:
    return dict(table.select("measure", "estimate").rows())


def corpus(seed: int, n: int = 30, words: list[str] = WORDS) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    texts = [" ".join(draw.choice(words, size=draw.integers(2, 9))) for _ in range(3 * n)]
    return pl.DataFrame(
        {"key": list(range(n)), "reply": texts[:n], "references": [texts[n + 2 * i : n + 2 * i + 2] for i in range(n)]}
    )  # fmt: skip


def test_the_published_numbers_of_the_demonstration_come_out() -> None:
    found = estimates(response_scores(DEMO, clean=False))
    expected = {
        **dict(zip(("bleu_1", "bleu_2", "bleu_3", "bleu_4"), (0.4667, 0.441, 0.4017, 0.3224), strict=True)),
        **dict(zip(("nist_1", "nist_2", "nist_3", "nist_4"), (1.8338, 2.0838, 2.1949, 2.1949), strict=True)),
        "reply_length": 5.0,
        **{"entropy_1": 2.5232, "entropy_2": 2.4849, "entropy_3": 2.1972, "entropy_4": 1.7918},
        **{"dist_1": 0.8667, "dist_2": 1.0},
    }
    assert {name: round(value, 4) for name, value in found.items() if name != "meteor"} == expected


def test_entropy_and_its_limits_are_those_of_counting_without_each_key() -> None:
    frame = corpus(0)

    def entropy(rows: list[str], size: int) -> float:
        counts = Counter(
            tuple(words[i : i + size])
            for words in (row.split() for row in rows)
            for i in range(len(words) - size + 1)
        )
        total = sum(counts.values())
        return -sum(c / total * math.log(c / total) for c in counts.values())

    def distinct(rows: list[str]) -> float:
        words = [word for row in rows for word in row.split()]
        return len(set(words)) / len(words)

    table = response_scores(frame, clean=False)
    replies = frame["reply"].to_list()
    for name, count in (("entropy_1", lambda rows: entropy(rows, 1)), ("entropy_3", lambda rows: entropy(rows, 3)),
                        ("dist_1", distinct)):  # fmt: skip
        row = table.row(by_predicate=pl.col("measure") == name, named=True)
        others = np.array([count(replies[:i] + replies[i + 1 :]) for i in range(len(replies))])
        error = np.sqrt((len(others) - 1) / len(others) * np.square(others - others.mean()).sum())
        assert row["estimate"] == pytest.approx(count(replies))
        assert row["high"] - row["estimate"] == pytest.approx(2.04523 * error, rel=1e-5)  # t with 29


def test_limits_of_bleu_follow_the_spread_of_independent_corpora() -> None:
    words = [f"w{i}" for i in range(6)]
    many = [response_scores(corpus(seed, 40, words), clean=False) for seed in range(60)]
    values = np.array([estimates(table)["bleu_2"] for table in many])
    widths = [table.filter(measure="bleu_2").select(pl.col("high") - pl.col("low")).item() for table in many]
    spread = values.std(ddof=1)
    assert np.mean(widths) / (2 * 2.02) == pytest.approx(spread, rel=0.3)


def test_a_planted_change_is_found_and_none_where_nothing_changed() -> None:
    frame = corpus(1, 60)
    better = frame.with_columns(
        reply=pl.when(pl.col("key") < 40).then(pl.col("references").list.first()).otherwise("reply")
    )
    changes = response_score_changes(frame, better, clean=False)
    row = changes.row(by_predicate=pl.col("measure") == "bleu_4", named=True)
    before, after = (estimates(response_scores(f, clean=False))["bleu_4"] for f in (frame, better))
    assert row["before"] == pytest.approx(before)
    assert row["after"] == pytest.approx(after)
    assert row["low"] > 0.2 and row["p"] < 1e-6
    same = response_score_changes(frame, frame, clean=False)
    assert same["change"].to_list() == [0.0] * same.height
    assert same["p"].to_list() == [1.0] * same.height


def test_a_reply_that_failed_counts_for_neither_model() -> None:
    frame = corpus(2)
    failed = frame.with_columns(reply=pl.when(pl.col("key") > 4).then("reply"))
    changes = response_score_changes(frame, failed, clean=False)
    assert changes.select("n", "n_missing").unique().rows() == [(25, 5)]
    known = estimates(response_scores(failed, clean=False))
    assert changes.filter(measure="bleu_1")["before"].item() == pytest.approx(known["bleu_1"])


def test_as_published_leaves_the_human_out_and_fills_up_to_six() -> None:
    references = [["one two .", "three four .", "five six ."], ["one one .", "two .", "six ."]]
    frame = pl.DataFrame({"key": ["a", "b"], "reply": ["three four .", ""], "references": references})
    published = estimates(response_scores(frame, as_published=True))
    six = [[mteval_tokens(group[i]) for i in (0, 2, 2, 0, 2, 2)] for group in references]
    parts = overlap([mteval_tokens(reply) for reply in ("three four .", "__empty__")], six)
    matched, grams = parts.matched.sum(0), parts.grams.sum(0)
    by_hand = bleu(matched, grams, parts.closest.sum())
    bits = nist(parts.information.sum(0), grams, parts.average.sum())
    assert [published[f"bleu_{n}"] for n in (1, 2)] == pytest.approx(by_hand[:2].tolist())
    assert published["nist_2"] == pytest.approx(float(bits[1]))
    assert estimates(response_scores(frame))["bleu_1"] > published["bleu_1"]


def test_keys_that_hang_together_widen_the_limits() -> None:
    frame = corpus(3, 20)
    doubled = pl.concat([frame, frame.with_columns(pl.col("key") + 100)])
    doubled = doubled.with_columns(conversation=pl.col("key") % 100)
    alone, together = (response_scores(doubled, cluster=name, clean=False) for name in (None, "conversation"))
    for name in ("bleu_1", "nist_2", "entropy_2"):
        one, other = (
            t.filter(measure=name).select(pl.col("high") - pl.col("low")).item() for t in (alone, together)
        )
        assert other > 1.2 * one


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop("references"), "references"),
        (lambda f: f.with_columns(references=pl.lit("text")), "must contain lists of texts"),
        (lambda f: f.with_columns(key=pl.lit("a")), "'a' is repeated"),
        (lambda f: f.with_columns(references=pl.lit([], dtype=pl.List(pl.String))), "no reference"),
    ],
)
def test_tables_that_cannot_be_scored_are_refused(change: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        response_scores(change(DEMO))  # type: ignore[operator]
    with pytest.raises(DataError, match="different values in the column key"):
        response_score_changes(DEMO, DEMO.with_columns(key=pl.Series(["a", "b", "d"])))


def test_a_reference_that_is_listed_twice_counts_once() -> None:
    once = pl.DataFrame(
        {
            "key": ["a", "b", "c"],
            "reply": ["the red cat sat", "no idea", "we like the sea"],
            "references": [["the red cat ran", "a cat sat"], ["no"], ["we like the town"]],
        }
    )
    groups = [group * 2 for group in once["references"].to_list()]
    twice = once.with_columns(references=pl.Series(groups, dtype=pl.List(pl.String)))
    assert response_scores(twice).equals(response_scores(once))


def test_meteor_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(meteor_file, "import_module", absent)
    assert meteor_file.meteor_obstacle() == "METEOR requires nltk, which is not installed."
    with pytest.raises(Unsupported, match="pip install nltk"):
        meteor_file.meteor([["a"]], [[["a"]]])
    assert "meteor" not in estimates(response_scores(DEMO))


def test_meteor_takes_the_best_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    class Alone:
        """Stands for NLTK and its dictionary: the share of words in common."""

        wordnet = type("Loaded", (), {"ensure_loaded": staticmethod(lambda: None)})

        @staticmethod
        def single_meteor_score(reference: list[str], reply: list[str]) -> float:
            return len(set(reference) & set(reply)) / len(reply)

    monkeypatch.setattr(meteor_file, "import_module", lambda _: Alone)
    assert meteor_file.meteor([["a", "b"]], [[["a"], ["b", "a"], ["c"]]]).tolist() == [1.0]
    assert "meteor" in estimates(response_scores(DEMO))
