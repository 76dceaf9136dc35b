"""Hugging Face models that read one text and write another (BlenderBot, BART, T5, ...).

The context is the encoder's input and the text is the decoder's target, as in the dialogue experiments
of HolisticBias.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.models.contract import Architecture, Generations, Likelihoods, Texts, concatenate
from evenhand.models.decoding import Decoding
from evenhand.models.huggingface.masked import position_limit, scoring_facts
from evenhand.models.scoring import TextPairs, text_pairs
from evenhand.models.writing import Steering
from evenhand.schema import ModelError, ResponseError
from evenhand.weights import Budget, run_batches

if TYPE_CHECKING:
    from evenhand.models.writing import KeptStates, Prompts, Writer
    from evenhand.weights import FastLayers

CHUNK = 16384  # texts encoded at once


@dataclass(frozen=True)
class EncoderDecoderOptions:
    """Options for scoring with an encoder-decoder model. `silence` and `end` change the numbers and are part of the
    fingerprint.
    """

    silence: str | None = None
    """Input of the encoder for texts without a context. None: only the special tokens of the tokenizer.

    The published Likelihood Bias numbers were computed with "__SILENCE__".
    """
    end: bool = True
    """Also score the end token after the text, as published. It is not scored if a span is given."""
    batch_tokens: int | None = None
    """Tokens per batch, of encoder and decoder together. None: chosen by device. The number is halved if memory runs
    out.
    """


class EncoderDecoderModel:
    """An encoder-decoder language model of Hugging Face with its fast tokenizer.

    `load_model` creates it; ``identity`` is what makes its results reusable. Raises a ModelError if the configuration
    has no start token of the decoder.
    """

    architecture: Architecture = "encoder-decoder"

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        identity: dict[str, Any],
        options: EncoderDecoderOptions | None = None,
    ):
        from evenhand.models.scoring import can_choose, most_targets, survives_padding

        self.model, self.tokenizer, self.identity = model.eval(), tokenizer, identity
        self.options = options or EncoderDecoderOptions()
        self.start = _decoder_start(model, identity)
        weight = model.get_input_embeddings().weight
        self.device = weight.device
        self.longest = position_limit(model)
        tokens = self.options.batch_tokens or (65536 if self.device.type == "cuda" else 2048)
        limit = most_targets(int(model.config.get_text_config().vocab_size), self.device)
        trial = self._pairs(Texts(["She is.", "They said that he was."], ["Who?", "Who is it that you met?"]))
        short, both = self._inputs(trial, np.array([0])), self._inputs(trial, np.array([0, 1]))
        width = short["decoder_input_ids"].shape[1]
        self._check_plain(trial, short)
        self.reason_for_all_positions = can_choose(model, short, self._long(range(width)))
        if self.reason_for_all_positions is not None:
            tokens = min(tokens, limit)
        padding_works = survives_padding(model, short, both, width)
        self.budget = Budget(tokens, limit, equal_lengths=not padding_works)

    def _check_plain(self, trial: TextPairs, short: dict[str, Any]) -> None:
        """Raise ModelError if results change when encoder and decoder run separately, or depend on later tokens."""
        import torch

        from evenhand.models.scoring import FAILURES, describe_error, largest_difference, tolerance

        read = self._long(trial.contexts[trial.context_of[0]])[None]
        written = short["decoder_input_ids"]
        other = written.clone()
        other[:, -1] = (other[:, -1] + 1) % int(self.model.config.get_text_config().vocab_size)
        try:
            with torch.inference_mode():
                plain, changed, ours = (
                    self.model(**inputs).logits[0].float().log_softmax(-1)
                    for inputs in (
                        {"input_ids": read, "decoder_input_ids": written, "use_cache": False},
                        {"input_ids": read, "decoder_input_ids": other, "use_cache": False},
                        short,
                    )
                )
        except FAILURES as error:
            raise ModelError(
                f"{type(self.model).__name__} does not work as an encoder-decoder model: {describe_error(error)}",
                "Its weights may need another class of transformers. If not, please report the architecture.",
            ) from error
        allowed = tolerance(plain, self.model.dtype)
        for what, off in (
            ("its decoder looks at what follows", largest_difference(plain[:-1], changed[:-1])),
            ("its encoder's answer alone does not make its decoder's", largest_difference(plain, ours)),
        ):
            if off > allowed:
                raise ModelError(
                    f"The likelihoods of {type(self.model).__name__} are not reliable: {what} (results differ by "
                    f"up to {off:.2g} nats).",
                    "Try dtype float32. If the error remains, please report the architecture.",
                )

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Return everything on which results depend, except batch sizes."""
        from evenhand.models.writing import Constraints

        demands = Constraints.from_model(self.model).parameters()
        return {
            **self.identity,
            "architecture": "encoder-decoder",
            "silence": self.options.silence,
            "end": self.options.end,
            **({"generation": demands} if demands else {}),
        }

    def describe(self) -> dict[str, Any]:
        """Return facts for the manifest and the report."""
        return {
            **self.fingerprint,
            "family": str(self.model.config.model_type),
            "parameters": sum(p.numel() for p in self.model.parameters()),
            "device": str(self.device),
            "longest_text": self.longest,
            **scoring_facts(self.budget, "target", self.reason_for_all_positions),
            "first_token_predicted_from": self.tokenizer.decode([self.start]),
            "end_token_scored": self.options.end,
            "work": asdict(self.budget),
            **({"generation": self.writer.describe()} if "writer" in self.__dict__ else {}),
        }

    def log_likelihoods(self, texts: Texts | Sequence[str]) -> Likelihoods:
        """Return the log probability of each target token given context and text so far (see LanguageModel).

        Raises Unsupported for `masking`, because the decoder reads from left to right, and for start_token="first".
        """
        name = self.identity.get("name", "This model")
        batch = Texts.of(texts).refuse_masking(
            f"{name} writes from left to right and fills no masks.",
            "Use a masked model (BERT, RoBERTa, ...), or a benchmark for encoder-decoder models.",
        )
        batch.refuse_first(name)
        pairs = map(self._pairs, batch.chunks(CHUNK))
        with self.layers.activate_if_exact():
            return concatenate([self._score_pairs(part) for part in pairs], batch.want_starts)

    def steered_log_likelihoods(self, texts: Texts | Sequence[str], steering: Steering) -> Likelihoods:
        """Return the log probability of each target token under combined distributions (see SteerableModel).

        The contexts of the steering are in the encoder, before each text's own context.
        """
        from evenhand.models.huggingface.steered_scoring import steered_pairs

        self.writer.check_steerable()
        batch = Texts.of(texts).refuse_first("An encoder-decoder model")
        with self.layers.activate_if_exact():
            parts = [
                steered_pairs(self._pairs, self._logits, self.budget, self.options.silence, chunk, steering)
                for chunk in batch.chunks(CHUNK)
            ]
        return concatenate([self._rows(*part) for part in parts], batch.want_starts)

    @cached_property
    def writer(self) -> "Writer":
        """Return the generation engine. It is created at first use, because its self-check costs some forward
        passes.
        """
        from evenhand.models.writing import EncoderDecoderState, Writer, cache_bytes, end_tokens

        return Writer(
            EncoderDecoderState(self.model, self.start),
            self.tokenizer,
            ends=end_tokens(self.model, self.tokenizer),
            vocabulary=int(self.model.config.get_text_config().vocab_size),
            device=self.device,
            # every decoder layer also stores keys and values of the encoder's tokens
            cache_bytes=2 * cache_bytes(self.model),
            batch_tokens=self.options.batch_tokens,
            start=self.start,
            layers=self.layers,
        )

    @cached_property
    def layers(self) -> "FastLayers":
        """Return the model's faster layers, which are created at first use."""
        from evenhand.weights import FastLayers, available_memory

        return FastLayers(self.model, available_memory(self.device))

    def generate(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        """Reply to each prompt, which the encoder reads, `decoding.samples` times (see TextGenerator.generate).

        The model's generation settings that force or forbid tokens (`forced_bos_token_id`, `forced_eos_token_id`,
        `suppress_tokens`) apply, as in Hugging Face's `generate`. A prompt that is too long for the encoder becomes a
        TOO_LONG row. So do all prompts if `max_new_tokens` is too large for the decoder.
        """
        from evenhand.models.writing import continue_prompts

        return continue_prompts(self.writer, self._prompts(prompts, decoding), decoding)

    def generate_keyed(self, prompts: Sequence[str], keys: Sequence[str], decoding: Decoding) -> Generations:
        """Do the same as `generate`, with random numbers that depend on keys instead of the prompts (see
        KeyedGenerator).
        """
        from evenhand.models.writing import continue_prompts

        return continue_prompts(self.writer, self._prompts(prompts, decoding).with_keys(keys), decoding)

    def generate_ids(
        self,
        prompts: Sequence[Sequence[int]],
        keys: Sequence[str],
        decoding: Decoding,
        *,
        kept: "KeptStates | None" = None,
    ) -> Generations:
        """Reply to prompts that are given as the encoder's token ids, including special tokens (see
        CausalModel.generate_ids).

        No states are stored, because the encoder reads every text as a whole.
        """
        from evenhand.models.writing import continue_prompts, prompts_of_ids

        known = int(self.model.get_input_embeddings().weight.shape[0])
        given = prompts_of_ids(
            prompts, keys, known=known, longest=self.longest, behind=self._encoder_positions_needed(decoding)
        )
        return continue_prompts(self.writer, given, decoding, kept=kept)

    def generate_steered(
        self,
        prompts: Sequence[str],
        decoding: Decoding,
        steering: Steering,
        keys: Sequence[str] | None = None,
    ) -> Generations:
        """Reply to each prompt with combined next-token distributions (see SteerableModel.generate_steered).

        Contexts precede the prompt in the encoder's input.
        """
        from evenhand.models.writing import continue_prompts, encode_steered

        encoded = encode_steered(lambda texts: self._prompts(texts, decoding), prompts, steering)
        keyed = encoded if keys is None else encoded.with_keys(keys)
        return continue_prompts(self.writer, keyed, decoding, steering)

    def room_for(self, prompts: Sequence[str]) -> list[int] | None:
        """Return how many tokens the decoder can generate for each prompt; 0 if the prompt is too
        long for the encoder.
        """
        if self.longest is None:
            return None
        return [self.longest if len(ids) <= self.longest else 0 for ids in self._prompts(prompts).ids]

    def _prompts(self, texts: Sequence[str], decoding: Decoding | None = None) -> "Prompts":
        from evenhand.models.writing import encode_prompts

        return encode_prompts(
            self.tokenizer,
            texts,
            longest=None if decoding is None else self.longest,
            behind=0 if decoding is None else self._encoder_positions_needed(decoding),
            keep_end=True,
        )

    def _encoder_positions_needed(self, decoding: Decoding) -> int:
        """Return how many encoder positions a continuation takes: none, unless the decoder itself is too short."""
        room = self.longest is None or decoding.max_new_tokens <= self.longest
        return 0 if room else decoding.max_new_tokens

    def _pairs(self, batch: Texts) -> TextPairs:
        options = self.options
        return text_pairs(
            self.tokenizer, batch, silence=options.silence, end=options.end, longest=self.longest
        )

    def _score_pairs(self, pairs: TextPairs) -> Likelihoods:
        import torch

        scores = [np.full(len(scored), np.nan, dtype=np.float32) for scored in pairs.scored]

        def run(rows: NDArray[np.int64]) -> None:
            from evenhand.models.scoring import token_log_probs

            width = max(len(pairs.targets[r]) for r in rows)
            places = np.concatenate([b * width + pairs.scored[r] for b, r in enumerate(rows)])
            tokens = np.concatenate([pairs.targets[r][pairs.scored[r]] for r in rows])
            with torch.inference_mode():
                logits = self._logits(pairs, rows, places)
                values = token_log_probs(logits, self._long(range(len(tokens))), self._long(tokens))
            cuts = np.cumsum([len(pairs.scored[r]) for r in rows])[:-1]
            for r, part in zip(rows, np.split(values.cpu().numpy(), cuts), strict=True):
                scores[r] = part

        lengths = np.array(
            [(len(pairs.contexts[c]), len(t)) for c, t in zip(pairs.context_of, pairs.targets, strict=True)],
            dtype=np.int64,
        )
        targets = np.array([len(scored) for scored in pairs.scored], dtype=np.int64)
        failed = set(run_batches(lengths, targets, self.budget, run)) if len(lengths) else set()
        return self._rows(pairs, scores, failed)

    def _rows(self, pairs: TextPairs, scores: list[NDArray[np.float32]], failed: set[int]) -> Likelihoods:
        errors, details = list(pairs.errors), list(pairs.details)
        good: list[int] = []
        for i, pair in enumerate(pairs.pair_of):
            if pair is None:
                continue
            if pair in failed:
                errors[i], details[i] = ResponseError.OUT_OF_MEMORY, "does not fit even alone in a batch"
            elif not np.isfinite(scores[pair]).all():
                errors[i], details[i] = ResponseError.NOT_FINITE, "the model gave NaN or infinity"
            else:
                good.append(pair)
        counts = np.zeros(len(errors), dtype=np.int64)
        counts[[i for i, error in enumerate(errors) if error is None]] = [len(scores[p]) for p in good]
        none = np.zeros(0)
        return Likelihoods(
            offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            log_probs=np.concatenate([none, *(scores[p] for p in good)]).astype(np.float32),
            token_ids=np.concatenate([none, *(pairs.targets[p][pairs.scored[p]] for p in good)]).astype(
                np.int32
            ),
            starts=np.concatenate([none, *(pairs.starts[p] for p in good)]).astype(np.uint32),
            errors=errors,
            details=details,
        )

    def _logits(self, pairs: TextPairs, rows: NDArray[np.int64], places: NDArray[np.int64]) -> Any:
        from evenhand.models.scoring import compute_logits

        choose = self.reason_for_all_positions is None
        return compute_logits(self.model, self._inputs(pairs, rows), self._long(places), choose=choose)

    def _inputs(self, pairs: TextPairs, rows: NDArray[np.int64]) -> dict[str, Any]:
        import torch

        distinct, encoder_row = np.unique([pairs.context_of[r] for r in rows], return_inverse=True)
        read, seen = self._pad([pairs.contexts[c] for c in distinct])
        with torch.inference_mode():
            encoded = self.model.get_encoder()(input_ids=read, attention_mask=seen)
        shifted = [np.concatenate([[self.start], pairs.targets[r][:-1]]) for r in rows]
        written, written_seen = self._pad(shifted)
        chosen = self._long(encoder_row)
        # pass on the encoder's output unchanged, because some decoders use more of it than hidden states
        encoded.last_hidden_state = encoded.last_hidden_state[chosen]
        return {
            "encoder_outputs": encoded,
            "attention_mask": seen[chosen],
            "decoder_input_ids": written,
            "decoder_attention_mask": written_seen,
            "use_cache": False,
        }

    def _pad(self, rows: Sequence[NDArray[Any]]) -> tuple[Any, Any]:
        from evenhand.models.writing import pad_rows

        return pad_rows(rows, self.device, left=False, pad=self.tokenizer.pad_token_id or 0)

    def _long(self, values: Any) -> Any:
        import torch

        return torch.as_tensor(np.ascontiguousarray(values), dtype=torch.long, device=self.device)


def _decoder_start(model: Any, identity: dict[str, Any]) -> int:
    for config in (getattr(model, "generation_config", None), model.config):
        start = getattr(config, "decoder_start_token_id", None)
        if isinstance(start, list):
            start = start[0]
        if start is not None:
            return int(start)
    raise ModelError(
        f"The configuration of {identity.get('name', 'this model')} has no start token for decoding.",
        "Set decoder_start_token_id in its config.json to the value used in training.",
    )
