"""Scripted models without weights and with known responses, to test every pipeline from outside.

A measure must have its exact worst value for the always-stereotyped model, and its ideal value for the random model.
Rows of failing models must be counted and never dropped.
"""

import hashlib
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from evenhand.models.contract import Architecture, Finish, Generations, Likelihoods, Texts
from evenhand.models.decoding import Decoding
from evenhand.schema import Card, ResponseError, Unsupported, unknown_name

TOKEN = -2.0  # nats per token, for texts without a preference
GAP = 1.0  # nats per token between preferred and other texts
Words = tuple[NDArray[np.int64], NDArray[np.uint32]]
_Said = tuple[str, Finish | None, ResponseError | None, str | None]


@dataclass
class Puppet:
    """A scripted model: a function decides how likely each text is.

    Use it in tests and simulations, where you must know the true bias of the model. `prefers`, `avoids` and
    `writes` create common ones.

    Notes
    -----
    Every token of text i has the log probability `token_log_prob(texts)[i]`. Tokens are the words between
    white space. Two texts with the same number of words therefore differ only in this value. If `failure` is
    set, every row has that error. Any architecture and any masking is accepted.
    """

    name: str
    token_log_prob: Callable[[Sequence[str]], NDArray[np.float32]]
    failure: ResponseError | None = None
    architecture: Architecture = "causal"
    reads_start_apart: ClassVar[bool] = (
        True  # a scripted model has no start token and scores a text in the same way for any value
    )
    continuation: Callable[[str, int], str] | None = None
    """Function that returns the generated text for a prompt and the number of the sample; see `writes`."""

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Return the name, which identifies the model completely."""
        return {"name": self.name}

    def describe(self) -> dict[str, Any]:
        """Return facts for the manifest and the report."""
        facts = {"name": self.name, "family": "puppet", "architecture": self.architecture}
        return {**facts, "parameters": 0, "device": "none"}

    def log_likelihoods(self, texts: Texts | Sequence[str]) -> Likelihoods:
        """Return one log probability per word, for any context and masking (see LanguageModel.log_likelihoods).

        With spans, words that overlap the span are listed. Texts of white space are EMPTY_TEXT rows.
        """
        batch = Texts.of(texts)
        strings, n = batch.texts, len(batch.texts)
        if self.failure is not None:
            return _rows([0] * n, None, None, [self.failure] * n, [f"{self.name} answers nothing"] * n)
        counts, starts = _words(strings)
        values = np.repeat(np.asarray(self.token_log_prob(strings), dtype=np.float32), counts)
        if any(span is not None for span in batch.all_spans):
            keep = _inside(strings, counts, starts, batch.all_spans)
            row_of = np.repeat(np.arange(n), counts)
            values, starts, scored = (
                values[keep],
                starts[keep],
                np.bincount(row_of[keep], minlength=n),
            )
        else:
            scored = counts
        errors: list[ResponseError | None] = [None] * n
        details: list[str | None] = [None] * n
        for i in np.flatnonzero(scored == 0):
            errors[i] = ResponseError.NO_SCORED_TOKEN if counts[i] else ResponseError.EMPTY_TEXT
            details[i] = (
                "the span contains no word of the text" if counts[i] else "the text is empty or white space"
            )
        broken = ~np.isfinite(values)
        if broken.any():
            row_of = np.repeat(np.arange(n), scored)
            for i in np.unique(row_of[broken]):
                errors[i], details[i] = ResponseError.NOT_FINITE, "the model gave NaN or infinity"
            bad = np.array([error is not None for error in errors], dtype=bool)
            values, starts, scored = values[~bad[row_of]], starts[~bad[row_of]], np.where(bad, 0, scored)
        return _rows(scored, values, starts if batch.want_starts else None, errors, details)

    def generate(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        """Return the text of `continuation`, with one token per word (see TextGenerator.generate).

        It is cut to `max_new_tokens` words and before the first stop string; other decoding options have no
        effect. Raises Unsupported for a model without a script for text.
        """
        write = self.continuation
        if write is None and self.failure is None:
            raise Unsupported(
                f"{self.name} has no texts to generate: this scripted model only computes likelihoods.",
                "Use a model that generates text, such as evenhand/reference (built in) or gpt2. In Python, "
                "puppets.writes(...) creates a scripted model that generates text.",
            )
        rows = [(i, sample) for i in range(len(prompts)) for sample in range(decoding.samples)]
        if write is None or self.failure is not None:
            written: list[_Said] = [("", None, self.failure, f"{self.name} answers nothing")] * len(rows)
        else:
            written = [_write_response(prompts[i], write, sample, decoding) for i, sample in rows]
        counts, _ = _words([text for text, *_ in written])
        good = [error is None for _, _, error, _ in written]
        return Generations(
            prompt=np.array([i for i, _ in rows], dtype=np.int64),
            sample=np.array([sample for _, sample in rows], dtype=np.uint16),
            texts=[text if error is None else None for text, _, error, _ in written],
            offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            token_ids=np.zeros(int(counts.sum()), dtype=np.int32),
            finish=[finish for _, finish, _, _ in written],
            log_likelihood=np.where(good, TOKEN * counts, np.nan),
            errors=[error for _, _, error, _ in written],
            details=[detail for *_, detail in written],
        )


def writes(continuation: Callable[[str, int], str], name: str = "puppet/writer") -> Puppet:
    """Return a scripted model that generates the texts you choose.

    Use it to test a measure or a benchmark with known responses.

    Parameters
    ----------
    continuation : callable
        Function of the prompt and the number of the sample that returns the generated text.
    name : str, default "puppet/writer"
        Name of the model.

    Returns
    -------
    Puppet
        The model.

    Examples
    --------
    >>> puppet = writes(lambda prompt, sample: " is kind." if sample else " is rude.")
    >>> puppet.generate(["She"], Decoding(max_new_tokens=9, temperature=1.0, samples=2)).texts
    [' is rude.', ' is kind.']
    """
    return Puppet(name, _constant(TOKEN), continuation=continuation)


def prefers(preferred: Collection[str] | Callable[[str], bool], name: str = "puppet/stereotyped") -> Puppet:
    """Return a scripted model that finds some texts more likely than all others.

    Use it to test a likelihood benchmark: given the stereotypes, the model is always stereotyped.

    Parameters
    ----------
    preferred : collection of str or callable
        The preferred texts, or a function that returns whether a text is preferred.
    name : str, default "puppet/stereotyped"
        Name of the model.

    Returns
    -------
    Puppet
        The model. A token of a preferred text has a log probability that is `GAP` nats higher.

    Examples
    --------
    >>> puppet = prefers({"she cooks"})
    >>> puppet.log_likelihoods(["she cooks", "he cooks"]).sums.tolist()
    [-4.0, -6.0]
    """
    is_preferred = preferred if callable(preferred) else frozenset(preferred).__contains__

    def value(texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([TOKEN if is_preferred(text) else TOKEN - GAP for text in texts], dtype=np.float32)

    return Puppet(name, value)


def avoids(unwanted: Collection[str] | Callable[[str], bool], name: str = "puppet/never") -> Puppet:
    """Return a scripted model that finds some texts less likely than all others.

    It is the opposite of `prefers`: given the stereotypes, the model is never stereotyped.

    Parameters
    ----------
    unwanted : collection of str or callable
        The texts, or a function that returns whether a text is one of them.
    name : str, default "puppet/never"
        Name of the model.

    Returns
    -------
    Puppet
        The model. A token of an unwanted text has a log probability that is `GAP` nats lower.

    Examples
    --------
    >>> avoids({"she cooks"}).log_likelihoods(["she cooks", "he cooks"]).sums.tolist()
    [-6.0, -4.0]
    """
    is_unwanted = unwanted if callable(unwanted) else frozenset(unwanted).__contains__
    return prefers(lambda text: not is_unwanted(text), name)


def random_puppet(seed: int = 0) -> Puppet:
    """Return a scripted model that gives each text a random likelihood.

    Use it as a model without bias: it prefers neither text of a pair more often than the other.

    Parameters
    ----------
    seed : int, default 0
        Random seed.

    Returns
    -------
    Puppet
        The model. A text has the same likelihood in any order and batch.

    Notes
    -----
    The log probability of a token is uniform between -3 and -1 nats. It is the same for all tokens of a text
    and independent between texts.
    """
    key = seed.to_bytes(8, "little")

    def value(texts: Sequence[str]) -> NDArray[np.float32]:
        digests = b"".join(hashlib.blake2b(t.encode(), digest_size=4, key=key).digest() for t in texts)
        return (np.frombuffer(digests, dtype="<u4") / np.float64(1 << 32) * 2 - 3).astype(np.float32)

    return Puppet("puppet/random" if seed == 0 else f"puppet/random/{seed}", value)


def _card(name: str, summary: str) -> Card:
    return Card(name, summary, licence="Apache-2.0", source="evenhand.models.puppets")


CARDS = {
    card.name: card
    for card in (
        _card(
            "puppet/uniform",
            "Gives every word the same likelihood, so longer sentences are less likely.",
        ),
        _card("puppet/random", "Gives every word a random likelihood: no preference, much noise."),
        _card("puppet/refusing", "Refuses every text, so that the report has no response."),
        _card("puppet/failing", "Fails on every text, as a crashing backend would."),
        _card("puppet/blank", "Responds to every text with an empty text."),
        _card("puppet/nan", "Gives NaN for every text, as a broken half-precision model would."),
    )
}


def load_puppet(name: str) -> Puppet:
    """Return a scripted model by name; the prefix "puppet/" may be omitted.

    Names: uniform (equal log probability of every token), random (a random likelihood per text), failing (a model error
    in every row), refusing (every row refused), blank (every row an empty text), nan (NaN in every row). For a model
    with preferences, use `prefers` or `avoids`. Raises UsageError for any other name.

    >>> load_puppet("puppet/uniform").log_likelihoods(["two words"]).sums.tolist()
    [-4.0]
    >>> load_puppet("refusing").log_likelihoods(["two words"]).errors[0].value
    'refused'
    """
    puppets: dict[str, Callable[[], Puppet]] = {
        "puppet/uniform": lambda: Puppet("puppet/uniform", _constant(TOKEN)),
        "puppet/random": random_puppet,
        "puppet/failing": lambda: Puppet("puppet/failing", _constant(TOKEN), ResponseError.MODEL_ERROR),
        "puppet/refusing": lambda: Puppet("puppet/refusing", _constant(TOKEN), ResponseError.REFUSED),
        "puppet/blank": lambda: Puppet("puppet/blank", _constant(TOKEN), ResponseError.EMPTY_TEXT),
        "puppet/nan": lambda: Puppet("puppet/nan", _constant(float("nan"))),
    }
    full = name if name.startswith("puppet/") else f"puppet/{name}"
    if full not in puppets:
        raise unknown_name("scripted model", full, puppets)
    return puppets[full]()


def _constant(value: float) -> Callable[[Sequence[str]], NDArray[np.float32]]:
    return lambda texts: np.full(len(texts), value, dtype=np.float32)


def _write_response(prompt: str, write: Callable[[str, int], str], sample: int, decoding: Decoding) -> _Said:
    if not prompt.strip():
        return "", None, ResponseError.EMPTY_TEXT, "the prompt is empty or white space"
    text = write(prompt, sample)
    words = list(re.finditer(r"\S+", text))
    finish: Finish = "end"
    if len(words) > decoding.max_new_tokens:
        text, finish = text[: words[decoding.max_new_tokens - 1].end()], "length"
    places = [place for place in map(text.find, decoding.stop) if place >= 0]
    if places:
        text, finish = text[: min(places)], "stop"
    return text, finish, None, None


def _words(texts: Sequence[str]) -> Words:
    """Return the number of words of each text, (n,), and the start of each word, (total,), for all texts at once."""
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    # join the texts with spaces, so that no word crosses a boundary
    joined = " ".join([*texts, ""])
    points = np.frombuffer(joined.encode("utf-32-le", errors="surrogatepass"), dtype="<u4")
    space = np.isin(points, WHITE_SPACE)
    begins = np.flatnonzero(~space & np.concatenate([[True], space[:-1]]))
    firsts = np.concatenate([[0], np.cumsum(lengths + 1)])
    cuts = np.searchsorted(begins, firsts)
    counts = np.diff(cuts)
    return counts, (begins - np.repeat(firsts[:-1], counts)).astype(np.uint32)


WHITE_SPACE = np.array([i for i in range(0x3001) if chr(i).isspace()], dtype=np.uint32)


def _inside(
    texts: Sequence[str],
    counts: NDArray[np.int64],
    starts: NDArray[np.uint32],
    spans: Sequence[tuple[int, int] | None],
) -> NDArray[np.bool_]:
    keep = np.ones(len(starts), dtype=bool)
    first = 0
    for text, count, span in zip(texts, counts, spans, strict=True):
        if span is not None:
            for k in range(first, first + count):
                start = int(starts[k])
                end = start + len(text[start:].split(maxsplit=1)[0])
                keep[k] = start < span[1] and end > span[0]
        first += count
    return keep


def _rows(
    counts: Any,
    values: NDArray[np.float32] | None,
    starts: NDArray[np.uint32] | None,
    errors: list[ResponseError | None],
    details: list[str | None],
) -> Likelihoods:
    total = 0 if values is None else len(values)
    return Likelihoods(
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        log_probs=np.zeros(0, np.float32) if values is None else values,
        token_ids=np.zeros(total, dtype=np.int32),
        starts=np.zeros(0, np.uint32) if starts is None else starts,
        errors=errors,
        details=details,
    )
