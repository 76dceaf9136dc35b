"""Beam search, and `continue_prompts`, which uses it or sampling, depending on the decoding.

Beam search follows several continuations of a prompt and returns the one with the best length-penalised likelihood. The
rules are those of Hugging Face's `generate(num_beams=...)`, so that published decodings can be reproduced. The result
for a prompt does not depend on its batch.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evenhand.models.contract import Finish, Generations
from evenhand.models.decoding import Decoding
from evenhand.models.writing.constraints import Constraints
from evenhand.models.writing.inputs import Prompts
from evenhand.models.writing.kept_states import KeptStates, in_common
from evenhand.models.writing.rows import Reader, Row, collect_rows, first_stop
from evenhand.models.writing.steering import Steering
from evenhand.models.writing.writer import Task, Writer
from evenhand.weights import run_batches

DEAD = -1e9  # added to the score of a beam that cannot continue, as in Hugging Face


@dataclass(frozen=True)
class Beam:
    """One beam: its tokens and their log-likelihood in nats."""

    tokens: tuple[int, ...] = ()
    score: float = 0.0


@dataclass(frozen=True)
class FinishedBeam:
    """A finished continuation; `rank` is its log-likelihood divided by its penalised length."""

    beam: Beam
    rank: float
    finish: Finish
    text: str


@dataclass(frozen=True)
class Rules:
    """Rules of a beam search."""

    decoding: Decoding
    ends: frozenset[int]
    reader: Reader

    @property
    def width(self) -> int:
        """Return the number of beams."""
        return self.decoding.num_beams or 1

    @property
    def candidates(self) -> int:
        """Return the number of most likely next steps to consider.

        It is large enough that all beams can continue, even if every end token of every beam is among these steps.
        """
        return max(2, 1 + len(self.ends)) * self.width

    def rank(self, score: float, length: int) -> float:
        """Return a score that is comparable between lengths."""
        return score / float(length**self.decoding.length_penalty)


@dataclass
class BeamSearch:
    """The beams of one prompt."""

    prompt: int
    ids: list[int]
    rules: Rules
    beams: list[Beam] = field(default_factory=lambda: [Beam()])
    ended: list[FinishedBeam] = field(default_factory=list)
    over: bool = False
    broken: bool = False

    def step(self, candidates: list[tuple[float, int, int]]) -> list[int]:
        """Continue with the best of the candidates (score, beam, token), best first; return the parent beam of each."""
        if math.isnan(candidates[0][0]):
            self.over = self.broken = True
            return []
        going: list[tuple[int, Beam]] = []
        stuck: list[tuple[int, Beam]] = []
        for place, (score, parent, token) in enumerate(candidates):
            beam = Beam((*self.beams[parent].tokens, token), score)
            finish, text = self._finish(beam)
            if finish is None:
                going.append((parent, beam))
                continue
            stuck.append((parent, Beam(beam.tokens, score + DEAD)))
            # further candidates are only a reserve
            if place < self.rules.width and score > DEAD:
                self.ended.append(FinishedBeam(beam, self.rules.rank(score, len(beam.tokens)), finish, text))
        self.ended = sorted(self.ended, key=lambda ended: -ended.rank)[: self.rules.width]
        following = (going + stuck)[: self.rules.width]
        self.beams = [beam for _, beam in following]
        self.over = self._is_over()
        return [parent for parent, _ in following]

    def row(self) -> Row:
        """Return the best continuation."""
        row = Row(self.prompt, 0, broken=self.broken)
        if not self.broken:
            best = self.ended[0]
            row.tokens, row.log_likelihood = list(best.beam.tokens), best.beam.score
            row.finish, row.text = best.finish, best.text
        return row

    def nearest(self, beams: Sequence[Beam]) -> int:
        """Return the beam that shares the longest beginning with the best continuation."""
        best = self.ended[0].beam.tokens if self.ended else ()
        return max(range(len(beams)), key=lambda k: in_common(beams[k].tokens, best))

    def banned_tokens(self, beam: Beam) -> list[int]:
        """Return the tokens that must not come next."""
        decoding, rules = self.rules.decoding, self.rules
        banned = list(rules.ends) if len(beam.tokens) < decoding.min_new_tokens else []
        seen = rules.reader.ngrams(decoding, self.ids, beam.tokens)
        return banned if seen is None else banned + seen.blocked_tokens()

    def _finish(self, beam: Beam) -> tuple[Finish | None, str]:
        decoding, rules = self.rules.decoding, self.rules
        ended = beam.tokens[-1] in rules.ends
        full = len(beam.tokens) == decoding.max_new_tokens
        if not (ended or full or decoding.stop):
            return None, ""
        text = rules.reader.text(self.ids, beam.tokens)
        if not ended and (place := first_stop(text, decoding.stop)) is not None:
            return "stop", text[:place]
        return ("end" if ended else "length" if full else None), text

    def _is_over(self) -> bool:
        rules, length = self.rules, len(self.beams[0].tokens)
        if length == rules.decoding.max_new_tokens:
            return True
        if len(self.ended) < rules.width:
            return False
        if rules.decoding.early_stopping is True:
            return True
        # scores only decrease, but with a length penalty a longer text may still have a higher rank
        if rules.decoding.early_stopping == "never" and rules.decoding.length_penalty > 0:
            length = rules.decoding.max_new_tokens
        return rules.rank(self.beams[0].score, length) <= self.ended[-1].rank


def write_with_beams(writer: Writer, task: Task) -> Generations:
    """Continue every prompt that has no error with the best continuation that beam search finds.

    Prompts are searched in parallel in batches; finished prompts leave. The log-likelihood of a row is that of its
    tokens under the model or, with steering, under the combined distributions.
    Source: HolisticBias dialogues were generated with 3 or 10 beams.
    """
    prompts, decoding = task.prompts, task.decoding
    rules = Rules(decoding, writer.end_ids, writer.reader)
    usable = [i for i, error in enumerate(prompts.errors) if error is None]
    done: dict[tuple[int, int], Row] = {}

    def run(chosen: NDArray[np.int64]) -> None:
        for search in _run_searches(
            writer, task, [BeamSearch(i, prompts.ids[i], rules) for i in np.array(usable)[chosen]]
        ):
            done[int(search.prompt), 0] = search.row()

    unfit: list[int] = []
    with writer.at_work():
        if usable:
            lengths = np.array([prompts.length(i) + decoding.max_new_tokens for i in usable])
            rows = rules.width * task.rows
            counts = np.full(len(usable), rows)
            unfit = run_batches(lengths[:, None].repeat(rows, 1), counts, writer.budget, run)
    writer.work.rows += len(done)
    writer.work.tokens_written += sum(len(row.tokens) for row in done.values())
    return collect_rows(prompts, decoding, done, {usable[k] for k in unfit})


def _run_searches(writer: Writer, task: Task, searches: list[BeamSearch]) -> list[BeamSearch]:
    places, state = writer.long(range(len(searches))), task.state
    state.clear()
    logits = state.join([task.prompts.read(search.prompt) for search in searches], places, places)
    writer.work.tokens_read += state.tokens_read
    going, rules = searches, searches[0].rules
    while True:
        parents: list[int] = []
        finished: list[int] = []
        first = 0
        allowed = _mask_forbidden(writer.constraints, going, logits, task.steering is None)
        for search, candidates in zip(going, _candidates(going, allowed, task.steering), strict=True):
            beams = search.beams
            chosen = search.step(candidates)
            if search.over:
                finished.append(first + search.nearest(beams))
            else:
                parents += [first + beam for beam in chosen]
            first += len(beams)
        if finished:
            state.finish(writer.long(finished))
        before, going = going, [search for search in going if not search.over]
        if not going:
            return searches
        all_stay = len(going) == len(before) and first == rules.width * len(before)
        if not all_stay:
            state.select(writer.long(parents))
        elif parents != list(range(first)):
            # beams of one prompt differ only in the generated tokens
            state.exchange(writer.long(parents), len(going[0].beams[0].tokens) - 1)
        logits = state.advance(writer.long([beam.tokens[-1] for search in going for beam in search.beams]))
        writer.work.steps += 1


def _mask_forbidden(
    constraints: Constraints, searches: list[BeamSearch], logits: Tensor, as_log_probs: bool
) -> Tensor:
    """Return scores with minus infinity for forbidden tokens; as published, a forced token has the score 0."""
    scores = logits.log_softmax(-1) if as_log_probs else logits.clone()
    rows = [(search, beam) for search in searches for beam in search.beams]
    for k, (search, beam) in enumerate(rows):
        scores[k, ..., search.banned_tokens(beam)] = -torch.inf
    if constraints:
        rules = searches[0].rules
        read = [rules.reader.places_before(search.ids) for search, _ in rows]
        written = [len(beam.tokens) for _, beam in rows]
        constraints.apply(scores, read, written, rules.decoding.max_new_tokens)
    return scores


def _candidates(
    searches: list[BeamSearch], scores: Tensor, steering: Steering | None
) -> list[list[tuple[float, int, int]]]:
    """Return the most likely next steps of each search as (score, beam, token), best first."""
    if steering is not None:
        scores = steering.combine_logits(scores)
    before = [beam.score for search in searches for beam in search.beams]
    scores = scores + torch.tensor(before, device=scores.device)[:, None]
    vocabulary = scores.shape[-1]
    scores = scores.view(len(searches), -1)
    values, places = scores.topk(min(searches[0].rules.candidates, scores.shape[-1]))
    return [
        [(value, place // vocabulary, place % vocabulary) for value, place in zip(*row, strict=True)]
        for row in zip(values.tolist(), places.tolist(), strict=True)
    ]


def continue_prompts(
    writer: Writer,
    prompts: Prompts,
    decoding: Decoding,
    steering: Steering | None = None,
    kept: KeptStates | None = None,
) -> Generations:
    """Continue every prompt that has no error, by beam search or token by token, as the decoding states.

    `steering` combines distributions; the prompts then also contain their tokens after each context. `kept` are stored
    states, without steering. Raises Unsupported for steering if the model needs rows of equal length.
    """
    task = writer.task(prompts, decoding, steering, kept)
    return write_with_beams(writer, task) if decoding.searches else writer.draw(task)
