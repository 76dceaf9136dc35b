"""Compute the objective of many triggers at a time, exactly, over the prefix tree of all texts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.mitigations.triggers.examples import Example
from evenhand.mitigations.triggers.objective import Floats, Objective, chosen_examples, terms
from evenhand.mitigations.triggers.tokens import Trigger, encode_examples
from evenhand.models.huggingface import CausalModel
from evenhand.models.scoring import TokenSequences
from evenhand.schema import DataError, ModelError, Unsupported
from evenhand.weights import refuse_light

MOST_TOKENS = 1 << 18  # passed to the scoring engine at a time; its own batches are smaller


class Evaluator:
    """The objective of one model on a set of examples.

    Parameters
    ----------
    model : CausalModel
        A causal Hugging Face model.
    examples : sequence of Example
        Labelled continuations. Those that the objective does not use are left out.
    trigger : tuple of int
        Any trigger of the required length; it determines how examples are split into tokens.

    Raises
    ------
    Unsupported
        The model is of another kind.
    DataError
        There are no examples, or an example is too long or merges with the trigger.
    """

    def __init__(
        self,
        model: CausalModel,
        examples: Sequence[Example],
        objective: Objective,
        *,
        trigger: Trigger,
        separator: str = " ",
    ):
        from evenhand.models.writing import encode_prompts

        self.model, self.objective = searchable(model), objective
        self.examples = chosen_examples(examples, objective)
        self.encoded = encode_examples(model.tokenizer, trigger, separator, self.examples)
        # tokens that the tokenizer adds before a prompt also precede the trigger when it is used
        self.front = encode_prompts(model.tokenizer, ["a"], longest=None, behind=0).ids[0]
        self.front = self.front[
            : -len(model.tokenizer.backend_tokenizer.encode("a", add_special_tokens=False).ids)
        ]
        self.lead = self.front or model.start
        self._check_lengths(len(trigger))
        self.device = model.scorer.device
        self.evaluated = 0
        """Number of triggers evaluated so far, with repetitions."""
        self.terms = terms(self.examples, objective, self.encoded.tokens, self._plain_nll())

    def losses(self, triggers: Sequence[Trigger], rows: NDArray[np.int64] | None = None) -> Floats:
        """Return the exact objective of each trigger on all examples or on `rows`, shape (triggers,)."""
        nll = self.nll(triggers, rows)
        losses = (self.terms if rows is None else self.terms.for_examples(rows)).losses(nll)
        return losses + self.penalties(triggers)

    def penalties(self, triggers: Sequence[Trigger]) -> Floats:
        """Return the fluency term of each trigger."""
        weight = self.objective.fluency
        return weight * self.trigger_nll(triggers) if weight else np.zeros(len(triggers))

    def nll(self, triggers: Sequence[Trigger], rows: NDArray[np.int64] | None = None) -> Floats:
        """Return the mean NLL per token (nats) of each continuation after each trigger, shape (triggers, examples).

        The prefix tree avoids repeated work: the common beginning of triggers, each trigger, and each prompt after it
        are computed once.
        """
        wanted = np.arange(len(self.examples)) if rows is None else rows
        size = sum(len(self.encoded.ids[i]) + len(triggers[0]) for i in wanted) if triggers else 1
        step = max(1, MOST_TOKENS // max(1, size))
        nll = np.zeros((len(triggers), len(wanted)))
        for first in range(0, len(triggers), step):
            sequences, scored = [], []
            for trigger in triggers[first : first + step]:
                before = np.array([*self.front, *trigger], dtype=np.int32)
                unscored = np.zeros(len(before), dtype=bool)
                sequences += [np.concatenate([before, self.encoded.ids[i]]) for i in wanted]
                scored += [np.concatenate([unscored, self.encoded.scored[i]]) for i in wanted]
            means = self._mean_nll(sequences, scored)
            nll[first : first + step] = means.reshape(-1, len(wanted))
        self.evaluated += len(triggers)
        if not np.isfinite(nll).all():
            raise ModelError(
                "The model returns NaN or infinity for a response after the trigger.", "Try dtype float32."
            )
        return nll

    def trigger_nll(self, triggers: Sequence[Trigger]) -> Floats:
        """Return the mean NLL per token of each trigger, (triggers,); a first token without context does not count."""
        sequences = [np.array([*self.lead, *trigger], dtype=np.int32) for trigger in triggers]
        scored = [np.arange(len(ids)) >= max(1, len(self.lead)) for ids in sequences]
        return self._mean_nll(sequences, scored)

    def _plain_nll(self) -> Floats:
        """Return the mean NLL per token of each continuation without a trigger."""
        sequences, scored = [], []
        for ids, own in zip(self.encoded.plain_ids, self.encoded.plain_scored, strict=True):
            # a continuation without a prompt follows the start tokens that the model adds to its texts
            before = np.array(self.lead if own[0] else self.front, dtype=np.int32)
            sequences.append(np.concatenate([before, ids]))
            scored.append(np.concatenate([np.zeros(len(before), dtype=bool), own]))
            scored[-1][0] = False
            if not scored[-1].any():
                raise DataError(
                    "A response of one token cannot be scored without a prompt.",
                    "Give the prompt of each response.",
                )
        return self._mean_nll(sequences, scored)

    def _mean_nll(self, sequences: list[NDArray[np.int32]], scored: list[NDArray[np.bool_]]) -> Floats:
        rows = len(sequences)
        lengths = np.array([len(ids) for ids in sequences])
        flags = np.concatenate(scored)
        token_sequences = TokenSequences(
            ids=np.concatenate(sequences).astype(np.int32),
            offsets=np.concatenate([[0], np.cumsum(lengths)]),
            scored=flags,
            starts=np.zeros(0, dtype=np.uint32),
            errors=[None] * rows,
            details=[None] * rows,
        )
        values, unfit = self.model.scorer.score(token_sequences)
        if unfit.any():
            raise ModelError(
                "Not enough memory for even one example.", "Use shorter examples or another device."
            )
        row_of = np.repeat(np.arange(rows), lengths)[flags]
        sums = np.bincount(row_of, weights=-values[flags].astype(np.float64), minlength=rows)
        means: Floats = sums / np.bincount(row_of, minlength=rows)
        return means

    def _check_lengths(self, trigger: int) -> None:
        longest = self.model.longest
        needed = np.array([len(self.front) + trigger + len(ids) for ids in self.encoded.ids])
        if longest is not None and (needed > longest).any():
            worst = self.examples[int(needed.argmax())]
            raise DataError(
                f"{int((needed > longest).sum())} examples are too long: {int(needed.max())} tokens with the "
                f"trigger, but the model reads at most {longest} ({(worst.text + worst.continuation)[:60]!r}...).",
                "Shorten or remove these examples.",
            )


def searchable(model: Any) -> CausalModel:
    """Return the model itself if its gradients are available.

    Raises Unsupported, with an alternative, for servers, scripted models, masked and encoder-decoder models, models
    with a mitigation, and chat models, whose template surrounds prompts.
    """
    name = getattr(model, "fingerprint", {}).get("name", type(model).__name__)
    if not isinstance(model, CausalModel):
        refuse_light(model, f"Searching a trigger in {name}")
        raise Unsupported(
            f"Cannot search a trigger for {name} ({type(model).__name__}): this needs gradients of a causal "
            "Hugging Face model on this machine, without a mitigation.",
            "Alternatives: an instruction (--mitigate prefix=...) or, as an experiment, a trigger found on "
            "another model and used as text: --mitigate 'trigger?file=FILE&as_text=true'",
        )
    if model.options.chat:
        raise Unsupported(
            f"{name} was loaded with its chat template, so a trigger would not be the first text that the model "
            "reads.",
            "Load it without chat, or use an instruction: --mitigate prefix=...",
        )
    return model
