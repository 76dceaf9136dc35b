"""Services that refuse: single texts become error rows, and only one that takes nothing at all ends a run."""

import itertools
import json
import time

import pytest

from evenhand.classifiers.services.llm_judge import load
from evenhand.models.decoding import Decoding
from evenhand.models.served.model import HttpModel
from evenhand.models.served.options import HttpOptions
from evenhand.models.served.scoring import PROBES
from evenhand.runs import GenerateRequest, Labelling, RunDirectory, ScoreRequest, execute, label
from evenhand.schema import EvenhandError, ModelError

TEXTS = [f"text {i:03}" for i in range(200)]
BAD = frozenset(TEXTS[:12])
"""Those that are asked first: nothing was answered before them."""
FLAGGED = {"error": {"message": "Your request was flagged.", "code": "invalid_prompt"}}
WRITE = GenerateRequest(Decoding(max_new_tokens=4, temperature=1.0))


def completed(asked):
    """A continuation, or the echoed words, each with the log probability -1 (0.5 less for each word before it)."""
    body = asked.body
    if asked.path.endswith("/chat/completions"):
        message = {"role": "assistant", "content": json.dumps({"label": "civil"})}
        return 200, {"model": "m", "choices": [{"message": message, "finish_reason": "stop"}]}
    own = [(" " if i else "") + word for i, word in enumerate(body["prompt"].split(" "))]
    wrote = [" so"] * body["max_tokens"]
    shown = own + wrote if body.get("echo") else wrote
    values = [-1.0 if word == " so" else -2.0 for word in shown]
    if body.get("echo"):
        values[0] = None
    choice = {"text": "".join(shown), "finish_reason": "length"}
    if body.get("logprobs") is not None:
        choice["logprobs"] = {"tokens": shown, "token_logprobs": values}
    return 200, {"model": "m", "choices": [choice]}


def model_of(server, **options):
    given = {"store": None, "pause": 0.001, "concurrency": 4, "attempts": 2, **options}
    return HttpModel(f"{server.url}/v1", "m", HttpOptions(**given))


def times(server, texts):
    """How often each of the texts was asked."""
    prompts = [asked.body.get("prompt") for asked in server.asked if asked.body]
    return {prompts.count(text) for text in texts}


def refusing(texts, status=400, body=FLAGGED):
    return lambda asked: (status, body) if asked.body.get("prompt") in texts else completed(asked)


@pytest.mark.parametrize("request_", [WRITE, ScoreRequest()], ids=["written", "scored"])
@pytest.mark.parametrize(("status", "body"), [(400, FLAGGED), (413, {"detail": "large"}), (403, FLAGGED)])
def test_twelve_refused_texts_of_two_hundred_are_twelve_error_rows(loopback, start, request_, status, body):
    with loopback.LoopbackServer(refusing(BAD, status, body)) as server:
        plan, model, directory = start(TEXTS, model_of(server), request_)
        outcome = execute(plan, model, directory, first_shard=4096)
        assert outcome.errors == {"request_refused": 12}
        assert outcome.above_threshold and directory.manifest.status == "complete"
        rows = directory.responses()
        assert rows.height == 200 and f"status {status}" in rows["detail"].drop_nulls()[0]
        assert times(server, BAD) == {1}
        again = RunDirectory.open(directory.path)
        assert not execute(plan, model_of(server), again, error_threshold=0.07).above_threshold
        assert times(server, BAD) == {1}, "what is known to be refused is not asked again"
        server.answer = completed
        assert execute(plan, model_of(server), again, retry_errors=True).errors == {}
        assert times(server, BAD) == {2} and times(server, set(TEXTS) - BAD) == {1}


def test_if_every_text_is_refused_the_run_still_ends(loopback, start):
    with loopback.LoopbackServer(refusing(TEXTS)) as server:
        plan, model, directory = start(TEXTS, model_of(server), WRITE)
        assert execute(plan, model, directory).errors == {"request_refused": 200}
        assert len(server.asked) < 220, "looks for a harmless question become rare"


@pytest.mark.parametrize("store", [None, "answers.sqlite"], ids=["without a store", "with a store"])
@pytest.mark.parametrize("request_", [WRITE, ScoreRequest()], ids=["written", "scored"])
def test_refusals_end_no_run_that_has_answers_even_if_the_harmless_text_is_refused(
    loopback, start, tmp_path, request_, store
):
    """A service with a list of what it takes: all else is refused, harmless or not."""
    options = {"store": store and str(tmp_path / store), "concurrency": 1}
    late = frozenset(TEXTS[100:112])
    taken = frozenset(TEXTS) - late
    grown = {"yes": False}

    def listed(asked):
        prompt = asked.body.get("prompt", "")
        known = any(prompt.startswith(word) for word in taken | {"Hello"} | set(PROBES)) or grown["yes"]
        return completed(asked) if known else (400, FLAGGED)

    with loopback.LoopbackServer(listed) as server:
        plan, model, directory = start(TEXTS, model_of(server, **options), request_)
        assert execute(plan, model, directory, first_shard=16, max_shard=16).errors == {"request_refused": 12}
        assert directory.manifest.status == "complete" and times(server, set(TEXTS)) == {1}
        again = RunDirectory.open(directory.path)
        outcome = execute(plan, model_of(server, **options), again, retry_errors=True)
        assert (outcome.errors, outcome.answered) == ({"request_refused": 12}, 12)
        assert RunDirectory.open(directory.path).manifest.status == "complete"
        assert times(server, late) == {2} and times(server, taken) == {1}
        grown["yes"] = True
        assert execute(plan, model_of(server, **options), again, retry_errors=True).errors == {}
        assert times(server, taken) == {1}


DOWN = {
    "status 503": lambda: (503, {"error": "maintenance"}),
    "redirected": lambda: (302, {"error": "moved"}, {"Location": "http://elsewhere/"}),
    "out of credit": lambda: (402, {"error": "pay first"}),
}


@pytest.mark.parametrize("request_", [WRITE, ScoreRequest()], ids=["written", "scored"])
@pytest.mark.parametrize("how", DOWN)
def test_a_service_that_goes_down_stops_the_run_which_goes_on_later(loopback, start, request_, how):
    """The last of the good answers comes when the service is long known to be down, and is kept."""
    heard = []
    numbers = itertools.count(1)

    def until_sixty(asked):
        number = 0
        if asked.body.get("prompt") in TEXTS:
            heard.append(asked)
            number = next(numbers)  # of two that are heard at once each has its own
        if number == 60:
            time.sleep(0.3)
        return completed(asked) if (number or len(heard)) <= 60 else DOWN[how]()

    with loopback.LoopbackServer(until_sixty) as server:
        plan, model, directory = start(TEXTS, model_of(server), request_)
        with pytest.raises(EvenhandError, match=r"gives no usable response \(it is down.*harmless") as caught:
            execute(plan, model, directory, first_shard=4096)
        assert "received so far are saved" in caught.value.hint and caught.value.exit_code == 1
        # Each of four that were on their way when it went down may be answered late, and begin a row of eight anew.
        assert len(heard) <= 60 + 2 * (4 * 8 + 4), (
            "few rows of eight questions, with their tries, of 140 left"
        )
        kept = directory.responses()
        assert kept.height == 60 and kept["error"].null_count() == 60, "nobody was given up"
        server.answer = completed
        outcome = execute(plan, model_of(server), RunDirectory.open(directory.path))
        assert (outcome.errors, outcome.answered) == ({}, 140)


def test_texts_that_break_the_server_are_error_rows_while_it_answers_others(loopback, start):
    with loopback.LoopbackServer(refusing(set(TEXTS[:40]), 500, {"error": "crashed"})) as server:
        plan, model, directory = start(TEXTS, model_of(server, concurrency=1), WRITE)
        assert execute(plan, model, directory).errors == {"model_error": 40}
        assert times(server, TEXTS[:40]) == {2} and len(server.asked) < 240 + 8


@pytest.mark.parametrize("status", [401, 403, 404])
def test_one_text_answered_as_by_another_server_is_an_error_row(loopback, start, status):
    with loopback.LoopbackServer(refusing({TEXTS[0], TEXTS[99]}, status)) as server:
        plan, model, directory = start(TEXTS, model_of(server, concurrency=1), WRITE)
        code = "model_error" if status == 404 else "request_refused"
        assert execute(plan, model, directory).errors == {code: 2}
        assert times(server, TEXTS) == {1}


@pytest.mark.parametrize("how", ["down", "no key", "nothing there"])
def test_asking_again_leaves_a_complete_run_complete_whatever_the_service_does(loopback, start, how):
    with loopback.LoopbackServer(refusing(BAD)) as server:
        plan, model, directory = start(TEXTS, model_of(server), WRITE)
        execute(plan, model, directory)
        rows = directory.responses()
        again = RunDirectory.open(directory.path)
        second = model_of(server)
        assert second.fingerprint  # greeted
        server.answer = {
            "down": lambda asked: (503, {}),
            "no key": lambda asked: (401, {}),
            "nothing there": lambda asked: (404, {}),
        }[how]
        with pytest.raises(EvenhandError):
            execute(plan, second, again, retry_errors=True)
        manifest = RunDirectory.open(directory.path).manifest
        assert (manifest.status, manifest.sessions[-1].status) == ("complete", "failed")
        assert again.responses().equals(rows)
        assert execute(plan, second, again).answered == 0


def test_asking_again_for_one_sample_keeps_the_others(loopback, start):
    """Two of three samples are there; when the third is asked for again, all fail: the two stay."""
    seeds = {}

    def third_fails(asked):
        body = asked.body
        if body.get("prompt") in TEXTS and seeds.setdefault(body["prompt"], body["seed"]) == body["seed"]:
            return 400, FLAGGED
        return completed(asked)

    request = GenerateRequest(Decoding(max_new_tokens=4, temperature=1.0, samples=3))
    with loopback.LoopbackServer(third_fails) as server:
        plan, model, directory = start(TEXTS[:20], model_of(server, concurrency=1), request)
        assert execute(plan, model, directory).errors == {"request_refused": 20}
        server.answer = refusing(TEXTS)
        assert execute(plan, model_of(server), directory, retry_errors=True).errors == {"request_refused": 20}
        rows = directory.responses()
        assert (rows.height, rows["error"].null_count()) == (60, 40)


def test_a_server_that_takes_nothing_stops_the_run_early_and_says_why(loopback, start):
    def strict(asked):
        greeting = asked.body.get("prompt") == "Hello" and "seed" not in asked.body
        return completed(asked) if greeting else (422, {"detail": "Extra inputs are not permitted: seed"})

    with loopback.LoopbackServer(strict) as server:
        plan, model, directory = start(TEXTS, model_of(server), WRITE)
        with pytest.raises(
            ModelError, match=r"rejects every request.*harmless.*not permitted: seed"
        ) as caught:
            execute(plan, model, directory, first_shard=4096)
        assert "options" in caught.value.hint and len(server.asked) < 25
        assert directory.responses().is_empty(), "the texts are not at fault"
        server.answer = completed
        again = RunDirectory.open(directory.path)
        assert execute(plan, model_of(server), again).errors == {}


@pytest.mark.parametrize("request_", [WRITE, ScoreRequest()], ids=["written", "scored"])
def test_what_was_settled_before_an_abort_is_not_asked_again(loopback, start, request_):
    """The key is taken away after sixty texts, of which twelve were refused; no store keeps any answer."""
    heard = []

    def until_sixty(asked):
        if asked.body.get("prompt") in TEXTS:
            heard.append(asked)
        if len(heard) > 60:
            return 401, {"error": {"message": "key expired"}}
        return refusing(BAD)(asked)

    with loopback.LoopbackServer(until_sixty) as server:
        plan, model, directory = start(TEXTS, model_of(server, concurrency=1), request_)
        with pytest.raises(EvenhandError, match="rejects the API key"):
            execute(plan, model, directory, first_shard=4096)
        assert directory.manifest.status == "failed"
        kept = directory.responses()
        assert kept.height == 60 and kept["error"].drop_nulls().to_list() == ["request_refused"] * 12
        server.answer = refusing(BAD)
        again = RunDirectory.open(directory.path)
        outcome = execute(plan, model_of(server), again)
        assert (outcome.answered, outcome.errors) == (140, {"request_refused": 12})
        assert times(server, BAD) == {1}
        assert again.responses().height == 200


def test_a_key_that_is_taken_away_with_403_ends_the_run(loopback, start):
    def locked(asked):
        return completed(asked) if asked.body.get("prompt") == "Hello" else (403, {"error": "no access"})

    with loopback.LoopbackServer(locked) as server:
        plan, model, directory = start(TEXTS, model_of(server), WRITE)
        with pytest.raises(EvenhandError, match="rejects the API key"):
            execute(plan, model, directory, first_shard=4096)
        assert len(server.asked) < 25 and directory.responses().is_empty()


def judged(asked):
    return json.loads(asked.body["messages"][1]["content"])["text"]


@pytest.fixture
def judging(written, tmp_path, fakes):
    """A run of two hundred different continuations, and a function that judges it at a server."""
    from evenhand.models.puppets import writes

    class Writer(fakes.HashModel):
        def generate(self, prompts, decoding):
            return writes(lambda prompt, sample: f"{prompt} indeed").generate(prompts, decoding)

    directory = written(TEXTS, Writer(), samples=1)[2]

    def judge(server, **options):
        given = {"url": server.url, "model": "judge", "pause": "0.001", "store": str(tmp_path / "s.sqlite")}
        classifier = load({**given, "swap": "false", "concurrency": "1", "key_variable": "NO_SUCH_KEY"})
        return label(directory, [Labelling("texts", "toxicity", "judge")], {"judge": classifier}, **options)

    return judge


def test_texts_that_a_judge_refuses_are_error_rows(loopback, judging):
    refused = {f"{text} indeed" for text in BAD}
    with loopback.LoopbackServer(
        lambda asked: (400, FLAGGED) if judged(asked) in refused else completed(asked)
    ) as server:
        assert judging(server).errors == {"request_refused": 12}
        asked = [judged(one) for one in server.asked]
        assert {asked.count(text) for text in refused} == {1}
        assert judging(server).judged == 0
        server.answer = completed
        assert judging(server, retry_errors=True).errors == {}


@pytest.mark.parametrize(
    ("status", "said"), [(400, "rejects every request"), (404, "returned an error: status 404")]
)
def test_a_judge_that_takes_nothing_stops_early(loopback, judging, status, said):
    with loopback.LoopbackServer(lambda asked: (status, {"error": "no such model"})) as server:
        with pytest.raises(ModelError, match=said):
            judging(server)
        assert len(server.asked) < 12
        server.answer = completed
        assert judging(server).errors == {}


def test_what_a_judge_refused_before_an_abort_is_not_asked_again(loopback, judging):
    refused = {f"{text} indeed" for text in TEXTS[::20]}

    def until_sixty(asked):
        if len(server.asked) > 60:
            return 401, {"error": "key expired"}
        return (400, FLAGGED) if judged(asked) in refused else completed(asked)

    with loopback.LoopbackServer(until_sixty) as server:
        with pytest.raises(EvenhandError, match="rejects the API key"):
            judging(server)
        before = {judged(one) for one in server.asked[:60]} & refused
        assert before
        server.answer = lambda asked: (400, FLAGGED) if judged(asked) in refused else completed(asked)
        assert judging(server).errors == {"request_refused": 10}
        asked = [judged(one) for one in server.asked]
        assert {asked.count(text) for text in before} == {1}


def test_a_judge_that_goes_down_stops_and_goes_on_later(loopback, judging):
    def until_sixty(asked):
        return completed(asked) if len(server.asked) <= 60 else (503, {"error": "maintenance"})

    with loopback.LoopbackServer(until_sixty) as server:
        with pytest.raises(EvenhandError, match=r"is down.*maintenance"):
            judging(server, first_shard=4096)
        assert len(server.asked) <= 60 + 6 * (8 + 1)
        server.answer = completed
        assert judging(server).judged == 140
        assert judging(server).errors == {}


def test_refusals_end_no_judging_that_has_labels_even_if_the_harmless_text_is_refused(
    loopback, judging, tmp_path
):
    """All that is left to ask again is refused, and so is what is harmless; no store knows of the labels there are."""
    refused = {f"{text} indeed" for text in TEXTS[60:72]}

    def listed(asked):
        return (
            completed(asked)
            if judged(asked) in {f"{text} indeed" for text in TEXTS} - refused
            else (400, FLAGGED)
        )

    with loopback.LoopbackServer(listed) as server:
        assert judging(server).errors == {"request_refused": 12}
        (tmp_path / "s.sqlite").unlink()
        before = len(server.asked)
        assert judging(server, retry_errors=True).errors == {"request_refused": 12}
        assert len(server.asked) - before <= 12 + 2
