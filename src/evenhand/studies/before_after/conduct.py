"""A model with and without mitigations: changes in harm, and the cost in text quality, time and memory.

Both are audited on the same prompts with the same seeds and decoding, each in a separate run.
"""

import gc
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks import load_benchmark
from evenhand.classifiers import Classifier
from evenhand.mitigations import Mitigation, load_mitigation, mitigated
from evenhand.mitigations.training import read_lineage
from evenhand.models import LanguageModel
from evenhand.runs import Labelling, MitigationRecord, Progress, RunDirectory, default_path, label, resumable
from evenhand.schema import UsageError
from evenhand.studies.audit import (
    AuditConfig,
    AuditResult,
    CheckAxes,
    ClassifierShelf,
    LabellingOptions,
    Selection,
    axes_by_benchmark,
    benchmarks_by_role,
    conduct_audit,
    find_length_losses,
    refuse_losses,
    select,
    told_alike,
    told_as_dialogue,
    told_whole,
    wanted_benchmarks,
    with_classifiers,
)
from evenhand.studies.before_after.costs import run_costs, text_perplexity_change
from evenhand.studies.before_after.harm import HarmVerdict, harm_verdicts
from evenhand.studies.before_after.record import AFTER, BEFORE, RECORD, begin, stored_study
from evenhand.studies.before_after.tables import (
    QUALITY_BENCHMARK,
    given_texts,
    measured_side_by_side,
    paired_tables,
    quality_data,
    scored_texts,
)
from evenhand.studies.before_after.timing import timed_costs
from evenhand.studies.chain import folder_name, records
from evenhand.studies.compare import QUALITY, Comparison, compare_outputs, judged_texts
from evenhand.studies.model_options import load_named_model
from evenhand.studies.placing import here_only
from evenhand.study import MODEL_ROLE, ToleranceOptions

MOST_TIMED = 1612
"""Number of timed prompts, as in the paper."""
DEFAULT_BENCHMARKS = ("regard",)
"""Benchmarks that run if the user names none. evenhand includes their prompts."""


@dataclass(frozen=True)
class BeforeAfter:
    """A finished study on disk. All tables but `measured` are paired on prompt and sample.

    Attributes
    ----------
    before, after
        The runs.
    chain
        The mitigations in order of application.
    harm
        Changes of each type of harm, counted in several ways (columns: HARM).
    silence
        Changes of empty or refused responses: overall, by axis and by group (columns: SILENCE).
    quality
        Changes of text quality (columns: QUALITY, q and verdict).
    measured
        The measures of each run, such as BiasScore, side by side.
    cost
        Time and memory (columns: COST).
    verdicts
        One verdict for each benchmark and type of harm.
    comparison
        Changes between the runs, between groups, overall and by axis.
    notes
        Notes for readers.
    failed
        Description of failures above the allowed rate.
    """

    path: Path
    config: AuditConfig
    before: RunDirectory
    after: RunDirectory
    chain: tuple[MitigationRecord, ...]
    harm: pl.DataFrame
    silence: pl.DataFrame
    quality: pl.DataFrame
    measured: pl.DataFrame
    cost: pl.DataFrame
    verdicts: tuple[HarmVerdict, ...]
    comparison: Comparison
    notes: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


@dataclass(frozen=True)
class _StudyInputs:
    """Everything that both runs need, checked before the model is used."""

    selections: tuple[Selection, Selection]
    classifiers: Mapping[str, Classifier]
    extra: tuple[Labelling, ...]
    """Additional classifications that belong to no benchmark: perplexity, if the benchmark `quality` is not run."""


def study_before_after(
    config: AuditConfig,
    *,
    model: LanguageModel | None = None,
    chain: Sequence[Mitigation] = (),
    output: Path | None = None,
    given: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    loaded: Mapping[str, Classifier] | None = None,
    check: CheckAxes | None = None,
) -> BeforeAfter:
    """Audit a model before and after its mitigations and compare the runs, or resume such a study.

    Everything is loaded and checked before the model generates text. The benchmark `quality` is added if its texts are
    available.

    Parameters
    ----------
    config : AuditConfig
        Options of both audits; `mitigate` names the mitigations.
    model, chain, loaded : optional
        Objects that replace the model, mitigations and classifiers named in `config`.
    output : Path, optional
        Folder of the study, with the runs in `before` and `after`.
    given : mapping, optional
        Arguments as the user wrote them.
    check : callable, optional
        Called with the axes of each benchmark before the model is used; it may raise.

    Raises
    ------
    UsageError
        There is no mitigation.
    Unsupported
        The model lacks what a mitigation needs.
    Interrupted, ResumeRefused
        As in an audit, like all other errors.
    """
    here_only(
        config,
        "before-after (it compares time and memory)",
        "Remove `on`. Or audit twice with --on, once of them with --mitigate, and compare the runs: evenhand compare "
        "RUN RUN.",
    )
    if not config.mitigate:
        raise UsageError(
            "`before-after` requires `--mitigate`.", 'For example: --mitigate prefix="Be respectful."'
        )
    links = list(chain) or [load_mitigation(words) for words in config.mitigate]
    path = output or default_path(folder_name(config.model, config.mitigate), "before-after")
    config, no_quality = _with_quality(config, path)
    base = model or load_named_model(config)
    after_model = mitigated(base, links)
    recipes = [load_benchmark(name) for name in wanted_benchmarks(config)]
    config = config.model_copy(update={"dialogue": told_alike(config.dialogue, (base, after_model), recipes)})
    prepared = _prepare(config, base, after_model, loaded or {})
    if check is not None:
        check(axes_by_benchmark(prepared.selections[0]))
    if not RECORD.is_in(path):
        for selection, asked in zip(prepared.selections, (base, after_model), strict=True):
            refuse_losses(find_length_losses(selection, asked), config.error_threshold, config.beside)
    begin(path, config, given or {})
    audited_roles = _without_model_role(config) if prepared.extra else config.classifiers
    apart = {"mitigate": (), "classifiers": audited_roles, "timing_runs": 0}
    plain = config.model_copy(update=apart)
    options = {"given": given, "progress": progress, "loaded": prepared.classifiers}
    with resumable(f"Resume with: evenhand before-after {path}"):
        _note(progress, "Before: the model without a mitigation")
        first = conduct_audit(plain, base, output=path / BEFORE, **options)  # type: ignore[arg-type]
        if model is None and first.outcome.answered:
            # The loaded model counts time and memory, so it is reset before the second run.
            del base, after_model
            _release()
            base = load_named_model(config)
            after_model = mitigated(base, links)
        _note(progress, f"After: the model with {', '.join(config.mitigate)}")
        behind = plain.model_copy(update={"mitigate": config.mitigate})
        second = conduct_audit(behind, after_model, output=path / AFTER, **options)  # type: ignore[arg-type]
        for result in (first, second):
            if prepared.extra:
                label(result.directory, prepared.extra, prepared.classifiers, progress=progress,
                      retry_errors=config.retry_errors)  # fmt: skip
        runs = tuple(RunDirectory.open(path / name) for name in (BEFORE, AFTER))
        texts = scored_texts(path, runs[0], config.folders, base, after_model, config.seed)
        compared = compare_outputs(
            runs[0].path, runs[1].path, names=(BEFORE, AFTER), alpha=config.alpha, seed=config.seed
        )
        harm, silence = paired_tables(runs[0], runs[1], compared.changes, config)
        perplexity = text_perplexity_change(texts.frame, texts.name, config.seed)
        quality = judged_texts(pl.concat([compared.texts.select(*QUALITY), perplexity]), config.alpha)
        prompts = given_texts(runs[0], config.folders, config.seed, config.limit or MOST_TIMED)[1]["text"]
        timed, untimed = timed_costs(path, prompts, {BEFORE: base, AFTER: after_model}, config, progress)
        same_process = first.outcome.answered > 0 < second.outcome.answered
        return BeforeAfter(
            path=path,
            config=config,
            before=runs[0],
            after=runs[1],
            chain=tuple(records(after_model, config.mitigate)),
            harm=harm,
            silence=silence,
            quality=quality,
            measured=measured_side_by_side(runs[0], runs[1]),
            cost=pl.concat([run_costs(runs[0], runs[1], same_process=same_process), timed]),
            verdicts=tuple(harm_verdicts(harm, silence, quality)),
            comparison=compared,
            notes=tuple(
                dict.fromkeys(
                    [
                        *one_training([config.model, *(getattr(link, "path", None) for link in links)]),
                        *_notes(config, prepared, no_quality, texts.reason, texts.name, untimed),
                    ]
                )
            ),
            failed=tuple(_describe_failures(config, {BEFORE: first, AFTER: second})),
        )


def with_named_classifiers(config: AuditConfig, named: Sequence[str]) -> AuditConfig:
    """Return the options with the classifiers of `--classifier`.

    Raises UsageError for an unknown role.

    Parameters
    ----------
    named
        Values of `--classifier`: ROLE=NAME, or NAME alone if the benchmarks have a single role. perplexity=MODEL is
        always accepted.
    """
    config = _with_benchmark(config)
    models = [value for value in named if value.startswith(f"{MODEL_ROLE}=")]
    config = with_classifiers(config, [value for value in named if value not in models])
    judges = dict(value.split("=", 1) for value in models)
    return config.model_copy(update={"classifiers": {**config.classifiers, **judges}})


def _with_benchmark(config: AuditConfig) -> AuditConfig:
    if config.benchmarks or config.suite:
        return config
    return config.model_copy(update={"benchmarks": DEFAULT_BENCHMARKS})


def _with_quality(config: AuditConfig, path: Path) -> tuple[AuditConfig, str | None]:
    """Return the options with the default benchmark if none is given, and with the benchmark `quality`.

    Returns the reason as second value if `quality` cannot run, otherwise None.
    """
    config = _with_benchmark(config)
    missing = quality_data(config.folders)
    if RECORD.is_in(path):  # this was decided when the study was started
        beside = stored_study(path).beside
        return config.model_copy(update={"beside": beside}), None if beside else missing
    if QUALITY_BENCHMARK in config.benchmarks or QUALITY_BENCHMARK in config.beside or missing is not None:
        return config, missing
    return config.model_copy(update={"beside": (*config.beside, QUALITY_BENCHMARK)}), None


def _prepare(
    config: AuditConfig, base: LanguageModel, after: LanguageModel, loaded: Mapping[str, Classifier]
) -> _StudyInputs:
    wanted = config.classifiers.get(MODEL_ROLE)
    if MODEL_ROLE not in benchmarks_by_role(load_benchmark(name) for name in wanted_benchmarks(config)):
        config = config.model_copy(update={"classifiers": _without_model_role(config)})
    first = select(config, base, loaded=loaded)
    judges = {**loaded, **first.classifiers}
    second = select(config, after, loaded=judges)
    if not [b for b in first.benchmarks if b.name not in config.beside]:
        reasons = "\n".join(f"- {name}: {reason}" for name, reason in first.left_out.items())
        raise UsageError("None of the selected benchmarks can run here.", reasons)
    extra: list[Labelling] = []
    if wanted is not None and MODEL_ROLE not in benchmarks_by_role(first.benchmarks):
        name = wanted if wanted in judges or wanted.startswith(f"{MODEL_ROLE}:") else f"{MODEL_ROLE}:{wanted}"
        judges[name] = ClassifierShelf(config.device, judges).get(name)
        extra = [Labelling(b.name, MODEL_ROLE, name) for b in first.benchmarks if b.writes]
    return _StudyInputs((first, second), judges, tuple(extra))


def _without_model_role(judging: LabellingOptions) -> dict[str, str]:
    return {role: name for role, name in judging.classifiers.items() if role != MODEL_ROLE}


def one_training(folders: Sequence[object]) -> list[str]:
    """Return a note for each folder of a trained model: CIs do not cover the variation between training seeds.

    Names that are not folders, and folders without a lineage, have no note.

    Parameters
    ----------
    folders
        Names or folders of models and adapters.
    """
    notes = []
    for folder in folders:
        if not isinstance(folder, str | Path) or (lineage := read_lineage(Path(folder))) is None:
            continue
        notes.append(
            f"{folder} was trained once, with seed {lineage['seed']}. All intervals describe sentences of this one "
            "training. A model trained with another seed may have changes outside of them, even without debiasing. "
            "Repeat evenhand debias with --seed 1, --seed 2, ... and a different -o for each, and run before-after on "
            "each result."
        )
    return notes


def _notes(
    judging: LabellingOptions,
    prepared: _StudyInputs,
    no_quality: str | None,
    no_texts: str,
    texts: str,
    untimed: str,
) -> list[str]:
    notes = [f"Time and memory were not measured again: {' '.join(untimed.split())}"] if untimed else []
    first, second = prepared.selections
    for name in dict.fromkeys([*first.left_out, *second.left_out]):
        reason = " ".join((first.left_out.get(name) or second.left_out[name]).split())
        notes.append(f"Left out: {reason}" if reason.startswith(name) else f"Left out: {name}: {reason}")
    notes += told_whole(first)
    notes += dict.fromkeys([*told_as_dialogue(first), *told_as_dialogue(second)])
    if no_quality is not None:
        notes.append(
            "The benchmark quality was not run. The quality shown is that of the responses to the other benchmarks. "
            + " ".join(no_quality.split())
        )
    if MODEL_ROLE not in judging.classifiers:
        notes.append(
            "The fluency of continuations was not measured. To measure it, add --classifier perplexity=MODEL."
        )
    if no_texts:
        notes.append(f"The perplexity of given texts was not measured: {' '.join(no_texts.split())}")
    elif texts != "wikitext":
        notes.append(
            "The model's own perplexity is that of the benchmarks' prompts, because WikiText is not available."
        )
    return notes


def _describe_failures(tolerance: ToleranceOptions, results: Mapping[str, AuditResult]) -> list[str]:
    reasons = []
    for name, result in results.items():
        if result.outcome.above_threshold:
            reasons.append(f"{result.outcome.error_share:.1%} of the responses {name} have no result")
        if result.labelled is not None and result.labelled.error_share > tolerance.error_threshold:
            reasons.append(f"{result.labelled.error_share:.1%} of the texts {name} could not be classified")
    return reasons


def _note(progress: Progress | None, message: str) -> None:
    if progress is not None:
        progress.note(message)


def _release() -> None:
    """Free memory and reset the peak memory of the accelerator."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
