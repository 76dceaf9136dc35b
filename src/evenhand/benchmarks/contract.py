"""What a benchmark is: prompts, one kind of request, the measures on its answers, and a card."""

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

SelfChatDecoding = Literal["published", "greedy", "sampling"]
"""published: 10 beams, 20 tokens at least, no 3-gram twice; greedy; sampling: drawn as the model's family was."""


@dataclass(frozen=True)
class AnalysisOptions:
    """Choices that every analysis shares."""

    seed: int = 0
    alpha: float = 0.05
    margin: float = 0.5
    """Difference (nats per sentence) beyond which two descriptors count as differently likely; described only."""
    valence_margin: float = 0.1
    """Smallest valence shift (nats per sentence) that counts as one: odds of e to it, 1.11."""
    architecture: Architecture = "causal"
    """Of the model that answered; some measures read masked models differently."""
    samples: int | None = None
    """Continuations a prompt that the user asked for; None where the benchmark's own number holds."""
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By role: what the columns of `<role>_scores` are called, where the classifier says."""
    outcomes: tuple[str, ...] = ()
    """What is read from answers beside what classifiers say (`evenhand.measures.outcome_of`); none: the benchmark's."""
    reference: str | None = None
    """A group with which the others of its axis are compared one by one, too."""
    classifier_error: pl.DataFrame | None = field(default=None, compare=False)
    """How often the classifier is wrong about groups, as `evenhand.measures.error_counts` returns it: rates of groups
    are corrected by it."""
    n_axes: int = 1
    """Axes that the benchmark defines, whatever was run of them: each is tested at alpha / n_axes."""

    @property
    def level(self) -> float:
        """At which an axis is tested, so that a benchmark without differences names any in at most alpha of audits."""
        return self.alpha / self.n_axes


@dataclass(frozen=True)
class Analysis:
    """Measurements (headline rows have group None) and detail tables by name, for the report."""

    measurements: list[Measurement]
    details: Mapping[str, pl.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True)
class Headline:
    """What one axis came to, in a sentence for somebody who knows no statistics: who, which way, how much."""

    measure: str
    axis: str | None
    verdict: str
    sentence: str


@dataclass(frozen=True)
class Generation:
    """How a benchmark asks for continuations; the rest of the decoding belongs to the model's family or the
    user (`evenhand.studies.audit.decoding`)."""

    max_new_tokens: int
    samples: int = 1
    min_new_tokens: int = 0
    no_repeat_ngram_size: int | None = None
    no_repeat_ngram_in: WhereNgrams = "text"
    replies: bool = False
    """Whether prompts are what somebody says, and the continuation is to answer it. Who is told of conversations in a
    format of its own is then asked for the second utterance of one; all others go on with the text."""


@dataclass(frozen=True)
class Conversation:
    """How a benchmark has a model talk with itself: speaker A opens with the prompt's text, then B and A take turns.

    Prompts have a column `conversation` that numbers or names them, and may have `persona_a` and `persona_b`, lists of
    sentences about each speaker that only that speaker is told. The frame that `analyse` gets has one row an
    utterance, see `evenhand.runs.self_chats`; its columns of judges are those of continuations.
    """

    turns: int = 12
    """Utterances, the opener among them."""
    max_new_tokens: int = 60
    """After which a reply is cut."""
    min_new_tokens: int | None = None
    """Before which none ends, in place of the preset's: 20 as published, else 1."""
    decoding: SelfChatDecoding = "published"
    """How replies are written unless the user says otherwise (`evenhand.studies.audit.decoding`)."""


@dataclass(frozen=True)
class ClassifierRole:
    """One judgement of every continuation: by whom, and of what text.

    Its columns in the frame that `analyse` gets are `<role>_label`, `<role>_score`, `<role>_negative`,
    `<role>_scores` and `<role>_error`.
    """

    role: str
    """toxicity, regard, style, offensiveness, perplexity, ...: what the user replaces a classifier by."""
    classifier: str
    """The published one, by name; see `evenhand list classifiers`."""
    text: ClassifiedText = field(default_factory=ClassifiedText)
    optional: str = ""
    """What holds until somebody is named for the role; empty: `classifier` judges unless another is named."""
    follows: str = ""
    """The role whose named classifier judges this one, too, unless another is named: the same judge of another text."""


def take_evenly(prompts: PromptSet, limit: int, seed: int) -> PromptSet:
    """At most `limit` prompts, spread over the axes where there are any."""
    return prompts.sample(limit, per="axis" if "axis" in prompts.frame.columns else (), seed=seed)


@dataclass(frozen=True)
class Benchmark:
    """A recipe; see docs/how-to/add_a_benchmark.md for how to write one."""

    name: str
    card: Card
    architectures: frozenset[Architecture]
    request: ScoreRequest | Generation | Conversation
    build: Callable[[Mapping[str, Path]], PromptSet]
    """Takes data folders given by the user, by data set name; anything else comes from the cache."""
    analyse: Callable[[pl.DataFrame, AnalysisOptions], Analysis]
    """Takes one row per prompt: the prompt's columns, `log_likelihood`, `token_count`, `perplexity`,
    `error` (and the token columns if kept). Of continuations it takes one row per prompt and sample:
    also `sample`, `continuation`, `finish` and the columns of each judge."""
    required_columns: tuple[str, ...]
    """What `evenhand measure FILE` and a user's own prompts need besides the text and its likelihood."""
    from_file: Callable[[Path, Sequence[str]], PromptSet] | None = None
    """How its prompts are made of a file of the user's and the axes that the option `counterfactual` names; None: the
    file holds them as they are asked."""
    adapted: Callable[[PromptSet, Architecture], PromptSet] | None = None
    """How the prompts are put to one kind of model, where kinds differ."""
    asked: Callable[[pl.DataFrame, LanguageModel], pl.DataFrame] | None = None
    """The table as it is asked of a model, after axes and limit: with further rows where a published rule reads the
    same texts in another way (`evenhand.benchmarks.analysis.asked_twice`)."""
    harmful: Mapping[str, Harmful] = field(default_factory=dict)
    """By measure: on which side of its null the harm lies, "either" unless named: it names the direction."""
    changes: Callable[[pl.DataFrame, pl.DataFrame, AnalysisOptions], list[Measurement]] | None = None
    """What changed between two models that were asked the same likelihoods: both frames as `analyse` takes them, with
    the same prompts in the same order. Rows are called `<measure>_change`."""
    takes_scores: bool = False
    """Whether a file of responses may hold any `score` (larger is likelier) instead of likelihoods."""
    limited: Callable[[PromptSet, int, int], PromptSet] = take_evenly
    """How --limit takes a part of the prompts: (prompts, limit, seed)."""
    minimum_detectable: Callable[[pl.DataFrame, AnalysisOptions], pl.DataFrame] | None = None
    """Before anything is run: axis, n, minimum_detectable, unit."""
    n_axes: int | None = None
    """Axes it defines; None where that depends on the table, whose axes are counted then."""
    headlines: Callable[[pl.DataFrame, Mapping[str, pl.DataFrame]], list[Headline]] | None = None
    """From findings and detail tables: a sentence for each axis that was judged."""
    datasets: tuple[str, ...] = ()
    classified_by: tuple[ClassifierRole, ...] = ()
    """Who judges the continuations; empty for likelihoods."""
    gathered: bool = False
    """Whether its answers are somebody's own, whoever gave them; nothing is asked for it."""

    @property
    def writes(self) -> bool:
        """Whether the model is asked for text: continuations, or replies in conversations."""
        return not isinstance(self.request, ScoreRequest)

    def axes_of(self, frame: pl.DataFrame) -> int:
        """How many axes share the level alpha: those defined, or those of the table where these are more."""
        there = frame["axis"].drop_nulls().n_unique() if "axis" in frame.columns else 0
        return max(1, self.n_axes or 0, there)

    def sample(self, prompts: PromptSet, limit: int, seed: int) -> PromptSet:
        """At most `limit` prompts, chosen so that the comparison stays possible."""
        return prompts if limit >= len(prompts) else self.limited(prompts, limit, seed)

    def prompts_for(self, prompts: PromptSet, architecture: Architecture) -> PromptSet:
        """The prompts as they are put to this kind of model."""
        return prompts if self.adapted is None else self.adapted(prompts, architecture)

    def rows_for(self, prompts: PromptSet, model: LanguageModel) -> pl.DataFrame:
        """The rows that are asked of this model: the prompts, and further ones that published rules need."""
        return prompts.frame if self.asked is None else self.asked(prompts.frame, model)

    def request_for(
        self, model: LanguageModel, decoding: Decoding | None = None, *, as_dialogue: bool = False
    ) -> Request:
        """The request as this model takes it: masking is for masked models only, continuations for those that
        write.

        decoding: how they are written, for a benchmark of continuations (`evenhand.studies.audit.decoding`).
        as_dialogue: whether its continuations are asked for as replies (`Generation.replies`). Raises Unsupported if
        the model cannot write them, UsageError if no decoding is given.
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
    """Benchmarks that answer a question together."""

    name: str
    card: Card
    benchmarks: tuple[str, ...]
    limit: int | None = None
    """Prompts per benchmark unless the user says otherwise."""
    one_for_each_kind: bool = False
    """Each benchmark is for another kind of model: those for other kinds are not missed."""
    summarise: Callable[[Mapping[str, Analysis]], list[Measurement]] | None = None
    """Numbers over several benchmarks, from their analyses by name; stored under the suite's name."""
