"""Run causal models with vLLM: continuous batches on accelerators, for runs of hundreds of thousands of texts.

Needs `pip install "evenhand[vllm]"` (vLLM 0.10 or newer). vLLM has its own kernels, batches and random
numbers. Continuations depend on seed, prompt and sample number as elsewhere, but they differ from those of
the Hugging Face backend.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.models.contract import Architecture, Generations, Likelihoods, Texts
from evenhand.models.decoding import Decoding
from evenhand.models.huggingface import chat_prompts, check_chat_template, start_tokens
from evenhand.models.scoring import encode
from evenhand.models.writing import (
    Row,
    collect_rows,
    continuation_key,
    encode_prompts,
    prompts_of_ids,
    room_within,
    tokens_around,
)
from evenhand.schema import ModelError, Unsupported, UsageError
from evenhand.weights import check_tokenizer, tokenizer_fingerprint

if TYPE_CHECKING:
    from evenhand.models.writing import KeptStates, Prompts

PREFIX = "vllm:"
SEED_BITS = 48  # sample i uses the seed seed + i, which must fit in 64 bits


@dataclass(frozen=True)
class VllmOptions:
    """Options for scoring and starting a model with vLLM.

    Pass it as `options` to `load_model("vllm:...")`.

    Notes
    -----
    `start`, `end`, `chat` and `system` change the results, so they are part of the fingerprint of the model.
    """

    start: str = "auto"
    """Token from which the first token of a text is predicted, as in `CausalOptions.start`."""
    end: bool = False
    """Also score the end-of-sequence token after the text."""
    chat: bool | None = None
    """Reply to prompts instead of continuing them, as in `CausalOptions.chat`."""
    system: str | None = None
    """System message before the user's message; requires `chat`."""
    engine: dict[str, Any] = field(default_factory=dict)
    """Further arguments of `vllm.LLM`: tensor_parallel_size, gpu_memory_utilization, max_model_len, ..."""


def load_vllm(
    name: str,
    *,
    dtype: str = "auto",
    revision: str | None = None,
    trust_remote_code: bool = False,
    options: VllmOptions | None = None,
) -> "VllmModel":
    """Start vLLM with a model.

    `name` is a hub name or folder, with or without "vllm:" in front. `dtype` is "auto" (that of the
    checkpoint, as vLLM reads it) or a name. Raises ModelError if vLLM is not installed or cannot start the
    model.
    """
    try:
        import vllm
    except ImportError as error:
        raise ModelError(
            f"{name!r} requires vLLM, which is not installed: {error}",
            'Install it on a machine with an accelerator: pip install "evenhand[vllm]". To run without vLLM, use '
            f"the model name alone ({name.removeprefix(PREFIX)!r}).",
        ) from error
    options, source = options or VllmOptions(), name.removeprefix(PREFIX)
    try:
        engine = vllm.LLM(
            model=source,
            dtype=dtype,
            revision=revision,
            tokenizer_revision=revision,
            trust_remote_code=trust_remote_code,
            # the model's own probabilities, before temperature and filters
            logprobs_mode="raw_logprobs",
            **options.engine,
        )
    except (ValueError, TypeError, OSError, RuntimeError) as error:
        raise ModelError(
            f"vLLM {vllm.__version__} could not load {source!r}: {str(error).strip() or type(error).__name__}",
            f"Check that this version of vLLM supports the model (evenhand requires vLLM 0.10 or newer). "
            f"To load the model without vLLM: load_model({source!r})",
        ) from error
    return VllmModel(engine, source, revision, options)


class VllmModel:
    """A causal language model that runs in vLLM.

    `engine` is the `vllm.LLM`, started with logprobs_mode="raw_logprobs". `name` and `revision` are those
    with which it was started. Raises ModelError for a tokenizer that cannot score texts, and Unsupported for
    chat without a template.
    """

    architecture: Architecture = "causal"

    def __init__(self, engine: Any, name: str, revision: str | None, options: VllmOptions | None = None):
        self.engine, self.options = engine, options or VllmOptions()
        self.tokenizer = engine.get_tokenizer()
        check_tokenizer(self.tokenizer, name)
        if self.options.chat:
            check_chat_template(self.tokenizer)
        elif self.options.system is not None:
            raise UsageError(
                "A system message requires chat=True.", "Use both, or remove the system message."
            )
        self.config = engine.llm_engine.model_config
        self.longest = int(self.config.max_model_len)
        self.start = start_tokens(self.tokenizer, self.options.start)
        self.end = [int(self.tokenizer.eos_token_id)] if self.options.end else []
        self.identity = {
            "name": name,
            "revision": revision,
            "backend": "vllm",
            "dtype": str(self.config.dtype).removeprefix("torch."),
            "tokenizer": tokenizer_fingerprint(self.tokenizer),
        }
        self.tokens_written = 0

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Return everything that determines the results, except batching and the version of vLLM."""
        facts = {**self.identity, "architecture": "causal", "start": self.start, "end": self.end}
        return {**facts, "chat": {"system": self.options.system}} if self.options.chat else facts

    def describe(self) -> dict[str, Any]:
        """Return facts for the manifest and the report."""
        import vllm

        return {
            **self.fingerprint,
            "family": str(self.config.hf_config.model_type),
            "device": "vLLM's",
            "vllm": vllm.__version__,
            "engine": self.options.engine,
            "scoring": "prompt log-probabilities of vLLM",
            "longest_text": self.longest,
            "tokens_written": self.tokens_written,
        }

    def generate(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        """Continue each prompt `decoding.samples` times (see `TextGenerator.generate`).

        Unlike in other backends, stop strings are also ignored before min_new_tokens. Raises Unsupported for
        beams and blocked n-grams, which vLLM does not support, and for values that it refuses.
        """
        return self.generate_keyed(prompts, prompts, decoding)

    def generate_keyed(self, prompts: Sequence[str], keys: Sequence[str], decoding: Decoding) -> Generations:
        """Continue prompts as `generate` does, with random numbers that depend on keys (see `KeyedGenerator`)."""
        _check(decoding)
        chat = chat_prompts(self.tokenizer, prompts, self.options.system) if self.options.chat else None
        encoded = encode_prompts(
            self.tokenizer, prompts, longest=self.longest, behind=decoding.max_new_tokens, put_as=chat
        )
        return self._generate(encoded.with_keys(keys), decoding)

    def room_for(self, prompts: Sequence[str]) -> list[int] | None:
        """Return how many tokens fit after each prompt (see `evenhand.models.room_for`)."""
        chat = chat_prompts(self.tokenizer, prompts, self.options.system) if self.options.chat else None
        encoded = encode_prompts(self.tokenizer, prompts, longest=None, behind=0, put_as=chat)
        return room_within(self.longest, encoded)

    def generate_ids(
        self,
        prompts: Sequence[Sequence[int]],
        keys: Sequence[str],
        decoding: Decoding,
        *,
        kept: "KeptStates | None" = None,
    ) -> Generations:
        """Continue prompts given as token ids (see CausalModel.generate_ids).

        Nothing is kept here, because vLLM has its own cache.
        """
        _check(decoding)
        known, behind = len(self.tokenizer), decoding.max_new_tokens
        given = prompts_of_ids(prompts, keys, known=known, longest=self.longest, behind=behind)
        return self._generate(given, decoding)

    def _generate(self, encoded: "Prompts", decoding: Decoding) -> Generations:
        usable = [i for i, error in enumerate(encoded.errors) if error is None]
        rules = [_sampling(decoding, encoded.texts[i]) for i in usable]
        done: dict[tuple[int, int], Row] = {}
        outputs = self._run([encoded.ids[i] for i in usable], rules)
        for i, output in zip(usable, outputs, strict=True):
            for completion in output.outputs:
                row = done[i, completion.index] = _row(i, completion)
                self.tokens_written += len(row.tokens)
        return collect_rows(encoded, decoding, done, set())

    def log_likelihoods(self, texts: Texts | Sequence[str]) -> Likelihoods:
        """Return the log probability of each token after all tokens before it (see `LanguageModel.log_likelihoods`).

        Raises Unsupported for `masking`, because a causal model has no mask, and for start_token="first".
        """
        from vllm import SamplingParams

        name = self.identity["name"]
        batch = (
            Texts.of(texts)
            .refuse_masking(f"{name} reads from left to right and has no mask token.")
            .refuse_first(f"{name} in vLLM")
        )
        as_tokenizer = batch.start_token == "tokenizer"
        sequences = encode(
            self.tokenizer,
            batch,
            before=tokens_around(self.tokenizer.backend_tokenizer)[0] if as_tokenizer else self.start,
            after=[] if as_tokenizer else self.end,
            longest=self.longest - 1,  # vLLM always generates at least one token
        )
        bounds = list(zip(sequences.offsets[:-1].tolist(), sequences.offsets[1:].tolist(), strict=True))
        usable = [i for i, error in enumerate(sequences.errors) if error is None]
        rule = SamplingParams(temperature=0.0, max_tokens=1, prompt_logprobs=0, detokenize=False)
        ids = [sequences.ids[slice(*bounds[i])].tolist() for i in usable]
        scores = np.full(len(sequences.ids), np.nan, dtype=np.float32)
        for i, row, output in zip(usable, ids, self._run(ids, [rule] * len(ids)), strict=True):
            # position 0 has no context, and its value is None
            scores[slice(*bounds[i])] = [
                np.nan if one is None else one[t].logprob
                for t, one in zip(row, output.prompt_logprobs, strict=True)
            ]
        return sequences.likelihoods(scores)

    def _run(self, ids: list[list[int]], rules: list[Any]) -> list[Any]:
        if not ids:
            return []
        outputs: list[Any] = self.engine.generate(
            [{"prompt_token_ids": row} for row in ids], rules, use_tqdm=False
        )
        return outputs


def _check(decoding: Decoding) -> None:
    unknown = ["num_beams"] * decoding.searches + ["no_repeat_ngram_size"] * (
        decoding.no_repeat_ngram_size is not None
    )
    if unknown:
        raise Unsupported(
            f"vLLM does not support {' and '.join(unknown)}.",
            'Load the model without "vllm:" before its name.',
        )


def _sampling(decoding: Decoding, prompt: str) -> Any:
    from vllm import SamplingParams

    key = continuation_key(decoding.seed, prompt, 0) % (1 << SEED_BITS)
    try:
        return SamplingParams(
            n=decoding.samples,
            temperature=0.0 if decoding.temperature is None else decoding.temperature,
            top_p=1.0 if decoding.top_p is None else decoding.top_p,
            top_k=0 if decoding.top_k is None else decoding.top_k,
            seed=None if decoding.is_greedy else key,
            stop=list(decoding.stop),
            max_tokens=decoding.max_new_tokens,
            min_tokens=decoding.min_new_tokens,
            logprobs=0,  # only the log probability of the generated token
        )
    except ValueError as error:
        raise Unsupported(
            f"vLLM does not accept these decoding settings: {error}",
            'Load the model without "vllm:" before its name.',
        ) from error


def _row(prompt: int, completion: Any) -> Row:
    row = Row(prompt, completion.index, tokens=list(completion.token_ids), text=completion.text)
    row.log_likelihood = float(completion.cumulative_logprob)
    row.broken = not np.isfinite(row.log_likelihood)
    stopped = completion.finish_reason == "stop"
    # for a stop string, the reason is its text; for the end token, it is None or the token's id
    row.finish = "length" if not stopped else "stop" if isinstance(completion.stop_reason, str) else "end"
    return row
