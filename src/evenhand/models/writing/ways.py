"""Choose how a model caches rows: the fastest method that agrees with plain passes without a cache.

Methods are checked when a model first generates. They are checked again before rows exceed a length at which the model
may change (the end of a sliding window, a switch of frequencies), or twice the checked length. No method is therefore
used at lengths at which it was not compared.
"""

import math
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from evenhand.models.scoring import turning_points
from evenhand.models.writing.self_check import (
    LENGTHS,
    STEPS,
    comparison_precision,
    why_not_in_batches,
    why_not_kept,
    why_not_staggered,
    why_wrong,
)
from evenhand.models.writing.state import CausalState, DecoderState
from evenhand.models.writing.uncached import OwnCacheState, UncachedState
from evenhand.schema import Unsupported
from evenhand.weights import FastLayers, in_float32, is_out_of_memory

Other = Callable[[Any], DecoderState]
FOR_CAUSAL_MODELS: tuple[Other, ...] = (
    CausalState,
    OwnCacheState,
    partial(OwnCacheState, tells_places=False),
    UncachedState,
)


class Ways:
    """The state in use, and others to try if it proves wrong.

    state: the first to try. others: functions that create further states of a model. vocabulary: number of tokens that
    occur in texts. Raises Unsupported if none is correct.
    """

    def __init__(self, state: DecoderState, others: Sequence[Other], vocabulary: int, layers: FastLayers):
        self.state, self.vocabulary, self.layers = state, vocabulary, layers
        self.others = deque(others)
        self.rejected: list[str] = []
        self.turns = turning_points(state.model, LENGTHS[0])
        self.tried = 0
        self.reason_for_equal_lengths: str | None = None
        self.reason_for_batches: str | None = None
        self.reason_for_nothing_kept: str | None = None
        self.tried_kept = 0
        self.settle(0)

    def settle(self, width: int) -> None:
        """Check that `state` is correct for rows of this many tokens."""
        crossed = [turn for turn in self.turns if self.tried <= turn < width]
        if self.tried and not crossed and width < 2 * self.tried:
            return
        while True:
            lengths = self._lengths(width)
            before = self.reason_for_equal_lengths, self.reason_for_batches
            self.reason_for_equal_lengths = self.reason_for_batches = None
            try:
                with self.layers.activate():
                    reason = self._why_wrong(lengths)
            except (RuntimeError, MemoryError) as error:
                if not (self.tried and is_out_of_memory(error)):
                    raise
                reason = None  # rows that do not fit in memory become error rows when they are generated
                self.reason_for_equal_lengths, self.reason_for_batches = before
            self.state.clear()
            if reason is None:
                break
            if (told := f"{self.state.name}: {reason}") not in self.rejected:
                self.rejected.append(told)
            self._next()
        self.tried = max(width, self.tried, sum(LENGTHS))

    def why_not_kept(self) -> str | None:
        """Return why rows cannot start from kept states, or None; it is checked at the lengths of `settle`."""
        if self.tried_kept == self.tried:
            return self.reason_for_nothing_kept
        reason = self.reason_for_equal_lengths
        context, allowed = comparison_precision(self.state)
        for pair in [] if reason else self._lengths(self.tried):
            try:
                with self.layers.activate(), context(self.state.model):
                    reason = reason or why_not_kept(self.state, self.vocabulary, pair, allowed)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                reason = f"rows of {sum(pair)} tokens do not fit in memory twice"
            self.state.clear()
        self.reason_for_nothing_kept, self.tried_kept = reason, self.tried
        return reason

    def _lengths(self, width: int) -> list[tuple[int, int]]:
        """Return the lengths of the two test rows: short ones, and some that cross each turning point."""
        longest = width - STEPS
        crossing = {min(turn - 1, longest) for turn in self.turns if turn < width} | {longest}
        return [LENGTHS, *((long, LENGTHS[1]) for long in sorted(crossing) if long > LENGTHS[0])]

    def _why_wrong(self, lengths: Sequence[tuple[int, int]]) -> str | None:
        state, vocabulary = self.state, self.vocabulary
        context, allowed = comparison_precision(state)
        with context(state.model):
            for pair in lengths:
                reason = why_wrong(state, vocabulary, pair, allowed)
                if reason is not None:
                    return reason
            for pair in lengths:
                equal = why_not_in_batches(state, vocabulary, pair, allowed)
                later = why_not_staggered(state, vocabulary, pair, allowed)
                self.reason_for_equal_lengths = self.reason_for_equal_lengths or equal
                self.reason_for_batches = self.reason_for_batches or later
        if context is not in_float32:
            return None
        # a method that is correct in 32 bits must also run in the model's own precision
        return why_wrong(state, vocabulary, LENGTHS, math.inf)

    def _next(self) -> None:
        model = self.state.model
        while self.others:
            try:
                self.state = self.others.popleft()(model)
            except Unsupported as error:
                self.rejected.append(str(error).splitlines()[0])
            else:
                return
        raise Unsupported(
            f"{type(model).__name__} cannot generate text here: it continues a text differently from how it scores "
            f"it ({'; '.join(self.rejected)}).",
            "Generate its texts with another program, and measure them: evenhand measure FILE",
        )


def ways_of_causal(model: Any) -> tuple[DecoderState, tuple[Other, ...]]:
    """Return the methods of generation to try for a decoder-only model, the preferred one first."""
    for i, make in enumerate(FOR_CAUSAL_MODELS):
        try:
            return make(model), FOR_CAUSAL_MODELS[i + 1 :]
        except Unsupported:
            continue
    raise AssertionError("every model supports reading every row again")
