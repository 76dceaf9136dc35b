"""Models without weights for the tests of the engine; also imported by the processes they start."""

import hashlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from evenhand.models.contract import Likelihoods
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

    def log_likelihoods(self, texts, contexts=None, *, spans=None, masking=None, want_starts=False):
        if self.before is not None:
            self.before(texts)
        self.batches.append(list(texts))
        nothing = [None] * len(texts)
        rows = [
            [] if not text else token_values(text, context, span, masking)
            for text, context, span in zip(texts, contexts or nothing, spans or nothing, strict=True)
        ]
        counts = [len(row) for row in rows]
        within = np.concatenate([np.arange(count) for count in counts])
        flat = np.array([value for row in rows for value in row], dtype=np.float32)
        return Likelihoods(
            offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            log_probs=flat,
            token_ids=within.astype(np.int32),
            starts=within.astype(np.uint32) if want_starts else np.zeros(0, np.uint32),
            errors=[None if text else ResponseError.EMPTY_TEXT for text in texts],
        )


def numbered_prompts(n: int, distinct: int | None = None) -> pl.DataFrame:
    """n prompts, of which `distinct` texts (all by default) differ."""
    texts = [f"Person {i % (distinct or n)} says hello." for i in range(n)]
    return pl.DataFrame({"prompt_id": [f"p{i}" for i in range(n)], "text": texts, "axis": ["a"] * n})


def slow_run(path: str, n: int, seconds_per_text: float) -> None:
    """Start or resume a run of `n` requests in small shards; what the killed processes execute."""
    from pathlib import Path

    from evenhand.runs import Part, RunDirectory, execute, make_plan

    model = HashModel(lambda texts: time.sleep(seconds_per_text * len(texts)))
    plan = make_plan([Part("numbered", numbered_prompts(n))], model.fingerprint)
    folder = Path(path)
    if RunDirectory.is_run(folder):
        directory = RunDirectory.open(folder)
    else:
        directory = RunDirectory.create(folder, model=model, given={}, resolved={})
    execute(plan, model, directory, first_shard=8, max_shard=8)
