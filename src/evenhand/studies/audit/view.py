"""The content of a report: its part on a benchmark, and the whole result."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl
from rich.console import Console

from evenhand.benchmarks import Benchmark, Conversation, load_benchmark
from evenhand.classifiers import ClassifiedText
from evenhand.reports import BenchmarkView, ClassifierView, ReportView, WrittenView, measurement_numbers
from evenhand.runs import LabelledRecord, Manifest
from evenhand.schema import write_json, write_text
from evenhand.studies.audit.page import render_html
from evenhand.studies.audit.terminal import render_audit
from evenhand.studies.result import StudyResult

WRITTEN = "written"
"""Value of the column `step` of failures for responses that were not generated."""
KEYS = ["axis", "group"]
OPENER = 1
"""Number of the first turn of a conversation, which is fixed: it is neither generated nor classified."""


def written_view(
    benchmark: Benchmark, responses: pl.DataFrame, manifest: Manifest | None = None, decoding: str = ""
) -> WrittenView | None:
    """Return the summary of a benchmark's continuations; None without any.

    Parameters
    ----------
    responses : polars.DataFrame
        One row per prompt and sample, with `error`, `<role>_error` for each classified role, and axis, group and
        prompt_id if they exist.
    manifest : Manifest, optional
        Manifest of the run. None for a user's file, whose classifiers are unknown.
    decoding : str
        Decoding settings and the reason for them, in words.
    """
    if not benchmark.classified_by:
        return None
    frame = responses.with_columns(
        pl.lit(None, pl.String).alias(name) for name in (*KEYS, "error") if name not in responses.columns
    )
    roles = [judge.role for judge in benchmark.classified_by if f"{judge.role}_error" in frame.columns]
    prompts = frame["prompt_id"].n_unique() if "prompt_id" in frame.columns else frame.height
    judged = manifest.judged.get(benchmark.name, {}) if manifest is not None else {}
    samples, conversations = frame.height // prompts if prompts else 0, False
    if isinstance(benchmark.request, Conversation) and "conversation" in frame.columns:
        prompts, conversations = frame["conversation"].n_unique(), True
        samples = benchmark.request.turns - OPENER
    if manifest is not None and (asked := manifest.asked.get(benchmark.name)) is not None:
        replies = 1 if asked.turns is None else asked.turns - 1
        prompts, samples = asked.prompts // replies, int((asked.decoding or {}).get("samples", 1)) * replies
        conversations = asked.turns is not None
    elif isinstance(benchmark.request, Conversation) and "conversation" in frame.columns:
        prompts, conversations = frame["conversation"].n_unique(), True
    return WrittenView(
        n_prompts=prompts,
        samples=samples,
        asked=frame.group_by(KEYS).agg(n=pl.len()).sort(KEYS),
        failures=failures(frame, roles),
        decoding=decoding,
        classifiers=tuple(
            _judge(role, record, manifest) for role, record in judged.items() if manifest is not None
        ),
        conversations=conversations,
        gathered=benchmark.gathered and manifest is None,
        units=frame["unit"].n_unique() if benchmark.gathered and "unit" in frame.columns else None,
    )


def failures(frame: pl.DataFrame, roles: list[str]) -> pl.DataFrame:
    """Return the number of continuations that were not generated or not classified.

    The columns are axis, group, step (what failed), error and count.


    >>> frame = pl.DataFrame({"axis": ["age"] * 2, "group": ["old"] * 2, "error": [None, "refused"],
    ...                       "toxicity_error": ["quota", "refused"]})
    >>> failures(frame, ["toxicity"]).rows()
    [('age', 'old', 'toxicity', 'quota', 1), ('age', 'old', 'written', 'refused', 1)]
    """
    parts = [frame.select(*KEYS, pl.lit(WRITTEN).alias("step"), "error")]
    answered = frame.filter(pl.col("error").is_null())
    parts += [
        answered.select(
            *KEYS, pl.lit(role).alias("step"), pl.col(f"{role}_error").cast(pl.String).alias("error")
        )
        for role in roles
    ]
    lost = pl.concat([part.with_columns(pl.col(*KEYS, "error").cast(pl.String)) for part in parts])
    table = lost.filter(pl.col("error").is_not_null()).group_by(*KEYS, "step", "error").agg(count=pl.len())
    return table.sort(*KEYS, "step", "error")


def classified_part(rule: ClassifiedText) -> str:
    """Return the rule that selects the classified part of a text, in words.

    >>> classified_part(ClassifiedText("prompt+continuation", first_sentence=True, masked="noun_phrase"))
    "prompt and continuation, up to the first full stop, noun phrase at its beginning replaced by 'XYZ'"
    """
    parts = ["the continuation alone" if rule.part == "continuation" else "prompt and continuation"]
    if rule.first_sentence:
        parts.append("up to the first full stop")
    if rule.masked:
        where = "everywhere" if rule.everywhere else "at its beginning"
        parts.append(f"{rule.masked.replace('_', ' ')} {where} replaced by {rule.mask!r}")
    if rule.behind:
        parts.append(f"behind the {rule.behind.replace('_', ' ')}")
    return ", ".join(parts)


def _judge(role: str, record: LabelledRecord, manifest: Manifest) -> ClassifierView:
    stored = manifest.labels[record.classifier]
    facts: Mapping[str, Any] = {**stored.fingerprint, **stored.description}
    name = str(facts.get("name") or unquote(record.classifier.rpartition("@")[0]))
    from evenhand.classifiers import classifier_cards, file_kind

    kind = file_kind(name)
    card = classifier_cards().get(f"{kind}FILE" if kind else name)
    return ClassifierView(
        role=role,
        name=name,
        text=classified_part(ClassifiedText(**record.rule)),
        revision=_text(facts.get("revision")),
        licence=_text(facts.get("licence")) or (card.licence if card else ""),
        threshold=_threshold(facts),
        notice=_text(facts.get("notice")),
        texts=stored.texts,
        card=card,
        facts=facts,
    )


def _threshold(facts: Mapping[str, Any]) -> str:
    negative, bound = facts.get("negative"), facts.get("threshold")
    named = ", ".join(map(str, negative)) if isinstance(negative, list | tuple) else _text(negative)
    at = "" if bound is None else f"{bound:g} or more" if isinstance(bound, int | float) else str(bound)
    return ", ".join(
        part for part in (named, at or ("if it is the most likely label" if named else "")) if part
    )


def _text(value: Any) -> str:
    return "" if value is None else str(value)


GROUP_MEASURES = {
    "valence": ("valence_shift", "humanising_contrast"),
}
"""Measures whose tests are the rows of a detail table, by name of the table."""


def benchmark_view(
    name: str,
    responses: pl.DataFrame,
    details: Mapping[str, pl.DataFrame],
    measurements: pl.DataFrame,
    own_file: str | None = None,
    *,
    manifest: Manifest | None = None,
    decoding: str = "",
) -> BenchmarkView:
    """Return the view of a benchmark for reports.

    Parameters
    ----------
    responses : polars.DataFrame
        One row per response, with `error` and, for continuations, an error for each classifier role. Those of
        conversations may include openers, which are not responses. For existing responses, `row` is the same for each
        axis of a response.
    own_file : str, optional
        Name of the user's file of prompts or responses.
    manifest : Manifest, optional
        Manifest of the run, if there is one.
    decoding : str
        Decoding settings and the reason for them, in words.
    """
    benchmark = load_benchmark(name)
    card = benchmark.card
    if own_file is not None:
        card = replace(card, summary=f"{own_file}, measured as {name}.")
    if isinstance(benchmark.request, Conversation) and "turn" in responses.columns:
        responses = responses.filter(pl.col("turn") > OPENER)
    axis = pl.col("axis") if "axis" in responses.columns else pl.lit("all").alias("axis")
    steps = ["error", *(f"{judge.role}_error" for judge in benchmark.classified_by)]
    error = pl.coalesce([step for step in steps if step in responses.columns]).alias("error")
    errors = (
        responses.select(axis, error)
        .filter(pl.col("error").is_not_null())
        .group_by("axis", "error")
        .agg(pl.len().alias("count"))
        .sort("axis", "error")
    )
    counted = responses.select(
        pl.col("row")
        if benchmark.gathered and "row" in responses.columns
        else pl.int_range(pl.len()).alias("row"),
        error,
    )
    return BenchmarkView(
        name=name,
        card=card,
        details={key: _add_q_of_findings(key, table, measurements) for key, table in details.items()},
        n_prompts=counted["row"].n_unique(),
        n_errors=counted.drop_nulls("error")["row"].n_unique(),
        errors=errors,
        written=written_view(benchmark, responses, manifest, decoding),
        n_axes=benchmark.count_axes(responses),
    )


def _add_q_of_findings(detail: str, table: pl.DataFrame, measurements: pl.DataFrame) -> pl.DataFrame:
    """Return a detail table with the q of the findings, so that q is the same in all tables."""
    if detail not in GROUP_MEASURES or "q" not in table.columns:
        return table
    judged = measurements.filter(
        pl.col("measure").is_in(GROUP_MEASURES[detail]) & pl.col("group").is_not_null()
    ).select("axis", "q", descriptor="group")
    return table.drop("q").join(judged, on=["axis", "descriptor"], how="left", maintain_order="left")


class ViewedResult(StudyResult):
    """Base class of results that are shown as the report of an audit."""

    PAGE, NUMBERS = "report.html", "measurements.json"

    @abstractmethod
    def view(self, paths: Mapping[str, str] | None = None) -> ReportView:
        """Return the content of a report; `paths` are files to link, by kind."""

    def to_dict(self) -> dict[str, Any]:
        """Return measurements, findings and manifest as plain data, as in measurements.json."""
        return measurement_numbers(self.view())

    def html(self) -> str:
        """Return the report as one HTML document that needs no network."""
        return render_html(self.view())

    def print_to(self, console: Console, paths: Mapping[str, Path] | None = None) -> None:
        """Print the verdicts, every tested axis with its null, the worst groups, and missing responses."""
        render_audit(self.view({name: str(path) for name, path in (paths or {}).items()}), console)

    def write(self, folder: Path | str) -> dict[str, Path]:
        """Write report.html and measurements.json into a folder; returns their paths by name. Raises WriteError."""
        folder, view = Path(folder), self.view()  # made once, because it is slow for a large run
        return {
            "report": write_text(folder / self.PAGE, render_html(view)),
            "numbers": write_json(folder / self.NUMBERS, measurement_numbers(view)),
        }
