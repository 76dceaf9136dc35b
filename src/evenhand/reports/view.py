"""`ReportView`: the frozen values that page, terminal and JSON are all made from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from evenhand.schema import FINDINGS, HEADLINES, MEASUREMENTS, Card

JUDGED = ("verdict", "note", "direction")


@dataclass(frozen=True)
class ClassifierView:
    """A classifier that labelled the continuations of a benchmark in one role, and the texts that it got.

    name, revision, licence, threshold: as the classifier states them, in words; empty if it does not. text: a
    description of its input. card: that of a known classifier. notice: its notice of discontinuation.
    texts: number of distinct texts classified. facts: all facts of the classifier, as plain data.
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
    """The continuations of a benchmark: requested, generated and classified.

    n_prompts, samples: prompts, and continuations of each. decoding: how they were written and why so, in words.
    asked: columns axis, group, n: continuations asked for. failures: columns axis, group, step ("written", or the role
    that judged), error, count; a continuation that was not written is not listed as unjudged again.
    """

    n_prompts: int
    samples: int
    asked: pl.DataFrame
    failures: pl.DataFrame
    decoding: str = ""
    classifiers: tuple[ClassifierView, ...] = ()
    conversations: bool = False
    """Whether the prompts open conversations; samples are then the replies behind each."""
    gathered: bool = False
    """Whether the prompts are answers that somebody gathered, one each."""
    units: int | None = None
    """Number of people or things that gathered responses are about, if a column identifies them."""

    def told(self, answers: int) -> str:
        """Return the numbers of texts and prompts, in words; answers: the requested texts.

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
    """One benchmark's share of a report.

    name and card: as in `evenhand.benchmarks`. details: the analysis' frames by name, each optional
    (`descriptors`, `descriptor_templates`, `pairs`, `valence`, `valence_axes`,
    `valence_pairs`, `distribution`, `groups`, `scorings`). n_prompts: answers asked for: one a prompt, of
    continuations one a sample. n_errors: how many of them have no number. errors: columns axis, error, count.
    examples: some prompts to show (axis, text, perplexity).
    written: for a benchmark of continuations. n_axes: that it defines, each tested at its share of the level.

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
    """Everything a report shows, and nothing it would have to compute.

    title: usually the model's name. model: `LanguageModel.describe()`. manifest: the run's manifest
    as plain data. measurements, findings: the tables of `evenhand.schema`. measure_cards: the card of
    each measure by name. paths: files of the run to point at, by what they are. alpha: the level the
    findings were judged at.

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
    """What each axis came to, in a sentence (evenhand.schema.HEADLINES)."""

    def __post_init__(self) -> None:
        for name, frame, schema in (
            ("measurements", self.measurements, MEASUREMENTS),
            ("findings", self.findings, FINDINGS),
        ):
            if lacking := sorted(schema.keys() - set(frame.columns)):
                raise ValueError(f"the {name} table of a report lacks the columns {', '.join(lacking)}")

    def measures(self, benchmark: str) -> list[str]:
        """Names of a benchmark's measures, in the order they were written."""
        rows = self.measurements.filter(pl.col("benchmark") == benchmark)
        return rows["measure"].unique(maintain_order=True).to_list()

    def rows(
        self, benchmark: str, measure: str, *, groups: bool = False, strata: bool = False
    ) -> pl.DataFrame:
        """Return measurements with `verdict`, `note` and `direction` (null without a test).

        benchmark, measure: which. groups: rows of single groups instead of rows of whole axes. strata: rows of
        single strata instead of pooled ones. Returns the measurement columns, `verdict`, `note` and `direction`.
        """
        keys = ["benchmark", "measure", "axis", "group", "stratum"]
        mine = (pl.col("benchmark") == benchmark) & (pl.col("measure") == measure)
        whole = pl.col("group").is_not_null() if groups else pl.col("group").is_null()
        part = pl.col("stratum").is_not_null() if strata else pl.col("stratum").is_null()
        rows = self.measurements.filter(mine & whole & part)
        verdicts = self.findings.select(*keys, *JUDGED).unique(keys, maintain_order=True)
        return rows.join(verdicts, on=keys, how="left", nulls_equal=True, maintain_order="left")

    def judged(self, benchmark: str) -> list[str]:
        """Measures of a benchmark that have a verdict on at least one axis as a whole."""
        whole = self.findings.filter((pl.col("benchmark") == benchmark) & pl.col("group").is_null())
        judged = set(whole["measure"].to_list())
        return [name for name in self.measures(benchmark) if name in judged]

    def measure_label(self, measure: str) -> str:
        """A measure's name as a reader wants it: without underscores."""
        return measure.replace("_", " ")
