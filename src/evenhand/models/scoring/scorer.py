"""`Scorer` computes log probabilities of many token sequences with one decoder.

Three paths give the same numbers. `PREFIX_TREE` packs the tree of distinct prefixes into segments. Its attention mask
lets each node attend to its ancestors, and the position of a node is its depth. `PADDED` runs batches of distinct
sequences, sorted by length, for decoders that do not support such a mask (ALiBi, state space, local attention by
index). `FULL_LOGITS` runs the whole model, for unknown output heads. `choose_path` (models/scoring/self_check.py) tries
them in this order.
"""

from dataclasses import replace
from enum import StrEnum
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from evenhand.models.scoring.head import MOST_LOGITS, Head
from evenhand.models.scoring.prefix_tree import (
    PrefixTree,
    Segment,
    build_tree,
    cut_segments,
    owned_edges,
    packed_segments,
)
from evenhand.models.scoring.tokens import TokenSequences
from evenhand.weights import Budget, FastLayers, Ints, available_memory, run_batches

SEGMENT = 256
WINDOWS = ("sliding_window", "attention_chunk_size")
"""Settings of models whose attention is limited to this many tokens, counted by index. A path of a tree must not be
longer."""
Floats = NDArray[np.float32]


class ScoringPath(StrEnum):
    PREFIX_TREE = "prefix tree"
    PADDED = "padded batches"
    FULL_LOGITS = "padded batches, all logits"


class Scorer:
    """Scores token sequences with a Hugging Face decoder.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        A causal language model in eval mode.
    budget : int
        Tokens per batch. It is halved whenever memory runs out, and scoring continues.

    Notes
    -----
    `choose_path` selects the method of scoring. `reach` is the longest sequence that is scored in a prefix tree; None:
    any.
    """

    def __init__(self, model: Any, budget: int, segment: int = SEGMENT):
        self.model, self.segment = model, segment
        self.decoder = model.base_model
        self.head = Head(model) if model.get_output_embeddings() is not None else None
        self.device = model.get_input_embeddings().weight.device
        self.layers = FastLayers(model, available_memory(self.device))
        self.budget = Budget(tokens=budget, most_targets=budget)
        # tried: length of the longest sequence with which the path was checked
        self.tokens_given = self.tried = 0
        self.path = ScoringPath.PREFIX_TREE
        config = model.config.get_text_config()
        self.switch = frequency_switch(config)
        limits = [getattr(config, name, None) for name in WINDOWS]
        self.reach: int | None = min((limit for limit in (*limits, self.switch) if limit), default=None)

    @property
    def dtype(self) -> torch.dtype:
        """Return the data type in which the model computes."""
        dtype: torch.dtype = self.model.get_input_embeddings().weight.dtype
        return dtype

    @property
    def vocabulary(self) -> int:
        """Return the number of tokens that the model both reads and predicts. Some models also read tokens that occur
        in no text.
        """
        rows = int(self.model.get_input_embeddings().weight.shape[0])
        return min(rows, int(self.model.config.get_text_config().vocab_size))

    def score(self, sequences: TokenSequences) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the log probability of every scored token, (total,), in 32 bits and nats; 0 if a token is not scored.

        The second array, (total,), marks tokens that could not be scored because not even one sequence fits in memory.
        """
        total = len(sequences.ids)
        if total == 0:
            return np.zeros(0, dtype=np.float32), np.zeros(0, dtype=bool)
        self.tokens_given += total
        lengths = np.diff(sequences.offsets)
        if self.switch is not None and lengths[lengths > 0].min() <= self.switch < lengths.max():
            return self._score_apart(sequences, lengths > self.switch)
        with torch.inference_mode(), self.layers.activate_if_exact():
            if self.path is ScoringPath.PREFIX_TREE and (self.reach is None or lengths.max() <= self.reach):
                return self._score_tree(sequences)
            return self._score_padded(sequences)

    def _score_apart(
        self, sequences: TokenSequences, is_long: NDArray[np.bool_]
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Score sequences on both sides of the frequency switch separately, because the
        longest in a batch decides for all.
        """
        scores = np.zeros(len(sequences.ids), dtype=np.float32)
        unfit = np.zeros(len(scores), dtype=bool)
        inside = np.repeat(is_long, np.diff(sequences.offsets))
        for side in (False, True):
            lengths = np.where(is_long == side, np.diff(sequences.offsets), 0)
            here = inside == side
            part = replace(
                sequences,
                ids=sequences.ids[here],
                scored=sequences.scored[here],
                offsets=np.concatenate([[0], np.cumsum(lengths)]),
            )
            scores[here], unfit[here] = self.score(part)
        self.tokens_given -= len(sequences.ids)  # each part counted its own tokens
        return scores, unfit

    def _score_tree(self, sequences: TokenSequences) -> tuple[Floats, NDArray[np.bool_]]:
        tree = build_tree(sequences.ids, sequences.offsets, sequences.scored)
        # one element more than edges, because tokens that are not scored have the edge -1
        scores = np.zeros(len(tree.edge_tokens) + 1, dtype=np.float32)
        unfit = np.zeros(len(scores), dtype=bool)
        segments = list(cut_segments(tree, self.segment))

        def run(chosen: Ints) -> None:
            edges, values = self._run_segments(tree, [segments[i] for i in chosen])
            scores[edges] = values

        lengths = np.array([len(segment) for segment in segments], dtype=np.int64)
        # the output head processes a few rows at a time for any batch size
        self.budget.most_targets = len(scores)
        for i in run_batches(lengths, np.ones_like(lengths), self.budget, run):
            unfit[slice(*owned_edges(tree, segments[i]))] = True
        return scores[tree.score_of], unfit[tree.score_of]

    def _run_segments(self, tree: PrefixTree, segments: list[Segment]) -> tuple[NDArray[np.int64], Floats]:
        packed = packed_segments(tree, segments)
        key, end = self._tensor(packed.nodes), self._tensor(packed.ends)
        sees = (key[:, None, :] <= key[:, :, None]) & (key[:, :, None] < end[:, None, :])
        sees |= (key < 0)[:, :, None]  # padding may attend to everything, because its output is not used
        # use a float mask, because boolean masks silently give wrong results with eager attention
        mask = torch.zeros(sees.shape, dtype=self.dtype, device=self.device)
        mask.masked_fill_(~sees, torch.finfo(self.dtype).min)
        hidden = self.decoder(
            input_ids=self._tensor(packed.tokens),
            attention_mask=mask[:, None],
            position_ids=self._tensor(packed.depths),
            use_cache=False,
        ).last_hidden_state
        assert self.head is not None, "the prefix tree is only chosen with a known head"
        values = self.head.log_probs(
            hidden.flatten(0, 1),
            self._tensor(packed.rows),
            self._tensor(packed.edge_rows),
            self._tensor(packed.edge_tokens.astype(np.int64)),
        )
        return packed.edges, values.cpu().numpy()

    def _score_padded(self, sequences: TokenSequences) -> tuple[Floats, NDArray[np.bool_]]:
        bounds = sequences.offsets
        distinct: dict[bytes, list[int]] = {}
        for i in np.flatnonzero(np.diff(bounds)):
            part = slice(bounds[i], bounds[i + 1])
            name = sequences.ids[part].tobytes() + sequences.scored[part].tobytes()
            distinct.setdefault(name, []).append(int(i))
        twins = list(distinct.values())
        lengths = np.array([bounds[t[0] + 1] - bounds[t[0]] for t in twins], dtype=np.int64)
        targets = np.array([sequences.scored[bounds[t[0]] : bounds[t[0] + 1]].sum() for t in twins])
        scores = np.zeros(len(sequences.ids), dtype=np.float32)
        unfit = np.zeros(len(scores), dtype=bool)

        def run(chosen: Ints) -> None:
            values = self._run_padded(sequences, [twins[c][0] for c in chosen.tolist()])
            pieces = np.split(values, np.cumsum(targets[chosen])[:-1])
            for c, piece in zip(chosen.tolist(), pieces, strict=True):
                for i in twins[c]:
                    scores[bounds[i] + np.flatnonzero(sequences.scored[bounds[i] : bounds[i + 1]])] = piece

        most = len(scores)
        if self.path is ScoringPath.FULL_LOGITS:
            most = MOST_LOGITS // self.model.config.get_text_config().vocab_size
        self.budget.most_targets = max(1, most)
        for twin in run_batches(lengths, targets, self.budget, run):
            for row in twins[twin]:
                unfit[bounds[row] : bounds[row + 1]] = True
        return scores, unfit & sequences.scored

    def _run_padded(self, sequences: TokenSequences, chosen: list[int]) -> Floats:
        bounds = sequences.offsets
        size = int(max(bounds[i + 1] - bounds[i] for i in chosen))
        tokens = np.zeros((len(chosen), size), dtype=np.int64)
        real = np.zeros((len(chosen), size), dtype=np.int64)
        rows, targets = [], []
        for b, i in enumerate(chosen):
            ids = sequences.ids[bounds[i] : bounds[i + 1]]
            tokens[b, : len(ids)] = ids
            real[b, : len(ids)] = 1
            places = np.flatnonzero(sequences.scored[bounds[i] : bounds[i + 1]])
            rows.append(b * size + places - 1)
            targets.append(ids[places].astype(np.int64))
        flat = self._tensor(np.concatenate(rows))
        wanted = self._tensor(np.concatenate(targets))
        inputs = {"input_ids": self._tensor(tokens), "attention_mask": self._tensor(real), "use_cache": False}
        if self.path is ScoringPath.FULL_LOGITS or self.head is None:
            logits = self.model(**inputs).logits.flatten(0, 1)[flat].float()
            values = logits.gather(1, wanted[:, None])[:, 0] - torch.logsumexp(logits, dim=-1)
        else:
            hidden = self.decoder(**inputs).last_hidden_state.flatten(0, 1)
            values = self.head.log_probs(hidden, flat, torch.arange(len(flat), device=self.device), wanted)
        result: Floats = values.cpu().numpy()
        return result

    def _tensor(self, array: NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)


def frequency_switch(config: Any) -> int | None:
    """Return the length beyond which a model uses other position frequencies ("longrope"), or None.

    config: of the text model. The longest sequence of a batch decides which frequencies all of its sequences get.
    """
    found: list[int] = []

    def search(settings: Any) -> None:
        if not isinstance(settings, dict):
            return
        if settings.get("rope_type", settings.get("type")) == "longrope":
            original = settings.get("original_max_position_embeddings")
            found.append(int(original or getattr(config, "original_max_position_embeddings", 0) or 0))
        for value in settings.values():
            search(value)

    search(getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None))
    return min((length for length in found if length > 0), default=None)
