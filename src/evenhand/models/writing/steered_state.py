"""A decoder state in which every continuation is a group of rows: one without a context, and one after each context."""

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor

from evenhand.models.writing.state import Beginnings, CausalState, DecoderState

Group = Sequence[Sequence[int]]  # the tokens of one prompt, alone and after each context


class SteeredState:
    """Groups of rows of another state.

    A place is that of a group, and logits are (groups, rows per group, vocabulary). Each step appends one token to all
    rows of a group. state: the state of the rows. groups: all groups that will join. size: rows per group. shares:
    whether beginnings may be read separately.

    A causal model reads the common beginning of all prompts after a context once. It consists of the context (without
    characters that the tokenizer merges with the prompt), the frame of a chat template, and an instruction. It is
    determined from the token sequences, so it is exact for any tokenizer.
    """

    def __init__(self, state: DecoderState, groups: Sequence[Group], size: int, shares: bool = True):
        self.state, self.size = state, size
        self.model, self.device, self.staggers = state.model, state.device, state.staggers
        self.name, self.pads = state.name, state.pads
        self.tokens_read = 0
        self.common = common_beginnings(groups, size)
        self.reads_beginnings = shares and any(self.common)
        self.beginnings: Beginnings | None = None

    def clear(self) -> None:
        """Remove all rows."""
        self.state.clear()

    def join(self, prompts: Sequence[Group], branch: Tensor, places: Tensor) -> Tensor:
        """Read the groups; a group of rows that continues prompts[branch[i]] gets the place places[i]."""
        sequences = [sequence for group in prompts for sequence in group]
        rows, of = self._rows(places), self._rows(branch)
        if self.reads_beginnings and isinstance(self.state, CausalState):
            logits = self._join_behind(self.state, sequences, of, rows)
        else:
            logits = self.state.join(sequences, of, rows)
            self.tokens_read = self.state.tokens_read
        return self._split_into_groups(logits)

    def finish(self, places: Tensor) -> None:
        """Mark these groups as finished."""
        self.state.finish(self._rows(places))

    def select(self, rows: Tensor) -> None:
        """Keep only these groups."""
        self.state.select(self._rows(rows))

    def exchange(self, rows: Tensor, newest: int) -> None:
        """Continue group i from group rows[i]; the two differ at most in the newest `newest` tokens."""
        self.state.exchange(self._rows(rows), newest)

    def advance(self, tokens: Tensor) -> Tensor:
        """Append one token to all rows of every group."""
        return self._split_into_groups(self.state.advance(tokens.repeat_interleave(self.size)))

    def _join_behind(self, state: CausalState, sequences: Group, branch: Tensor, places: Tensor) -> Tensor:
        read = 0
        if self.beginnings is None:
            self.beginnings = state.beginnings(self.common)
            read = sum(map(len, self.common))
        tails = [sequence[len(self.common[i % self.size]) :] for i, sequence in enumerate(sequences)]
        logits = state.join_behind(self.beginnings, tails, branch, places)
        self.tokens_read = read + state.tokens_read
        return logits

    def _rows(self, groups: Tensor) -> Tensor:
        return (groups[:, None] * self.size + torch.arange(self.size, device=groups.device)).flatten()

    def _split_into_groups(self, logits: Tensor) -> Tensor:
        return logits.view(-1, self.size, logits.shape[-1])


def common_beginnings(groups: Sequence[Group], size: int) -> list[list[int]]:
    """Return, for each row of a group, the longest beginning that all groups share, leaving at least one token of each.

    >>> common_beginnings([[[1, 2], [7, 8, 1, 2]], [[3], [7, 8, 3]]], 2)
    [[], [7, 8]]
    """
    return [_common_beginning([group[k] for group in groups]) for k in range(size)]


def _common_beginning(sequences: Group) -> list[int]:
    alike = itertools.takewhile(lambda tokens: len(set(tokens)) == 1, zip(*sequences, strict=False))
    longest = min(map(len, sequences), default=1) - 1
    return [tokens[0] for tokens in itertools.islice(alike, longest)]
