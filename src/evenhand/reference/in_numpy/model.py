"""The built-in model without torch: the same results as `CausalModel` with the same weights, except for rounding."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from evenhand.models import Architecture, Decoding, Generations, Likelihoods, Texts
from evenhand.models.huggingface import CausalOptions, chat_prompts, check_chat_template, start_tokens
from evenhand.models.scoring import (
    TokenSequences,
    build_tree,
    cut_segments,
    encode,
    owned_edges,
    packed_segments,
    score_start_apart,
)
from evenhand.models.writing import encode_prompts, prompts_of_ids, room_within, tokens_around
from evenhand.reference.in_numpy.network import Network, log_normaliser
from evenhand.reference.in_numpy.tokenizer import AGAIN, SmallTokenizer
from evenhand.reference.in_numpy.writing import write
from evenhand.schema import UsageError, read_json
from evenhand.weights import Budget, folder_fingerprint, need_hugging_face, run_batches, tokenizer_fingerprint

if TYPE_CHECKING:
    from evenhand.models.writing import KeptStates

SEGMENT = (
    # nodes of the prefix tree that are computed in parallel; smaller segments repeat more, and larger ones need larger
    # masks
    128
)
BATCH_TOKENS = 512
HEAD_ROWS = 128  # rows of vocabulary size in memory at a time


class NumpyModel:
    """A small GPT-2 in NumPy that scores and generates text.

    Its results equal those of the same weights in torch, except for rounding, so it has the same fingerprint.
    A run that was started with one can be resumed with the other. `describe` states which of them computed.

    Parameters
    ----------
    folder : path or str
        A model in Hugging Face format.
    name : str
        Name of the model.
    options, batch_tokens, segment
        As for any causal model.

    Raises
    ------
    DataError
        `Network` cannot compute this kind of network.

    Examples
    --------
    >>> from evenhand.reference.embedded import WEIGHTS
    >>> model = NumpyModel(WEIGHTS, "evenhand/reference")
    >>> model.log_likelihoods(["I love women."]).errors
    [None]
    """

    architecture: Architecture = "causal"
    is_light: ClassVar[bool] = True
    """True: the weights are not in torch. Code that needs them in torch checks it (`evenhand.weights.refuse_light`)."""

    def __init__(self, folder: Path, name: str, options: CausalOptions | None = None):
        if options is not None and not isinstance(options, CausalOptions):
            raise UsageError(
                f"The argument `options` of {name} must be of type CausalOptions, got {type(options).__name__}.",
                "Pass options=evenhand.models.huggingface.CausalOptions(...), or remove `options`.",
            )
        self.folder, self.name, self.options = folder, name, options or CausalOptions()
        self.network, self.tokenizer = Network.load(folder), SmallTokenizer(folder)
        self.longest: int | None = self.network.positions
        if self.options.chat:
            check_chat_template(self.tokenizer)
        elif self.options.system is not None:
            raise UsageError(
                "A system message requires chat=True.", "Use both, or remove the system message."
            )
        self.config = read_json(folder / "config.json", AGAIN)
        self.start = start_tokens(self.tokenizer, self.options.start)
        self.ends = [int(self.config["eos_token_id"])]
        self.end = self.ends if self.options.end else []
        tokens = self.options.batch_tokens or BATCH_TOKENS
        self.budget = Budget(tokens=tokens, most_targets=tokens)
        self.tokens_given = self.rows_written = self.tokens_written = 0

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Return what makes the results reusable, as for weights that torch has loaded in 32 bits."""
        return {
            "weights": folder_fingerprint(self.folder),
            "model_class": str(self.config["architectures"][0]),
            "dtype": "float32",
            "tokenizer": tokenizer_fingerprint(self.tokenizer),
            "name": self.name,
        }

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Return everything that determines the results, except batching and the library for matrices."""
        return {**self.identity, "architecture": "causal", "start": self.start, "end": self.end}

    def describe(self) -> dict[str, Any]:
        """Return facts for the manifest and the report."""
        written = {"rows": self.rows_written, "tokens_written": self.tokens_written}
        return {
            **self.identity,
            "architecture": "causal",
            "family": str(self.config["model_type"]),
            "parameters": self.network.parameters,
            "device": "cpu",
            "computed_by": f"numpy {np.__version__}, since torch and transformers are not installed",
            "scoring": "prefix tree",
            "scoring_rejected": [],
            "first_token_predicted_from": self.tokenizer.decode(self.start) if self.start else "nothing",
            "end_token_scored": bool(self.end),
            "tokens_given": self.tokens_given,
            "batches": asdict(self.budget),
            **({"generation": written} if self.rows_written else {}),
        }

    @property
    def reads_start_apart(self) -> bool:
        """Return whether there is a start token, which can predict the first token of a text."""
        return bool(self.start)

    def log_likelihoods(self, texts: Texts | Sequence[str]) -> Likelihoods:
        """Return the log probability of each token after all tokens before it (see `LanguageModel.log_likelihoods`).

        Raises Unsupported for `masking`, because a causal model has no mask.
        """
        batch = Texts.of(texts).refuse_masking(f"{self.name} reads from left to right and has no mask token.")
        apart = batch.start_token == "first"
        lead = len(self.start)
        before = self.start
        if batch.start_token == "tokenizer":
            before = tokens_around(self.tokenizer.backend_tokenizer)[0]
        sequences = encode(
            self.tokenizer,
            batch,
            before=before,
            after=self.end if batch.start_token is None else [],
            longest=self.network.positions + (lead if apart else 0),
        )
        scores = score_start_apart(sequences, lead, self.score) if apart else self.score(sequences)
        return sequences.likelihoods(*scores)

    def score(self, sequences: TokenSequences) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return the log probability of every scored token in nats, and which tokens did not fit in memory.

        Both have the shape (total,). Distinct prefixes are computed once, in segments of their tree
        (models/scoring/prefix_tree.py).
        """
        total = len(sequences.ids)
        if total == 0:
            return np.zeros(0, dtype=np.float32), np.zeros(0, dtype=bool)
        self.tokens_given += total
        tree = build_tree(sequences.ids, sequences.offsets, sequences.scored)
        # one element more than edges: tokens that are not scored have edge -1
        scores = np.zeros(len(tree.edge_tokens) + 1, dtype=np.float32)
        unfit = np.zeros(len(scores), dtype=bool)
        segments = list(cut_segments(tree, min(self.options.segment, SEGMENT)))

        def run(chosen: NDArray[np.int64]) -> None:
            packed = packed_segments(tree, [segments[i] for i in chosen])
            key, query = packed.nodes[:, None, :], packed.nodes[:, :, None]
            sees = (key <= query) & (query < packed.ends[:, None, :])
            sees |= query < 0  # padding may attend to anything; no token attends to it
            hidden, _ = self.network.hidden(packed.tokens.astype(np.int64), packed.depths, sees)
            states = hidden.reshape(-1, hidden.shape[-1])[packed.rows]
            for first in range(0, len(states), HEAD_ROWS):
                logits = self.network.logits(states[first : first + HEAD_ROWS])
                low, high = np.searchsorted(packed.edge_rows, [first, first + HEAD_ROWS])
                rows = packed.edge_rows[low:high] - first
                values = logits[rows, packed.edge_tokens[low:high]] - log_normaliser(logits)[rows]
                scores[packed.edges[low:high]] = values

        lengths = np.array([len(segment) for segment in segments], dtype=np.int64)
        self.budget.most_targets = len(scores)  # the head computes a few rows at a time, for any batch
        for i in run_batches(lengths, np.ones_like(lengths), self.budget, run):
            unfit[slice(*owned_edges(tree, segments[i]))] = True
        return scores[tree.score_of], unfit[tree.score_of]

    def room_for(self, prompts: Sequence[str]) -> list[int] | None:
        """Return the maximum number of new tokens after each prompt (see `evenhand.models.room_for`)."""
        chat = chat_prompts(self.tokenizer, prompts, self.options.system) if self.options.chat else None
        encoded = encode_prompts(self.tokenizer, prompts, longest=None, behind=0, put_as=chat)
        return room_within(self.longest, encoded)

    def generate(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        """Continue each prompt `decoding.samples` times (see `TextGenerator.generate`).

        Raises HuggingFaceMissing for beam search, which needs torch.
        """
        chat = bool(self.options.chat)
        encoded = encode_prompts(
            self.tokenizer,
            prompts,
            longest=self.longest,
            behind=decoding.max_new_tokens,
            put_as=chat_prompts(self.tokenizer, prompts, self.options.system) if chat else None,
        )
        return self._generate(encoded, decoding)

    def generate_ids(
        self,
        prompts: Sequence[Sequence[int]],
        keys: Sequence[str],
        decoding: Decoding,
        *,
        kept: "KeptStates | None" = None,
    ) -> Generations:
        """Continue prompts that are given as token ids (see `CausalModel.generate_ids`).

        `kept` is accepted but not used: every prompt is computed again. Raises HuggingFaceMissing for beam
        search.
        """
        known, room = self.network.vocabulary, decoding.max_new_tokens
        given = prompts_of_ids(prompts, keys, known=known, longest=self.longest, behind=room)
        return self._generate(given, decoding)

    def _generate(self, prompts: Any, decoding: Decoding) -> Generations:
        if decoding.searches:
            need_hugging_face(f"Searching with beams in {self.name}")
        written = write(self.network, self.tokenizer, prompts, decoding, self.ends)
        self.rows_written += sum(error is None for error in written.errors)
        self.tokens_written += len(written.token_ids)
        return written
