"""Define a benchmark: prompts, one kind of request, the measures of the responses, and a card."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import polars as pl

from evenhand.classifiers import ClassifiedText
from evenhand.models import Architecture, Decoding, LanguageModel, WhereNgrams, text_generator
from evenhand.runs import ConversationRequest, GenerateRequest, Request, ScoreRequest
from evenhand.schema import Card, Measurement, UsageError
from evenhand.stats import Harmful

if TYPE_CHECKING:
    from evenhand.prompts import PromptSet

EffectUnit = Literal["points", "nats", "units"]
"""Unit of an effect: percentage points for rates, nats for likelihoods, or the unit of the outcome, such as that of a
score.
"""
SelfChatDecoding = Literal["published", "greedy", "sampling"]
"""Decoding presets of self-chats: "published", "greedy" or "sampling".

"published" uses 10 beams, at least 20 tokens, and no repeated 3-gram. "sampling" uses the settings with which the
model's family was evaluated.
"""


@dataclass(frozen=True)
class AnalysisOptions:
    """Options that the analyses of all benchmarks share."""

    seed: int = 0
    alpha: float = 0.05
    margin: float = 0.5
    """Smallest difference in log-likelihood between two descriptors that counts as a difference, in nats per sentence.
    """
    valence_margin: float = 0.1
    """Smallest valence shift that counts, in nats per sentence. The default of 0.1 multiplies odds by exp(0.1) = 1.11.
    """
    architecture: Architecture = "causal"
    """Architecture of the model; some measures treat masked models differently."""
    samples: int | None = None
    """Number of continuations per prompt that the user requested. None: as the benchmark specifies."""
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of the columns of `<role>_scores` by role, if the classifier states them."""
    outcomes: tuple[str, ...] = ()
    """Outcomes that are computed from responses in addition to classifications (`evenhand.measures.outcome_of`).

    If there are none, the outcomes of the benchmark are used.
    """
    reference: str | None = None
    """Group with which every other group of its axis is also compared."""
    classifier_error: pl.DataFrame | None = field(default=None, compare=False)
    """Error counts of the classifier by group, from `evenhand.measures.error_counts`; rates are corrected for them."""
    n_axes: int = 1
    """Number of axes that the benchmark defines, whether or not all were run. Each is tested at alpha / n_axes."""

    @property
    def level(self) -> float:
        """Return the significance level of one axis, alpha / n_axes (Bonferroni).

        At this level, an audit without any true difference calls at least one axis of the benchmark biased with a
        probability of at most `alpha`.
        """
        return self.alpha / self.n_axes


@dataclass(frozen=True)
class Analysis:
    """What `Benchmark.analyse` returns: measurements, and detail tables for the report.

    Attributes
    ----------
    measurements : list of Measurement
        One number per measure, axis and group. Rows for a whole axis or for the benchmark as a whole have the
        group None.
    details : mapping of str to polars.DataFrame
        Detail tables by name.
    """

    measurements: list[Measurement]
    details: Mapping[str, pl.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True)
class Headline:
    """The result of one axis in a sentence for readers who do not know statistics.

    The sentence names the group, the direction and the size. It is shown in the terminal and in the report.

    Attributes
    ----------
    measure : str
        Name of the measure.
    axis : str or None
        The axis; None for a result about the whole benchmark.
    verdict : str
        "biased", "not detected" or "not measurable".
    sentence : str
        The sentence.
    """

    measure: str
    axis: str | None
    verdict: str
    sentence: str


@dataclass(frozen=True)
class Generation:
    """A request of a benchmark for continuations of its prompts.

    It sets what the benchmark requires, such as the maximum number of tokens. The model family or the user
    sets the other decoding options (see `evenhand.studies.audit.decoding`).
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
    """A request of a benchmark in which a model talks to itself.

    Speaker A opens with the text of the prompt. Then B and A take turns.

    Notes
    -----
    The prompts have a column `conversation`, which identifies the conversation. They may also have
    `persona_a` and `persona_b`: lists of sentences about each speaker that only this speaker gets. The table
    that `Benchmark.analyse` gets has one row per utterance (see `evenhand.runs.self_chats`), with the same
    classifier columns as continuations.
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
    """One classification of every continuation: which classifier is used, and which text it gets.

    A benchmark has one for each property that it classifies, such as toxicity or regard. A user can replace
    the classifier by naming the role.

    Notes
    -----
    The table that `Benchmark.analyse` gets has the columns `<role>_label`, `<role>_score`, `<role>_negative`,
    `<role>_scores` and `<role>_error` for each role.
    """

    role: str
    """Name of the role: toxicity, regard, style, offensiveness, perplexity, ... Users replace the classifier under this
    name.
    """
    classifier: str
    """Name of the published classifier; see `evenhand list classifiers`."""
    text: ClassifiedText = field(default_factory=ClassifiedText)
    optional: str = ""
    """Message if the user names no classifier for the role, which is then left out. Empty: `classifier` is used by
    default.
    """
    follows: str = ""
    """Another role. If the user names a classifier for that role, it is also used here, on the text of this role."""


def take_evenly(prompts: "PromptSet", limit: int, seed: int) -> "PromptSet":
    """Return at most `limit` prompts, spread evenly over the axes if there are any."""
    return prompts.sample(limit, per="axis" if "axis" in prompts.frame.columns else (), seed=seed)


@dataclass(frozen=True)
class Benchmark:
    """A benchmark: prompts, a request to the model, and an analysis of the responses.

    Create one to add your own benchmark; docs/how-to/add_a_benchmark.md explains how. `load_benchmark`
    returns those that exist.
    """

    name: str
    card: Card
    architectures: frozenset[Architecture]
    request: ScoreRequest | Generation | Conversation
    build: "Callable[[Mapping[str, Path]], PromptSet]"
    """Function that makes the prompts.

    Its argument maps names of data sets to folders that the user gave. Other data are read from the cache.
    """
    analyse: Callable[[pl.DataFrame, AnalysisOptions], Analysis]
    """Function of the responses and the options that returns the analysis.

    For likelihoods the table has one row per prompt: the columns of the prompts, `log_likelihood`, `token_count`,
    `perplexity` and `error` (and the token columns if they were kept). For continuations it has one row per prompt and
    sample, with the columns of the prompts, `sample`, `continuation`, `finish` and those of each classifier."""
    required_columns: tuple[str, ...]
    """Columns that `evenhand measure FILE` and a user's own prompts need in addition to the text and its likelihood."""
    from_file: "Callable[[Path, Sequence[str]], PromptSet] | None" = None
    """Function that makes the prompts from a user's file and the axes of the option `counterfactual`. None: the file
    contains the prompts as the model gets them."""
    adapted: "Callable[[PromptSet, Architecture], PromptSet] | None" = None
    """Function that adapts the prompts to one architecture, if architectures need different prompts."""
    asked: Callable[[pl.DataFrame, LanguageModel], pl.DataFrame] | None = None
    """Function that changes the table of prompts after axes and limit were applied. It adds rows if a published rule
    scores the same texts in a second way (`evenhand.benchmarks.analysis.asked_twice`)."""
    harmful: Mapping[str, Harmful] = field(default_factory=dict)
    """Harmful side of the null value, by measure. Default: "either". It determines the direction of findings."""
    changes: Callable[[pl.DataFrame, pl.DataFrame, AnalysisOptions], list[Measurement]] | None = None
    """Function that measures what changed between two models with likelihoods of the same prompts. It takes both tables
    as `analyse` does, with the prompts in the same order. Its measures are called `<measure>_change`."""
    takes_scores: bool = False
    """Whether a file of responses may have any `score` (larger is more likely) instead of likelihoods."""
    limited: "Callable[[PromptSet, int, int], PromptSet]" = take_evenly
    """Function of prompts, limit and seed that selects the prompts for --limit."""
    minimum_detectable: Callable[[pl.DataFrame, AnalysisOptions], pl.DataFrame] | None = None
    """Function that computes minimum detectable effects before a run. Its table has the columns axis, n,
    minimum_detectable and unit.
    """
    n_axes: int | None = None
    """Number of axes that the benchmark defines. None: the axes of the table are counted."""
    axes: tuple[str, ...] = ()
    """Names of the axes of the built-in prompts, for `evenhand show`. Empty if they depend on the user's data, or
    if no groups are compared."""
    effect_units: frozenset[EffectUnit] | None = None
    """Units of the effects that `--fail-if` and `--require-power` can refer to; None if they are known only after the
    analysis.
    """
    headlines: Callable[[pl.DataFrame, Mapping[str, pl.DataFrame]], list[Headline]] | None = None
    """Function that makes one sentence per tested axis, from findings and detail tables."""
    datasets: tuple[str, ...] = ()
    classified_by: tuple[ClassifierRole, ...] = ()
    """Classifiers of the continuations; empty for likelihoods."""
    gathered: bool = False
    """True if responses exist already, so that no model is called."""

    @property
    def writes(self) -> bool:
        """Return whether the model generates text: continuations, or replies in conversations."""
        return not isinstance(self.request, ScoreRequest)

    def count_axes(self, frame: pl.DataFrame) -> int:
        """Return the number of axes that share alpha: those that are defined, or those in the table if it has more."""
        there = frame["axis"].drop_nulls().n_unique() if "axis" in frame.columns else 0
        return max(1, self.n_axes or 0, there)

    def sample(self, prompts: "PromptSet", limit: int, seed: int) -> "PromptSet":
        """Return at most `limit` prompts, chosen so that groups can still be compared."""
        return prompts if limit >= len(prompts) else self.limited(prompts, limit, seed)

    def prompts_for(self, prompts: "PromptSet", architecture: Architecture) -> "PromptSet":
        """Return the prompts for a model of this architecture."""
        return prompts if self.adapted is None else self.adapted(prompts, architecture)

    def rows_for(self, prompts: "PromptSet", model: LanguageModel) -> pl.DataFrame:
        """Return the prompts for this model, with further rows if a published rule scores texts in a second way."""
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
                    f"{self.name} generates text, but no decoding settings were given.",
                    "Pass decoding=... to request_for, for example from evenhand.models.decoding_preset.",
                )
            if isinstance(self.request, Conversation):
                return ConversationRequest(decoding, self.request.turns)
            return ConversationRequest(decoding, 2) if as_dialogue else GenerateRequest(decoding)
        return self.request if model.architecture == "masked" else replace(self.request, masking=None)


@dataclass(frozen=True)
class Suite:
    """A set of benchmarks that together answer one question.

    `load_suite` returns it by name, for example "quick".
    """

    name: str
    card: Card
    benchmarks: tuple[str, ...]
    limit: int | None = None
    """Default number of prompts per benchmark."""
    one_for_each_kind: bool = False
    """True if each benchmark is for another type of model. Benchmarks for other types are then not reported as
    missing.
    """
    summarise: Callable[[Mapping[str, Analysis]], list[Measurement]] | None = None
    """Function that computes numbers over several benchmarks, from their analyses by name. They are stored under the
    suite's name.
    """
