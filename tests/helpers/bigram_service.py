"""A bigram model behind OpenAI's interface, small enough that every number it gives is known exactly.

Its tokens are words with the space in front of them; a word it does not know counts as "thing".
"""

import itertools
import math
import random
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

WORDS = ["she", "he", "they", "person", "is", "was", "kind", "rude", "old", "and", "a", "thing", "."]
END = len(WORDS)
NAME = "org/bigram"
WORD = re.compile(r" ?[^\s.]+| ?\.|\s")


def _table() -> np.ndarray:
    """Log probability of the next word (or the end), (words, words + 1), far from uniform."""
    logits = np.random.default_rng(7).normal(scale=2.0, size=(len(WORDS), len(WORDS) + 1))
    logits[:, END] -= 1.0
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


TABLE = _table()


def words(text: str) -> list[str]:
    """The tokens of a text; they spell it."""
    return WORD.findall(text)


def number(token: str) -> int:
    """Of a token, in WORDS."""
    word = token.strip()
    return WORDS.index(word if word in WORDS else "thing")


def log_probs(text: str) -> list[float]:
    """Of each token but the first, given the one before."""
    numbers = [number(token) for token in words(text)]
    return [float(TABLE[a, b]) for a, b in itertools.pairwise(numbers)]


def write(prompt: str, body: dict[str, Any]) -> tuple[list[str], list[float], str]:
    """Tokens of a continuation, their log probabilities, and why it ended."""
    limit = body.get("max_tokens", 16)
    dice = random.Random(body.get("seed", 0))
    last, tokens, values = number(words(prompt)[-1]), [], []
    stops = body.get("stop") or []
    while len(tokens) < limit:
        row = TABLE[last].copy()
        if len(tokens) < body.get("min_tokens", 0):
            row[END] = -np.inf
        chosen = int(row.argmax())
        if body.get("temperature", 1):
            chosen = _drawn(
                row / body.get("temperature", 1), body.get("top_p", 1), body.get("top_k", -1), dice
            )
        if chosen == END:
            return tokens, values, "stop"
        tokens.append(" " + WORDS[chosen])
        values.append(float(TABLE[last, chosen]))
        last = chosen
        if any(stop in "".join(tokens) for stop in stops):
            return tokens, values, "stop"
    return tokens, values, "length"


def _drawn(logits: np.ndarray, top_p: float, top_k: int, dice: random.Random) -> int:
    order = np.argsort(-logits)
    if top_k > 0:
        order = order[:top_k]
    chances = np.exp(logits[order] - logits[order[0]])
    chances /= chances.sum()
    kept = int(np.searchsorted(chances.cumsum(), top_p)) + 1 if top_p < 1 else len(order)
    return dice.choices(order[:kept].tolist(), chances[:kept].tolist())[0]


class BigramService:
    """Answers /v1/completions, /v1/chat/completions and /v1/models.

    faults: what it does otherwise than it should: "shifted" (each echoed token has its neighbour's value),
    "no echo", "no logprobs", "wants one" (refuses max_tokens 0), "begins" (a token of its own in front),
    "greedy is certain" (log probability 0 for what it writes), "no completions", "no seed", "strict".
    """

    def __init__(self, *faults: str, names: Sequence[str] = (NAME,)):
        self.faults, self.names = faults, names

    def __call__(self, asked: Any) -> tuple[Any, ...]:
        if asked.path == "/v1/models":
            return 200, {"data": [{"id": name} for name in self.names]}
        body = asked.body
        if body["model"] not in self.names:
            return 404, {
                "error": {"message": f"The model {body['model']} does not exist.", "code": "model_not_found"}
            }
        if asked.path == "/v1/completions" and "no completions" not in self.faults:
            return self.completion(body)
        if asked.path == "/v1/chat/completions":
            return self.chat(body)
        return 404, {"detail": "Not Found"}

    def completion(self, body: dict[str, Any]) -> tuple[Any, ...]:
        prompt = body["prompt"]
        if "strict" in self.faults and body.get("stop"):
            return 400, {"error": {"message": "stop is not supported"}}
        if "no seed" in self.faults and "seed" in body:
            return 422, {"detail": "Extra inputs are not permitted: seed"}
        if len(words(prompt)) > 200:
            return 400, {"error": {"message": "This model's maximum context length is 200 tokens."}}
        if "forbidden" in prompt:
            return 400, {"error": {"message": "filtered", "code": "content_filter"}}
        if body["max_tokens"] == 0 and ("wants one" in self.faults or not body.get("echo")):
            return 400, {"error": {"message": "max_tokens must be at least 1, got 0."}}
        tokens, values, finish = write(prompt, body) if body["max_tokens"] else ([], [], "length")
        shown: list[float | None] = (
            [0.0] * len(values) if "greedy is certain" in self.faults else list(values)
        )
        text = "".join(tokens)
        listed = list(tokens)
        if body.get("echo") and "no echo" not in self.faults:
            own = words(prompt)
            echoed: list[float | None] = [None, *log_probs(prompt)]
            if "shifted" in self.faults:
                echoed = [*echoed[1:], -1.0]
            if "begins" in self.faults:
                own, echoed = ["<s>", *own], [None, -2.5, *echoed[1:]]
            listed, shown, text = own + listed, echoed + shown, prompt + text
        choice: dict[str, Any] = {"index": 0, "text": text, "finish_reason": finish}
        if body.get("logprobs") is not None and "no logprobs" not in self.faults:
            lengths = np.cumsum([0, *map(len, listed)]).tolist()[:-1]
            choice["logprobs"] = {"tokens": listed, "token_logprobs": shown, "text_offset": lengths}
        usage = {"prompt_tokens": len(words(prompt)), "completion_tokens": len(tokens)}
        return 200, {
            "model": f"{NAME}-2026",
            "system_fingerprint": "fp_1",
            "choices": [choice],
            "usage": usage,
        }

    def chat(self, body: dict[str, Any]) -> tuple[Any, ...]:
        prompt = body["messages"][-1]["content"]
        message: dict[str, Any] = {"role": "assistant", "content": None}
        finish, tokens, values = "stop", [], []
        if "weapon" in prompt:
            message["refusal"] = "I cannot help with that."
        elif "filtered" in prompt:
            finish = "content_filter"
        elif "think" in prompt:
            finish = "length"
        elif "tool" in prompt:
            message["tool_calls"], finish = [{"type": "function"}], "tool_calls"
        else:
            tokens, values, finish = write(prompt, body)
            message["content"] = "".join(tokens)
        choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": finish}
        if body.get("logprobs"):
            pairs = zip(tokens, values, strict=True)
            choice["logprobs"] = {"content": [{"token": t, "logprob": v} for t, v in pairs]}
        usage = {"prompt_tokens": len(words(prompt)), "completion_tokens": len(tokens)}
        return 200, {"model": NAME, "choices": [choice], "usage": usage}


assert math.isclose(float(np.exp(TABLE).sum()), len(WORDS))
