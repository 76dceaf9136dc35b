"""`ReportView`: the immutable data from which page, terminal and JSON are created."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from evenhand.schema import FINDINGS, HEADLINES, MEASUREMENTS, Card

JUDGED = ("verdict", "note", "direction")


@dataclass(frozen=True)
class ClassifierView:
    """A classifier of a report: what it labelled in one role, and the facts about it.

    Attributes
    ----------
    role, name : str
        What is judged, and the name of the classifier.
    text : str
        Description of the text that it classified.
    revision, licence, threshold : str
        As the classifier states them; empty if it does not.
    notice : str
        Notice that the classifier will be discontinued.
    texts : int or None
        Number of distinct texts that were classified.
    card : Card or None
        The card, if the classifier is known.
    facts : mapping of str
        All facts of the classifier as plain data.
    """

    role: str
    name: str
    text: str
    revision: str = ""
    licence: str = ""
    threshold: str = ""
    notice: str = ""
    texts: int | None = None
    card: Card | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class WrittenView:
    """The continuations of a benchmark in a report: how many were requested, generated and classified.

    Attributes
    ----------
    n_prompts, samples : int
        Number of prompts, and of continuations per prompt.
    asked : polars.DataFrame
        Requested continuations: columns axis, group and n.
    failures : polars.DataFrame
        Columns axis, group, step, error and count. The step is "written" or the role of a classifier. A
        continuation that was not generated is not listed again as unclassified.
    decoding : str
        Description of the decoding settings, and the reason for them.
    """

    n_prompts: int
    samples: int
    asked: pl.DataFrame
    failures: pl.DataFrame
    decoding: str = ""
    classifiers: tuple[ClassifierView, ...] = ()
    conversations: bool = False
    """Whether the prompts open conversations. `samples` is then the number of replies after each."""
    gathered: bool = False
    """Whether the texts are existing responses that the user collected, one per prompt."""
    units: int | None = None
    """Number of people or cases that the collected responses are about, if a column identifies them."""

    def told(self, answers: int) -> str:
        """Return a text on the numbers of texts and prompts; `answers` is the number of requested texts.

        Examples
        --------
        >>> empty = pl.DataFrame()
        >>> WrittenView(60, 4, empty, empty).told(240), WrittenView(9, 11, empty, empty, conversations=True).told(95)
        ('60 prompts × 4 = 240 continuations', '9 conversations, 95 replies')
        """
        if self.gathered:
            return f"{self.n_prompts:,} responses" + (
                f" from {self.units:,} units (such as people)" if self.units else ""
            )
        if self.conversations:
            return f"{self.n_prompts:,} conversations, {answers:,} replies"
        if self.samples <= 1:
            return f"{self.n_prompts:,} prompts, one continuation each"
        return f"{self.n_prompts:,} prompts × {self.samples} = {answers:,} continuations"


@dataclass(frozen=True)
class BenchmarkView:
    """One benchmark's part of a report.

    Attributes
    ----------
    name : str
        Name of the benchmark.
    card : Card
        Its card.
    details : mapping of str to polars.DataFrame
        Detail tables of the analysis by name, each optional: `descriptors`, `descriptor_templates`, `pairs`,
        `valence`, `valence_axes`, `valence_pairs`, `distribution`, `groups`, `scorings`.
    n_prompts : int
        Number of requested responses: one per prompt, or one per prompt and sample.
    n_errors : int
        Number of these responses that failed.
    errors : polars.DataFrame, optional
        Columns axis, error and count.
    examples : polars.DataFrame, optional
        Some prompts to show (axis, text, perplexity).
    written : WrittenView, optional
        For a benchmark of continuations.
    n_axes : int, default 1
        Number of axes of the benchmark; each is tested at its share of the significance level.

    Examples
    --------
    >>> BenchmarkView("mine", Card("mine", "one line"), n_prompts=4).detail("pairs") is None
    True
    """

    name: str
    card: Card
    details: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    n_prompts: int = 0
    n_errors: int = 0
    errors: pl.DataFrame | None = None
    examples: pl.DataFrame | None = None
    written: WrittenView | None = None
    n_axes: int = 1

    def detail(self, name: str, axis: str | None = None) -> pl.DataFrame | None:
        """Return a detail frame, optionally of one axis; None if it is absent or has no such rows."""
        frame = self.details.get(name)
        if frame is None or axis is None:
            return None if frame is None or frame.is_empty() else frame
        mine = frame.filter(pl.col("axis") == axis)
        return None if mine.is_empty() else mine


@dataclass(frozen=True)
class ReportView:
    """Everything that a report shows, already computed.

    Every report is written from it: terminal, HTML page, JSON and model card.

    Attributes
    ----------
    title : str
        Usually the name of the model.
    model : mapping of str
        Result of `LanguageModel.describe()`.
    manifest : mapping of str
        The manifest of the run as plain data.
    measurements, findings : polars.DataFrame
        The tables of `evenhand.schema`.
    benchmarks : tuple of BenchmarkView
        One per benchmark.
    measure_cards : mapping of str to Card
        The card of each measure.
    paths : mapping of str to str
        Files of the run to list, by kind.
    alpha : float, default 0.05
        Significance level of the findings.

    Examples
    --------
    >>> empty = pl.DataFrame(schema=MEASUREMENTS), pl.DataFrame(schema=FINDINGS)
    >>> ReportView("gpt2", {}, {}, *empty, benchmarks=()).measures("crows-pairs")
    []
    """

    title: str
    model: Mapping[str, Any]
    manifest: Mapping[str, Any]
    measurements: pl.DataFrame
    findings: pl.DataFrame
    benchmarks: tuple[BenchmarkView, ...]
    measure_cards: Mapping[str, Card] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)
    alpha: float = 0.05
    left_out: tuple[str, ...] = ()
    """Benchmarks of the suite that were not run, each with the reason."""
    headlines: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=HEADLINES))
    """The result of each axis in a sentence (columns: `evenhand.schema.HEADLINES`)."""

    def __post_init__(self) -> None:
        for name, frame, schema in (
            ("measurements", self.measurements, MEASUREMENTS),
            ("findings", self.findings, FINDINGS),
        ):
            if lacking := sorted(schema.keys() - set(frame.columns)):
                raise ValueError(f"the {name} table of a report lacks the columns {', '.join(lacking)}")

    def measures(self, benchmark: str) -> list[str]:
        """Return the names of a benchmark's measures, in the order in which they were written."""
        rows = self.measurements.filter(pl.col("benchmark") == benchmark)
        return rows["measure"].unique(maintain_order=True).to_list()

    def rows(
        self, benchmark: str, measure: str, *, groups: bool = False, strata: bool = False
    ) -> pl.DataFrame:
        """Return the measurements of a measure with `verdict`, `note` and `direction` (null without a test).

        Parameters
        ----------
        benchmark, measure : str
            The benchmark and the measure.
        groups : bool, default False
            Return rows of single groups instead of rows of whole axes.
        strata : bool, default False
            Return rows of single strata instead of pooled rows.
        """
        keys = ["benchmark", "measure", "axis", "group", "stratum"]
        mine = (pl.col("benchmark") == benchmark) & (pl.col("measure") == measure)
        whole = pl.col("group").is_not_null() if groups else pl.col("group").is_null()
        part = pl.col("stratum").is_not_null() if strata else pl.col("stratum").is_null()
        rows = self.measurements.filter(mine & whole & part)
        verdicts = self.findings.select(*keys, *JUDGED).unique(keys, maintain_order=True)
        return rows.join(verdicts, on=keys, how="left", nulls_equal=True, maintain_order="left")

    def judged(self, benchmark: str) -> list[str]:
        """Return the measures of a benchmark that have a verdict on at least one whole axis."""
        whole = self.findings.filter((pl.col("benchmark") == benchmark) & pl.col("group").is_null())
        judged = set(whole["measure"].to_list())
        return [name for name in self.measures(benchmark) if name in judged]

    def measure_label(self, measure: str) -> str:
        """Return a measure's name for readers, without underscores."""
        return measure.replace("_", " ")
