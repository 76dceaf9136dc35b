"""Search for better instructions: reword the best ones, score all on the same prompts, keep the best, and repeat.

Rewording and scoring are passed as functions, and nothing is read or written. The search is deterministic given the
responses, so it can be resumed from stored responses. Its history is a table of all instructions in all rounds.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from evenhand.mitigations.revision.screen import Screen, normalise_wording, to_one_line
from evenhand.schema import UsageError

NONE = ""
"""The empty instruction: the baseline with which all instructions are compared."""
KEPT, NOT_KEPT, SAYS_LESS, REFERENCE = "kept", "not kept", "answers less", "no instruction"


@dataclass(frozen=True)
class Score:
    """Classification results of the continuations with one instruction, on one set of prompts.

    Attributes
    ----------
    rate, low, high : float
        Share of negative continuations with 95% CI. NaN if nothing was classified.
    n, n_missing : int
        Numbers of continuations with and without a classification.
    silent : float
        Share of continuations that are empty or a refusal.
    groups_above : float
        Share of groups that are significantly above the others. NaN if it was not requested.
    objective : float
        The number that the search minimises.
    """

    rate: float
    low: float
    high: float
    n: int
    n_missing: int
    objective: float
    silent: float = 0.0
    groups_above: float = math.nan

    @property
    def unanswered_share(self) -> float:
        """Return the share of continuations that are empty, a refusal or not classified.

        Most classifiers cannot classify empty texts, so these are often missing too. They count once.
        """
        rows = self.n + self.n_missing
        return max(self.silent, self.n_missing / rows if rows else 1.0)


@dataclass(frozen=True)
class SearchOptions:
    """Size of a search.

    Attributes
    ----------
    iterations : int
        Number of rounds of rewording.
    keep : int
        Number of instructions that are kept after a round.
    variants : int
        Number of rewordings of each of them.
    most_unanswered : float
        Largest acceptable increase of the share of unanswered prompts, compared with no instruction. Without this
        limit, an instruction that makes the model return empty texts would win.

    Raises
    ------
    UsageError
        A value is out of range.

    References
    ----------
    - ROBBIE, section B.3.1: 10 rounds, 5 kept. The number of rewordings is not published.
    """

    iterations: int = 10
    keep: int = 5
    variants: int = 4
    most_unanswered: float = 0.05

    def __post_init__(self) -> None:
        for name in ("iterations", "keep", "variants"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if not 0 <= self.most_unanswered <= 1:
            raise UsageError(f"most_unanswered must be a share between 0 and 1, got {self.most_unanswered}.")

    @property
    def most_scored(self) -> int:
        """Return the maximum number of instructions that are scored, including the reference but not the seeds."""
        return self.iterations * (1 + self.keep * (1 + self.variants))


@dataclass(frozen=True)
class SearchStep:
    """One instruction in one round: one row of the history."""

    iteration: int
    instruction: str
    """The instruction; NONE for the reference."""
    parent: str | None
    """Instruction that this one rewords; None for initial instructions."""
    born: int
    """Round in which it was first scored."""
    fate: str
    """Outcome: KEPT, NOT_KEPT, SAYS_LESS, REFERENCE, or the reason why it was not scored (see `Screen`)."""
    score: Score | None
    """The score; None if it was not scored."""


@dataclass(frozen=True)
class InstructionSearch:
    """Result of a search: the last pool of instructions, best first, and every step."""

    pool: tuple[str, ...]
    steps: tuple[SearchStep, ...]

    def last(self, instruction: str) -> Score:
        """Return the score of an instruction in the last round, by which the pool was chosen."""
        scores = [step.score for step in self.steps if step.instruction == instruction and step.score]
        return scores[-1]


Reword = Callable[[Sequence[str], int], Sequence[Sequence[str]]]
"""Function of instructions and the number of the round that returns rewordings of each instruction."""
Try = Callable[[Sequence[str], int], Sequence[Score]]
"""Function of instructions (NONE first) and the number of the round that returns each one's
score on the round's prompts.
"""


def search(
    seeds: Sequence[str], reword: Reword, score: Try, screen: Screen, options: SearchOptions | None = None
) -> InstructionSearch:
    """Search for an instruction with which a model generates less harmful text.

    Parameters
    ----------
    seeds : sequence of str
        Initial instructions. They are scored in round 0.
    reword : callable
        Returns rewordings of instructions; see Reword.
    score : callable
        Scores instructions; see Try. It should use new prompts in each round, so that instructions are not chosen
        because they suit some prompts. Within a round, all instructions should get the same prompts.
    screen : Screen
        Rules that rewordings must satisfy.
    options : SearchOptions
        Size of the search.

    Returns
    -------
    Search
        The last pool and the history. Of equal instructions, the earlier one is kept.

    Raises
    ------
    UsageError
        No initial instruction satisfies the screen.

    References
    ----------
    - ROBBIE, section B.3.1, after Zhou et al. 2022 (arXiv:2211.01910), section 3.3.

    >>> def reword(parents, round): return [[f"{parent} please"] for parent in parents]
    >>> def score(instructions, round): return [Score(0.5, 0, 1, 9, 0, objective=-len(i)) for i in instructions]
    >>> options = SearchOptions(iterations=2, keep=1, variants=1)
    >>> search(["Be kind."], reword, score, Screen(), options).pool
    ('Be kind. please please',)
    """
    options = options or SearchOptions()
    seen: set[str] = set()
    steps: list[SearchStep] = []
    parents: dict[str, str | None] = {}
    born: dict[str, int] = {}

    def screen_texts(texts: Sequence[str], parent: str | None, iteration: int) -> list[str]:
        fit = []
        for text in map(to_one_line, texts):
            reason = screen.against(text, seen)
            if reason is not None:
                steps.append(SearchStep(iteration, text, parent, iteration, reason, None))
                continue
            seen.add(normalise_wording(text))
            parents[text], born[text] = parent, iteration
            fit.append(text)
        return fit

    fit_seeds(seeds, screen)
    pool = screen_texts(seeds, None, 0)
    for iteration in range(options.iterations + 1):
        tried = list(pool)
        if iteration:
            for parent, rewordings in zip(pool, reword(pool, iteration), strict=True):
                tried += screen_texts(rewordings[: options.variants], parent, iteration)
        reference, *scores = score([NONE, *tried], iteration)
        by_text = dict(zip(tried, scores, strict=True))
        pool = best(by_text, reference, options)
        steps.append(SearchStep(iteration, NONE, None, 0, REFERENCE, reference))
        for text, its in by_text.items():
            fate = (
                KEPT if text in pool else NOT_KEPT if answers_enough(its, reference, options) else SAYS_LESS
            )
            steps.append(SearchStep(iteration, text, parents[text], born[text], fate, its))
    return InstructionSearch(tuple(pool), tuple(steps))


def fit_seeds(seeds: Sequence[str], screen: Screen) -> list[str]:
    """Return the initial instructions that satisfy the screen. Raise a UsageError with the reasons if none does.

    >>> fit_seeds(["Be kind.", ""], Screen())
    ['Be kind.']
    """
    reasons = {seed: screen.against(to_one_line(seed), ()) for seed in seeds}
    fit = [seed for seed, reason in reasons.items() if reason is None]
    if not fit:
        refusals = "; ".join(f"{seed!r}: {reason}" for seed, reason in reasons.items()) or "there is none"
        raise UsageError(
            f"None of the initial instructions can be used ({refusals}).", "Write another instruction."
        )
    return fit


def best(scores: Mapping[str, Score], reference: Score, options: SearchOptions) -> list[str]:
    """Return the instructions to keep, best first.

    Instructions with too many unanswered prompts are kept only if all have too many.

    >>> scores = {"a": Score(0.4, 0, 1, 9, 0, 0.4), "b": Score(0.2, 0, 1, 9, 0, 0.2)}
    >>> best(scores, Score(0.5, 0, 1, 9, 0, 0.5), SearchOptions(keep=1))
    ['b']
    """

    def rank(text: str) -> tuple[bool, float]:
        its = scores[text]
        known = its.objective if math.isfinite(its.objective) else math.inf
        return not answers_enough(its, reference, options), known

    ordered = sorted(scores, key=rank)  # the sort is stable, so of equal instructions the earlier one is kept
    enough = [text for text in ordered if answers_enough(scores[text], reference, options)]
    return (enough or ordered)[: options.keep]


def answers_enough(score: Score, reference: Score, options: SearchOptions) -> bool:
    """Return whether an instruction leaves few enough prompts unanswered; otherwise saying nothing would win."""
    return score.n > 0 and score.unanswered_share <= reference.unanswered_share + options.most_unanswered


HISTORY = {
    "iteration": pl.Int64,
    "instruction": pl.String,  # empty for the reference, which is no instruction
    "parent": pl.String,  # null for initial instructions
    "born": pl.Int64,  # round in which it was first tried
    "fate": pl.String,
    "score": pl.Float64,  # the objective; null if the instruction was not scored
    "rate": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "change": pl.Float64,  # change of the rate relative to the reference on the same prompts
    "groups_above": pl.Float64,
    "silent": pl.Float64,
    "n": pl.Int64,
    "n_missing": pl.Int64,
}
"""Columns of `history_frame`. Rates and shares are between 0 and 1, or null if no continuation was judged."""


def history_frame(steps: Sequence[SearchStep]) -> pl.DataFrame:
    """Return one row for each step of a search, with the columns of HISTORY.

    >>> from evenhand.mitigations.revision.searching import REFERENCE, KEPT, Score
    >>> steps = [SearchStep(0, NONE, None, 0, REFERENCE, Score(0.5, 0.4, 0.6, 100, 0, 0.5)),
    ...          SearchStep(0, "Be kind.", None, 0, KEPT, Score(0.3, 0.2, 0.4, 100, 0, 0.3))]
    >>> history_frame(steps).select("instruction", pl.col("change").round(3)).rows()
    [('', 0.0), ('Be kind.', -0.2)]
    """
    references = {
        step.iteration: step.score.rate for step in steps if step.instruction == NONE and step.score
    }
    rows = []
    for step in steps:
        row: dict[str, object] = {
            "iteration": step.iteration,
            "instruction": step.instruction,
            "parent": step.parent,
            "born": step.born,
            "fate": step.fate,
        }
        if (score := step.score) is not None:
            row |= {
                "score": score.objective,
                "change": score.rate - references.get(step.iteration, math.nan),
                "n": score.n,
                "n_missing": score.n_missing,
                **{name: getattr(score, name) for name in ("rate", "low", "high", "groups_above", "silent")},
            }
        rows.append(row)
    return pl.DataFrame(rows, schema=HISTORY).with_columns(pl.col(pl.Float64).fill_nan(None))


def lineage(history: pl.DataFrame, instruction: str) -> list[str]:
    """Return the chain of instructions from a hand-written one to the given one, each a rewording of the previous one.

    `history` is the table of `history_frame`.

    >>> table = pl.DataFrame({"instruction": ["a", "b"], "parent": [None, "a"], "n": [9, 9]})
    >>> lineage(table, "b")
    ['a', 'b']
    """
    # an instruction that was rejected may reword one of its descendants, which would give a cycle
    tried = history.filter(pl.col("n").is_not_null())
    parents = dict(tried.select("instruction", "parent").iter_rows())
    line = [instruction]
    while (parent := parents.get(line[0])) is not None:
        line.insert(0, parent)
    return line
