"""The generation engine: prompts read once and branched into samples, finished rows leave the batch."""

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from evenhand.models.batching import Budget, run_batches
from evenhand.models.chosen_positions import most_targets
from evenhand.models.contract import Finish, Generations
from evenhand.models.decoder_state import DecoderState, why_not_in_batches
from evenhand.models.decoding import Decoding
from evenhand.models.devices import available_memory
from evenhand.models.generation_inputs import Prompts
from evenhand.models.sampling import SeenNgrams, draw, filtered, row_uniforms
from evenhand.schema import ResponseError

SHARE_OF_MEMORY = 0.25  # of what is free, for keys and values
MOST_TOKENS = {"cuda": 1 << 18}
MOST_TOKENS_ELSEWHERE = 1 << 14
LEAVE_AT = 8  # finished rows are dropped once they are one in so many: dropping copies the cache


@dataclass
class Row:
    """One continuation in the making."""

    prompt: int
    sample: int
    tokens: list[int]
    log_likelihood: float = 0.0
    finish: Finish | None = None
    text: str = ""
    broken: bool = False


@dataclass
class Work:
    """What has been written so far, for the manifest."""

    rows: int = 0
    tokens_written: int = 0
    tokens_read: int = 0
    steps: int = 0
    seconds: float = 0.0
    seconds_to_first_token: float = 0.0  # summed over batches
    peak_memory_bytes: int | None = None  # of the device, or of this process


class Writer:
    """Writes continuations with one model.

    state: rows of the model (models/decoder_state.py). tokenizer: turns tokens into text. ends: token ids
    that end a text. vocabulary: rows of the output head. cache_bytes: keys and values of one token; with the
    free memory they decide how many tokens a batch holds, unless batch_tokens does. in_prompt: whether prompt
    and continuation are one sequence (a causal model) or two.
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
        in_prompt: bool = True,
    ):
        self.state, self.tokenizer, self.device, self.in_prompt = state, tokenizer, device, in_prompt
        self.end_ids = frozenset(ends)
        self.ends = self._long(sorted(self.end_ids))
        self.reason_for_equal_lengths = why_not_in_batches(state, vocabulary, device)
        if batch_tokens is None:
            free = available_memory(device)
            batch_tokens = MOST_TOKENS.get(device.type, MOST_TOKENS_ELSEWHERE)
            if free is not None:
                batch_tokens = max(64, min(batch_tokens, int(free * SHARE_OF_MEMORY) // max(1, cache_bytes)))
        # Drawing holds several vocabulary-sized rows of each continuation at once.
        rows = max(1, most_targets(vocabulary, device) // 4)
        self.budget = Budget(batch_tokens, rows, equal_lengths=self.reason_for_equal_lengths is not None)
        self.work = Work()

    def describe(self) -> dict[str, Any]:
        """Facts for the manifest: throughput, latency, memory, batches."""
        work, told = self.work, asdict(self.work)
        if work.seconds:
            told["tokens_per_second"] = work.tokens_written / work.seconds
        if work.steps:
            told["seconds_per_step"] = (work.seconds - work.seconds_to_first_token) / work.steps
        if self.reason_for_equal_lengths is not None:
            told["batches_of_equal_lengths"] = self.reason_for_equal_lengths
        return {**told, "batches": asdict(self.budget)}

    def write(self, prompts: Prompts, decoding: Decoding) -> Generations:
        """Continue every prompt that has no error."""
        began = time.perf_counter()
        done: dict[tuple[int, int], Row] = {}
        unfit: set[int] = set()
        pending = self._units(prompts, decoding)
        while pending:
            pending = self._write_units(prompts, decoding, pending, done, unfit)
        self.work.seconds += time.perf_counter() - began
        self.work.peak_memory_bytes = peak_memory(self.device)
        return _collected(prompts, decoding, done, unfit)

    def _units(self, prompts: Prompts, decoding: Decoding) -> list[tuple[int, range]]:
        """Samples of one prompt that go through a batch together."""
        units = []
        for i, ids in enumerate(prompts.ids):
            if prompts.errors[i] is None:
                most = max(1, self.budget.tokens // (len(ids) + decoding.max_new_tokens))
                most = min(most, self.budget.most_targets)
                units += [
                    (i, range(first, min(first + most, decoding.samples)))
                    for first in range(0, decoding.samples, most)
                ]
        return units

    def _write_units(
        self,
        prompts: Prompts,
        decoding: Decoding,
        units: list[tuple[int, range]],
        done: dict[tuple[int, int], Row],
        unfit: set[int],
    ) -> list[tuple[int, range]]:
        """Write what fits; returns units, split in two, that did not fit even alone in a batch."""

        def run(chosen: NDArray[np.int64]) -> None:
            with torch.inference_mode():
                for row in self._batch(prompts, decoding, [units[c] for c in chosen.tolist()]):
                    done[row.prompt, row.sample] = row

        lengths = np.array([len(prompts.ids[i]) + decoding.max_new_tokens for i, _ in units], dtype=np.int64)
        counts = np.array([len(samples) for _, samples in units], dtype=np.int64)
        # Columns are padded separately, and rows of equal prompts must be equal in both.
        columns = np.stack([lengths * (counts - 1), lengths], axis=1)
        halves = []
        for failed in run_batches(columns, counts, self.budget, run):
            i, samples = units[failed]
            if len(samples) == 1:
                unfit.add(i)
                continue
            middle = len(samples) // 2
            halves += [(i, samples[:middle]), (i, samples[middle:])]
        return halves

    def _batch(self, prompts: Prompts, decoding: Decoding, units: list[tuple[int, range]]) -> list[Row]:
        began = time.perf_counter()
        distinct = list(dict.fromkeys(i for i, _ in units))
        rows = [Row(i, sample, []) for i, samples in units for sample in samples]
        logits = self.state.start([prompts.ids[i] for i in distinct])
        place = {i: k for k, i in enumerate(distinct)}
        branch = self._long([place[row.prompt] for row in rows])
        logits = logits[branch]
        if len(rows) > len(distinct):
            self.state.select(branch)
        most = decoding.max_new_tokens
        uniforms = None
        if not decoding.is_greedy:
            table = [row_uniforms(decoding.seed, prompts.texts[row.prompt], row.sample, most) for row in rows]
            uniforms = torch.from_numpy(np.stack(table))
        size = decoding.no_repeat_ngram_size
        ngrams = None
        if size is not None:
            ngrams = [SeenNgrams(self._before(prompts.ids[row.prompt]), size) for row in rows]
        live = list(range(len(rows)))
        for step in range(most):
            bans = None if ngrams is None else [ngrams[r].blocked() for r in live]
            drawn = None if uniforms is None else uniforms[live, step]
            tokens, log_probs = self._choose(logits, decoding, drawn, bans, step)
            if step == 0:
                self.work.seconds_to_first_token += time.perf_counter() - began
            for r, token, value in zip(live, tokens.tolist(), log_probs.tolist(), strict=True):
                row = rows[r]
                if row.finish is None and not row.broken:
                    self._append(row, token, value, prompts, decoding)
                    if ngrams is not None:
                        ngrams[r].append(token)
            going = [k for k, r in enumerate(live) if rows[r].finish is None and not rows[r].broken]
            if not going or step + 1 == most:
                break
            if len(live) - len(going) >= max(1, len(live) // LEAVE_AT):
                keep = self._long(going)
                self.state.select(keep)
                tokens, live = tokens[keep], [live[k] for k in going]
            logits = self.state.advance(tokens)
            self.work.steps += 1
        self.work.rows += len(rows)
        self.work.tokens_read += sum(len(prompts.ids[i]) for i in distinct)
        self.work.tokens_written += sum(len(row.tokens) for row in rows)
        return rows

    def _choose(
        self,
        logits: torch.Tensor,
        decoding: Decoding,
        uniforms: torch.Tensor | None,
        bans: list[list[int]] | None,
        step: int,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        scores = logits
        if bans is not None or step < decoding.min_new_tokens:
            scores = logits.clone()
            for k, banned in enumerate(bans or ()):
                scores[k, banned] = -torch.inf
            if step < decoding.min_new_tokens:
                scores[:, self.ends] = -torch.inf
        tokens = scores.argmax(-1) if uniforms is None else draw(filtered(scores, decoding), uniforms)
        log_probs = logits.gather(1, tokens[:, None])[:, 0] - torch.logsumexp(logits, dim=-1)
        return tokens, log_probs

    def _append(self, row: Row, token: int, value: float, prompts: Prompts, decoding: Decoding) -> None:
        row.tokens.append(token)
        row.log_likelihood += value
        row.broken = not np.isfinite(row.log_likelihood)
        if token in self.end_ids:
            row.finish = "end"
        elif decoding.stop:
            text = self._text(row, prompts)
            found = [place for place in map(text.find, decoding.stop) if place >= 0]
            if found:
                row.finish, row.text = "stop", text[: min(found)]
                return
        if row.finish is None and len(row.tokens) == decoding.max_new_tokens:
            row.finish = "length"
        if row.finish is not None:
            row.text = self._text(row, prompts)

    def _text(self, row: Row, prompts: Prompts) -> str:
        """What the row adds to its prompt: some tokenizers drop a space in front of whatever is decoded."""
        before = self._before(prompts.ids[row.prompt])[-8:]
        shown = self._decode(before)
        whole = self._decode([*before, *row.tokens])
        return whole[len(shown) :] if whole.startswith(shown) else self._decode(row.tokens)

    def _decode(self, ids: Sequence[int]) -> str:
        text: str = self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text

    def _before(self, ids: list[int]) -> list[int]:
        return ids if self.in_prompt else []

    def _long(self, values: Sequence[int]) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.long, device=self.device)


def peak_memory(device: torch.device) -> int | None:
    """Most bytes held at once: of the accelerator, else of this process; None where the system does not say."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _collected(
    prompts: Prompts, decoding: Decoding, done: dict[tuple[int, int], Row], unfit: set[int]
) -> Generations:
    n, samples = len(prompts.texts), decoding.samples
    rows: list[Row | None] = []
    errors: list[ResponseError | None] = []
    details: list[str | None] = []
    for i in range(n):
        for sample in range(samples):
            row = done.get((i, sample))
            error, detail = prompts.errors[i], prompts.details[i]
            if row is not None and row.broken:
                error, detail = ResponseError.NOT_FINITE, "the model gave NaN or infinity"
            elif row is None and i in unfit:
                error, detail = ResponseError.OUT_OF_MEMORY, "does not fit even alone in a batch"
            rows.append(row if error is None else None)
            errors.append(error)
            details.append(detail)
    counts = np.array([0 if row is None else len(row.tokens) for row in rows], dtype=np.int64)
    return Generations(
        prompt=np.repeat(np.arange(n), samples),
        sample=np.tile(np.arange(samples, dtype=np.uint16), n),
        texts=[None if row is None else row.text for row in rows],
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        token_ids=np.array([t for row in rows if row is not None for t in row.tokens], dtype=np.int32),
        finish=[None if row is None else row.finish for row in rows],
        log_likelihood=np.array([np.nan if row is None else row.log_likelihood for row in rows]),
        errors=errors,
        details=details,
    )
