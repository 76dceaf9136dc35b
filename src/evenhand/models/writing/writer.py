"""`Writer` generates continuations of many prompts in batches.

A prompt is read once and branched into its samples. When continuations of a batch end, the next prompts take their
places.
"""

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from evenhand.models.contract import Generations
from evenhand.models.decoding import Decoding
from evenhand.models.scoring import most_targets
from evenhand.models.writing.constraints import Constraints, not_applied
from evenhand.models.writing.inputs import Prompts
from evenhand.models.writing.kept_states import KeepingState, KeptStates
from evenhand.models.writing.rows import Reader, Row, RowRules, collect_rows
from evenhand.models.writing.sampling import sample_tokens
from evenhand.models.writing.self_check import why_not_behind_beginnings
from evenhand.models.writing.state import DecoderState
from evenhand.models.writing.steered_state import SteeredState
from evenhand.models.writing.steering import Steering
from evenhand.models.writing.ways import Other, Ways
from evenhand.models.writing.work import Work, peak_memory
from evenhand.schema import Unsupported
from evenhand.weights import Budget, FastLayers, available_memory, is_out_of_memory

SHARE_OF_MEMORY = 0.25  # share of the free memory for keys and values
MOST_TOKENS = {"cuda": 1 << 18}
MOST_TOKENS_ELSEWHERE = 1 << 14
IDLE_SHARE = 8  # places of finished rows are reused or removed once one row in eight is finished
Unit = tuple[int, list[int]]  # a prompt, and its samples that start together


class Writer:
    """Generates continuations with one model.

    Parameters
    ----------
    state : state of rows
        Cache of the model (models/writing/state.py).
    others : sequence
        Functions that create other caches, to try if a self-check fails (models/writing/ways.py).
    tokenizer : transformers.PreTrainedTokenizerFast
        Converts tokens to text.
    ends : sequence of int
        Token ids that end a text.
    vocabulary : int
        Number of rows of the output layer.
    cache_bytes : int
        Memory of one token's keys and values. With the free memory, it determines the number of tokens per batch,
        unless `batch_tokens` does.
    start : int or None
        As in `Reader`.
    layers
        The model's faster layers, if scoring already has them.
    """

    def __init__(
        self,
        state: DecoderState,
        tokenizer: Any,
        *,
        ends: Sequence[int],
        vocabulary: int,
        device: torch.device,
        cache_bytes: int,
        batch_tokens: int | None = None,
        start: int | None = None,
        layers: FastLayers | None = None,
        others: Sequence[Other] = (),
    ):
        self.device, self.vocabulary = device, vocabulary
        self.constraints = Constraints.from_model(state.model)
        self.constraints.check(state.model)
        self.reader = Reader(tokenizer, start)
        self.end_ids = frozenset(ends)
        self.ends = self.long(sorted(self.end_ids))
        self.layers = layers or FastLayers(state.model, available_memory(device))
        self.ways = Ways(state, others, vocabulary, self.layers)
        if batch_tokens is None:
            free = available_memory(device)
            batch_tokens = MOST_TOKENS.get(device.type, MOST_TOKENS_ELSEWHERE)
            if free is not None:
                batch_tokens = max(64, min(batch_tokens, int(free * SHARE_OF_MEMORY) // max(1, cache_bytes)))
        # sampling needs several rows of vocabulary size per continuation
        rows = max(1, most_targets(vocabulary, device) // 4)
        self.budget = Budget(batch_tokens, rows, equal_lengths=self.reason_for_equal_lengths is not None)
        self.work = Work()

    @property
    def state(self) -> DecoderState:
        """Return the cache of the model, of the fastest type that passed the self-check."""
        return self.ways.state

    @property
    def reason_for_equal_lengths(self) -> str | None:
        """Return the reason why rows of a batch must have equal lengths, or None."""
        return self.ways.reason_for_equal_lengths

    @property
    def reason_for_batches(self) -> str | None:
        """Return the reason why prompts cannot start while others are unfinished, or None."""
        return self.ways.reason_for_batches

    @property
    def staggers(self) -> bool:
        """Return True if prompts can start while others are unfinished."""
        return self.reason_for_batches is None and self.reason_for_equal_lengths is None

    @cached_property
    def reason_for_whole_readings(self) -> str | None:
        """Return the reason why the model must read a context again for every prompt, or None.

        It is determined when the model is first steered.
        """
        with self.layers.activate():
            return why_not_behind_beginnings(self.state, self.vocabulary)

    def describe(self) -> dict[str, Any]:
        """Return facts for the manifest: throughput, latency, memory, batches."""
        work, facts = self.work, asdict(self.work)
        if work.seconds:
            facts["tokens_per_second"] = work.tokens_written / work.seconds
        if work.steps:
            facts["seconds_per_step"] = (work.seconds - work.seconds_to_first_token) / work.steps
        facts["rows_kept_in"] = self.state.name
        if self.ways.rejected:
            facts["rows_not_kept_in"] = self.ways.rejected
        if self.reason_for_equal_lengths is not None:
            facts["batches_of_equal_lengths"] = self.reason_for_equal_lengths
        if self.reason_for_batches is not None:
            facts["places_not_filled_again"] = self.reason_for_batches
        if self.__dict__.get("reason_for_whole_readings") is not None:
            facts["contexts_read_for_every_prompt"] = self.reason_for_whole_readings
        if self.ways.reason_for_nothing_kept is not None:
            facts["nothing_kept_between_calls"] = self.ways.reason_for_nothing_kept
        if settings := not_applied(self.state.model):
            facts["not_applied"] = settings
        return {**facts, "packed_layers": len(self.layers.packed), "batches": asdict(self.budget)}

    def draw(self, task: "Task") -> Generations:
        """Continue every prompt that has no error token by token, greedily or by sampling."""
        done: dict[tuple[int, int], Row] = {}
        unfit: set[int] = set()
        with self.at_work():
            while waiting := self._waiting(task, done, unfit):
                session = _WritingSession(self, task, waiting, done)
                try:
                    session.run()
                except (RuntimeError, MemoryError) as error:
                    if not is_out_of_memory(error):
                        raise
                    rows = [row for row in session.seats if row is not None]
                    unfit |= self._halve(rows, task.rows * session.width([row.prompt for row in rows]), task)
        return collect_rows(task.prompts, task.decoding, done, unfit)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Count time and memory while rows are written."""
        began = time.perf_counter()
        with torch.inference_mode(), self.layers.activate():
            yield
        self.state.clear()
        self.work.seconds += time.perf_counter() - began
        self.work.peak_memory_bytes = peak_memory(self.device)

    def check_steerable(self) -> None:
        """Raise Unsupported for a model whose rows must all have the same length."""
        if self.reason_for_equal_lengths is not None:
            raise Unsupported(
                "This model does not support steering: its rows must have equal length, but the contexts do not "
                f"({self.reason_for_equal_lengths}).",
                "Use an instruction before the prompts (--mitigate prefix=...), or another model.",
            )

    def places(self, width: int, rows: int = 1) -> int:
        """Return how many continuations are processed at once, for a number of rows and tokens each."""
        return max(1, min(self.budget.tokens // width, self.budget.most_targets) // rows)

    def long(self, values: Sequence[int]) -> Tensor:
        """Return integers as a tensor on the model's device."""
        return torch.tensor(values, dtype=torch.long, device=self.device)

    def task(
        self,
        prompts: Prompts,
        decoding: Decoding,
        steering: Steering | None = None,
        kept: KeptStates | None = None,
    ) -> "Task":
        """Return a generation task with its cache (see `continue_prompts`)."""
        usable = [i for i, error in enumerate(prompts.errors) if error is None]
        # an encoder's rows do not grow
        new = decoding.max_new_tokens if self.reader.start is None else 0
        if usable:
            self.ways.settle(max(prompts.length(i) for i in usable) + new)
        self.budget.equal_lengths = self.reason_for_equal_lengths is not None
        if steering is None:
            if kept is None or not usable or self.ways.why_not_kept() is not None:
                return Task(prompts, decoding, self.state)
            return Task(prompts, decoding, KeepingState(self.state, kept, [prompts.ids[i] for i in usable]))
        self.check_steerable()
        groups = [prompts.read(i) for i in usable]
        shares = self.reason_for_whole_readings is None
        return Task(prompts, decoding, SteeredState(self.state, groups, steering.rows, shares), steering)

    def _waiting(self, task: "Task", done: Mapping[tuple[int, int], Row], unfit: set[int]) -> deque[Unit]:
        prompts, decoding = task.prompts, task.decoding
        usable = [i for i, error in enumerate(prompts.errors) if error is None and i not in unfit]
        usable.sort(key=lambda i: -prompts.length(i))
        units: deque[Unit] = deque()
        if usable:
            most = self.places(prompts.length(usable[0]) + decoding.max_new_tokens, task.rows)
            for i in usable:
                left = [sample for sample in range(decoding.samples) if (i, sample) not in done]
                units += [(i, left[first : first + most]) for first in range(0, len(left), most)]
        return units

    def _halve(self, rows: list[Row], width: int, task: "Task") -> set[int]:
        """Reduce the batch after memory ran out; return the prompt that does not fit even alone.

        width: number of tokens of one continuation in all its rows.
        """
        self.state.clear()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        if len(rows) == 1:
            return {rows[0].prompt}
        self.budget.tokens = max(1, len(rows) * width // 2)
        self.budget.most_targets = max(1, min(self.budget.most_targets, len(rows) * task.rows // 2))
        self.budget.halvings.append(self.budget.tokens)
        return set()


@dataclass(frozen=True)
class Task:
    """A generation task, and the state of the model in which it runs."""

    prompts: Prompts
    decoding: Decoding
    state: DecoderState
    steering: Steering | None = None

    @property
    def rows(self) -> int:
        """Return the number of rows of the model per continuation."""
        return 1 if self.steering is None else self.steering.rows


class _WritingSession:
    """Unfinished rows. Each has a seat: its row (with steering, its group of rows) in the model's state."""

    def __init__(
        self,
        writer: Writer,
        task: Task,
        waiting: deque[Unit],
        done: dict[tuple[int, int], Row],
    ):
        self.writer, self.task, self.state = writer, task, task.state
        self.prompts, self.decoding = task.prompts, task.decoding
        self.waiting, self.done = waiting, done
        self.seats: list[Row | None] = []
        forced = bool(writer.constraints.last)
        self.rules = RowRules(task.prompts, task.decoding, writer.reader, writer.end_ids, forced)

    def run(self) -> None:
        while True:
            if joining := self._who_joins():
                self._join(joining)
            elif any(self.seats):
                self._advance()
            else:
                return

    def width(self, prompts: Iterable[int]) -> int:
        """Return the final number of tokens of the longest of some rows."""
        return max(self.prompts.length(i) for i in prompts) + self.decoding.max_new_tokens

    def _who_joins(self) -> list[Unit]:
        live = [row.prompt for row in self.seats if row is not None]
        if not self.waiting or (live and not self.writer.staggers):
            return []
        first_prompt, first_samples = self.waiting[0]
        places = self.writer.places(self.width([*live, first_prompt]), self.task.rows)
        free = places - len(live)
        if live and free < max(len(first_samples), places // IDLE_SHARE):
            return []
        joining: list[Unit] = []
        while self.waiting and len(self.waiting[0][1]) <= free:
            length = len(self.prompts.ids[self.waiting[0][0]])
            if self.writer.budget.equal_lengths and length != len(self.prompts.ids[first_prompt]):
                break
            joining.append(self.waiting.popleft())
            free -= len(joining[-1][1])
        return joining

    def _join(self, joining: list[Unit]) -> None:
        began = time.perf_counter()
        rows = [self.rules.new_row(i, sample) for i, samples in joining for sample in samples]
        branch = [k for k, (_, samples) in enumerate(joining) for _ in samples]
        if not any(self.seats):
            self.seats = []
            self.state.clear()
        empty = [place for place, row in enumerate(self.seats) if row is None]
        places = [*empty, *range(len(self.seats), len(self.seats) + len(rows))][: len(rows)]
        self.seats += [None] * (max(places) + 1 - len(self.seats))
        for place, row in zip(places, rows, strict=True):
            self.seats[place] = row
        long = self.writer.long
        logits = self.state.join([self.prompts.read(i) for i, _ in joining], long(branch), long(places))
        self._write(places, rows, logits)
        work, budget = self.writer.work, self.writer.budget
        budget.batches += 1
        budget.tokens_run += self.state.tokens_read
        work.tokens_read += self.state.tokens_read
        work.seconds_to_first_token += time.perf_counter() - began

    def _advance(self) -> None:
        live = [place for place, row in enumerate(self.seats) if row is not None]
        idle = len(self.seats) - len(live)
        if idle and not self.waiting_for_seats and idle >= len(self.seats) // IDLE_SHARE:
            self.state.select(self.writer.long(live))
            self.seats = [self.seats[place] for place in live]
            live = list(range(len(live)))
        last = self.writer.long([0 if row is None else row.tokens[-1] for row in self.seats])
        logits = self.state.advance(last)
        if len(live) < len(self.seats):
            logits = logits[self.writer.long(live)]
        self._write(live, [row for row in self.seats if row is not None], logits)
        self.writer.work.steps += 1
        self.writer.budget.tokens_run += len(self.seats) * self.task.rows

    @property
    def waiting_for_seats(self) -> bool:
        return bool(self.waiting) and self.writer.staggers

    def _write(self, places: list[int], rows: list[Row], logits: Tensor) -> None:
        """Append the next token to each row; finished rows leave their seats."""
        scores = self._mask_forbidden(rows, logits)
        if self.task.steering is not None:
            scores = logits = self.task.steering.combine_logits(scores)
        tokens = self._choose_tokens(rows, scores)
        values = logits.gather(1, tokens[:, None])[:, 0] - torch.logsumexp(logits, dim=-1)
        finished = []
        for place, row, token, value in zip(places, rows, tokens.tolist(), values.tolist(), strict=True):
            self.rules.append(row, token, value)
            if row.is_done:
                self.done[row.prompt, row.sample] = row
                self.seats[place] = None
                finished.append(place)
                self.writer.work.rows += 1
                self.writer.work.tokens_written += len(row.tokens)
        if finished:
            self.state.finish(self.writer.long(finished))

    def _mask_forbidden(self, rows: list[Row], logits: Tensor) -> Tensor:
        """Return a copy of the logits with minus infinity for forbidden tokens."""
        scores = logits
        constraints = self.writer.constraints
        early = [k for k, row in enumerate(rows) if len(row.tokens) < self.decoding.min_new_tokens]
        if early or constraints or self.decoding.no_repeat_ngram_size is not None:
            scores = logits.clone()
            for k, row in enumerate(rows):
                if row.ngrams is not None:
                    scores[k, ..., row.ngrams.blocked_tokens()] = -torch.inf
            if early:
                scores[self.writer.long(early)[:, None], ..., self.writer.ends] = -torch.inf
            if constraints:
                read = [self.writer.reader.places_before(self.prompts.ids[row.prompt]) for row in rows]
                written = [len(row.tokens) for row in rows]
                constraints.apply(scores, read, written, self.decoding.max_new_tokens)
        return scores

    def _choose_tokens(self, rows: list[Row], scores: Tensor) -> Tensor:
        drawn = [row.uniforms[len(row.tokens)] for row in rows if row.uniforms is not None]
        if not drawn:
            return scores.argmax(-1)
        return sample_tokens(scores, self.decoding, torch.tensor(drawn, dtype=torch.float64))
