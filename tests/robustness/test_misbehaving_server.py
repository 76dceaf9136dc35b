"""Every request to a misbehaving server is answered exactly once or has an error row, and the run can be finished.

Likelihoods, continuations and judgements are asked of one server, 64 at a time, while it does to tries and texts all
that `misbehaving_server` knows. What must stand in each row is known beforehand.
"""

import itertools
import json
import random

import numpy as np
import polars as pl
import pytest

from evenhand.classifiers.services.llm_judge import load
from evenhand.models.decoding import Decoding
from evenhand.models.served.model import HttpModel
from evenhand.models.served.options import HttpOptions
from evenhand.models.served.requests import HARMLESS
from evenhand.models.served.scoring import PROBES
from evenhand.models.served.writing import SEEDS
from evenhand.models.writing import continuation_key
from evenhand.runs import (
    GenerateRequest,
    Labelling,
    PlanPart,
    RunDirectory,
    ScoreRequest,
    execute,
    judgements,
    label,
    make_plan,
)
from evenhand.runs.asking import RETRIED
from evenhand.services.client import FORGIVEN
from tests.robustness import misbehaving_server as server_file
from tests.robustness.misbehaving_server import (
    COSTLY,
    ODDITIES,
    SLIPS,
    WORDS,
    MisbehavingServer,
    log_prob,
    said,
    tokens_of,
)

CONCURRENCY, ATTEMPTS = 64, 6
SAMPLES = 2
WRITE = Decoding(max_new_tokens=server_file.WRITTEN, temperature=1.0, samples=SAMPLES)
KINDS = {**ODDITIES, **COSTLY}


def prompts_of(texts):
    return pl.DataFrame({"prompt_id": [f"p{i}" for i in range(len(texts))], "text": texts})


class Harness:
    """A run against a server that is odd about some texts until `heal` is called."""

    def __init__(self, folder, texts, oddities, timeout=60.0, judged_oddly=0.15):
        self.texts, self.folder, self.timeout = texts, folder, timeout
        self.oddities = dict(zip(texts[:: max(len(texts) // len(oddities), 1)], oddities, strict=False))
        self.judged_oddly = judged_oddly
        self.healed = False
        self.server = MisbehavingServer(self._oddity, gather=texts, at_least=min(CONCURRENCY, len(texts)))

    def _oddity(self, text):
        if self.healed:
            return None
        if not set(tokens_of(text)) <= set(WORDS):
            return self.oddities.get(text)
        dice = random.Random(text)  # a continuation that is judged
        return dice.choice(list(ODDITIES)) if dice.random() < self.judged_oddly else None

    @property
    def model(self):
        options = HttpOptions(
            store=str(self.folder / "answers.sqlite"),
            concurrency=CONCURRENCY,
            attempts=ATTEMPTS,
            pause=0.001,
            longest_pause=0.02,
            timeout=self.timeout,
            logprobs=True,
        )
        return HttpModel(self.server.url, "m", options)

    def plan(self):
        prompts = prompts_of(self.texts)
        parts = [
            PlanPart("scored", prompts, ScoreRequest()),
            PlanPart("written", prompts, GenerateRequest(WRITE)),
        ]
        return make_plan(parts, self.model.fingerprint)

    def run(self, **how):
        """Begin or go on: the outcome and the run's folder."""
        path, model = self.folder / "run", self.model
        if RunDirectory.is_run(path):
            directory = RunDirectory.open(path)
        else:
            directory = RunDirectory.create(path, model=model, given={}, resolved={})
        return execute(self.plan(), model, directory, first_shard=2048, **how), directory

    def judge(self, directory, **how):
        given = {"url": self.server.url, "model": "m", "store": str(self.folder / "judge.sqlite")}
        paced = {"concurrency": CONCURRENCY, "attempts": ATTEMPTS, "pause": 0.001, "timeout": self.timeout}
        judge = load(
            {**given, **{name: str(value) for name, value in paced.items()}, "key_variable": "NO_KEY"}
        )
        wanted = [Labelling("written", "toxicity", "judge")]
        return label(directory, wanted, {"judge": judge}, first_shard=2048, **how)

    def check_rows(self, directory):
        """Each request has its rows, and in each stands what the server said or what was wrong with it."""
        names = {"scored": False, "written": True}
        prompts = pl.concat(
            directory.prompts(name).select("request_id", prompt="text", is_written=pl.lit(is_written))
            for name, is_written in names.items()
        )
        rows = directory.responses().join(prompts, on="request_id")
        assert rows.height == len(self.texts) * (1 + SAMPLES)
        assert not rows.select("request_id", "sample").is_duplicated().any()
        wrong = []
        for row in rows.iter_rows(named=True):
            prompt, written, name = row["prompt"], row["is_written"], self.oddities.get(row["prompt"])
            code = name and (KINDS[name].written if written else KINDS[name].scored)
            if self.healed and code in RETRIED:
                code = name = None
            if row["error"] != code:
                wrong.append((name, written, row["error"], code, row["detail"]))
            elif code is None and not written:
                exact = sum(log_prob(token) for token in tokens_of(prompt)[1:])
                assert row["log_likelihood"] == pytest.approx(exact, abs=1e-5)
            elif code is None and name is None:
                assert row["text"] in self.can_be_said(prompt)
                assert row["log_likelihood"] == pytest.approx(sum(map(log_prob, tokens_of(row["text"]))))
        assert wrong == []
        return rows

    def can_be_said(self, prompt):
        """The continuations that the server has for the seeds it is sent."""
        seeds = [continuation_key(WRITE.seed, prompt, sample) % SEEDS for sample in range(SAMPLES)]
        return {"".join(said(prompt, seed)) for seed in seeds}

    def paid(self):
        """Questions of the run by how often they were answered in full; not greetings and other trials."""
        own = {text: server_file.question(json.loads(text)) for text in self.server.answered}
        trials = {*PROBES, "Hello", HARMLESS, "Good morning."}
        return {
            key: n for key, n in self.server.answered.items() if not own[key].startswith(tuple(trials)) and n
        }

    def check_book(self):
        """On the server's own book nothing was answered twice, and nothing tried without end."""
        assert set(self.paid().values()) == {1}, "a question was paid for twice"
        for key, tries in self.server.tries.items():
            if key in self.paid():
                assert tries - self.server.slowed[key] <= ATTEMPTS
                assert tries <= FORGIVEN * ATTEMPTS


def go_through(harness):
    """The whole story of a run: asked, judged, gone on with, and asked again once the server is well."""
    with harness.server as server:
        outcome, directory = harness.run()
        assert directory.manifest.status == "complete" and outcome.requests == 2 * len(harness.texts)
        harness.check_rows(directory)
        labelled = harness.judge(directory)
        told = judgements(directory, "written", "toxicity").filter(pl.col("judged_text").is_not_null())
        for text, found, error in told.select("judged_text", "label", "error").iter_rows():
            assert error is not None or found == server_file.label(text)
        assert labelled.texts == told["judged_text"].n_unique()
        harness.check_book()
        seen = sum(server.tries.values())

        again, directory = harness.run()
        assert again.answered == 0 and harness.judge(directory).judged == 0
        assert sum(server.tries.values()) - seen <= 2 * (1 + server_file.SURELY), "two greetings are all"
        first = (dict(server.slipped), dict(server.odd), server.at_once, sum(server.tries.values()))

        answered = harness.paid()
        harness.healed = True
        server.tries.clear()
        server.slowed.clear()
        mended, directory = harness.run(retry_errors=True)
        assert set(mended.errors) == set(outcome.errors) - {str(code) for code in RETRIED}
        harness.check_rows(directory)
        assert answered.items() <= harness.paid().items(), "what had been answered was asked once more"
        return first, mended


def test_a_sample_of_everything_at_once(tmp_path):
    texts = [f"Person {i} is" for i in range(64)]
    harness = Harness(tmp_path, texts, [*ODDITIES][::2], judged_oddly=0.3)
    (slipped, odd, at_once, _), _ = go_through(harness)
    assert len(slipped) + len(odd) >= 25 and at_once == CONCURRENCY
    assert set(odd) >= {*ODDITIES} & {*harness.oddities.values()}


@pytest.mark.slow
def test_everything_that_can_go_wrong_at_sixty_four_at_once(tmp_path):
    texts = [f"Person {i} is" for i in range(700)]
    kinds = [*COSTLY, *itertools.islice(itertools.cycle(ODDITIES), 200)]
    harness = Harness(tmp_path, texts, kinds, timeout=10.0)
    (slipped, odd, at_once, tries), mended = go_through(harness)
    assert set(slipped) == set(SLIPS) and set(odd) == set(KINDS)
    assert len(slipped) + len(odd) >= 25 and tries > 2100 and at_once == CONCURRENCY
    print(
        f"{len(slipped)} kinds of slips, {len(odd)} of oddities, {tries} tries, {at_once} at once, {mended.errors}"
    )


def test_each_kind_is_told_apart():
    assert len(SLIPS) + len(KINDS) >= 70
    assert np.isnan(server_file.NAN) and not set(SLIPS) & set(KINDS)
