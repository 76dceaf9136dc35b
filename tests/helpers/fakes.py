"""Models without weights for the tests of the engine; also imported by the processes they start."""

import hashlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from evenhand.classifiers.contract import Labels
from evenhand.models.contract import Generations, Likelihoods, Texts
from evenhand.models.decoding import Decoding
from evenhand.models.puppets import writes
from evenhand.schema import ResponseError


def token_values(
    text: str, context: str | None, span: tuple[int, int] | None, masking: str | None
) -> list[float]:
    """One to eight log probabilities that depend on all of the question and nothing else."""
    digest = hashlib.sha256(repr((text, context, span, masking)).encode()).digest()
    return [-(1 + byte) / 32 for byte in digest[1 : 2 + digest[0] % 8]]


class HashModel:
    """Scores by hash. `before` sees each batch first and may sleep or raise."""

    architecture = "causal"

    def __init__(self, before: Callable[[Sequence[str]], object] | None = None, name: str = "hash"):
        self.before = before
        self.batches: list[list[str]] = []
        self.name = name

    @property
    def fingerprint(self) -> dict[str, Any]:
        return {"name": self.name, "dtype": "float32", "tokenizer_hash": "none"}

    def describe(self) -> dict[str, Any]:
        return {"device": "cpu", "batch_history": [len(batch) for batch in self.batches]}

    def log_likelihoods(self, texts):
        batch = Texts.of(texts)
        if self.before is not None:
            self.before(batch.texts)
        self.batches.append(list(batch.texts))
        contexts = batch.contexts or [None] * len(batch.texts)
        rows = [
            [] if not text else token_values(text, context, span, batch.masking)
            for text, context, span in zip(batch.texts, contexts, batch.all_spans, strict=True)
        ]
        counts = [len(row) for row in rows]
        within = np.concatenate([np.arange(count) for count in counts])
        flat = np.array([value for row in rows for value in row], dtype=np.float32)
        return Likelihoods(
            offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            log_probs=flat,
            token_ids=within.astype(np.int32),
            starts=within.astype(np.uint32) if batch.want_starts else np.zeros(0, np.uint32),
            errors=[None if text else ResponseError.EMPTY_TEXT for text in batch.texts],
        )


def continuation(prompt: str, sample: int) -> str:
    """One of four continuations, one of them empty, that depends on prompt and sample and nothing else."""
    digest = hashlib.sha256(repr((prompt, sample)).encode()).digest()
    return ["", " is kind.", " is rude, I think.", " says no"][digest[0] % 4]


class HashWriter(HashModel):
    """Scores by hash, and writes by hash what `continuation` says; `before` sees the prompts first."""

    def generate(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        if self.before is not None:
            self.before(prompts)
        self.batches.append(list(prompts))
        return writes(continuation).generate(prompts, decoding)


class HashClassifier:
    """Calls a text negative by hash. `before` sees each batch first and may sleep or raise."""

    def __init__(
        self,
        before: Callable[[Sequence[str]], object] | None = None,
        name: str = "org/judge",
        reads_context: bool = False,
    ):
        self.before, self.name, self.reads_context = before, name, reads_context
        self.labels = ("kind", "rude")
        self.batches: list[list[tuple[str, str | None]]] = []

    @property
    def fingerprint(self) -> dict[str, Any]:
        return {"name": self.name, "labels": list(self.labels)}

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "texts": sum(map(len, self.batches))}

    @staticmethod
    def harm(text: str, context: str | None) -> float:
        return hashlib.sha256(repr((text, context)).encode()).digest()[0] / 255

    def classify(self, texts: Sequence[str], contexts: Sequence[str | None] | None = None) -> Labels:
        assert self.reads_context or contexts is None
        if self.before is not None:
            self.before(texts)
        asked = list(zip(texts, contexts or [None] * len(texts), strict=True))
        self.batches.append(asked)
        harms = np.array([self.harm(*one) if one[0] else np.nan for one in asked])
        said = [bool(text) for text in texts]
        return Labels(
            scores=np.column_stack([1 - harms, harms]).astype(np.float32),
            labels=[None if h != h else self.labels[int(h > 0.5)] for h in harms],
            score=harms,
            negative=[bool(h > 0.5) if there else None for h, there in zip(harms, said, strict=True)],
            errors=[None if there else ResponseError.EMPTY_TEXT for there in said],
        )


class Clock:
    """Stands for the module `time` where a test decides how long a text takes; it moves by `sleep` alone."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    perf_counter = process_time = monotonic

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def numbered_prompts(n: int, distinct: int | None = None) -> pl.DataFrame:
    """n prompts, of which `distinct` texts (all by default) differ."""
    texts = [f"Person {i % (distinct or n)} says hello." for i in range(n)]
    return pl.DataFrame({"prompt_id": [f"p{i}" for i in range(n)], "text": texts, "axis": ["a"] * n})


def slow_run(path: str, n: int, seconds_per_text: float) -> None:
    """Start or resume a run of `n` requests in small shards; what the killed processes execute."""
    from pathlib import Path

    from evenhand.runs import PlanPart, RunDirectory, execute, make_plan

    model = HashModel(lambda texts: time.sleep(seconds_per_text * len(texts)))
    plan = make_plan([PlanPart("numbered", numbered_prompts(n))], model.fingerprint)
    folder = Path(path)
    if RunDirectory.is_run(folder):
        directory = RunDirectory.open(folder)
    else:
        directory = RunDirectory.create(folder, model=model, given={}, resolved={})
    execute(plan, model, directory, first_shard=8, max_shard=8)


WRITING = Decoding(max_new_tokens=9, temperature=1.0, samples=2)


def slow_judged_run(path: str, n: int, seconds_per_text: float) -> None:
    """Start or resume a run of `n` prompts and judge it by two classifiers, in small shards."""
    from pathlib import Path

    from evenhand.classifiers.classified_text import ClassifiedText
    from evenhand.runs import GenerateRequest, Labelling, PlanPart, RunDirectory, execute, label, make_plan

    def wait(texts: Sequence[str]) -> None:
        time.sleep(seconds_per_text * len(texts))

    model = HashWriter(wait)
    plan = make_plan([PlanPart("numbered", numbered_prompts(n), GenerateRequest(WRITING))], model.fingerprint)
    folder = Path(path)
    if RunDirectory.is_run(folder):
        directory = RunDirectory.open(folder)
    else:
        directory = RunDirectory.create(folder, model=model, given={}, resolved={})
    execute(plan, model, directory, first_shard=8, max_shard=8)
    whole = ClassifiedText("prompt+continuation")
    wanted = [
        Labelling("numbered", "toxicity", "alone"),
        Labelling("numbered", "regard", "behind", whole),
        Labelling("numbered", "insult", "in front"),
    ]
    classifiers = {
        "alone": HashClassifier(wait, "alone"),
        "behind": HashClassifier(wait, "behind"),
        "in front": HashClassifier(wait, "in front", reads_context=True),
    }
    label(directory, wanted, classifiers, first_shard=8, max_shard=8)
