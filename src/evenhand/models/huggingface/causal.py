"""Hugging Face models that read from left to right (GPT-2, Llama, OPT, BLOOM, ...), chat models included."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.models.contract import Architecture, Generations, Likelihoods, Texts
from evenhand.models.decoding import Decoding
from evenhand.models.scoring import TokenSequences, encode
from evenhand.models.writing import Steering
from evenhand.schema import Unsupported, UsageError

if TYPE_CHECKING:
    from evenhand.models.scoring import Scores, ScoringPath
    from evenhand.models.writing import KeptStates, Prompts, Writer


def chat_prompts(tokenizer: Any, messages: Sequence[str], system: str | None = None) -> list[str]:
    """Format each message with the tokenizer's chat template, up to the beginning of the assistant's turn.

    `messages` are those of the user, and `system` precedes each. The returned texts contain their special tokens, so
    none may be added when they are encoded. Raises Unsupported if the tokenizer has no template, or one without system
    messages.
    """
    from jinja2 import TemplateError

    check_chat_template(tokenizer)
    before = [] if system is None else [{"role": "system", "content": system}]
    try:
        return [
            tokenizer.apply_chat_template(
                [*before, {"role": "user", "content": message}], tokenize=False, add_generation_prompt=True
            )
            for message in messages
        ]
    except TemplateError as error:
        reason = str(error) or type(error).__name__
        raise Unsupported(
            f"The tokenizer's chat template does not accept {'a system and ' if before else ''}a user message: "
            f"{reason}",
            "Remove the system message." if before else "Load the model without chat=True.",
        ) from error


def check_chat_template(tokenizer: Any) -> None:
    """Raise Unsupported if the tokenizer has no chat template."""
    if not getattr(tokenizer, "chat_template", None):
        raise Unsupported(
            "chat=True requires a chat template, but this tokenizer has none: either the model was not trained "
            "for chat, or its template is missing.",
            "Load the model without chat=True, so that it continues the prompts, or add its chat_template.jinja "
            "to the model folder.",
        )


@dataclass(frozen=True)
class CausalOptions:
    """Options for scoring and generating text with a causal model.

    Pass it as `options` to `load_model`.

    Notes
    -----
    `start`, `end`, `chat` and `system` change the results, so they are part of the fingerprint of the model.
    """

    start: str = "auto"
    """Token from which the first token of a text is predicted: "auto", "none", or the text of a token.

    "auto" is the tokenizer's beginning-of-sequence token. If it has none, as GPT-2, it is the end-of-sequence token.
    Without a start token, the first token of a text is not scored.
    """
    end: bool = False
    """Whether to score the end-of-sequence token after the text as well."""
    batch_tokens: int | None = None
    """Tokens per batch. None: chosen by device. The number is halved if memory runs out."""
    segment: int = 256
    """Number of nodes of the prefix tree that are computed at the same time."""
    chat: bool | None = None
    """Whether the model replies to prompts instead of continuing them. Each prompt becomes a user's message in the
    tokenizer's chat template, and the model writes the assistant's turn. None or False: off. Likelihoods are always
    those of plain texts."""
    system: str | None = None
    """System message before the user's message; requires `chat`."""


class CausalModel:
    """A causal language model of Hugging Face with its tokenizer.

    `evenhand.models.load_model` creates it. Texts with the same beginning share the computation for it (a
    prefix tree).

    Parameters
    ----------
    model : transformers.PreTrainedModel
        The model.
    tokenizer : transformers.PreTrainedTokenizerFast
        Its tokenizer; only fast tokenizers are accepted.
    identity : dict
        What makes the results reusable: name, weights, tokenizer and dtype.
    options : CausalOptions, optional
        Options for scoring and generating text.
    """

    architecture: Architecture = "causal"

    def __init__(
        self, model: Any, tokenizer: Any, identity: dict[str, Any], options: CausalOptions | None = None
    ):
        from evenhand.models.scoring import Scorer, choose_path

        self.model, self.tokenizer = model.eval(), tokenizer
        self.identity = identity
        self.options = options or CausalOptions()
        if self.options.chat:
            check_chat_template(tokenizer)
        elif self.options.system is not None:
            raise UsageError(
                "A system message requires chat=True.", "Use both, or remove the system message."
            )
        self.start = start_tokens(tokenizer, self.options.start)
        self.end = [tokenizer.eos_token_id] if self.options.end else []
        device = model.get_input_embeddings().weight.device
        budget = self.options.batch_tokens or tokens_a_batch(device)
        config = model.config.get_text_config()
        longest = getattr(config, "max_position_embeddings", None)
        # XLNet uses -1 for an unlimited length
        self.longest: int | None = longest if longest and longest > 0 else None
        self.scorer = Scorer(model, budget, self.options.segment)
        self.rejected_paths = choose_path(self.scorer)[1]

    @property
    def path(self) -> "ScoringPath":
        """Method of scoring texts. If a self-check finds it wrong for longer texts, the next method is used."""
        return self.scorer.path

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Return everything on which results depend, except batch sizes."""
        from evenhand.models.writing import Constraints

        facts = {**self.identity, "architecture": "causal", "start": self.start, "end": self.end}
        # properties that few models have are added only if present, so that the request keys of stored responses stay
        # valid
        if demands := Constraints.from_model(self.model).parameters():
            facts["generation"] = demands
        return {**facts, "chat": {"system": self.options.system}} if self.options.chat else facts

    def describe(self) -> dict[str, Any]:
        """Return facts for the manifest and the report."""
        return {
            **self.identity,
            "architecture": "causal",
            "family": str(self.model.config.model_type),
            **({"chat": True, "system": self.options.system} if self.options.chat else {}),
            "parameters": sum(p.numel() for p in self.model.parameters()),
            "device": str(self.scorer.device),
            "scoring": str(self.path),
            "scoring_rejected": self.rejected_paths,
            "packed_layers": len(self.scorer.layers.packed),
            "first_token_predicted_from": self.tokenizer.decode(self.start) if self.start else "nothing",
            "end_token_scored": bool(self.end),
            "tokens_given": self.scorer.tokens_given,
            "batches": asdict(self.scorer.budget),
            **({"generation": self.writer.describe()} if "writer" in self.__dict__ else {}),
        }

    def log_likelihoods(self, texts: Texts | Sequence[str]) -> Likelihoods:
        """Return the log probability of each token given all tokens before it (see LanguageModel.log_likelihoods).

        Raises Unsupported if `masking` is requested, because a causal model has no mask.
        """
        from evenhand.models.scoring import score_start_apart

        name = self.identity.get("name", "This model")
        batch = Texts.of(texts).refuse_masking(f"{name} reads from left to right and has no mask token.")
        if batch.start_token == "first":
            lead = len(self.start)
            # neither of the two passes contains both the start token and the whole text
            sequences = self._encode_texts(batch, spare=lead)
            self._check_scoring_length(sequences, lead)
            return sequences.likelihoods(*score_start_apart(sequences, lead, self.scorer.score))
        sequences = self._encode_texts(batch)
        self._check_scoring_length(sequences)
        return sequences.likelihoods(*self.scorer.score(sequences))

    def steered_log_likelihoods(self, texts: Texts | Sequence[str], steering: Steering) -> Likelihoods:
        """Return the log probability of each token under combined distributions (see SteerableModel).

        The contexts come after the start token, and before each text and its own context. With start_token="first",
        both passes are steered separately. Raises Unsupported for models without a cache of keys and values.
        """
        from evenhand.models.huggingface.steered_scoring import (
            group_with_contexts,
            scores,
            scores_at_tokens,
            steered_apart,
        )

        batch = Texts.of(texts)
        plain = replace(batch, want_starts=False)
        behind = [self._encode_texts(plain.behind(steering.front + context)) for context in steering.contexts]
        alone = self.tokenizer(list(steering.contexts), add_special_tokens=False)["input_ids"]
        regular = self._encode_texts(batch.behind(steering.front))

        def score(
            rows: TokenSequences, others: Sequence[TokenSequences], lead: int
        ) -> "tuple[TokenSequences, Scores]":
            groups, rows_of, sequences = group_with_contexts(rows, others, alone, lead, self.longest)
            values = scores(self.model, self.writer, self.scorer, groups, steering)
            return sequences, scores_at_tokens(sequences, rows_of, *values)

        lead = len(self._in_front(batch))
        if batch.start_token == "first":
            sequences, found = steered_apart(regular, behind, lead, score)
        else:
            sequences, found = score(regular, behind, lead)
        return sequences.likelihoods(*found)

    @property
    def reads_start_apart(self) -> bool:
        """Return True if there is a start token from which the first token of a text could be predicted separately."""
        return bool(self.start)

    def _encode_texts(self, batch: Texts, spare: int = 0) -> TokenSequences:
        before = self._in_front(batch)
        longest = None if self.longest is None else self.longest + spare
        # published rules that set the start token themselves do not score an end token
        after = self.end if batch.start_token is None else []
        return encode(self.tokenizer, batch, before=before, after=after, longest=longest)

    def _check_scoring_length(self, sequences: TokenSequences, apart: int = 0) -> None:
        """Check the scoring at the lengths of these sequences.

        apart: number of tokens at the beginning of each row that are scored in a separate pass.
        """
        from evenhand.models.scoring import check_path_at_length

        if len(sequences.ids):
            self.rejected_paths += check_path_at_length(
                self.scorer, int(np.diff(sequences.offsets).max()) - apart
            )

    def _in_front(self, batch: Texts) -> list[int]:
        from evenhand.models.writing import tokens_around

        if batch.start_token == "tokenizer":
            return tokens_around(self.tokenizer.backend_tokenizer)[0]
        return self.start

    @cached_property
    def writer(self) -> "Writer":
        """Return the generation engine. It is created at first use, because its self-check costs some forward passes.

        Raises Unsupported for models that do not generate from left to right, and for unsupported generation settings.
        """
        from evenhand.models.writing import Writer, cache_bytes, end_tokens, ways_of_causal

        state, others = ways_of_causal(self.model)
        return Writer(
            state,
            self.tokenizer,
            ends=end_tokens(self.model, self.tokenizer),
            vocabulary=self.scorer.vocabulary,
            device=self.scorer.device,
            cache_bytes=cache_bytes(self.model),
            layers=self.scorer.layers,
            batch_tokens=self.options.batch_tokens,
            others=others,
        )

    def generate(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        """Continue each prompt `decoding.samples` times (see TextGenerator.generate).

        Special tokens are those that the tokenizer adds, as in the published evaluations; `CausalOptions.start` applies
        to scoring only. A prompt that is too long for `max_new_tokens` becomes a TOO_LONG row. With
        `CausalOptions.chat`, each prompt is a user's message, and the assistant's turn is generated. Raises Unsupported
        for models without a cache of keys and values.
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
        """Continue prompts that are given as token ids, including special tokens.

        Parameters
        ----------
        prompts : sequence of sequences of int
            Token ids. A prompt without tokens becomes an EMPTY_TEXT row, and one that is too long for `max_new_tokens`
            a TOO_LONG row.
        decoding : Decoding
            How tokens are chosen.
        keys : sequence of str
            For each prompt, a text on which the random numbers depend (in `generate`, the prompt itself).
        kept : KeptStates, optional
            Stored states of earlier prompts. A prompt that continues one of them is read from there on. The texts are
            the same, except for rounding.

        Raises
        ------
        UsageError
            The model does not know an id, or the numbers of keys and prompts differ.
        """
        from evenhand.models.writing import continue_prompts, prompts_of_ids

        known = int(self.model.get_input_embeddings().weight.shape[0])
        room = decoding.max_new_tokens
        given = prompts_of_ids(prompts, keys, known=known, longest=self.longest, behind=room)
        return continue_prompts(self.writer, given, decoding, kept=kept)

    def generate_steered(
        self,
        prompts: Sequence[str],
        decoding: Decoding,
        steering: Steering,
        keys: Sequence[str] | None = None,
    ) -> Generations:
        """Continue each prompt with combined next-token distributions (see SteerableModel.generate_steered).

        Contexts directly precede the prompt, within the message of a chat model. A prompt that is too long with the
        longest context becomes a TOO_LONG row.
        """
        from evenhand.models.writing import continue_prompts, encode_steered

        encoded = encode_steered(lambda texts: self._prompts(texts, decoding), prompts, steering)
        keyed = encoded if keys is None else encoded.with_keys(keys)
        return continue_prompts(self.writer, keyed, decoding, steering)

    def room_for(self, prompts: Sequence[str]) -> list[int] | None:
        """Return the maximum number of new tokens after each prompt (see `evenhand.models.room_for`)."""
        from evenhand.models.writing import room_within

        return room_within(self.longest, self._prompts(prompts))

    def _prompts(self, texts: Sequence[str], decoding: Decoding | None = None) -> "Prompts":
        from evenhand.models.writing import encode_prompts

        chat = bool(self.options.chat)
        return encode_prompts(
            self.tokenizer,
            texts,
            longest=None if decoding is None else self.longest,
            behind=0 if decoding is None else decoding.max_new_tokens,
            put_as=chat_prompts(self.tokenizer, texts, self.options.system) if chat else None,
        )


def tokens_a_batch(device: Any) -> int:
    """Return the number of prefix-tree nodes per batch that keeps all cores busy with little padding.

    On a CPU it is 512 per thread, at most 2048. Larger batches need more padding, and their activations exceed the
    cache.
    """
    import torch

    if device.type == "cuda":
        return 65536
    return min(2048, 512 * torch.get_num_threads()) if device.type == "cpu" else 2048


def start_tokens(tokenizer: Any, start: str) -> list[int]:
    """Return the token ids that precede scored texts; see `CausalOptions.start`.

    Raises Unsupported if the tokenizer has no such token.
    """
    if start == "none":
        return []
    if start == "auto":
        token = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
        return [] if token is None else [int(token)]
    token = tokenizer.convert_tokens_to_ids(start)
    if token is None or token == tokenizer.unk_token_id:
        raise Unsupported(
            f"The tokenizer has no {start!r} token to start texts with.", 'Use start="auto" or start="none".'
        )
    return [int(token)]
