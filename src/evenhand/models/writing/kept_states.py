"""Keep keys and values of tokens between calls, so that only new tokens are computed.

The next turn of a conversation begins with the tokens of an earlier turn and of its reply. The common
beginning of a prompt and the kept tokens is found token by token. It is therefore exact for every format and
tokenizer: if a history was cut from the left, or a word is split differently, the rest is computed again.
"""

from bisect import bisect_left, insort
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from evenhand.models.writing.key_values import cache_of_rows
from evenhand.models.writing.state import CausalState, DecoderState, pad_rows
from evenhand.schema import UsageError
from evenhand.weights import available_memory, is_out_of_memory

SHARE_OF_MEMORY = 0.25  # share of the free memory, unless a budget is given
WORTH_TAKING = 4  # tokens; computing a shorter beginning is as fast as finding it
WORTH_A_PASS = 64  # padded tokens; an additional pass of the model costs about as much as this many tokens
Tokens = tuple[int, ...]
Layers = list[tuple[Tensor, Tensor] | None]


@dataclass(frozen=True, eq=False)
class KeptState:
    """Keys and values of one token sequence.

    `asked` is the number of tokens of the prompt; the others were generated after it. `layers` has keys and
    values, (heads, tokens, width); None if a layer shares those of another.
    """

    tokens: Tokens
    asked: int
    layers: Layers

    @property
    def bytes(self) -> int:
        """Return the number of bytes in memory."""
        return sum(part.nbytes for pair in self.layers if pair is not None for part in pair)


@dataclass(frozen=True)
class ComputedPrefix:
    """The number of tokens of a prompt that were computed before, and their kept state."""

    count: int = 0
    layers: Layers = field(default_factory=list)


class KeptStates:
    """States of a causal model after tokens that it has read and generated, for `generate_ids`.

    `budget_bytes` is the maximum memory on the model's device (None: a quarter of the free memory at first
    use). If it is full, the least recently used states are removed, except those that the current call needs.
    A prompt that continues a kept one replaces its state. There is therefore one state per conversation, or
    two if its speakers know different things. States are removed if another model generates or the weights
    have changed. Call `clear` after you change by other means (hooks) what a model computes. Raises
    UsageError for a budget that is not positive.

    >>> KeptStates(1 << 30).describe()["states"]
    0
    """

    def __init__(self, budget_bytes: int | None = None):
        if budget_bytes is not None and budget_bytes < 1:
            raise UsageError(
                f"budget_bytes must be a positive number of bytes, got {budget_bytes}.",
                "To keep nothing, do not pass KeptStates.",
            )
        self.budget_bytes = budget_bytes
        self.prompts = self.prompts_begun = self.tokens = self.tokens_kept = self.left = self.most_bytes = 0
        self._model: tuple[Any, int] = (None, 0)
        self.clear()

    def clear(self) -> None:
        """Remove all states."""
        self.bytes = 0
        self._by_use: OrderedDict[Tokens, KeptState] = OrderedDict()
        self._in_order: list[Tokens] = []
        self._awaited: Counter[Tokens] = Counter()
        # conversations that already have a longer state, or will have one soon
        self._gone_on: set[Tokens] = set()

    def __len__(self) -> int:
        return len(self._by_use)

    def describe(self) -> dict[str, Any]:
        """Return facts for the manifest: memory, and the share of prompt tokens that were computed before."""
        return {
            "budget_bytes": self.budget_bytes,
            "most_bytes": self.most_bytes,
            "states": len(self),
            "states_left_for_want_of_room": self.left,
            "prompts": self.prompts,
            "prompts_begun_before": self.prompts_begun,
            "tokens": self.tokens,
            "tokens_read_before": self.tokens_kept,
        }

    def await_prompts(self, model: Any, prompts: Sequence[Sequence[int]]) -> None:
        """Announce the next prompts of a model. States of their beginnings are kept until they are used."""
        weights = hash(tuple((part.data_ptr(), _version(part)) for part in model.parameters()))
        if self._model[0] is not model or self._model[1] != weights:
            self.clear()
            self._model = model, weights
        if self.budget_bytes is None:
            free = available_memory(model.get_input_embeddings().weight.device)
            self.budget_bytes = int((free or 1 << 30) * SHARE_OF_MEMORY)
        found = [self._longest(tuple(prompt)) for prompt in prompts]
        self._awaited = Counter(tokens for tokens, count in found if tokens and count >= WORTH_TAKING)

    def take(self, prompt: Sequence[int]) -> ComputedPrefix:
        """Return the kept state of a prompt's beginning.

        It never includes the last token, which must be computed for the reply.
        """
        sought = tuple(prompt)
        tokens, common = self._longest(sought)
        count = min(common, len(sought) - 1)
        self.prompts += 1
        self.tokens += len(sought)
        if tokens is None or count < WORTH_TAKING:
            return ComputedPrefix()
        self.prompts_begun += 1
        self.tokens_kept += count
        state = self._by_use[tokens]
        self._by_use.move_to_end(tokens)
        self._awaited[tokens] -= 1
        if common >= state.asked:
            self._gone_on.add(tokens)
        if tokens in self._gone_on and self._awaited[tokens] <= 0:
            self._forget(tokens)
        return ComputedPrefix(count, state.layers)

    def keep(self, state: KeptState) -> None:
        """Store a state if there is room, or if room can be made."""
        if state.tokens in self._by_use:
            self._forget(state.tokens)
        needed, budget = state.bytes, self.budget_bytes or 0
        idle = [tokens for tokens in self._by_use if self._awaited[tokens] <= 0]
        if needed > budget - self.bytes + sum(self._by_use[tokens].bytes for tokens in idle):
            self.left += 1
            return
        for tokens in idle:
            if self.bytes + needed <= budget:
                break
            self._forget(tokens)
            self.left += 1
        insort(self._in_order, state.tokens)
        self._by_use[state.tokens] = state
        self.bytes += needed
        self.most_bytes = max(self.most_bytes, self.bytes)

    def _forget(self, tokens: Tokens) -> None:
        self._gone_on.discard(tokens)
        self.bytes -= self._by_use.pop(tokens).bytes
        del self._in_order[bisect_left(self._in_order, tokens)]

    def _longest(self, sought: Tokens) -> tuple[Tokens | None, int]:
        """Return the kept tokens with the longest common beginning, and its length.

        In alphabetical order, a neighbour always shares the longest beginning.
        """
        place = bisect_left(self._in_order, sought)
        near = self._in_order[max(0, place - 1) : place + 1]
        shared = [(in_common(tokens, sought), tokens) for tokens in near]
        count, tokens = max(shared, default=(0, None), key=lambda one: one[0])
        return (tokens, count) if count else (None, 0)


@dataclass(frozen=True)
class ComputedPrefixRows:
    """Rows whose beginnings were kept from an earlier call; each row continues after its kept tokens."""

    begun: Sequence[ComputedPrefix]
    device: torch.device

    def input_for_tails(self, tails: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor, Any]:
        """Return the model's input for reading tail i after row i (see `Beginnings.input_for_tails`)."""
        ids, read = pad_rows(tails, self.device, left=True)
        counts, new = [one.count for one in self.begun], list(map(len, tails))
        width = max(count + more for count, more in zip(counts, new, strict=True))
        ends = [width - more for more in new]
        column = torch.arange(width)
        end, count = torch.tensor(ends)[:, None], torch.tensor(counts)[:, None]
        seen = ((column < end) & (column >= end - count)).to(self.device)
        kept = seen[:, width - ids.shape[1] :]
        like = next(one.layers for one in self.begun if one.count)
        cache: Any = cache_of_rows(
            [None if pair is None else (pair[0][None], pair[1][None]) for pair in like], len(tails), width
        )
        for k, layer in enumerate(cache.layers):
            if like[k] is not None:
                rows = [one.layers[k] if one.count else None for one in self.begun]
                layer.begin_rows(rows, counts, ends, kept)
        seen = seen.long()
        seen[:, width - ids.shape[1] :] |= read
        return ids, seen, cache


@dataclass
class Seat:
    """An unfinished row: its prompt, and the tokens that were generated after it and read again."""

    prompt: Sequence[int]
    written: list[int]


class KeepingState:
    """Rows of another state that start from kept states, and are kept when they are finished."""

    def __init__(self, state: DecoderState, kept: KeptStates, prompts: Sequence[Sequence[int]]):
        assert isinstance(state, CausalState), "only its rows can be taken out and put back"
        self.state, self.kept = state, kept
        self.model, self.device, self.staggers = state.model, state.device, state.staggers
        self.name, self.pads, self.tokens_read = state.name, state.pads, 0
        self.seats: list[Seat | None] = []
        kept.await_prompts(state.model, prompts)

    def clear(self) -> None:
        """Remove all rows, but not the kept states."""
        self.seats = []
        self.state.clear()

    def join(self, prompts: Sequence[Sequence[int]], branch: Tensor, places: Tensor) -> Tensor:
        """Read the new tokens of the prompts, those with many and those with few of them separately."""
        with self._giving_way():
            return self._join(prompts, branch, places)

    def _join(self, prompts: Sequence[Sequence[int]], branch: Tensor, places: Tensor) -> Tensor:
        begun = [self.kept.take(prompt) for prompt in prompts]
        tails = [prompt[one.count :] for prompt, one in zip(prompts, begun, strict=True)]
        of, into = branch.tolist(), places.tolist()
        self.seats += [None] * (max(into) + 1 - len(self.seats))
        for place, k in zip(into, of, strict=True):
            self.seats[place] = Seat(prompts[k], [])
        self.tokens_read = sum(map(len, tails))
        parts = _alike([len(tail) for tail in tails])
        if len(parts) == 1:
            return self._read(begun, tails, branch, places)
        logits: list[Tensor] = []
        rows: list[int] = []
        for part in parts:
            number = {k: i for i, k in enumerate(part)}
            here = [row for row, k in enumerate(of) if k in number]
            branched = torch.tensor([number[of[row]] for row in here], device=self.device)
            chosen = torch.tensor(here, device=self.device)
            logits.append(
                self._read([begun[k] for k in part], [tails[k] for k in part], branched, places[chosen])
            )
            rows += here
        return torch.cat(logits)[torch.tensor(rows, device=self.device).argsort()]

    def finish(self, places: Tensor) -> None:
        """Keep the states of these rows, without their newest token, which has not been computed."""
        with self._giving_way():
            for place in places.tolist():
                seat, self.seats[place] = self.seats[place], None
                if seat is not None:
                    tokens = (*seat.prompt, *seat.written)
                    layers = self.state.row(place, len(tokens))
                    self.kept.keep(KeptState(tokens, len(seat.prompt), layers))
        self.state.finish(places)

    def select(self, rows: Tensor) -> None:
        """Keep only these unfinished rows."""
        self._reorder(rows)
        self.state.select(rows)

    def exchange(self, rows: Tensor, newest: int) -> None:
        """Continue from other rows, which differ only in the newest tokens."""
        self._reorder(rows)
        self.state.exchange(rows, newest)

    def advance(self, tokens: Tensor) -> Tensor:
        """Append one token to every row."""
        for seat, token in zip(self.seats, tokens.tolist(), strict=True):
            if seat is not None:
                seat.written.append(token)
        with self._giving_way():
            return self.state.advance(tokens)

    @contextmanager
    def _giving_way(self) -> Iterator[None]:
        """Remove kept states first if memory runs out; a context manager."""
        try:
            yield
        except (RuntimeError, MemoryError) as error:
            if is_out_of_memory(error):
                self.kept.clear()
            raise

    def _read(
        self, begun: Sequence[ComputedPrefix], tails: Sequence[Sequence[int]], branch: Tensor, places: Tensor
    ) -> Tensor:
        if any(one.count for one in begun):
            return self.state.join_behind(ComputedPrefixRows(begun, self.device), tails, branch, places)
        return self.state.join(tails, branch, places)

    def _reorder(self, rows: Tensor) -> None:
        seats = [self.seats[row] for row in rows.tolist()]
        self.seats = [None if seat is None else Seat(seat.prompt, [*seat.written]) for seat in seats]


def _alike(lengths: Sequence[int]) -> list[list[int]]:
    """Return groups of rows that should be computed together: all rows, or short and long ones separately.

    >>> _alike([20, 300, 22, 21]), _alike([20, 30, 22, 21])
    ([[0, 3, 2], [1]], [[0, 1, 2, 3]])
    """
    order = sorted(range(len(lengths)), key=lambda k: lengths[k])
    longest = lengths[order[-1]]
    saved = [cut * (longest - lengths[order[cut - 1]]) for cut in range(1, len(order))]
    most = max(saved, default=0)
    if most < max(WORTH_A_PASS, len(order) * longest // 4):
        return [list(range(len(order)))]
    cut = 1 + saved.index(most)
    return [order[:cut], order[cut:]]


def in_common(tokens: Sequence[int], others: Sequence[int]) -> int:
    """Return the length of the common beginning of two sequences.

    >>> in_common((1, 2, 3), (1, 2, 4, 5))
    2
    """
    most = min(len(tokens), len(others))
    if tokens[:most] == others[:most]:
        return most
    return next(k for k in range(most) if tokens[k] != others[k])


def _version(part: Tensor) -> int:
    return 0 if part.is_inference() else part._version
