"""A served model against a real server that misbehaves: nothing lost, nothing charged twice, every answer exact."""

import itertools
import json
import logging
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import polars as pl
import pytest

from evenhand.mitigations import Prefix
from evenhand.models import TextGenerator, text_generator
from evenhand.models.decoding import Decoding
from evenhand.models.served.model import UNKNOWN_TOKEN, HttpModel, HttpOptions, load_http_model
from evenhand.runs import RunDirectory
from evenhand.schema import EvenhandError, ModelError, ResponseError, ServiceUnavailable, UsageError
from evenhand.services.store import AnswerStore

DRAWN = Decoding(max_new_tokens=8, temperature=1.0, top_p=0.9, samples=3, seed=5)
PROMPTS = ["she is", "he was a", "they", "a person and", "old"]
KINDS = ("busy", "busy-date", "broken", "truncated", "cut", "garbage", "close", "slow")


@pytest.fixture
def serve(loopback, bigram):
    """A function that serves the bigram model: (model, server)."""
    open_servers = []

    def start(*faults, mischief=lambda asked: None, names=None, name=None, **options):
        service = bigram.BigramService(*faults, names=names or (bigram.NAME,))
        server = loopback.LoopbackServer(service, mischief).__enter__()
        open_servers.append(server)
        given = HttpOptions(**{"store": None, "pause": 0.001, "longest_pause": 0.05, **options})
        return HttpModel(f"{server.url}/v1", bigram.NAME if name is None else name, given), server

    yield start
    for server in open_servers:
        server.__exit__()


def expected(bigram, server, prompt):
    """What the model itself writes for each request with this prompt that reached the server, by seed."""
    bodies = [asked.body for asked in server.asked if asked.body and asked.body.get("prompt") == prompt]
    return {body.get("seed"): bigram.write(prompt, body) for body in bodies}


def test_continuations_are_the_models_own(serve, bigram):
    model, server = serve(logprobs=True)
    found = model.generate(PROMPTS, DRAWN)
    assert found.errors == [None] * 15
    assert found.prompt.tolist() == np.repeat(np.arange(5), 3).tolist()
    assert found.sample.tolist() == [0, 1, 2] * 5
    for i, prompt in enumerate(PROMPTS):
        exact = expected(bigram, server, prompt)
        assert len(exact) == 3, "each sample needs a seed of its own"
        rows = [k for k in range(15) if found.prompt[k] == i]
        texts = sorted("".join(tokens) for tokens, _, _ in exact.values())
        assert sorted(found.texts[k] for k in rows) == texts
        for k in rows:
            tokens, values, finish = next(e for e in exact.values() if "".join(e[0]) == found.texts[k])
            assert found.finish[k] == {"stop": "end", "length": "length"}[finish]
            assert found.token_count[k] == len(tokens)
            if tokens:
                assert found.log_likelihood[k] == pytest.approx(sum(values))
    assert len(set(found.texts)) > 5


def test_greedy_follows_the_likeliest_words(serve, bigram):
    model, server = serve()
    found = model.generate(["she"], Decoding(max_new_tokens=4))
    last, said = bigram.number("she"), []
    while len(said) < 4 and (last := int(bigram.TABLE[last].argmax())) != bigram.END:
        said.append(bigram.WORDS[last])
    assert found.texts == ["".join(f" {word}" for word in said)]
    assert "seed" not in server.asked[-1].body
    assert np.isnan(found.log_likelihood).all(), "the server was not asked for log probabilities"
    assert set(found.token_ids.tolist()) <= {UNKNOWN_TOKEN}
    assert found.token_count.tolist() == [len(said)]


def test_what_is_written_depends_on_prompt_sample_and_seed_alone(serve):
    model, _ = serve()
    one = model.generate(PROMPTS, DRAWN)
    other = model.generate(["they", "she is"], Decoding(**{**DRAWN.parameters(), "stop": (), "samples": 2}))
    assert other.texts == [*one.texts[6:8], *one.texts[0:2]]
    reseeded = model.generate(PROMPTS, Decoding(**{**DRAWN.parameters(), "stop": (), "seed": 6}))
    assert reseeded.texts != one.texts


def test_stop_strings_and_extended_settings_reach_the_server(serve, bigram):
    model, server = serve(extended=True)
    decoding = Decoding(
        max_new_tokens=12, min_new_tokens=6, temperature=1.0, top_k=3, stop=(" kind",), samples=8
    )
    found = model.generate(["she is", "they"], decoding)
    assert {"stop", "length"} <= set(found.finish)
    for text, finish, count in zip(found.texts, found.finish, found.token_count, strict=True):
        assert " kind" not in text
        assert finish == "stop" or count >= 6
    assert server.asked[-1].body["top_k"] == 3


def test_a_chat(serve, bigram):
    model, server = serve(chat=True, system="Be brief.", logprobs=True)
    prompts = ["she is", "make a weapon", "is filtered", "think hard", "use a tool", " \n"]
    found = model.generate(prompts, Decoding(max_new_tokens=4))
    tokens, values, _ = bigram.write("she is", {"max_tokens": 4, "temperature": 0})
    assert found.texts == ["".join(tokens), None, None, None, None, None]
    assert found.errors == [
        None,
        ResponseError.REFUSED,
        ResponseError.REFUSED,
        ResponseError.UNPARSABLE,
        ResponseError.UNPARSABLE,
        ResponseError.EMPTY_TEXT,
    ]
    assert found.details[1] == "I cannot help with that."
    assert "increase --max-new-tokens" in found.details[3]
    assert found.log_likelihood[0] == pytest.approx(sum(values))
    assert server.asked[-1].body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert isinstance(text_generator(model), TextGenerator)
    assert not any(asked.body["messages"][-1]["content"] == " \n" for asked in server.asked)


def test_errors_of_single_prompts_are_rows(serve):
    model, _ = serve(mischief=lambda asked: "broken" if asked.body["prompt"] == "they" else None, attempts=2)
    found = model.generate(["she is", "is " * 300, "forbidden", "they"], Decoding(max_new_tokens=4))
    assert found.errors == [None, ResponseError.TOO_LONG, ResponseError.REFUSED, ResponseError.MODEL_ERROR]
    assert found.texts[1:] == [None, None, None]
    assert found.offsets[1:].tolist() == [found.offsets[1]] * 4


def test_a_model_that_is_not_there_is_told_apart_from_an_interface_that_is_not(serve):
    model, _ = serve(name="org/other", names=("org/bigram", "org/second"))
    with pytest.raises(ModelError, match=r"org/other.*Available models: org/bigram, org/second"):
        model.generate(["she"], DRAWN)
    model, _ = serve("no completions")
    with pytest.raises(ModelError) as caught:
        model.generate(["she"], DRAWN)
    assert "chat=1" in caught.value.hint


def test_the_only_model_of_a_server_needs_no_name(serve):
    model, _ = serve(name="")
    assert model.fingerprint["name"] == "org/bigram"
    model, _ = serve(name="", names=("a", "b"))
    with pytest.raises(UsageError, match=r"names no model\. Available models: a, b"):
        model.generate(["she"], DRAWN)


def test_requests_of_a_form_the_server_never_takes_end_the_run(serve):
    model, server = serve("no seed", concurrency=2)
    with pytest.raises(ModelError, match=r"rejects every request.*Extra inputs are not permitted: seed"):
        model.generate([f"she is {i}" for i in range(500)], DRAWN)
    assert len(server.asked) < 20
    model, _ = serve("no seed", seeded=False)
    assert model.generate(PROMPTS, DRAWN).errors == [None] * 15


def test_the_fingerprint_names_server_model_and_conventions_but_no_key(serve, monkeypatch, caplog):
    monkeypatch.setenv("EVENHAND_API_KEY", "sk-secret-secret")
    with caplog.at_level(logging.DEBUG, logger="evenhand"), caplog.at_level(logging.INFO):
        model, server = serve()
        model.generate(["she"], DRAWN)
    assert server.asked[-1].headers["authorization"] == "Bearer sk-secret-secret"
    fingerprint = model.fingerprint
    assert fingerprint["server"] == server.url.removeprefix("http://") + "/v1"
    assert (fingerprint["name"], fingerprint["served_model"]) == ("org/bigram", "org/bigram-2026")
    assert fingerprint["mode"] == "completions"
    told = json.dumps(fingerprint) + json.dumps(model.describe()) + caplog.text
    assert "secret" not in told
    service = model.describe()["service"]
    assert service["tokens"]["prompt_tokens"] == 4  # the greeting and three samples of one word
    assert service["answered"] == 4
    assert service["system_fingerprints"] == {"fp_1": 4}
    assert service["seconds"]["median"] > 0


def test_a_key_that_is_refused_names_its_variable(loopback, monkeypatch):
    monkeypatch.setenv("EVENHAND_API_KEY", "sk-secret-secret")
    refusal = (401, {"error": {"message": "Incorrect API key provided: sk-secret-secret"}})
    with loopback.LoopbackServer(lambda asked: refusal) as server:
        model = load_http_model(f"{server.url}/v1#m?store=none")
        with pytest.raises(EvenhandError) as caught:
            model.generate(["she"], DRAWN)
    assert "EVENHAND_API_KEY" in str(caught.value)
    assert "secret-secret" not in str(caught.value)


def test_nothing_is_asked_twice_across_models_that_share_a_store(serve, tmp_path):
    store = str(tmp_path / "answers.sqlite")
    model, server = serve(store=store)
    first = model.generate([*PROMPTS, "she is"], DRAWN)
    scores = model.log_likelihoods(["she is kind", "she is kind"])
    assert first.texts[:3] == first.texts[15:]
    asked = [json.dumps(request.body, sort_keys=True) for request in server.asked]
    assert len(asked) == len(set(asked)), "equal requests were asked twice"
    again = HttpModel(model.client.base_url, "org/bigram", model.options)
    found = again.generate([*PROMPTS, "she is"], DRAWN)
    assert (found.texts, found.finish) == (first.texts, first.finish)
    assert found.token_count.tolist() == first.token_count.tolist()
    assert len(server.asked) == len(asked) + 1, "only the greeting is repeated"
    assert again.log_likelihoods(["she is kind"]).sums[0] == scores.sums[0]
    assert again.describe()["service"]["answers_from_store"] == 16
    reseeded = again.generate(["she is"], Decoding(**{**DRAWN.parameters(), "stop": (), "seed": 77}))
    assert reseeded.errors == [None] * 3
    assert sum(asked.body.get("prompt") == "she is" for asked in server.asked) == 6


def test_failures_are_not_stored(serve, tmp_path):
    store = tmp_path / "answers.sqlite"
    model, server = serve(
        store=str(store), attempts=1, mischief=lambda asked: "broken" if server.angry else None
    )
    server.angry = False
    assert model.served_model
    server.angry = True
    assert model.generate(["she"], Decoding(max_new_tokens=3)).errors == [ResponseError.MODEL_ERROR]
    server.angry = False
    assert model.generate(["she"], Decoding(max_new_tokens=3)).errors == [None]
    with AnswerStore(store) as kept:
        assert len(kept) == 1


@pytest.mark.parametrize("count", [150, pytest.param(1000, marks=pytest.mark.slow)])
def test_sixty_four_at_once_against_all_mischief(serve, loopback, bigram, tmp_path, count):
    """Half continuations, half likelihoods; each answered in full exactly once on the server's book."""
    store = str(tmp_path / "answers.sqlite")
    quiet = lambda asked: None  # noqa: E731
    model, server = serve(store=store, concurrency=64, attempts=25)
    assert model.echo_written == 0  # greeted and checked in peace
    before = len(server.answered)
    server.mischief = loopback.at_random(11, 0.3, KINDS)
    triples = [" ".join(words) for words in itertools.product(bigram.WORDS[:10], repeat=3)]
    prompts = triples[:: 1000 // count][:count]
    decoding = Decoding(max_new_tokens=6, temperature=1.0)
    written = model.generate(prompts, decoding)
    scored = model.log_likelihoods(prompts)
    server.mischief = quiet
    assert written.errors == scored.errors == [None] * count
    assert len(server.answered) - before == 2 * count
    assert set(server.answered.values()) == {1}
    assert len(server.suffered) == len(KINDS)
    assert sum(server.suffered.values()) > 0.4 * count
    for i, prompt in enumerate(prompts):
        assert scored.row(i) == pytest.approx(bigram.log_probs(prompt), abs=1e-6)
    bodies = {
        asked.body["prompt"]: asked.body
        for asked in server.asked
        if asked.body.get("max_tokens") == decoding.max_new_tokens
    }
    exact = ["".join(bigram.write(prompt, bodies[prompt])[0]) for prompt in prompts]
    assert written.texts == exact
    with AnswerStore(store) as kept:
        assert len(kept) == 2 * count


CHILD = """
import sys
from pathlib import Path
import polars as pl
from evenhand.models.decoding import Decoding
from evenhand.models.served.model import load_http_model
from evenhand.runs import GenerateRequest, PlanPart, RunDirectory, ScoreRequest, execute, make_plan

model = load_http_model(sys.argv[1])
prompts = pl.read_parquet(sys.argv[2])
parts = [
    PlanPart("scored", prompts, ScoreRequest()),
    PlanPart("written", prompts, GenerateRequest(Decoding(max_new_tokens=5, temperature=1.0, samples=2))),
]
plan = make_plan(parts, model.fingerprint)
path = Path(sys.argv[3])
directory = (
    RunDirectory.open(path)
    if RunDirectory.is_run(path)
    else RunDirectory.create(path, model=model, given={}, resolved={})
)
execute(plan, model, directory, first_shard=64, max_shard=64)
"""


def test_a_run_killed_in_mid_shard_pays_for_nothing_twice(loopback, bigram, tmp_path, monkeypatch):
    """The server falls silent after some answers; once all of these are in the store the process is killed."""
    monkeypatch.setenv("EVENHAND_CACHE", str(tmp_path / "cache"))
    store = tmp_path / "cache" / "answers" / "models.sqlite"
    texts = [f"{a} {b}" for a in bigram.WORDS[:10] for b in bigram.WORDS[:10]]
    pl.DataFrame({"prompt_id": [str(i) for i in range(100)], "text": texts}).write_parquet(
        tmp_path / "p.parquet"
    )
    allowed = [0]
    own = frozenset(texts)
    count = threading.Lock()

    def until_allowed(asked):
        if asked.body is None or asked.body.get("prompt") not in own:
            return None
        with count:
            allowed[0] -= 1
            return None if allowed[0] >= 0 else "hang"

    def content(asked):
        return json.dumps(asked.body, sort_keys=True)

    with loopback.LoopbackServer(bigram.BigramService(), until_allowed, identify=content) as server:
        name = f"{server.url}/v1#{bigram.NAME}?concurrency=16"
        command = [sys.executable, "-c", CHILD, name, str(tmp_path / "p.parquet"), str(tmp_path / "run")]
        kept = 0
        for more in (90, 60):  # in the midst of a shard of likelihoods, then of one of continuations
            allowed[0] = more
            with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
                while kept_now(store) < kept + more:
                    assert process.poll() is None, process.stderr.read()
                    time.sleep(0.01)
                process.kill()
            assert process.returncode == -signal.SIGKILL
            kept += more
            recorded = RunDirectory.open(tmp_path / "run").responses().height
            assert recorded < kept, "the kill left nothing that only the store knew"
        allowed[0] = 10**6
        finished = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        assert finished.returncode == 0, finished.stderr
        charged = {key: n for key, n in server.answered.items() if json.loads(key).get("prompt") in own}
    assert len(charged) == 100 + 200
    assert set(charged.values()) == {1}
    rows = RunDirectory.open(tmp_path / "run").responses()
    assert rows.height == 300
    assert rows["error"].null_count() == 300
    exact = {text: sum(bigram.log_probs(text)) for text in texts}
    assert rows.filter(pl.col("finish").is_null())["log_likelihood"].sum() == pytest.approx(
        sum(exact.values()), abs=1e-3
    )


def kept_now(path):
    if not path.exists():
        return 0
    with AnswerStore(path) as store:
        return len(store)


def test_another_model_behind_the_same_name_is_asked_anew(serve, tmp_path, bigram, monkeypatch):
    store = str(tmp_path / "answers.sqlite")
    model, server = serve(store=store)
    before = model.generate(PROMPTS, DRAWN)
    monkeypatch.setattr(bigram, "TABLE", bigram.TABLE[::-1].copy())  # a new fine-tune, say
    changed = HttpModel(model.client.base_url, "org/bigram", model.options)
    after = changed.generate(PROMPTS, DRAWN)
    assert changed.describe()["service"]["answers_from_store"] == 0
    assert after.texts != before.texts
    assert after.texts[0] in {"".join(words) for words, _, _ in expected(bigram, server, PROMPTS[0]).values()}


def greeted_first(answer, service, times=1):
    """A service whose first answers are another's."""
    asked_before = []

    def answering(asked):
        asked_before.append(asked)
        return answer if len(asked_before) <= times else service(asked)

    return answering


@pytest.fixture
def answering(loopback, bigram):
    """A function that serves a function's answers: (model, server)."""
    open_servers = []

    def start(answer, mischief=lambda asked: None, **options):
        server = loopback.LoopbackServer(answer, mischief).__enter__()
        open_servers.append(server)
        given = {"store": None, "pause": 0.001, "longest_pause": 0.002, "attempts": 2, **options}
        return HttpModel(f"{server.url}/v1", bigram.NAME, HttpOptions(**given)), server

    yield start
    for server in open_servers:
        server.__exit__()


JUNK = [{"choices": [{"text": None}]}, {"choices": []}, {"object": "nothing"}]


@pytest.mark.parametrize("junk", JUNK)
def test_an_unreadable_greeting_is_asked_for_again_and_changes_no_key(answering, bigram, junk):
    plain, _ = answering(bigram.BigramService())
    model, _ = answering(greeted_first((200, junk), bigram.BigramService()))
    model.client.base_url = plain.client.base_url  # keys hold the address
    assert model._key({"prompt": "she"}) == plain._key({"prompt": "she"})


@pytest.mark.parametrize("junk", JUNK)
def test_a_greeting_that_stays_unreadable_ends_with_an_error_of_its_own(answering, bigram, junk):
    model, server = answering(lambda asked: (200, junk))
    with pytest.raises(ModelError, match="did not give a valid response to") as caught:
        model.generate(["she"], DRAWN)
    assert len([asked for asked in server.asked if asked.method == "POST"]) == 3
    assert "Responses received so far are saved" in caught.value.hint
    assert "one choice" in caught.value.hint
    assert "#model" not in str(caught.value)


def test_a_page_in_place_of_a_greeting_is_said_to_be_one(answering, bigram):
    model, _ = answering(bigram.BigramService(), lambda asked: "garbage")
    with pytest.raises(ModelError, match="<html>") as caught:
        model.generate(["she"], DRAWN)
    assert "proxy" in caught.value.hint
    assert "#model" not in str(caught.value)


@pytest.mark.parametrize("status", [500, 503, 429, 402])
def test_a_server_that_is_down_at_the_greeting_is_no_wrong_name(answering, status):
    model, _ = answering(lambda asked: (status, {"error": "closed today"}))
    with pytest.raises(ServiceUnavailable, match="closed today") as caught:
        model.generate(["she"], DRAWN)
    assert "run the same command again" in caught.value.hint
    assert "#model" not in str(caught.value)


def test_behind_an_instruction_the_same_seeds_are_sent_as_without_it(serve):
    model, server = serve()
    plain, behind = model.generate(PROMPTS, DRAWN), Prefix("Be kind.")(model).generate(PROMPTS, DRAWN)
    assert behind.texts == plain.texts  # the bigram model reads the last word alone
    seeds = [[asked.body["seed"] for asked in server.asked if asked.body.get("prompt", "").startswith(front)]
             for front in ("Be kind.\n", *PROMPTS)]  # fmt: skip
    assert set(seeds[0]) == set(itertools.chain(*seeds[1:])) and len(seeds[0]) == len(PROMPTS) * 3
    with pytest.raises(UsageError, match=r"got 2 keys for 1 prompts\.\nGive one text per prompt"):
        model.generate_keyed(["she is"], ["a", "b"], DRAWN)
