"""Decoding options, and the settings of published evaluations."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from evenhand.schema import UsageError, check_fields, checked, unknown_name

Stopping = bool | Literal["never"]
WhereNgrams = Literal["text", "continuation", "context"]

MOST_SEED = 2**63 - 1
"""Largest seed that all random generators accept."""


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """How a model turns next-token distributions into text: sampling, beam search, and lengths.

    Pass it to `TextGenerator.generate`. There are no hidden defaults: an option that is None is off. Hugging
    Face's `top_k` of 50, for example, is never added.

    Raises
    ------
    UsageError
        A value is out of range, or values contradict each other.

    Notes
    -----
    Filters are applied in the order `temperature`, `top_k`, `top_p`.

    Examples
    --------
    >>> Decoding(max_new_tokens=20).is_greedy
    True
    >>> Decoding(max_new_tokens=20, temperature=1.0, top_p=0.9, samples=4).parameters()["top_p"]
    0.9
    """

    max_new_tokens: int
    """Maximum number of tokens of a continuation."""
    min_new_tokens: int = 0
    """Minimum number of tokens before the end token is allowed. Stop strings may end a text earlier."""
    temperature: float | None = None
    """Number by which logits are divided before sampling. None: always take the most likely token."""
    top_k: int | None = None
    """Sample from the k most likely tokens (and tokens as likely as the k-th)."""
    top_p: float | None = None
    """Sample from the smallest set of most likely tokens whose probabilities sum to at least p."""
    no_repeat_ngram_size: int | None = None
    """No sequence of this many tokens may occur twice in the prompt and continuation together. For an
    encoder-decoder model, the limit applies to the continuation."""
    no_repeat_ngram_in: WhereNgrams = "text"
    """Where n-grams may not repeat. "continuation": only there, so n-grams of the prompt may recur, as in
    HolisticBias's dialogues. "context": for an encoder-decoder model, n-grams of the encoder's input may not recur
    either, as in BlenderBot's dialogues; n-grams across the two are allowed. This sets both
    `encoder_no_repeat_ngram_size` and `no_repeat_ngram_size` of transformers. For other models the same as "text"."""
    stop: tuple[str, ...] = ()
    """Strings at which a continuation ends; its text stops before the first of them."""
    samples: int = 1
    """Continuations per prompt, each with a separate random generator."""
    seed: int = 0
    """Random seed. A sampled continuation depends only on it, the prompt's text and the number of the sample."""
    num_beams: int | None = None
    """Number of beams (beam search). None or 1: off."""
    length_penalty: float = 1.0
    """Finished beams are compared by log-likelihood / tokens ** length_penalty."""
    early_stopping: Stopping = False
    """When a beam search ends, as in Hugging Face. True: as soon as num_beams texts have ended. False: if no open beam
    could become better at the present length. "never": if none could become better at any length."""

    def __post_init__(self) -> None:
        check_fields(self)
        _at_least("max_new_tokens", self.max_new_tokens, 1)
        _at_least("min_new_tokens", self.min_new_tokens, 0)
        _at_least("samples", self.samples, 1)
        _at_least("seed", self.seed, 0)
        if self.seed > MOST_SEED:
            raise UsageError(f"seed must be a whole number from 0 to 2**63 - 1, got {self.seed}.")
        for name in ("top_k", "no_repeat_ngram_size"):
            if (value := getattr(self, name)) is not None:
                _at_least(name, value, 1)
        if self.samples > 65535:
            raise UsageError(
                f"samples must be at most 65,535, got {self.samples:,}.",
                "For more responses, run again with other seeds.",
            )
        if self.min_new_tokens > self.max_new_tokens:
            raise UsageError(
                f"`--min-new-tokens` ({self.min_new_tokens}) is larger than `--max-new-tokens` "
                f"({self.max_new_tokens}).",
                "Use a larger --max-new-tokens.",
            )
        if self.temperature is not None and not 0 < self.temperature < float("inf"):
            raise UsageError(
                f"temperature must be greater than 0, got {self.temperature}.",
                "For deterministic output use temperature=None.",
            )
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise UsageError(
                f"top_p must be above 0 and at most 1, got {self.top_p}.",
                "To turn this filter off, use None.",
            )
        if isinstance(self.stop, str) or not all(self.stop):
            raise UsageError(
                f"stop must be a tuple of non-empty strings, got {self.stop!r}.",
                'For one string use stop=("...",).',
            )
        if self.no_repeat_ngram_in not in get_args(WhereNgrams):
            raise unknown_name("value of no_repeat_ngram_in", self.no_repeat_ngram_in, get_args(WhereNgrams))
        if self.no_repeat_ngram_in != "text" and self.no_repeat_ngram_size is None:
            raise UsageError(
                f"no_repeat_ngram_in={self.no_repeat_ngram_in!r} has no effect without no_repeat_ngram_size.",
                "For example: no_repeat_ngram_size=3",
            )
        self._check_beams()
        if self.is_greedy:
            idle = [name for name in ("top_k", "top_p") if getattr(self, name) is not None]
            if idle:
                raise UsageError(
                    f"{' and '.join(idle)} has no effect without a temperature: greedy decoding does not sample.",
                    "Use temperature=1.0 to sample from the model's own distribution.",
                )
            if self.samples > 1:
                raise UsageError(
                    f"samples={self.samples} has no effect: "
                    f"{'beam search' if self.searches else 'greedy decoding'} writes the same text each time.",
                    "Use samples=1, or a temperature.",
                )

    def _check_beams(self) -> None:
        if self.num_beams is not None:
            _at_least("num_beams", self.num_beams, 1)
        if not isinstance(self.early_stopping, bool) and self.early_stopping != "never":
            raise UsageError(f'early_stopping must be True, False or "never", got {self.early_stopping!r}.')
        if not abs(self.length_penalty) < float("inf"):
            raise UsageError(f"length_penalty must be a finite number, got {self.length_penalty}.")
        if self.searches and self.temperature is not None:
            raise UsageError(
                f"num_beams={self.num_beams} and temperature={self.temperature} cannot be combined: beam search "
                "does not sample.",
                "Use one of them: beams without a temperature, or samples without beams.",
            )
        if not self.searches and (self.length_penalty != 1.0 or self.early_stopping is not False):
            raise UsageError(
                "length_penalty and early_stopping have no effect without beam search.",
                "For example: num_beams=10",
            )

    @property
    def searches(self) -> bool:
        """Return whether several beams are used."""
        return self.num_beams is not None and self.num_beams > 1

    @property
    def is_greedy(self) -> bool:
        """Return whether no token is sampled."""
        return self.temperature is None

    def parameters(self) -> dict[str, Any]:
        """Return everything that determines the texts, except model and prompt, JSON-serialisable, for request keys.

        Beams and the place of n-grams are listed only if they are used, so that they do not change the keys of
        other requests.
        """
        parameters = {**asdict(self), "stop": list(self.stop)}
        if not self.searches:
            del parameters["num_beams"], parameters["length_penalty"], parameters["early_stopping"]
        if self.no_repeat_ngram_in == "text":
            del parameters["no_repeat_ngram_in"]
        return parameters


PRESETS: dict[str, dict[str, Any]] = {
    "gpt2": {"temperature": 0.7, "top_k": 40, "top_p": None},
    "bloom": {"temperature": 0.7, "top_k": 40, "top_p": None},
    "opt": {"temperature": 1.0, "top_k": None, "top_p": 0.9},
    "bb3": {"temperature": 1.0, "top_k": None, "top_p": 0.9},
    "llama": {"temperature": 1.0, "top_k": None, "top_p": 0.9},
}


@checked
def decoding_preset(family: str, *, max_new_tokens: int, samples: int = 1, seed: int = 0) -> Decoding:
    """Return the decoding options with which ROBBIE evaluated a family of models.

    Use it to reproduce or extend the results of ROBBIE.

    Parameters
    ----------
    family : {"gpt2", "bloom", "opt", "bb3", "llama"}
        The model family.
    max_new_tokens : int
        Maximum number of tokens. ROBBIE uses 100 for responses classified by ToxiGen, and 30 for those
        classified by Perspective or Regard.
    samples : int, default 1
        Continuations per prompt.
    seed : int, default 0
        Random seed.

    Returns
    -------
    Decoding
        The options.

    Raises
    ------
    UsageError
        The family is unknown.

    Notes
    -----
    The published code uses Hugging Face's default `top_k` of 50 in addition to `top_p`. The paper does not.
    Here `top_k` is off, as in the paper.

    References
    ----------
    Esiobu et al. (2023), "ROBBIE: Robust Bias Evaluation of Large Generative Language Models", EMNLP,
    appendix.

    Examples
    --------
    >>> decoding_preset("opt", max_new_tokens=30).top_k is None
    True
    """
    if family not in PRESETS:
        raise unknown_name("model family", family, PRESETS)
    return Decoding(max_new_tokens=max_new_tokens, samples=samples, seed=seed, **PRESETS[family])


def _at_least(name: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"{name} must be a whole number of at least {least}, got {value!r}.")
