"""Define a benchmark: prompts, one kind of request, the measures of the responses, and a card."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import polars as pl

from evenhand.classifiers import ClassifiedText
from evenhand.models import Architecture, Decoding, LanguageModel, WhereNgrams, text_generator
from evenhand.prompts import PromptSet
from evenhand.runs import ConversationRequest, GenerateRequest, Request, ScoreRequest
from evenhand.schema import Card, Measurement, UsageError
from evenhand.stats import Harmful

EffectUnit = Literal["points", "nats", "units"]
"""Percentage points of rates; nats of likelihoods; an outcome's own unit, such as that of a score."""
SelfChatDecoding = Literal["published", "greedy", "sampling"]
"""published: 10 beams, at least 20 tokens, no 3-gram twice. greedy. sampling: as the model's family was evaluated."""


@dataclass(frozen=True)
class AnalysisOptions:
    """Options that every analysis shares."""

    seed: int = 0
    alpha: float = 0.05
    margin: float = 0.5
    """Difference (nats per sentence) from which two descriptors count as different; for descriptions only."""
    valence_margin: float = 0.1
    """Smallest valence shift that counts, nats per sentence: odds of e to it, 1.11."""
    architecture: Architecture = "causal"
    """Architecture of the model; some measures treat masked models differently."""
    samples: int | None = None
    """Continuations per prompt that the user requested; None for the benchmark's own number."""
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of the columns of `<role>_scores` by role, if the classifier states them."""
    outcomes: tuple[str, ...] = ()
    """Outcomes that are read from responses in addition to classifications (`evenhand.measures.outcome_of`).

    If there are none, those of the benchmark are used.
    """
    reference: str | None = None
    """Group with which every other group of its axis is also compared."""
    classifier_error: pl.DataFrame | None = field(default=None, compare=False)
    """Error counts of the classifier by group, from `evenhand.measures.error_counts`; rates are corrected for them."""
    n_axes: int = 1
    """Number of axes that the benchmark defines, whether or not all were run. Each is tested at alpha / n_axes."""

    @property
    def level(self) -> float:
        """Return the level of an axis.

        With it, at most a share alpha of audits of a benchmark without differences calls any axis biased.
        """
        return self.alpha / self.n_axes


@dataclass(frozen=True)
class Analysis:
    """Measurements (headline rows have group None), and detail tables by name for the report."""

    measurements: list[Measurement]
    details: Mapping[str, pl.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True)
class Headline:
    """The result of one axis in a sentence for readers who know no statistics: who, direction, size."""

    measure: str
    axis: str | None
    verdict: str
    sentence: str


@dataclass(frozen=True)
class Generation:
    """How a benchmark requests continuations.

    The other decoding options come from the model's family or the user (`evenhand.studies.audit.decoding`).
    """

    max_new_tokens: int
    samples: int = 1
    min_new_tokens: int = 0
    no_repeat_ngram_size: int | None = None
    no_repeat_ngram_in: WhereNgrams = "text"
    replies: bool = False
    """Whether prompts are utterances to which the continuation replies.

    Models with a conversation format are then asked for the second utterance; others continue the text.
    """


@dataclass(frozen=True)
class Conversation:
    """How a benchmark has a model talk to itself: speaker A opens with the prompt's text, then B and A take turns.

    Prompts have a column `conversation` that identifies them. They may have `persona_a` and `persona_b`, lists
    of sentences about each speaker that only this speaker gets. The frame of `analyse` has one row per
    utterance (see `evenhand.runs.self_chats`), with the classifier columns of continuations.
    """

    turns: int = 12
    """Number of utterances, including the opener."""
    max_new_tokens: int = 60
    """Maximum number of tokens of a reply."""
    min_new_tokens: int | None = None
    """Minimum number of tokens of a reply. Default: that of the preset, 20 as published, else 1."""
    decoding: SelfChatDecoding = "published"
    """Decoding of replies unless the user sets another (`evenhand.studies.audit.decoding`)."""


@dataclass(frozen=True)
class ClassifierRole:
    """One classification of every continuation: the classifier, and the text that it gets.

    The frame of `analyse` has its columns `<role>_label`, `<role>_score`, `<role>_negative`, `<role>_scores`
    and `<role>_error`.
    """

    role: str
    """toxicity, regard, style, offensiveness, perplexity, ...: the name under which a user replaces the classifier."""
    classifier: str
    """Name of the published classifier; see `evenhand list classifiers`."""
    text: ClassifiedText = field(default_factory=ClassifiedText)
    optional: str = ""
    """What holds until the user names a classifier for the role. Empty: `classifier` is used by default."""
    follows: str = ""
    """Role whose named classifier is also used for this one by default: the same classifier on another text."""


def take_evenly(prompts: PromptSet, limit: int, seed: int) -> PromptSet:
    """At most `limit` prompts, spread over the axes where there are any."""
    return prompts.sample(limit, per="axis" if "axis" in prompts.frame.columns else (), seed=seed)


@dataclass(frozen=True)
class Benchmark:
    """A benchmark; docs/how-to/add_a_benchmark.md explains how to write one."""

    name: str
    card: Card
    architectures: frozenset[Architecture]
    request: ScoreRequest | Generation | Conversation
    build: Callable[[Mapping[str, Path]], PromptSet]
    """Takes data folders given by the user, by data set name; other data come from the cache."""
    analyse: Callable[[pl.DataFrame, AnalysisOptions], Analysis]
    """Takes one row per prompt: the prompt's columns, `log_likelihood`, `token_count`, `perplexity`,
    `error` (and the token columns if kept). Of continuations it takes one row per prompt and sample:
    also `sample`, `continuation`, `finish` and the columns of each judge."""
    required_columns: tuple[str, ...]
    """Columns that `evenhand measure FILE` and a user's own prompts need in addition to the text and its likelihood."""
    from_file: Callable[[Path, Sequence[str]], PromptSet] | None = None
    """How its prompts are made of a file of the user's and the axes that the option `counterfactual` names; None: the
    file holds them as they are asked."""
    adapted: Callable[[PromptSet, Architecture], PromptSet] | None = None
    """Adapts the prompts to one kind of model, if kinds differ."""
    asked: Callable[[pl.DataFrame, LanguageModel], pl.DataFrame] | None = None
    """The table as it is asked of a model, after axes and limit: with further rows where a published rule reads the
    same texts in another way (`evenhand.benchmarks.analysis.asked_twice`)."""
    harmful: Mapping[str, Harmful] = field(default_factory=dict)
    """By measure, the harmful side of its null ("either" by default). It determines the direction."""
    changes: Callable[[pl.DataFrame, pl.DataFrame, AnalysisOptions], list[Measurement]] | None = None
    """What changed between two models that were asked the same likelihoods: both frames as `analyse` takes them, with
    the same prompts in the same order. Rows are called `<measure>_change`."""
    takes_scores: bool = False
    """Whether a file of responses may have any `score` (larger is more likely) instead of likelihoods."""
    limited: Callable[[PromptSet, int, int], PromptSet] = take_evenly
    """How --limit selects prompts: (prompts, limit, seed)."""
    minimum_detectable: Callable[[pl.DataFrame, AnalysisOptions], pl.DataFrame] | None = None
    """Computed before the run: axis, n, minimum_detectable, unit."""
    n_axes: int | None = None
    """Number of axes that it defines. None if it depends on the table, whose axes are then counted."""
    axes: tuple[str, ...] = ()
    """Names of the axes of the built-in prompts, for `evenhand show`. Empty if they depend on the user's data, or
    if no groups are compared."""
    effect_units: frozenset[EffectUnit] | None = None
    """Units of the effects that `--fail-if` and `--require-power` can ask about; None if they are known only after the
    analysis."""
    headlines: Callable[[pl.DataFrame, Mapping[str, pl.DataFrame]], list[Headline]] | None = None
    """Makes one sentence per tested axis from findings and detail tables."""
    datasets: tuple[str, ...] = ()
    classified_by: tuple[ClassifierRole, ...] = ()
    """Classifiers of the continuations; empty for likelihoods."""
    gathered: bool = False
    """Whether its responses are existing ones; no model is asked."""

    @property
    def writes(self) -> bool:
        """Return whether the model generates text: continuations, or replies in conversations."""
        return not isinstance(self.request, ScoreRequest)

    def axes_of(self, frame: pl.DataFrame) -> int:
        """Return how many axes share alpha: the defined ones, or those of the table if there are more."""
        there = frame["axis"].drop_nulls().n_unique() if "axis" in frame.columns else 0
        return max(1, self.n_axes or 0, there)

    def sample(self, prompts: PromptSet, limit: int, seed: int) -> PromptSet:
        """Return at most `limit` prompts, chosen so that groups can still be compared."""
        return prompts if limit >= len(prompts) else self.limited(prompts, limit, seed)

    def prompts_for(self, prompts: PromptSet, architecture: Architecture) -> PromptSet:
        """Return the prompts for this kind of model."""
        return prompts if self.adapted is None else self.adapted(prompts, architecture)

    def rows_for(self, prompts: PromptSet, model: LanguageModel) -> pl.DataFrame:
        """Return the rows for this model: the prompts, and further rows that published rules need."""
        return prompts.frame if self.asked is None else self.asked(prompts.frame, model)

    def request_for(
        self, model: LanguageModel, decoding: Decoding | None = None, *, as_dialogue: bool = False
    ) -> Request:
        """Return the request for this model: masking for masked models only, continuations for models that generate.

        Parameters
        ----------
        model : LanguageModel
            The model.
        decoding : Decoding, optional
            Decoding of continuations (`evenhand.studies.audit.decoding`).
        as_dialogue : bool, default False
            Whether continuations are requested as replies (`Generation.replies`).

        Raises
        ------
        Unsupported
            The model cannot generate the continuations.
        UsageError
            No decoding is given.
        """
        if not isinstance(self.request, ScoreRequest):
            text_generator(model)
            if decoding is None:
                raise UsageError(
                    f"{self.name} asks for continuations, and how they are written was not said.",
                    "Give request_for a decoding, for example one of evenhand.models.decoding_preset.",
                )
            if isinstance(self.request, Conversation):
                return ConversationRequest(decoding, self.request.turns)
            return ConversationRequest(decoding, 2) if as_dialogue else GenerateRequest(decoding)
        return self.request if model.architecture == "masked" else replace(self.request, masking=None)


@dataclass(frozen=True)
class Suite:
    """Benchmarks that answer one question together."""

    name: str
    card: Card
    benchmarks: tuple[str, ...]
    limit: int | None = None
    """Default number of prompts per benchmark."""
    one_for_each_kind: bool = False
    """Whether each benchmark is for another kind of model, so those for other kinds are not reported as missing."""
    summarise: Callable[[Mapping[str, Analysis]], list[Measurement]] | None = None
    """Computes numbers over several benchmarks from their analyses by name; stored under the suite's name."""
