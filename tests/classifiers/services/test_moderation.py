"""Moderation services against a real server on this machine: batches, verdicts, and one bad text among many."""

import numpy as np
import pytest

from evenhand.classifiers.contract import Classifier
from evenhand.classifiers.services.moderation import CATEGORIES, load
from evenhand.schema import EvenhandError, ResponseError, UsageError


def score(text, category):
    return (sum(text.encode()) * 13 + sum(category.encode())) % 997 / 1000


def result_of(text, categories=CATEGORIES, threshold=0.9):
    scores = {name: score(text, name) for name in categories}
    flags = {name: value >= threshold for name, value in scores.items()}
    return {"flagged": any(flags.values()), "categories": flags, "category_scores": scores}


def openai(asked):
    texts = asked.body["input"]
    if any(len(text) > 1000 for text in texts):
        return 400, {"error": {"message": "too long", "type": "invalid_request_error"}}
    return 200, {"id": "modr-1", "model": "omni-2024-09-26", "results": [result_of(text) for text in texts]}


@pytest.fixture
def server(loopback):
    def made(answer=openai, **options):
        return loopback.LoopbackServer(
            answer, identify=lambda asked: "|".join(asked.body["input"]), **options
        )

    return made


@pytest.fixture
def options(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a-secret")
    return {"store": str(tmp_path / "answers.sqlite"), "pause": "0.01", "timeout": "5"}


TEXTS = [f"text {i}" for i in range(50)]


def texts_asked(there):
    return [text for asked in there.asked for text in asked.body["input"]]


def test_scores_flags_and_batches(server, options):
    with server() as there:
        judge = load({"url": there.url, **options})
        assert isinstance(judge, Classifier)
        result = judge.classify([*TEXTS, "text 3", " "])
        expected = np.array([[score(text, name) for name in CATEGORIES] for text in TEXTS])
        np.testing.assert_allclose(result.scores[:50], expected, atol=1e-6)
        np.testing.assert_allclose(result.score[:50], expected.max(axis=1))
        flagged = (expected.max(axis=1) >= 0.9).tolist()
        assert 0 < sum(flagged) < 50
        assert result.negative[:50] == flagged
        names = [CATEGORIES[i] for i in expected.argmax(axis=1)]
        assert result.labels[:50] == [n if f else None for n, f in zip(names, flagged, strict=True)]
        assert result.errors == [None] * 51 + [ResponseError.EMPTY_TEXT]
        assert len(there.asked) == 4  # 50 distinct texts, 16 at once
        asked = there.asked[0]
        assert asked.path == "/moderations" and asked.headers["authorization"] == "Bearer a-secret"
        assert asked.body["model"] == "omni-moderation-latest"
        assert judge.describe()["models_answered"] == {"omni-2024-09-26": 50}
        assert "a-secret" not in str(judge.describe()) + str(judge.fingerprint)


def test_nothing_is_asked_twice(server, loopback, options):
    mischief = loopback.at_random(1, 0.5, ("busy", "broken", "truncated", "garbage", "close"))
    with server(mischief=mischief) as there:
        given = {"url": there.url, **options, "attempts": "30", "pause": "0.001", "texts_per_request": "5"}
        first = load(given).classify(TEXTS[:30])
        assert first.errors == [None] * 30
        assert set(there.answered.values()) == {1} and sum(there.suffered.values()) > 0
        before = len(there.asked)
        second = load(given).classify(TEXTS[::-1])
        assert second.errors == [None] * 50
        assert not set(TEXTS[:30]) & {t for asked in there.asked[before:] for t in asked.body["input"]}
        np.testing.assert_array_equal(second.scores[::-1][:30], first.scores)


def test_one_refused_text_does_not_spoil_the_others(server, options):
    texts = [*TEXTS[:7], "x" * 2000]
    with server() as there:
        result = load({"url": there.url, **options}).classify(texts)
        assert result.errors == [None] * 7 + [ResponseError.REQUEST_REFUSED]
        assert "too long" in result.details[7]
        assert [len(asked.body["input"]) for asked in there.asked] == [8] + [1] * 8


def test_a_server_that_reads_one_text_at_a_time(server, options):
    def first_only(asked):
        return 200, {"model": "m", "results": [result_of(asked.body["input"][0])]}

    with server(first_only) as there:
        result = load({"url": there.url, **options}).classify(TEXTS[:5])
        np.testing.assert_allclose(result.score, [max(score(t, c) for c in CATEGORIES) for t in TEXTS[:5]])


def test_a_choice_of_categories_and_a_threshold_of_ones_own(server, options):
    with server() as there:
        given = {"url": there.url, **options}
        hate = load({**given, "harmful": "hate,violence"}).classify(TEXTS)
        expected = np.array([[score(text, name) for name in ("hate", "violence")] for text in TEXTS])
        np.testing.assert_allclose(hate.score, expected.max(axis=1))
        assert hate.negative == (expected.max(axis=1) >= 0.9).tolist()
        low = load({**given, "harmful": "hate,violence", "threshold": "0.3"}).classify(TEXTS)
        assert low.negative == (expected.max(axis=1) >= 0.3).tolist()
        assert len(there.asked) == 4  # another rule is no reason to ask again


def test_other_categories_are_named_and_can_be_given(server, options):
    own = ("S1", "S2")

    def llama_guard(asked):
        return 200, {"results": [result_of(text, own) for text in asked.body["input"]]}

    with server(llama_guard) as there:
        given = {"url": there.url, **options}
        lost = load(given).classify(["x"])
        assert lost.errors == [ResponseError.UNPARSABLE] and "S1, S2" in lost.details[0]
        judge = load({**given, "categories": "S1,S2"})
        assert judge.labels == own
        np.testing.assert_allclose(judge.classify(["x"]).scores, [[score("x", "S1"), score("x", "S2")]])


def test_scores_without_flags_need_a_threshold(server, options):
    def bare(asked):
        return 200, {"results": [{"category_scores": {"hate": 0.4}} for _ in asked.body["input"]]}

    with server(bare) as there:
        given = {"url": there.url, **options}
        assert load(given).classify(["x"]).errors == [ResponseError.UNPARSABLE]
        result = load({**given, "threshold": "0.4"}).classify(["x"])
        assert result.negative == [True] and np.isnan(result.scores[0]).sum() == len(CATEGORIES) - 1


def test_no_credit_and_no_key(server, options, monkeypatch):
    broke = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    with server(lambda asked: (429, broke)) as there:
        result = load({"url": there.url, **options, "texts_per_request": "1", "concurrency": "1"}).classify(
            TEXTS
        )
        assert set(result.errors) == {ResponseError.QUOTA}
        assert len(there.asked) == 8  # a block, and no more once the credit is known to be spent
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(EvenhandError, match="OPENAI_API_KEY"):
        load(options)


def test_wrong_options_are_refused_at_once(options):
    for given, words in (
        ({"harmful": "hat"}, "hate"),
        ({"modle": "x"}, "model"),
        ({"threshold": "high"}, "number"),
    ):
        with pytest.raises(UsageError, match=words):
            load({**options, **given})


@pytest.mark.parametrize("value", [True, "0.5", float("nan"), float("inf"), 10**400, [1]])
def test_what_no_score_can_be_spoils_its_text_alone_and_is_not_kept(server, options, value):
    def odd(asked):
        status, body = openai(asked)
        for text, result in zip(asked.body["input"], body["results"], strict=True):
            if text == "bad" and there.odd:
                result["category_scores"] = dict.fromkeys(CATEGORIES, value)
        return status, body

    with server(odd) as there:
        there.odd = True
        given = {"url": there.url, **options}
        assert load(given).classify(["a", "bad", "b"]).errors == [None, ResponseError.UNPARSABLE, None]
        there.odd = False
        assert load(given).classify(["a", "bad", "b"]).errors == [None] * 3
        assert sorted(texts_asked(there)) == ["a", "b", "bad", "bad"]
