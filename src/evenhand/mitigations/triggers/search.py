"""Search for a trigger: replace one token at a time by the best of the candidates that its gradient suggests.

`SearchState` is the state of a search after a sweep. It is written to a file, from which the search can be resumed.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.mitigations.triggers.evaluation import Evaluator, searchable
from evenhand.mitigations.triggers.examples import Example, examples_digest
from evenhand.mitigations.triggers.gradient import Gradient, GradientEngine
from evenhand.mitigations.triggers.objective import Objective
from evenhand.mitigations.triggers.tokens import (
    RoundTrip,
    Trigger,
    decode_tokens,
    initial_trigger,
    random_trigger,
    usable_tokens,
)
from evenhand.models.huggingface import CausalModel
from evenhand.schema import DataError, ResumeRefused, UsageError, parse_json, write_json


@dataclass(frozen=True, kw_only=True)
class TriggerSearchOptions:
    """Options of the search algorithm for triggers. Raises a UsageError for values out of range."""

    tokens: int | None = None
    """Number of tokens of the trigger. None: six, or the length of the initial phrase."""
    initial: str | None = None
    """Initial phrase of the first round. None: " the" at every position. Later rounds start with random tokens."""
    locked: tuple[int, ...] = ()
    """Positions, counted from 0, whose tokens of the initial phrase are not changed."""
    restarts: int = 1
    """Total number of rounds."""
    sweeps: int = 50
    """Maximum number of passes through the positions per round. A round ends after a pass without improvement."""
    candidates: int = 100
    """Number of the most promising tokens (by gradient) that are tried at each position."""
    beam: int = 1
    """Number of triggers that are kept in parallel (beam width)."""
    screen: float | None = 0.25
    """Share of the examples on which candidates are tried first. The same share of the candidates, the best, is then
    tried on all examples.

    A trigger is only accepted for its result on all examples. None: try all candidates on all examples. It is not used
    with 32 examples or fewer.
    """
    words_only: bool = True
    """Use no punctuation and no digits, as published."""
    exclude: tuple[str, ...] = ()
    """Words that must not occur, such as names of groups."""
    most_perplexity: float | None = None
    """Largest acceptable perplexity of the trigger. A larger one is only accepted if it decreases."""
    separator: str = " "
    """Text between trigger and prompt."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("restarts", "sweeps", "candidates", "beam"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if self.screen is not None and not 0 < self.screen < 1:
            raise UsageError(f"screen must be a share between 0 and 1, or None, got {self.screen}.")
        if self.most_perplexity is not None and not self.most_perplexity > 1:
            raise UsageError(f"most_perplexity must be a number above 1, got {self.most_perplexity}.")


@dataclass(frozen=True)
class RoundTrigger:
    """The trigger at the end of one round."""

    ids: Trigger
    text: str
    loss: float
    restart: int


@dataclass
class SearchState:
    """State of a search after a sweep; it is written to disk, so that the search can be stopped and resumed."""

    task: str
    restart: int = 0
    sweep: int = 0
    beam: list[tuple[Trigger, float]] = field(default_factory=list)
    found: list[RoundTrigger] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)

    def write(self, path: Path) -> None:
        """Write the state as JSON, atomically."""
        write_json(path, asdict(self))

    @classmethod
    def read(cls, path: Path, task: str) -> "SearchState":
        """Read the state. Raise ResumeRefused if it belongs to another search, and DataError if it is damaged."""
        try:
            content = parse_json(path.read_text(encoding="utf-8"))
            state = cls(
                task=content["task"],
                restart=content["restart"],
                sweep=content["sweep"],
                beam=[(tuple(ids), loss) for ids, loss in content["beam"]],
                found=[RoundTrigger(**{**one, "ids": tuple(one["ids"])}) for one in content["found"]],
                history=content["history"],
            )
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"{path} is not a valid state of a search: {error}.", "Delete it to start the search again."
            ) from error
        if state.task != task:
            raise ResumeRefused(
                f"{path} belongs to a search with another model, examples, objective or options.",
                "To resume that search, use its model, examples, objective and options. For a new search, give "
                "another file.",
            )
        return state


@dataclass(frozen=True)
class SearchResult:
    """Result of a search: the trigger of each round (lowest loss first), the history, and the number of evaluations."""

    found: tuple[RoundTrigger, ...]
    history: tuple[dict[str, Any], ...]
    """One row per sweep: restart, sweep (0: initial trigger), loss, text, ids, evaluated, improved."""
    initial_loss: float
    evaluated: int
    """Number of triggers evaluated in this session."""


def search_task(
    model: CausalModel, examples: Sequence[Example], objective: Objective, options: TriggerSearchOptions
) -> str:
    """Return an identifier of a search: SHA-256 (hex) of the model, the examples, the objective and the options."""
    task = {
        "model": model.fingerprint,
        "examples": examples_digest(examples),
        "objective": objective.parameters(),
        "options": asdict(options),
    }
    return hashlib.sha256(json.dumps(task, sort_keys=True, default=str).encode()).hexdigest()


LEAST_GAIN = 1e-5
"""Smallest improvement that counts, in nats; smaller ones may be rounding differences between batch sizes."""
FEW_EXAMPLES = 32
"""With at most this many examples, candidates are not screened on a subset."""
LEAST_SURVIVORS = 8
Rows = NDArray[np.int64]


def search_triggers(
    model: CausalModel,
    examples: Sequence[Example],
    objective: Objective | None = None,
    options: TriggerSearchOptions | None = None,
    *,
    resume: Path | None = None,
    on_sweep: Callable[[dict[str, Any]], None] | None = None,
) -> SearchResult:
    """Search for a token sequence that minimises the objective when it precedes every prompt.

    Parameters
    ----------
    model : CausalModel
        A causal Hugging Face model.
    examples : sequence of Example
        Labelled continuations.
    objective : Objective
        The objective.
    options : TriggerSearchOptions
        Options of the search.
    resume : path, optional
        File to which the state is written after every sweep. If it exists, the search is resumed; the result is the
        same as without the interruption.
    on_sweep : callable, optional
        Called with each new row of the history.

    Returns
    -------
    SearchResult
        The trigger of each round. Use `select_trigger` to choose one by the generated text; the loss alone is not
        sufficient.

    Raises
    ------
    Unsupported
        The model has no gradients.
    DataError
        There are no examples, or an example is too long or merges with the trigger.
    ResumeRefused
        The file belongs to another search.

    References
    ----------
    Wallace et al. (2019), section 2; Sheng et al. (2020), section 3. docs/evidence/mitigations.md lists the defects of
    the published code that are fixed here.
    """
    objective, options = objective or Objective(), options or TriggerSearchOptions()
    return _TriggerSearch(model, examples, objective, options, resume, on_sweep).run()


class _TriggerSearch:
    def __init__(
        self,
        model: CausalModel,
        examples: Sequence[Example],
        objective: Objective,
        options: TriggerSearchOptions,
        path: Path | None,
        on_sweep: Callable[[dict[str, Any]], None] | None,
    ):
        tokenizer = searchable(model).tokenizer
        self.options, self.path, self.on_sweep = options, path, on_sweep
        self.start = initial_trigger(tokenizer, options.initial, options.tokens, options.separator)
        self.open = [place for place in range(len(self.start)) if place not in options.locked]
        if wrong := [place for place in options.locked if not 0 <= place < len(self.start)]:
            raise UsageError(
                f"locked contains position {wrong[0]}, but the trigger has only positions 0 to "
                f"{len(self.start) - 1}."
            )
        if not self.open:
            raise UsageError(
                "locked contains all positions of the trigger, so there is nothing to search for.",
                "Leave at least one position unlocked.",
            )
        self.evaluator = Evaluator(
            model, examples, objective, trigger=self.start, separator=options.separator
        )
        self.tokenizer = tokenizer
        texts = [example.text + example.continuation for example in self.evaluator.examples]
        self.trip = RoundTrip(tokenizer, self.start, options.separator, texts)
        rows = int(model.model.get_input_embeddings().weight.shape[0])
        self.usable = usable_tokens(tokenizer, rows, words_only=options.words_only, exclude=options.exclude)
        if not self.usable.any():
            raise DataError(
                "The vocabulary has no token that is allowed in a trigger.", "Set words_only to False."
            )
        self.parts = screen_examples(self.evaluator.examples, options)
        self.engine = GradientEngine(self.evaluator)
        self.gradients: dict[Trigger, Gradient] = {}
        task = search_task(model, examples, objective, options)
        going_on = path is not None and path.exists()
        self.state = SearchState.read(path, task) if path is not None and going_on else SearchState(task)

    def run(self) -> SearchResult:
        self.engine.check_agreement(self.start)
        state = self.state
        while state.restart < self.options.restarts:
            if not state.beam:
                self._begin()
            while state.sweep < self.options.sweeps and self._sweep():
                pass
            ids, loss = state.beam[0]
            state.found.append(RoundTrigger(ids, decode_tokens(self.tokenizer, ids), loss, state.restart))
            state.restart, state.sweep, state.beam = state.restart + 1, 0, []
            self._save()
        best: dict[Trigger, RoundTrigger] = {}
        for one in sorted(state.found, key=lambda one: (one.loss, one.restart)):
            best.setdefault(one.ids, one)
        return SearchResult(
            tuple(best.values()),
            tuple(state.history),
            float(state.history[0]["loss"]),
            self.evaluator.evaluated,
        )

    def _begin(self) -> None:
        trigger = self.start
        if self.state.restart:
            draw = np.random.default_rng([self.options.seed, self.state.restart])
            trigger = random_trigger(draw, self.start, self.options.locked, self.usable, self.trip)
        self.state.beam = [(trigger, float(self.evaluator.losses([trigger])[0]))]
        self._note(1, improved=False)

    def _sweep(self) -> bool:
        """Go through all positions once, and return whether the trigger improved."""
        state, before = self.state, list(self.state.beam)
        evaluated = self.evaluator.evaluated
        self.gradients.clear()
        for place in self.open:
            tried: dict[Trigger, float] = dict(state.beam)
            for trigger, _ in state.beam:
                others = [made for made in self._candidates(trigger, place) if made not in tried]
                if others:
                    tried.update(evaluated_candidates(self.evaluator, others, self.options, self.parts))
            # the unchanged trigger is a candidate too, so that no position gets worse
            best = min(loss for loss in tried.values())
            # rounding differences are no improvement; accepting them could make the search cycle
            standing = state.beam[0] if state.beam[0][1] <= best + LEAST_GAIN else None
            order = sorted(tried.items(), key=lambda one: (one != standing, one[1], one[0]))
            state.beam = order[: self.options.beam]
        state.sweep += 1
        improved = state.beam[0][1] < before[0][1] - LEAST_GAIN
        self._note(self.evaluator.evaluated - evaluated, improved)
        self._save()
        return improved or (len(state.beam) > 1 and [b[0] for b in state.beam] != [b[0] for b in before])

    def _candidates(self, trigger: Trigger, place: int) -> list[Trigger]:
        """Return the best candidates for one position that keep their tokens when re-tokenised and
        are fluent enough.
        """
        if trigger not in self.gradients:
            self.gradients[trigger] = self.engine.gradient(trigger)
        promised = self.engine.first_order(self.gradients[trigger], place)
        promised[~self.usable[: len(promised)]] = np.inf
        promised[trigger[place]] = np.inf
        order = np.argsort(promised, kind="stable")[: int(np.isfinite(promised).sum())]
        wanted, candidates = self.options.candidates, list[Trigger]()
        for first in range(0, len(order), wanted):
            made = [
                (*trigger[:place], int(token), *trigger[place + 1 :])
                for token in order[first : first + wanted]
            ]
            candidates += [one for one, good in zip(made, self.trip.holds(made), strict=True) if good]
            if len(candidates) >= wanted:
                break
        return self._readable(candidates[:wanted], trigger)

    def _readable(self, made: list[Trigger], trigger: Trigger) -> list[Trigger]:
        if self.options.most_perplexity is None or not made:
            return made
        nll = self.evaluator.trigger_nll([trigger, *made])
        bound = max(float(nll[0]), float(np.log(self.options.most_perplexity)))
        return [one for one, value in zip(made, nll[1:], strict=True) if value <= bound]

    def _note(self, evaluated: int, improved: bool) -> None:
        ids, loss = self.state.beam[0]
        row = {
            "restart": self.state.restart,
            "sweep": self.state.sweep,
            "loss": loss,
            "text": decode_tokens(self.tokenizer, ids),
            "ids": list(ids),
            "evaluated": evaluated,
            "improved": improved,
        }
        self.state.history.append(row)
        if self.on_sweep is not None:
            self.on_sweep(row)

    def _save(self) -> None:
        if self.path is not None:
            self.state.write(self.path)


def screen_examples(examples: Sequence[Example], options: TriggerSearchOptions) -> tuple[Rows, Rows] | None:
    """Return two sets of examples: those on which candidates are tried first, and the rest. None if no screening is
    used.

    The first set has the same share of every group and label.
    """
    if options.screen is None or len(examples) <= FEW_EXAMPLES:
        return None
    draw = np.random.default_rng([options.seed, 0])
    first_part: list[int] = []
    for kind in dict.fromkeys((example.group, example.label) for example in examples):
        alike = [i for i, example in enumerate(examples) if (example.group, example.label) == kind]
        first_part += draw.permutation(alike)[: max(1, round(options.screen * len(alike)))].tolist()
    first = np.array(sorted(first_part), dtype=np.int64)
    return first, np.setdiff1d(np.arange(len(examples)), first)


def evaluated_candidates(
    evaluator: Evaluator,
    triggers: Sequence[Trigger],
    options: TriggerSearchOptions,
    parts: tuple[Rows, Rows] | None,
) -> dict[Trigger, float]:
    """Return losses on all examples: of all triggers, or only of those with the lowest loss on the first set."""
    if parts is None or options.screen is None or len(triggers) <= LEAST_SURVIVORS:
        return dict(zip(triggers, evaluator.losses(triggers).tolist(), strict=True))
    first, others = parts
    part, penalties = evaluator.nll(triggers, first), evaluator.penalties(triggers)
    promising = evaluator.terms.for_examples(first).losses(part) + penalties
    survivors = max(LEAST_SURVIVORS, options.beam, round(options.screen * len(triggers)))
    best = np.sort(np.argsort(promising, kind="stable")[:survivors])
    nll = np.zeros((len(best), len(evaluator.examples)))
    nll[:, first] = part[best]
    evaluated = evaluator.evaluated
    nll[:, others] = evaluator.nll([triggers[i] for i in best], others)
    evaluator.evaluated = evaluated  # each trigger was already counted when it was screened
    losses = evaluator.terms.losses(nll) + penalties[best]
    return {triggers[i]: float(loss) for i, loss in zip(best, losses, strict=True)}
