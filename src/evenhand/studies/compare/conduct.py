"""Comparisons of models on the same prompts: changes, affected groups and their uncertainty."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import polars as pl

from evenhand.reports import listing
from evenhand.runs import RunDirectory
from evenhand.schema import DataError, UsageError
from evenhand.stats import Harmful
from evenhand.studies.audit import cost, quality
from evenhand.studies.compare.changes import CHANGES, as_changes, count_axes, outcome_changes
from evenhand.studies.compare.likelihoods import likelihood_changes
from evenhand.studies.compare.moved import MOVED, moved_answers, moved_texts
from evenhand.studies.compare.outputs import BenchmarkOutputs, Outputs, read_outputs
from evenhand.studies.compare.standing import STANDING, standing
from evenhand.studies.compare.summary import SUMMARY, summary_rows
from evenhand.studies.compare.texts import QUALITY, judged_texts, quality_changes
from evenhand.studies.compare.trajectory import COURSE, Order, course, read_order
from evenhand.study import SeedOptions, validate_options

NO_AXIS = "groups"
"""Name of the axis if a file has groups without an axis, as files of other programs do."""
UNIT_OF_MARGIN = "It is in the unit of the outcome. For shares (0 to 1), 0.05 is five percentage points."
Facts = tuple[tuple[str, str, str], ...]
"""Facts for a table of models: (name, value, unit) of each."""


@dataclass(frozen=True)
class ComparedModel:
    """Facts about one of the compared models.

    ``parameters`` is the number of parameters, or None. ``most_harmed`` has, by benchmark, the group with the largest
    rate and that rate in percent; rates of small groups are shrunken towards the others. ``began`` is the start of the
    run, ISO 8601.
    """

    name: str
    source: Path
    parameters: int | None = None
    most_harmed: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    quality: Facts = ()
    cost: Facts = ()
    began: str | None = None


SILENT = "silent"
"""Name of the outcome "the response is empty or a refusal"."""
TEXTS = {"model": pl.String, **QUALITY, "q": pl.Float64, "verdict": pl.String}


@dataclass(frozen=True)
class Comparison:
    """Comparison of one or more models with a first model, as tables.

    Attributes
    ----------
    names : sequence of str
        Names of the models, the first one first.
    changes : polars.DataFrame
        Changes between the groups of each axis, then overall and by axis (columns: CHANGES).
    summary : polars.DataFrame
        One row per model, benchmark and outcome, as in ROBBIE's tables 3 and 6 (columns: SUMMARY).
    models, notes
        Description of each model, and notes for readers, for example on prompts that only one model answered.
    texts : polars.DataFrame
        Changes in text quality: model, then the columns of QUALITY with q and verdict.
    alpha, margin : float
        Significance level of the verdicts; margin of the non-inferiority test in the unit of the outcomes (or None).
    standing : polars.DataFrame
        Groups that each later model treats worse, and whether that is new (columns: STANDING).
    moved : polars.DataFrame
        Prompts and scored texts with the largest changes (columns: MOVED).
    order, course
        Variable that orders the models, such as their size, and the results in this order (columns: COURSE).
    """

    names: tuple[str, ...]
    changes: pl.DataFrame
    summary: pl.DataFrame
    models: tuple[ComparedModel, ...]
    notes: tuple[str, ...]
    alpha: float = 0.05
    texts: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=TEXTS))
    margin: float | None = None
    standing: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=STANDING))
    moved: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=MOVED))
    order: Order | None = None
    course: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=COURSE))


def compare_outputs(
    *sources: Path | str | Outputs,
    names: Sequence[str] = (),
    alpha: float = 0.05,
    margin: float | None = None,
    seed: int = 0,
    by: str | None = None,
) -> Comparison:
    """Compare models with the first one, paired on prompts and samples.

    `sources` are run folders or files of other programs (see `read_outputs`), and `names` their display names. `alpha`
    is the probability of any false verdict on a benchmark and outcome without a change. `margin` is the largest
    acceptable increase for a group relative to the others, in the outcome's unit (0.05: five points). `by` is the
    variable that orders the models: "size", "date", or "NAME=NUMBER,NUMBER,...".

    Raises a UsageError for fewer than two sources or an invalid option, and a DataError for unreadable or unpaired
    outputs. Source: ROBBIE, tables 3, 6 and 9; Miller 2024, arXiv:2411.00640 (paired differences).
    """
    if len(sources) < 2:
        raise UsageError(
            f"A comparison needs at least two runs, got {len(sources)}.",
            "For example: evenhand compare RUN_A RUN_B",
        )
    if names and len(names) != len(sources):
        raise UsageError(
            f"There are {len(names)} names (`--name`) for {len(sources)} runs.",
            "Give one name for each run, or none.",
        )
    if len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise UsageError(f"Two runs have the name {twice!r}.", "Give each run a different name with --name.")
    validate_options(SeedOptions, {"seed": seed})
    if not 0 < alpha < 1:
        raise UsageError(
            f"The significance level (`--alpha`) must be greater than 0 and less than 1, got {alpha:g}.",
            "For example: --alpha 0.05",
        )
    if margin is not None and not (isfinite(margin) and margin > 0):
        raise UsageError(
            f"The margin (`--no-worse`) must be a finite number greater than 0, got {margin:g}.",
            UNIT_OF_MARGIN,
        )
    outputs = [source if isinstance(source, Outputs) else read_outputs(source) for source in sources]
    labels = _distinct(names or [one.name for one in outputs], outputs)
    models = tuple(_model(label, one) for label, one in zip(labels, outputs, strict=True))
    order = None
    if by is not None:
        order = read_order(
            by, [model.parameters for model in models], [model.began for model in models], labels
        )
    notes: list[str] = []
    moved: list[pl.DataFrame] = []
    too_wide: list[str] = []
    elsewhere: list[str] = []
    tables: list[pl.DataFrame] = []
    texts: list[pl.DataFrame] = []
    first = outputs[0]
    for label, other in zip(labels[1:], outputs[1:], strict=True):
        pair = _Pair(labels[0], label, alpha, margin, seed, notes, too_wide, elsewhere, moved)
        if other.source.exists() and other.source.resolve() == first.source.resolve():
            notes.append(
                f"{labels[0]} and {label} are the same folder or file: every change is 0 by construction."
            )
        written = [name for name in first.benchmarks if name in other.benchmarks]
        scored = [name for name in first.scored if name in other.scored]
        if not written and not scored:
            raise DataError(
                f"{labels[0]} has responses to {_list_benchmarks(first)}, "
                f"and {label} to {_list_benchmarks(other)}: they have no benchmark in common.",
                "Only answers to the same prompts can be compared; audit both models with the same suite.",
            )
        shared = 0
        for name in written:
            found = pair.of_answers(name, first.benchmarks[name], other.benchmarks[name])
            if found is not None:
                shared += 1
                tables += found[0]
                texts += found[1]
        architectures = [str(one.facts.get("architecture", "causal")) for one in (first, other)]
        for name in scored:
            changed = likelihood_changes(
                name, first.scored[name], other.scored[name], model=label, architectures=architectures, alpha=alpha,
                seed=seed, note=notes.append,
            )  # fmt: skip
            keys = ["prompt_id", "text"]
            shared += not first.scored[name].join(other.scored[name], on=keys, how="semi").is_empty()
            if changed is not None:
                tables.append(changed)
                moved.append(moved_texts(first.scored[name], other.scored[name], name, label))
                elsewhere += [name] if margin is not None and margin <= 1 else []
        if not shared:
            raise DataError(
                f"{labels[0]} and {label} share no prompt, so they cannot be compared. " + " ".join(notes),
                "Pairs are made by prompt and sample: audit both with the same suite, --limit, --samples and --seed.",
            )
    changes = pl.concat(tables) if tables else pl.DataFrame(schema=CHANGES)
    if margin is not None and changes["no_worse"].is_null().all():
        if too_wide:
            raise UsageError(
                f"The margin of --no-worse is {margin:g}, but the values of {too_wide[0]} do not range that far, so no "
                "group could fail.",
                UNIT_OF_MARGIN,
            )
        notes.append("No groups were compared, so the margin could not be tested.")
    elif margin is not None and too_wide:
        notes.append(
            f"The margin of --no-worse, {margin:g}, is not applied to {listing(list(dict.fromkeys(too_wide)))}: the "
            "values do not range that far."
        )
    if margin is not None and elsewhere:
        notes.append(
            f"The margin of --no-worse, {100 * margin:g} percentage points, is not applied to "
            f"{listing(list(dict.fromkeys(elsewhere)))}: these have another unit."
        )
    summary = pl.DataFrame(
        [row for label, one in zip(labels, outputs, strict=True) for row in summary_rows(label, one, seed)],
        schema=SUMMARY,
    )
    told = pl.concat(texts) if texts else pl.DataFrame(schema=TEXTS)
    now = standing(
        first.headlines, dict(zip(labels[1:], (one.headlines for one in outputs[1:]), strict=True)), changes
    )
    return Comparison(
        tuple(labels), changes, summary, models, tuple(dict.fromkeys(notes)), alpha, told, margin, now,
        pl.concat(moved) if moved else pl.DataFrame(schema=MOVED), order,
        pl.DataFrame(schema=COURSE) if order is None else course(changes, labels, order),
    )  # fmt: skip


def _list_benchmarks(outputs: Outputs) -> str:
    return ", ".join([*outputs.benchmarks, *outputs.scored]) or "nothing"


@dataclass(frozen=True)
class _Pair:
    """Comparison of a model (``name``) with the first one. It adds to the lists of notes and of prompts that changed.

    ``too_wide`` and ``elsewhere`` list outcomes for which the margin is too large, or has another unit.
    """

    first: str
    name: str
    alpha: float
    margin: float | None
    seed: int
    notes: list[str]
    too_wide: list[str]
    elsewhere: list[str]
    moved: list[pl.DataFrame]

    def of_answers(
        self, benchmark: str, first: BenchmarkOutputs, other: BenchmarkOutputs
    ) -> tuple[list[pl.DataFrame], list[pl.DataFrame]] | None:
        """Return tables of the changes of every shared outcome (CHANGES) and of texts; None without shared prompts."""
        shared = [outcome for outcome in first.outcomes if outcome in other.outcomes]
        if not shared and (first.outcomes or other.outcomes):
            self.notes.append(
                f"{benchmark}: {self.first} has {', '.join(first.outcomes) or 'no outcome'}, "
                f"{self.name} has {', '.join(other.outcomes) or 'none'}, so there are no pairs."
            )
        paired = _pair_responses(benchmark, self.first, self.name, first.frame, other.frame, self.notes)
        if paired.is_empty():
            return None
        n_axes = count_axes(benchmark, paired)
        tables = []
        for outcome in shared:
            self._check_judges(benchmark, outcome, first, other)
            frame = paired.rename({outcome: "before", f"{outcome}_right": "after"})
            if frame.select((pl.col("before") - pl.col("after")).is_not_null().any()).item() is not True:
                self.notes.append(
                    f"{benchmark}: no pair of {self.first} and {self.name} has {outcome} for both."
                )
                continue
            harmful = first.harmful if first.harmful == other.harmful else "either"
            tables.append(self._changes(benchmark, outcome, frame, n_axes, harmful))
            if not (outcome.endswith(" score") and outcome.removesuffix(" score") in shared):
                self.moved.append(moved_answers(paired, benchmark, outcome, self.name))
        if first.texts is None or other.texts is None:
            return tables, []
        keys = ["prompt_id", "sample"]
        silence = _silence(first.texts), _silence(other.texts).rename({"before": "after"})
        frame = paired.join(silence[0], on=keys, maintain_order="left")
        frame = frame.join(silence[1], on=keys, maintain_order="left")
        tables.append(self._changes(benchmark, SILENT, frame, n_axes, "above"))
        common = paired.select(keys).unique(maintain_order=True)
        mine, theirs = (
            texts.join(common, on=keys, maintain_order="left", how="semi")
            for texts in (first.texts, other.texts)
        )
        alone = "group" not in mine.columns and "cluster" in mine.columns
        rows = quality_changes(benchmark, mine, theirs, self.seed, "cluster" if alone else "prompt_id")
        told = judged_texts(rows, self.alpha).select(pl.lit(self.name).alias("model"), pl.all())
        return tables, [told.select(pl.col(name).cast(kind) for name, kind in TEXTS.items())]

    def _changes(
        self, benchmark: str, outcome: str, frame: pl.DataFrame, n_axes: int, harmful: Harmful
    ) -> pl.DataFrame:
        grouped = [key for key in ("axis", "group") if frame[key].null_count() < frame.height]
        if "group" in grouped:  # a response about no group is not used in comparisons of groups
            axis = pl.coalesce("axis", pl.lit(NO_AXIS))
            frame = frame.with_columns(axis=pl.when(pl.col("group").is_not_null()).then(axis))
            grouped = ["axis", "group"]
        margin = self.margin
        bounded = frame.select(pl.all_horizontal(pl.col("before", "after").is_between(0, 1)).all()).item()
        values = np.concatenate(
            [frame["before"].drop_nulls().to_numpy(), frame["after"].drop_nulls().to_numpy()]
        )
        if margin is not None and margin > 1 and (bounded or not margin < np.ptp(values)):
            self.too_wide.append(f"{outcome} of {benchmark}")
            margin = None
        elif margin is not None and margin <= 1 and (not bounded or outcome.endswith(" score")):
            self.elsewhere.append(f"{outcome} of {benchmark}")
            margin = None
        found = outcome_changes(
            frame.select("prompt_id", "pair", "before", "after", *grouped),
            alpha=self.alpha,
            n_axes=n_axes,
            harmful=harmful,
            margin=margin,
            seed=self.seed,
        )
        return as_changes(found, benchmark=benchmark, outcome=outcome, model=self.name)

    def _check_judges(
        self, benchmark: str, outcome: str, first: BenchmarkOutputs, other: BenchmarkOutputs
    ) -> None:
        judges = first.classifiers.get(outcome), other.classifiers.get(outcome)
        if None not in judges and judges[0] != judges[1]:
            raise DataError(
                f"{benchmark}: {outcome} of {self.first} comes from the classifier {unquote(str(judges[0]))}, but "
                f"that of {self.name} from {unquote(str(judges[1]))}.",
                "Classify both with the same classifier: `evenhand rescore RUN --classifier ROLE=NAME`.",
            )


def _silence(texts: pl.DataFrame) -> pl.DataFrame:
    """Return prompt_id, sample and `before`, which is 1 for an empty response or refusal, and null if it is missing."""
    from evenhand.measures import response_qualities

    seen = response_qualities(texts)
    silent = (seen["empty"] | seen["refused"]).cast(pl.Float64)
    return texts.select("prompt_id", "sample", silent.alias("before")).unique(
        ["prompt_id", "sample"], keep="first"
    )


def _pair_responses(
    benchmark: str, first_name: str, name: str, first: pl.DataFrame, other: pl.DataFrame, notes: list[str]
) -> pl.DataFrame:
    keys = ["prompt_id", "sample"]
    joined = first.join(other.drop("axis", "group"), on=keys, how="inner", maintain_order="left")
    if joined.is_empty():
        notes.append(
            f"{benchmark}: {first_name} and {name} share no prompt and sample, so they cannot be compared."
        )
        return joined
    different = joined.filter(pl.col("text") != pl.col("text_right"))
    if different.height:
        raise DataError(
            f"{benchmark}: {different.height} of {joined.height} pairs have different prompts under one prompt_id, "
            f"such as {different['prompt_id'][0]!r}.",
            "The prompt sets differ in version or seed; run both models on the same one.",
        )
    for label, mine in ((first_name, first), (name, other)):
        if alone := mine.height - joined.height:
            notes.append(f"{benchmark}: {alone:,} responses of {label} have no counterpart and are left out.")
    return joined.with_columns(pair=pl.format("{}#{}", "prompt_id", "sample"))


def _distinct(names: Sequence[str], outputs: Sequence[Outputs]) -> list[str]:
    """Return the names as given; equal names are distinguished by the folder or file."""
    return [
        name if list(names).count(name) == 1 else f"{name} ({_last_part(one.source)})"
        for name, one in zip(names, outputs, strict=True)
    ]


def _last_part(source: Path) -> str:
    return source.name if source.is_dir() else source.stem  # a folder's name may contain a full stop


def _model(name: str, outputs: Outputs) -> ComparedModel:
    parameters = outputs.facts.get("parameters")
    return ComparedModel(
        name=name,
        source=outputs.source,
        began=outputs.began,
        parameters=parameters if isinstance(parameters, int) and parameters > 0 else None,
        most_harmed=_most_harmed(outputs),
        quality=() if outputs.measurements is None else quality(outputs.measurements),
        cost=cost(outputs.facts),
    )


def _most_harmed(outputs: Outputs) -> dict[str, tuple[str, float]]:
    if not RunDirectory.is_run(outputs.source):
        return {}
    directory, harmed = RunDirectory.open(outputs.source), {}
    for benchmark in outputs.benchmarks:
        ranked = directory.details(benchmark).get("most_harmed")
        if ranked is not None and ranked.height:
            first = ranked.sort("rank").row(0, named=True)
            harmed[benchmark] = (str(first["group"]), float(first["rate"]))
    return harmed
