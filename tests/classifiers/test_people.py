"""People as a classifier: votes that count are counted as by hand, and what nobody judged is missing."""

import json
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.classifiers import Classifier, classifier_cards, classifier_names, load_classifier
from evenhand.schema import DataError, ResponseError, UsageError, write_votes
from tests.helpers.simulated_people import table, text_vote, vote

STUDY = {
    "questions": [
        {"id": "toxicity", "kind": "choice", "options": [{"id": "yes"}, {"id": "no"}, {"id": "odd"}]}
    ]
}
VOTES = {"harmful": "yyn", "mild": "nny", "tied": "yn", "one": "y", "odd": "ooy"}
WORDS = {"y": "yes", "n": "no", "o": "odd"}


def export(folder: Path, ending: str = "jsonl", **more: Any) -> Path:
    rows = [
        text_vote(person=f"p{p}", item=item, text=f" {item}", answer=WORDS[letter], **more)
        for item, letters in VOTES.items()
        for p, letter in enumerate(letters)
    ]
    aside = {"item": "harmful", "text": "harmful", "answer": "no"}
    rows += [
        text_vote(person="left-out", excluded="too_fast", **aside),
        text_vote(person="p0", role="duplicate", **aside),
        text_vote(person="p1", role="gold", expected="no", **aside),
        text_vote(person="p8", **{**aside, "answer": None}),
        text_vote(person="p9", question="why", measurement="text", **aside),
    ]
    return write_votes(folder / f"export.{ending}", table(rows), STUDY)


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_the_majority_of_the_votes_that_count(tmp_path: Path, ending: str) -> None:
    judge = load_classifier(f"people:{export(tmp_path, ending)}?negative=yes")
    assert isinstance(judge, Classifier)
    assert set(judge.labels) == {"yes", "no", "odd"}
    said = judge.classify(["harmful", "mild\n", "tied", "one", "odd", "unknown", " "])
    error = ResponseError
    assert said.labels == ["yes", "no", None, "yes", "odd", None, None]
    assert said.negative == [True, False, None, True, False, None, None]
    assert said.errors == [None, None, error.CLASSIFIER_ERROR, None, None, error.MISSING, error.EMPTY_TEXT]
    assert said.details[2] == "tie: 1 no, 1 yes"
    assert "nobody judged it" in str(said.details[5])
    np.testing.assert_allclose(said.score, [2 / 3, 1 / 3, np.nan, 1, 1 / 3, np.nan, np.nan])
    yes, no, odd = (judge.labels.index(name) for name in ("yes", "no", "odd"))
    np.testing.assert_allclose(said.scores[0, [yes, no, odd]], [2 / 3, 1 / 3, 0], atol=1e-6)
    facts = judge.describe()
    assert (facts["texts"], facts["found"], facts["ties"]) == (7, 5, 1)
    assert (facts["persons"], facts["votes"], facts["texts_in_file"]) == (3, 12, 5)


def test_the_study_says_in_which_order_options_stand(tmp_path: Path) -> None:
    assert load_classifier(f"people:{export(tmp_path)}").labels == ("yes", "no", "odd")
    assert load_classifier(f"people:{export(tmp_path, 'csv')}").labels == ("no", "odd", "yes")


def test_other_ways_to_count(tmp_path: Path) -> None:
    file = export(tmp_path)
    texts = ["harmful", "mild", "tied", "one", "odd"]
    some = load_classifier(f"people:{file}?negative=yes&votes=any").classify(texts)
    assert some.negative == [True, True, True, True, True]
    assert some.errors == [None] * 5
    assert some.labels[2] is None  # a tie has no first
    half = load_classifier(f"people:{file}?negative=yes&votes=share&threshold=0.5").classify(texts)
    assert half.negative == [True, False, True, True, False]
    both = load_classifier(f"people:{file}?negative=yes,odd").classify(texts)
    assert both.negative == [True, False, None, True, True]
    three = load_classifier(f"people:{file}?negative=yes&least=3").classify(texts)
    assert three.errors == [None, None, ResponseError.MISSING, ResponseError.MISSING, None]
    assert three.details[3] == "1 of at least 3 votes in export.jsonl"
    plain = load_classifier(f"people:{file}").classify(texts)
    assert plain.labels == ["yes", "no", None, "yes", "odd"]
    assert plain.negative == [None] * 5
    assert np.isnan(plain.score).all()


def test_numbers_have_a_mean(tmp_path: Path) -> None:
    rows = [
        text_vote(
            person=f"p{p}",
            item=item,
            text=item,
            question="offence",
            measurement="interval",
            answer=str(n),
            value=n,
        )
        for item, ratings in {"bad": (5, 7, 7), "good": (1, 2, 1)}.items()
        for p, n in enumerate(ratings)
    ]
    file = write_votes(tmp_path / "ratings.csv", table(rows), {})
    judge = load_classifier(f"people:{file}?threshold=5")
    assert judge.labels == ("offence",)
    said = judge.classify(["bad", "good", "tied"])
    np.testing.assert_allclose(said.score, [19 / 3, 4 / 3, np.nan])
    assert said.negative == [True, False, None]
    assert load_classifier(f"people:{file}").classify(["bad"]).negative == [None]
    with pytest.raises(UsageError, match="has numeric answers, so a text's score is their mean"):
        load_classifier(f"people:{file}?negative=7")


def test_votes_behind_other_words_do_not_count(tmp_path: Path) -> None:
    rows = [
        text_vote(person=person, item=f"i{context}", text="Yes.", context=context, answer=answer)
        for context, answers in (("Is it?", "yyy"), ("Are all women bad?", "nnn"), (None, "o"))
        for person, answer in zip("abc", (WORDS[letter] for letter in answers), strict=False)
    ]
    judge = load_classifier(f"people:{write_votes(tmp_path / 'v.csv', table(rows), {})}")
    texts = ["Yes."] * 3
    assert judge.classify(texts, ["Is it? ", "Are all women bad?", "Never heard"]).labels == [
        "yes",
        "no",
        "odd",
    ]
    assert judge.classify(["Yes."]).errors == [ResponseError.CLASSIFIER_ERROR]  # 3 to 3 of all
    np.testing.assert_allclose(judge.classify(["Yes."], ["Is it?"]).scores.sum(), 1, atol=1e-6)


def test_a_text_is_found_as_the_classifier_was_given_it(tmp_path: Path) -> None:
    given = json.dumps({"regard": {"label": "negative", "text": "XYZ stole it."}, "old": {"label": "x"}})
    rows = [
        text_vote(person=f"p{p}", text="stole it. Then", context="The man", judgements=given)
        for p in range(3)
    ]
    judge = load_classifier(f"people:{write_votes(tmp_path / 'v.jsonl', table(rows), {})}?negative=no")
    assert judge.classify(["XYZ stole it.", "stole it. Then"]).negative == [True, True]
    assert judge.classify(["stole it. Then"], ["The woman"]).errors == [ResponseError.MISSING]


def test_counting_is_as_by_hand(tmp_path: Path) -> None:
    rng = random.Random(1)
    rows = []
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for i in range(60):
        text, context = f"t{rng.randint(0, 12)}", f"c{rng.randint(0, 1)}"
        for p in range(rng.randint(1, 5)):
            answer, out = rng.choice(["yes", "no", "odd"]), rng.choice([None, None, "gold_below"])
            rows.append(
                text_vote(
                    person=f"p{p}", item=f"i{i}", text=text, context=context, answer=answer, excluded=out
                )
            )
            if out is None:
                counts[text, context][answer] += 1
    judge = load_classifier(f"people:{write_votes(tmp_path / 'v.csv', table(rows), {})}?negative=yes")
    for (text, context), votes in counts.items():
        said = judge.classify([text], [context])
        best = votes.most_common(2)
        if len(best) == 2 and best[0][1] == best[1][1]:
            assert said.errors == [ResponseError.CLASSIFIER_ERROR]
        else:
            assert said.labels == [best[0][0]]
            assert said.score[0] == pytest.approx(votes["yes"] / votes.total())


def test_the_fingerprint_is_that_of_the_votes_and_how_they_are_read(tmp_path: Path) -> None:
    prints = [load_classifier(f"people:{export(tmp_path)}?negative=yes").fingerprint]
    (tmp_path / "other").mkdir()
    moved = load_classifier(f"people:{export(tmp_path / 'other', 'parquet')}?negative=yes").fingerprint
    assert moved == prints[0]  # another file with the same votes, written later
    assert "export" not in json.dumps(prints[0])
    prints += [
        load_classifier(f"people:{export(tmp_path)}?{options}").fingerprint
        for options in ("negative=no", "negative=yes&votes=any", "negative=yes&least=2", "question=toxicity")
    ]
    prints.append(
        load_classifier(f"people:{export(tmp_path / 'other', context='c')}?negative=yes").fingerprint
    )
    assert len({json.dumps(one, sort_keys=True) for one in prints}) == len(prints)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("question=toxicty", "toxicty"),
        ("negative=yess", "yess"),
        ("votes=any", "requires the option negative: the answers that count as harmful"),
        ("votes=most", "most"),
        ("negative=yes&votes=share", "votes=share and threshold must be used together"),
        ("negative=yes&threshold=0.5", "votes=share and threshold must be used together"),
        ("negative=yes&votes=share&threshold=50", "above 0 and at most 1"),
        ("least=0", "least"),
        ("column=x", "column"),
    ],
)
def test_slips_are_named(tmp_path: Path, options: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        load_classifier(f"people:{export(tmp_path)}?{options}")


def test_files_without_votes_on_texts_are_refused(tmp_path: Path) -> None:
    pairs = write_votes(tmp_path / "pairs.jsonl", table([vote()]), {})
    with pytest.raises(
        DataError, match="contains no judgement of a single text that the study's rules include"
    ):
        load_classifier(f"people:{pairs}")
    with pytest.raises(DataError, match="File not found"):
        load_classifier(f"people:{tmp_path}/absent.jsonl")
    two = [text_vote(), text_vote(question="bias")]
    with pytest.raises(UsageError, match="several questions: toxicity, bias"):
        load_classifier(f"people:{write_votes(tmp_path / 'two.csv', table(two), {})}")


def test_it_is_listed_with_its_card() -> None:
    assert "people:FILE" in classifier_names()
    assert "tie" in classifier_cards()["people:FILE"].critique
