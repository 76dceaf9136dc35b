"""An audit: one model, some benchmarks, every number beside its null. Resumable at any instant."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import polars as pl

from evenhand.benchmarks.contract import AnalysisOptions, Benchmark
from evenhand.benchmarks.registry import load_benchmark, load_suite
from evenhand.models.contract import LanguageModel
from evenhand.prompts.prompt_set import PromptSet
from evenhand.runs import (
    Outcome,
    Part,
    Plan,
    Progress,
    PromptSetRecord,
    RunDirectory,
    answers,
    default_path,
    estimate,
    execute,
    make_plan,
)
from evenhand.schema import DataError, ModelError, Unsupported, UsageError, measurement_frame
from evenhand.schema.errors import unknown_name
from evenhand.stats import judge
from evenhand.studies.config import AuditConfig


@dataclass(frozen=True)
class Selection:
    """What an audit will put to a model: benchmarks with their prompts, and what was left out and why."""

    benchmarks: tuple[Benchmark, ...]
    prompts: Mapping[str, PromptSet]
    left_out: Mapping[str, str]


def select(config: AuditConfig, model: LanguageModel) -> Selection:
    """Benchmarks and prompts of an audit, after axes and limit.

    A benchmark named by the user must suit the model; of a suite, those that do not suit it or whose data
    are not here are left out, with the reason. Raises Unsupported, UsageError, DataError.
    """
    if config.benchmarks and config.suite:
        raise UsageError("A suite and single benchmarks were named.", "Name either --suite or --benchmark.")
    limit = config.limit
    if config.benchmarks:
        wanted, forgiving, alternatives = config.benchmarks, False, False
    else:
        suite = load_suite(config.suite or "quick")
        wanted, forgiving, alternatives = suite.benchmarks, True, suite.one_for_each_kind
        limit = limit or suite.limit
    if config.prompts:
        suited = [name for name in wanted if model.architecture in load_benchmark(name).architectures]
        if forgiving and len(suited) == 1:  # of the default suite one benchmark suits each kind of model
            wanted = tuple(suited)
        if len(wanted) != 1:
            raise UsageError(
                f"Your own prompts go with one benchmark, and {len(wanted)} are selected: {', '.join(wanted)}.",
                "Name one with --benchmark.",
            )
    folders = {name: Path(folder).expanduser() for name, folder in config.data.items()}
    chosen: list[Benchmark] = []
    prompts: dict[str, PromptSet] = {}
    left_out: dict[str, str] = {}
    seen: set[str] = set()
    for name in dict.fromkeys(wanted):
        benchmark = load_benchmark(name)
        try:
            _check_architecture(benchmark, model)
            full = _own_prompts(config.prompts, benchmark) if config.prompts else benchmark.build(folders)
            full = benchmark.prompts_for(full, model.architecture)
        except (Unsupported, DataError) as error:
            if not forgiving:
                raise
            if not (alternatives and isinstance(error, Unsupported)):
                left_out[name] = str(error)
            continue
        if config.axes:
            axes = config.axes
            if forgiving:  # the benchmarks of a suite know different axes
                there = set(full.frame["axis"].unique())
                seen |= there
                axes = tuple(axis for axis in axes if axis in there)
                if not axes:
                    left_out[name] = f"It has no axis {' or '.join(config.axes)}."
                    continue
            full = full.filter_axes(axes)
        prompts[name] = benchmark.sample(full, limit, config.seed) if limit else full
        chosen.append(benchmark)
    if seen:
        for axis in config.axes:
            if axis not in seen:
                raise unknown_name("axis", axis, seen)
    if not chosen:
        reasons = "\n".join(f"- {name}: {reason}" for name, reason in left_out.items())
        raise UsageError("No benchmark of this suite can run here.", reasons)
    return Selection(tuple(chosen), prompts, left_out)


def preview(config: AuditConfig, model: LanguageModel) -> dict[str, Any]:
    """What `--plan` prints: cost from a short probe, and the smallest effect the budget could detect.

    Asks the model a few hundred texts; writes nothing.
    """
    selection = select(config, model)
    plan = _plan(selection, model)
    facts = estimate(plan, model)
    facts["benchmarks"] = {b.name: len(selection.prompts[b.name]) for b in selection.benchmarks}
    facts["left_out"] = dict(selection.left_out)
    facts["minimum_detectable"] = {
        b.name: b.minimum_detectable(selection.prompts[b.name].frame, _options(config))
        for b in selection.benchmarks
        if b.minimum_detectable is not None
    }
    return facts


@dataclass(frozen=True)
class AuditResult:
    """A finished audit: where it lies and how its responses came out."""

    directory: RunDirectory
    outcome: Outcome
    left_out: Mapping[str, str]
    """Benchmarks of the suite that were not run, with the reason."""


def conduct(
    config: AuditConfig,
    model: LanguageModel,
    *,
    output: Path | None = None,
    given: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> AuditResult:
    """Run an audit to its findings, or go on with one.

    config: all options. model: already loaded. output: the run's folder; one that holds a run is resumed,
    provided the options are the same. given: arguments as the user wrote them, for the manifest.
    Raises Interrupted (resumable), ResumeRefused, and whatever select and execute raise.
    """
    selection = select(config, model)
    plan = _plan(selection, model)
    path = output or default_path(config.model, config.suite or "-".join(config.benchmarks) or "quick")
    if RunDirectory.is_run(path):
        directory = RunDirectory.open(path)
        directory.check_same(config.same_results())
    else:
        directory = RunDirectory.create(
            path,
            model=model,
            given=given or {},
            resolved=config.same_results(),
            prompt_sets={b.name: _record(b, selection.prompts[b.name]) for b in selection.benchmarks},
            benchmark_cards={b.name: b.card.to_dict() for b in selection.benchmarks},
            seeds={"prompts": config.seed, "analysis": config.seed},
        )
    outcome = execute(
        plan,
        model,
        directory,
        error_threshold=config.error_threshold,
        progress=progress,
        retry_errors=config.retry_errors,
    )
    if selection.left_out:
        with directory.lock():
            reasons = [f"Left out: {name}: {reason}" for name, reason in selection.left_out.items()]
            directory.manifest.sessions[-1].notes += reasons
            directory.save()
    measure_run(directory, config)
    return AuditResult(directory, outcome, selection.left_out)


def measure_run(directory: RunDirectory, config: AuditConfig) -> None:
    """Compute measurements and findings of a run from its stored responses, replacing earlier ones."""
    began = perf_counter()
    architecture = directory.manifest.model.description.get("architecture", "causal")
    options = replace(_options(config), architecture=architecture)
    judged = []
    for name in directory.benchmarks:
        benchmark = load_benchmark(name)
        analysis = benchmark.analyse(answers(directory, name), options)
        rows = measurement_frame(analysis.measurements).with_columns(benchmark=pl.lit(name))
        judged.append(judge(rows, alpha=config.alpha, harmful=benchmark.harmful))
        directory.write_details(name, analysis.details)
    measurements, findings = (pl.concat(tables) for tables in zip(*judged, strict=True))
    directory.write_measurements(measurements)
    directory.write_findings(findings)
    with directory.lock():
        directory.manifest.timings["measures"] = perf_counter() - began
        directory.save()


def _options(config: AuditConfig) -> AnalysisOptions:
    return AnalysisOptions(
        seed=config.seed, alpha=config.alpha, margin=config.margin, valence_margin=config.valence_margin
    )


def _plan(selection: Selection, model: LanguageModel) -> Plan:
    parts = [
        Part(b.name, selection.prompts[b.name].frame, b.request_for(model)) for b in selection.benchmarks
    ]
    return make_plan(parts, model.fingerprint)


def _record(benchmark: Benchmark, prompts: PromptSet) -> PromptSetRecord:
    return PromptSetRecord(
        content_hash=prompts.content_hash,
        rows=len(prompts),
        card=prompts.card.to_dict(),
    )


def _check_architecture(benchmark: Benchmark, model: LanguageModel) -> None:
    if model.architecture not in benchmark.architectures:
        suited = " or ".join(sorted(benchmark.architectures))
        raise Unsupported(
            f"{benchmark.name} needs a {suited} model, and this one is {model.architecture}.",
            "`evenhand list benchmarks` names those for each kind of model.",
        )


def _own_prompts(file: str, benchmark: Benchmark) -> PromptSet:
    from evenhand.prompts.user_files import read_prompts

    prompts = read_prompts(Path(file))
    if lacking := [c for c in benchmark.required_columns if c not in prompts.frame.columns]:
        raise DataError(
            f"{file} lacks the column{'s' if len(lacking) > 1 else ''} {', '.join(lacking)}, "
            f"which {benchmark.name} compares by.",
            f"It has: {', '.join(prompts.frame.columns)}. Needed: text, {', '.join(benchmark.required_columns)}.",
        )
    return prompts


def load_audited_model(config: AuditConfig) -> LanguageModel:
    """The model of an audit, with its device, precision and batch size.

    Raises ModelError or UsageError as `evenhand.models.load_model` does.
    """
    from evenhand.models import load_model

    model = load_model(
        config.model,
        device=config.device,
        dtype=config.dtype,
        revision=config.revision,
        trust_remote_code=config.trust_remote_code,
        batch_tokens=config.batch_tokens,
    )
    if not isinstance(model, LanguageModel):
        raise ModelError(f"{config.model} did not load as a language model.", "Its loader must return one.")
    return model
