"""Perspective against a real server on this machine that misbehaves: nothing lost, nothing asked twice."""

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from datetime import UTC, datetime

import numpy as np
import pytest

from evenhand.classifiers.contract import Classifier
from evenhand.classifiers.services import perspective
from evenhand.classifiers.services.perspective import GOOGLE, PRODUCTION, load
from evenhand.schema import EvenhandError, ResponseError, UsageError
from evenhand.services.store import AnswerStore


def probability(text, attribute):
    return (sum(text.encode()) * 7 + sum(attribute.encode())) % 101 / 100


def refusal(kind, message="no"):
    details = [{"@type": "type.googleapis.com/...Error", "errorType": kind}]
    return 400, {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT", "details": details}}


def google(asked):
    """What the service answers, by its documentation."""
    text = asked.body["comment"]["text"]
    if "今日" in text:
        return refusal("LANGUAGE_NOT_SUPPORTED_BY_ATTRIBUTE", "Attribute TOXICITY does not support: ja")
    if len(text.encode()) > 20480:
        return refusal("COMMENT_TOO_LONG")
    if text == "odd":
        return refusal("INVALID_REQUEST", "something else")
    attributes = asked.body["requestedAttributes"]
    scores = {
        name: {"summaryScore": {"value": probability(text, name), "type": "PROBABILITY"}, "spanScores": []}
        for name in attributes
    }
    return 200, {"attributeScores": scores, "languages": ["en"], "detectedLanguages": ["en"]}


def text_of(asked):
    return asked.body["comment"]["text"]


@pytest.fixture
def server(loopback):
    def made(answer=google, **options):
        return loopback.LoopbackServer(answer, identify=text_of, **options)

    return made


@pytest.fixture
def options(tmp_path, monkeypatch):
    monkeypatch.setenv("PERSPECTIVE_API_KEY", "a-secret")
    return {"store": str(tmp_path / "answers.sqlite"), "per_minute": "0", "pause": "0.01", "timeout": "5"}


def test_scores_verdicts_and_request_are_those_of_the_service(server, options):
    texts = [f"text {i}" for i in range(40)] + ["text 0"]
    with server() as there:
        judge = load({"url": there.url, **options})
        assert isinstance(judge, Classifier)
        result = judge.classify(texts)
        expected = np.array([[probability(text, name) for name in PRODUCTION] for text in texts])
        np.testing.assert_allclose(result.scores, expected, atol=1e-6)
        np.testing.assert_array_equal(result.score, expected[:, 0])
        assert result.negative == (expected[:, 0] >= 0.5).tolist()
        assert result.errors == [None] * 41 and result.labels == [None] * 41
        asked = there.asked[0]
        assert asked.path == "/comments:analyze"
        assert asked.headers["x-goog-api-key"] == "a-secret"
        assert asked.body["doNotStore"] is True and asked.body["languages"] == ["en"]
        assert set(asked.body["requestedAttributes"]) == set(PRODUCTION)
        assert set(there.tries.values()) == {1} and len(there.tries) == 40
        assert "a-secret" not in str(judge.describe()) + str(judge.fingerprint)


def test_the_verdict_at_the_threshold_is_a_choice(server, options):
    at = {"attributeScores": {"INSULT": {"summaryScore": {"value": 0.5}}}}
    with server(lambda asked: (200, at)) as there:
        given = {"url": there.url, "attributes": "insult", "decides": "insult", **options}
        assert load(given).classify(["x"]).negative == [True]
        assert load({**given, "strict": "true"}).classify(["x"]).negative == [False]
        assert load({**given, "threshold": "0.51"}).classify(["x"]).negative == [False]
        assert sum(there.tries.values()) == 1  # the rule of the verdict is no reason to ask again


def test_refusals_are_rows_and_are_remembered(server, options):
    texts = ["", " \n", "今日は", "x" * 20481, "odd", "fine"]
    codes = [
        ResponseError.EMPTY_TEXT,
        ResponseError.EMPTY_TEXT,
        ResponseError.UNSUPPORTED_LANGUAGE,
        ResponseError.TOO_LONG,
        ResponseError.REQUEST_REFUSED,
        None,
    ]
    with server() as there:
        for _ in range(2):
            result = load({"url": there.url, **options}).classify(texts)
            assert result.errors == codes
            assert np.isnan(result.scores[:5]).all() and result.negative[:5] == [None] * 5
            assert "something else" in result.details[4]
        assert "" not in there.tries
        # what may pass is asked again, what will not is not
        assert {k[:5]: n for k, n in there.tries.items()} == {"今日は": 1, "xxxxx": 1, "odd": 2, "fine": 1}


def test_nothing_is_lost_or_asked_twice_however_the_service_behaves(server, loopback, options):
    texts = [f"text {i}" for i in range(120)]
    mischief = loopback.at_random(3, 0.4, ("busy", "busy-date", "broken", "truncated", "garbage", "close"))
    with server(mischief=mischief) as there:
        given = {"url": there.url, "concurrency": "16", "attempts": "30", **options, "pause": "0.001"}
        judge = load(given)
        result = judge.classify(texts)
        assert result.errors == [None] * 120
        np.testing.assert_array_equal(result.score, [probability(text, "TOXICITY") for text in texts])
        assert len(there.suffered) == 6
        again = load(given).classify(texts[::-1])
        np.testing.assert_array_equal(again.score, result.score[::-1])
        assert there.answered == dict.fromkeys(texts, 1)
        tries = sum(there.tries.values())
        load(given).classify(texts)
        assert sum(there.tries.values()) == tries
        assert judge.describe()["asked"] == 120


def test_a_hanging_service_gives_error_rows_that_are_asked_again(server, options):
    hangs = {"yes": True}
    with server(mischief=lambda asked: "hang" if text_of(asked) == "b" and hangs["yes"] else None) as there:
        given = {"url": there.url, **options}
        assert load(given).classify(["a", "c"]).errors == [None, None]
        hasty = load({**given, "timeout": "0.1", "attempts": "2"})
        assert hasty.classify(["a", "b", "c"]).errors == [None, ResponseError.TIMED_OUT, None]
        hangs["yes"] = False
        assert load(given).classify(["a", "b", "c"]).errors == [None] * 3
        assert there.tries == {"a": 1, "b": 3, "c": 1}


def test_a_spent_quota_stops_the_asking_and_the_next_run_goes_on(server, options):
    left = {"answers": 30}

    def limited(asked):
        if left["answers"] <= 0:
            message = "Quota exceeded for quota metric 'Analysis requests' and limit 'per day' of service"
            return 429, {"error": {"code": 429, "message": message, "status": "RESOURCE_EXHAUSTED"}}
        left["answers"] -= 1
        return google(asked)

    texts = [f"text {i}" for i in range(200)]
    with server(limited) as there:
        given = {"url": there.url, **options, "concurrency": "1", "attempts": "2", "pause": "0.001"}
        judge = load(given)
        first = judge.classify(texts)
        assert first.errors == [None] * 30 + [ResponseError.QUOTA] * 170
        tries = sum(there.tries.values())
        assert tries <= 30 + 2 * 8  # not 170 more
        assert set(judge.classify(texts[100:]).errors) == {ResponseError.QUOTA}
        assert sum(there.tries.values()) == tries  # a spent day stays spent for this run
        left["answers"] = 1000
        second = load(given).classify(texts)
        assert second.errors == [None] * 200
        assert set(there.answered.values()) == {1}


def test_a_killed_run_asks_nothing_twice(server, options):
    """The service answers 40 texts and hangs; the process is killed; the next one asks the other 60 only."""
    texts = [f"text {i}" for i in range(100)]
    hanging = {"yes": True}

    def late(asked):
        return "hang" if int(text_of(asked).split()[1]) >= 40 and hanging["yes"] else None

    script = (
        "import sys, json\n"
        "from evenhand.classifiers.services.perspective import load\n"
        "load(json.loads(sys.argv[1])).classify([f'text {i}' for i in range(100)])\n"
    )
    with server(mischief=late) as there:
        given = {"url": there.url, **options, "timeout": "60", "concurrency": "4"}
        child = subprocess.Popen([sys.executable, "-c", script, json.dumps(given)], env=os.environ)
        try:
            deadline = time.monotonic() + 60
            with AnswerStore(given["store"]) as store:
                while len(store) < 40 and time.monotonic() < deadline and child.poll() is None:
                    time.sleep(0.02)
                assert len(store) == 40
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait()
        hanging["yes"] = False
        result = load(given).classify(texts)
        assert result.errors == [None] * 100
        assert there.answered == dict.fromkeys(texts, 1)


def test_a_refused_key_stops_with_a_hint(server, options):
    bad = {
        "error": {
            "code": 400,
            "message": "API key not valid. Please pass a valid API key.",
            "details": [{"reason": "API_KEY_INVALID"}],
        }
    }
    for status, body in ((400, bad), (403, {"error": {"message": "API has not been used in project"}})):
        with server(lambda asked, s=status, b=body: (s, b)) as there:
            with pytest.raises(EvenhandError) as caught:
                load({"url": there.url, **options}).classify(["x"])
            assert "PERSPECTIVE_API_KEY" in str(caught.value)
            assert "a-secret" not in str(caught.value)


def test_an_attribute_the_service_lacks_stops_with_its_name(server, options):
    with server(lambda asked: refusal("INVALID_REQUEST", "Unknown requested attribute: NICENESS")) as there:
        given = {"url": there.url, "attributes": "TOXICITY,NICENESS", **options}
        with pytest.raises(UsageError, match="NICENESS"):
            load(given).classify(["x"])


def test_an_answer_without_scores_is_unparsable(server, options):
    with server(
        lambda asked: (200, {"attributeScores": {"TOXICITY": {"summaryScore": {"value": "high"}}}})
    ) as there:
        result = load({"url": there.url, **options}).classify(["x"])
        assert result.errors == [ResponseError.UNPARSABLE]
        assert "SEVERE_TOXICITY" in result.details[0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"attributes": "TOXICTY"}, "TOXICITY"),
        ({"attributes": "INSULT"}, "TOXICITY"),  # which is to decide but is not asked for
        ({"threshold": "1.5"}, "threshold"),
        ({"treshold": "0.5"}, "threshold"),
        ({"url": "https://host/path?key=abc"}, "host"),
    ],
)
def test_wrong_options_are_refused_at_once(options, given, words):
    with pytest.raises(UsageError, match=words):
        load({**options, **given})


def test_google_needs_a_key_and_another_service_does_not(server, options, monkeypatch):
    monkeypatch.delenv("PERSPECTIVE_API_KEY")
    with pytest.raises(EvenhandError, match="PERSPECTIVE_API_KEY"):
        load(options)
    with server() as there:
        assert load({**options, "url": there.url}).classify(["x"]).errors == [None]
        assert "x-goog-api-key" not in there.asked[0].headers


class TestTheEndOfTheService:
    """Google's is over after 31 December 2026."""

    class After(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime(2027, 1, 1, tzinfo=UTC)

    def test_every_load_after_the_date_says_so_and_how_to_go_on(self, options, monkeypatch):
        monkeypatch.setattr(perspective, "datetime", self.After)
        with pytest.warns(UserWarning, match="31 December 2026") as told:
            load(options)
        assert "scores:FILE" in str(told[0].message) and "url=" in str(told[0].message)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            load({**options, "url": "http://127.0.0.1:9"})  # not Google's: nothing to say

    def test_before_it_the_description_says_so(self, options, monkeypatch):
        class Before(datetime):
            @classmethod
            def now(cls, tz=None):
                return datetime(2026, 12, 31, 23, tzinfo=UTC)

        monkeypatch.setattr(perspective, "datetime", Before)
        assert "31 December 2026" in load(options).describe()["notice"]

    def test_what_was_kept_is_found_without_the_service(self, server, options, monkeypatch):
        monkeypatch.setattr(perspective, "datetime", self.After)
        with server() as there:
            # stand in for Google, then close
            monkeypatch.setattr(perspective, "GOOGLE", there.url)
            with pytest.warns(UserWarning, match="2026"):
                judge = load({**options, "attempts": "1"})
            kept = judge.classify(["x", "y"])
        with pytest.warns(UserWarning, match="2026"):
            judge = load({**options, "attempts": "1"})
        np.testing.assert_array_equal(judge.classify(["y", "x"]).score, kept.score[::-1])
        with pytest.raises(EvenhandError, match="31 December 2026"):
            judge.classify(["z"])


def test_the_fingerprint_tells_judges_apart(options):
    first = load(options).fingerprint
    assert first["url"] == GOOGLE and first["revision"] == "v1alpha1"
    others = [
        {"threshold": "0.6"},
        {"strict": "yes"},
        {"language": "de"},
        {"decides": "INSULT"},
        {"attributes": "TOXICITY"},
        {"url": "http://host/v1"},
    ]
    prints = [str(load({**options, **given}).fingerprint) for given in others]
    assert len({str(first), *prints}) == len(others) + 1


@pytest.mark.parametrize("value", [True, -0.1, 1.5, "0.5", None, [0.5], float("nan"), float("inf"), 10**400])
def test_what_no_probability_can_be_spoils_its_text_alone_and_is_not_kept(server, options, value):
    def odd(asked):
        status, body = google(asked)
        if text_of(asked) == "bad" and there.odd:
            body["attributeScores"]["TOXICITY"]["summaryScore"]["value"] = value
        return status, body

    with server(odd) as there:
        there.odd = True
        given = {"url": there.url, **options}
        assert load(given).classify(["a", "bad", "b"]).errors == [None, ResponseError.UNPARSABLE, None]
        there.odd = False
        assert load(given).classify(["a", "bad", "b"]).errors == [None] * 3
        assert sorted(text_of(asked) for asked in there.asked) == ["a", "b", "bad", "bad"]
