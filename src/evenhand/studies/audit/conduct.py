"""Run an audit: one model and some benchmarks. An audit can be resumed at any time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import polars as pl

from evenhand.benchmarks import (
    AnalysisOptions,
    Conversation,
    judge_responses,
    judged_rows,
    load_benchmark,
    load_suite,
)
from evenhand.classifiers import Classifier
from evenhand.measures import check_measures
from evenhand.mitigations import Mitigation, mitigated
from evenhand.models import LanguageModel
from evenhand.prompts import PromptSet
from evenhand.runs import (
    AskOutcome,
    LabelOutcome,
    Progress,
    PromptSetRecord,
    RunDirectory,
    answers,
    default_path,
    estimate,
    execute,
    label,
    resumable,
    self_chats,
)
from evenhand.runs.cluster import Pool
from evenhand.runs.remote import is_store_address
from evenhand.schema import ResumeRefused, ServiceUnavailable, UsageError, as_json
from evenhand.studies.audit.asked import asked_about_groups
from evenhand.studies.audit.classifiers import named_or_loaded
from evenhand.studies.audit.decoding import describe_decoding
from evenhand.studies.audit.length_limits import describe_losses, find_length_losses, refuse_losses
from evenhand.studies.audit.options import AskingOptions, AuditConfig, read_config
from evenhand.studies.audit.selection import Selection, select
from evenhand.studies.chain import folder_name, named_chain, records
from evenhand.studies.classifier_error import read_classifier_error
from evenhand.studies.model_options import load_named_model
from evenhand.studies.placing import far_named_model, refuse_objects
from evenhand.study import MeasuringOptions, get_name, loaded_or_none
from evenhand.weights import return_free_memory

LEFT_OUT, DECODING, NOT_JUDGED = "Left out: ", "Decoding: ", "Not classified: "
"""Beginnings of notes in the record of a session, by which they are recognised."""


def preview(
    config: AuditConfig, model: LanguageModel, *, loaded: Mapping[str, Classifier] | None = None
) -> dict[str, Any]:
    """Return the plan that `--plan` prints: cost from a short probe, minimum detectable effects, classifiers.

    The probe runs the model for about ten seconds (a service: a few requests), and no classifier. Nothing is written.
    If a service does not respond, the plan has no time, and `not_estimated` gives the reason.
    """
    selection = select(config, model, loaded=loaded)
    try:
        facts = estimate(selection.plan(model), model)
    except ServiceUnavailable as error:
        facts = {
            "requests": sum(len(selection.prompts[b.name]) for b in selection.benchmarks),
            "not_estimated": error.message,
        }
    sizes = {b.name: len(selection.prompts[b.name]) for b in selection.benchmarks}
    facts["benchmarks"] = sizes
    facts["left_out"] = dict(selection.left_out)
    facts["notes"] = [note for b in selection.benchmarks for note in selection.prompts[b.name].notes]
    facts["asked_about"] = [
        asked_about_groups(selection.prompts[b.name].frame)
        for b in selection.benchmarks
        if b.from_file is not None
    ]
    options = analysis_options(config, config)
    facts["minimum_detectable"] = {
        b.name: b.minimum_detectable(
            selection.prompts[b.name].frame,
            replace(options, n_axes=b.count_axes(selection.prompts[b.name].frame)),
        )
        for b in selection.benchmarks
        if b.minimum_detectable is not None
    }
    replies = {
        b.name: b.request.turns - 1 for b in selection.benchmarks if isinstance(b.request, Conversation)
    }
    facts["continuations"] = {
        name: {
            "prompts": sizes[name],
            "samples": chosen.decoding.samples,
            "replies": replies.get(name),
            "continuations": sizes[name] * chosen.decoding.samples * replies.get(name, 1),
            "decoding": describe_decoding(chosen.decoding),
            "why": chosen.reason,
        }
        for name, chosen in selection.decodings.items()
    }
    facts["judges"] = [
        {name: getattr(wanted, name) for name in ("benchmark", "role", "classifier")}
        | {"texts": facts["continuations"][wanted.benchmark]["continuations"]}
        for wanted in selection.labellings
    ]
    facts["not_judged"] = list(selection.unjudged)
    facts["asked_whole"], facts["as_dialogue"] = told_whole(selection), told_as_dialogue(selection)
    facts["length_limits"] = describe_losses(find_length_losses(selection, model))
    return facts


CheckAxes = Callable[[Mapping[str, Sequence[str] | None]], None]
"""Function that checks the axes of each selected benchmark, such as a gate's. None: axes are known after the run."""


@dataclass(frozen=True)
class AuditResult:
    """A finished audit: its folder, and the outcomes of generation and classification."""

    directory: RunDirectory
    outcome: AskOutcome
    left_out: Mapping[str, str]
    """Benchmarks of the suite that were not run, each with the reason."""
    labelled: LabelOutcome | None = None
    """Outcome of classification; None if no texts are classified."""


def conduct_audit(
    config: AuditConfig,
    model: LanguageModel,
    *,
    output: Path | None = None,
    given: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    loaded: Mapping[str, Classifier] | None = None,
    check: CheckAxes | None = None,
) -> AuditResult:
    """Run or resume an audit: generate, classify, measure.

    `config` has all options, and `model` is already loaded. `output` is the run's folder; a run there is resumed if its
    options are equal. `given` are the arguments as the user wrote them. `loaded` are classifiers that need no loading,
    by name. `check` is called with the axes of each benchmark before the model is used, and may raise. Raises
    Interrupted (the run can be resumed), ResumeRefused, and the errors of select, execute and label.
    """
    if config.timing_runs:
        raise UsageError(
            "`timing_runs` has no effect in an audit: it times a model with and without a mitigation.",
            "Remove it, or use `evenhand before-after`. The report of an audit always includes speed and memory.",
        )
    selection = select(config, model, loaded=loaded)
    if check is not None:
        check(axes_by_benchmark(selection))
    losses = find_length_losses(selection, model)
    plan = selection.plan(model)
    path = output or default_path(
        folder_name(config.model, config.mitigate), config.suite or "-".join(config.benchmarks) or "quick"
    )
    if RunDirectory.is_run(path):
        directory = RunDirectory.open(path)
        check_options(directory, config)
        _check_whole(directory, selection)
        if given:
            with directory.lock():
                directory.manifest.arguments_given |= as_json(given)
                directory.save()
    else:
        refuse_losses(losses, config.error_threshold, config.beside)
        directory = RunDirectory.create(
            path,
            model=model,
            given=given or {},
            resolved=config.same_results(),
            prompt_sets={b.name: _record(selection.prompts[b.name]) for b in selection.benchmarks},
            benchmark_cards={b.name: b.card.to_dict() for b in selection.benchmarks},
            seeds={"prompts": config.seed, "analysis": config.seed, "decoding": config.seed},
        )
        directory.manifest.mitigations = records(model, config.mitigate)
        directory.save()
    if progress is not None:
        noted = (note for b in selection.benchmarks for note in selection.prompts[b.name].notes)
        told = (*noted, *told_whole(selection), *told_as_dialogue(selection), *told_beams(selection))
        for note in (*told, *describe_losses(losses)):
            progress.note(note)
    with resumable(f"Resume with: evenhand audit {path}"):
        outcome = execute(
            plan, model, directory, error_threshold=config.error_threshold, progress=progress,
            retry_errors=config.retry_errors,
        )  # fmt: skip
        note_session(directory, [*_notes(selection), *describe_losses(losses)])
        labelled = None
        if selection.labellings:
            labelled = label(
                directory, selection.labellings, selection.classifiers, progress=progress,
                retry_errors=config.retry_errors,
            )  # fmt: skip
        left_out = selection.left_out
        # the measures read prompts and responses from the folder, so free these copies of them first
        del plan, selection
        return_free_memory()
        measure_run(directory, config, config)
        return AuditResult(directory, outcome, left_out, labelled)


def axes_by_benchmark(selection: Selection) -> dict[str, list[str] | None]:
    """Return the axes of each benchmark, or None for one that finds its axes only in the responses."""
    axes: dict[str, list[str] | None] = {}
    for name, prompts in selection.prompts.items():
        known = "axis" in prompts.frame.columns and prompts.frame["axis"].null_count() == 0
        axes[name] = prompts.frame["axis"].cast(pl.String).unique().to_list() if known else None
    return axes


def measure_run(directory: RunDirectory, asking: AskingOptions, analysis: MeasuringOptions) -> None:
    """Compute measurements and findings of a run from its stored responses and labels, replacing earlier ones.

    `asking` names the suite whose summary over benchmarks is added, if any.
    """
    began = perf_counter()
    architecture = directory.manifest.model.description.get("architecture", "causal")
    options = replace(analysis_options(asking, analysis), architecture=architecture)
    judged, headlines, analyses, written = [], [], {}, {}
    for name in directory.benchmarks:
        benchmark = load_benchmark(name)
        options_here = replace(options, labels=_labels(directory, name))
        talked = isinstance(benchmark.request, Conversation)
        frame = self_chats(directory, name) if talked else answers(directory, name)
        done = judge_responses(benchmark, frame, options_here)
        analyses[name] = done.analysis
        judged.append((done.measurements, done.findings))
        headlines.append(done.headlines)
        written[name] = directory.write_details(name, done.details)
    suite = load_suite(asking.suite) if asking.suite else None
    if suite is not None and suite.summarise is not None:
        summary = suite.summarise(analyses)
        check_measures([row.measure for row in summary], f"The suite {suite.name!r}")
        judged.append(judged_rows(suite.name, summary, analysis.alpha))
    measurements, findings = (pl.concat(tables) for tables in zip(*judged, strict=True))
    directory.write_measurements(measurements)
    directory.write_findings(findings)
    directory.write_headlines(pl.concat(headlines))
    with directory.lock():
        directory.manifest.timings["measures"] = perf_counter() - began
        directory.manifest.details = written
        directory.save()


def _labels(directory: RunDirectory, benchmark: str) -> dict[str, tuple[str, ...]]:
    """Return all possible labels of the classifier of each role."""
    manifest = directory.manifest
    return {
        role: tuple(manifest.labels[record.classifier].labels)
        for role, record in manifest.judged.get(benchmark, {}).items()
        if record.classifier in manifest.labels
    }


def check_options(directory: RunDirectory, config: AuditConfig) -> None:
    """Raise ResumeRefused, listing each difference, unless these options give the results of the run.

    Options that the version of the run did not know count as their defaults.
    """
    stored = directory.manifest.arguments_resolved
    now = config.comparable_with(stored)
    judges = {"classifiers": stored.get("classifiers", {})}
    if now.get("classifiers", {}) != judges["classifiers"] and {**now, **judges} == {**stored, **judges}:
        judged_by = [
            _list_classifiers(named) for named in (judges["classifiers"], now.get("classifiers", {}))
        ]
        raise ResumeRefused(
            f"The run {directory.path} is classified with {judged_by[0]}, but {judged_by[1]} was requested.",
            f"To classify its responses again: evenhand rescore {directory.path} --classifier ROLE=NAME",
        )
    directory.check_same(now)


def analysis_options(asking: AskingOptions, analysis: MeasuringOptions) -> AnalysisOptions:
    """Return the options that are the same for the analyses of all benchmarks of an audit."""
    return AnalysisOptions(
        seed=analysis.seed,
        alpha=analysis.alpha,
        margin=analysis.margin,
        valence_margin=analysis.valence_margin,
        outcomes=analysis.outcomes,
        reference=analysis.reference,
        samples=asking.samples,
        classifier_error=read_classifier_error(analysis.classifier_error),
    )


def note_session(directory: RunDirectory, notes: list[str]) -> None:
    """Write notes into the record of the last session."""
    if notes:
        with directory.lock():
            directory.manifest.sessions[-1].notes += notes
            directory.save()


def audited_model(
    config: AuditConfig,
    model: LanguageModel | None = None,
    chain: Sequence[Mitigation] = (),
    pool: Pool | None = None,
) -> LanguageModel:
    """Return the model of an audit with its mitigations.

    `model` and `chain` replace those that the options name. `pool` are cluster workers that load the model instead of
    this process. Raises the errors of loading, a UsageError for a model that workers cannot load, and Unsupported for
    unsuitable mitigations.
    """
    refuse_objects(config, model)
    if pool is not None:
        return far_named_model(pool, config, chain or config.mitigate)
    return mitigated(model or load_named_model(config), chain or config.mitigate)


def called_from_python(
    model: str | LanguageModel,
    classifiers: Mapping[str, str | Classifier | LanguageModel] | None,
    mitigate: Sequence[str | Mitigation],
    output: Path | str | None,
    **options: Any,
) -> tuple[AuditConfig, dict[str, Any]]:
    """Return the options of an audit from a call, which may pass names or loaded objects.

    The second value has the arguments of `audit_with`: objects that replace names (`model`, `loaded` classifiers, the
    `chain` of mitigations), `output`, and `given`, the arguments as the user wrote them. Raises their errors.
    """
    judges, loaded = named_or_loaded(classifiers or {})
    words, chain = named_chain(mitigate)
    given = {"model": get_name(model), "classifiers": judges or None, "mitigate": words, **options}
    return read_config(None, [], given), {
        "model": loaded_or_none(model),
        "loaded": loaded,
        "chain": chain,
        "output": output if output is None or is_store_address(output) else Path(output),
        "given": {key: value for key, value in given.items() if value not in (None, ())},
    }


def _check_whole(directory: RunDirectory, selection: Selection) -> None:
    for name in directory.benchmarks:
        if name in selection.left_out:
            raise ResumeRefused(
                f"Cannot resume the run {directory.path}: its benchmark {name} is not available now. "
                f"{selection.left_out[name]}",
                "Fix this, then resume. Stored responses and classifications are intact.",
            )


def _notes(selection: Selection) -> list[str]:
    return [
        *(f"{LEFT_OUT}{name}: {reason}" for name, reason in selection.left_out.items()),
        *(f"{LEFT_OUT}{note}" for b in selection.benchmarks for note in selection.prompts[b.name].notes),
        *(
            f"{DECODING}{name}: {describe_decoding(chosen.decoding)} ({chosen.reason})"
            for name, chosen in selection.decodings.items()
        ),
        *(f"{NOT_JUDGED}{told}" for told in selection.unjudged),
        *told_whole(selection),
        *told_as_dialogue(selection),
    ]


def told_whole(selection: Selection) -> list[str]:
    """Return a sentence for each benchmark that ignores --axis."""
    return [f"{name} has no axes, so --axis has no effect on it." for name in selection.asked_whole]


def told_beams(selection: Selection) -> list[str]:
    """Return a sentence on the cost of beam search, if conversations use it."""
    return [
        f"{b.name}: beam search with {beams} beams per reply is slow; --decoding greedy is several times faster."
        for b in selection.benchmarks
        if isinstance(b.request, Conversation) and (beams := selection.decodings[b.name].decoding.num_beams)
    ][:1]


def told_as_dialogue(selection: Selection) -> list[str]:
    """Return a sentence on the benchmarks to which the model replies in a conversation, and on the format."""
    if not selection.as_dialogue or selection.speaker is None:
        return []
    names = ", ".join(b.name for b in selection.benchmarks if b.name in selection.as_dialogue)
    told = selection.speaker.fingerprint.get("dialogue", {})
    label = f", with the label {told['label']!r} at the end of each" if told.get("label") else ""
    how = f"in the format {told['format']}{label} ({told['because']})" if told else "by itself"
    return [f"{names}: the model replies to each text as the first utterance of a conversation, {how}."]


def _record(prompts: PromptSet) -> PromptSetRecord:
    card = prompts.card.to_dict()
    return PromptSetRecord(content_hash=prompts.content_hash, rows=len(prompts), card=card, own=prompts.own)


def _list_classifiers(classifiers: Mapping[str, str]) -> str:
    return ", ".join(f"{role}={name}" for role, name in classifiers.items()) or "the published classifiers"
