"""Re-classification of a finished run: other classifiers on its stored continuations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evenhand.benchmarks import Benchmark, load_benchmark
from evenhand.classifiers import Classifier
from evenhand.runs import Labelling, LabelOutcome, Progress, RunDirectory, label, resumable
from evenhand.schema import DataError, UsageError
from evenhand.studies.audit.classifiers import (
    ClassifierShelf,
    benchmarks_by_role,
    check_roles,
    find_dependent_roles,
)
from evenhand.studies.audit.conduct import measure_run, note_session
from evenhand.studies.audit.options import AuditConfig, stored_config
from evenhand.studies.missing_classifiers import forgotten_classifier
from evenhand.studies.placing import PlaceOptions, start_place
from evenhand.study import check_addresses
from evenhand.weights import check_device

RESCORED = "Judged anew: "
"""Beginning of the note in the record of a session that classified texts again."""


@dataclass(frozen=True)
class Rescored:
    """The outcome of a re-classification, with new measurements and findings."""

    labelled: LabelOutcome
    classifiers: Mapping[str, str]
    """Names of the classifiers that replaced others, by role."""


def labelled_benchmarks(directory: RunDirectory) -> list[Benchmark]:
    """Return the benchmarks of a run whose continuations are classified. Raise a DataError if there are none."""
    recipes = [recipe for name in directory.benchmarks if (recipe := load_benchmark(name)).classified_by]
    if not directory.benchmarks:
        raise DataError(
            f"The run {directory.path} is incomplete: it has no prompts yet.",
            f"Resume it first: evenhand audit {directory.path}",
        )
    if not recipes:
        raise DataError(
            f"Cannot rescore {directory.path}: none of its benchmarks ({', '.join(directory.benchmarks)}) has "
            "generated text.",
            "Choose a run of a benchmark of generated text, for example regard.",
        )
    return recipes


def rescore_run(
    directory: RunDirectory,
    classifiers: Mapping[str, str],
    *,
    device: str = "auto",
    place: PlaceOptions | None = None,
    progress: Progress | None = None,
    loaded: Mapping[str, Classifier] | None = None,
    retry_errors: bool = False,
    trust_addresses: bool = False,
) -> Rescored:
    """Classify the continuations of a run with other classifiers, and measure it again.

    Responses and earlier labels are kept, and no classifier classifies a text twice. A role that is not named keeps its
    classifier. Rates are no longer corrected for classifier errors, because these belong to the earlier classifier.

    Parameters
    ----------
    directory : RunDirectory
        A run, complete or not.
    classifiers : mapping of str to str
        Names by role.
    device : str
        Device for classifiers with weights.
    place : PlaceOptions, optional
        Cluster whose workers classify. Default: this process.
    progress : Progress, optional
        Called after each shard.
    loaded : mapping, optional
        Classifiers that need no loading, by name.
    retry_errors : bool
        Classify texts again for which a classifier failed.
    trust_addresses : bool
        Use servers that only the folder names, for roles that are not classified yet (see
        `evenhand.study.trust`).

    Raises
    ------
    UsageError
        No classifier is given, or a role is unknown.
    DataError
        The run has no classified texts.
    ModelError
        A classifier cannot be loaded.
    ResumeRefused
        Only the folder names a server.
    Interrupted
        The same command resumes.
    """
    recipes = labelled_benchmarks(directory)
    if not classifiers:
        raise _missing_flag_error(recipes)
    check_device(device)
    check_roles(classifiers, recipes)
    before = stored_config(directory.manifest.arguments_resolved, directory.path)
    named = {**before.classifiers, **classifiers}
    waiting = {role for recipe in recipes for role in _to_label(directory, recipe, classifiers)}
    check_addresses(
        directory.path,
        [named[role] for role in waiting if role in named],
        named=classifiers.values(),
        trusted=trust_addresses,
    )
    note = None if progress is None else progress.note
    with (
        resumable(f"Resume with: evenhand rescore {directory.path} --classifier ..."),
        start_place(place or PlaceOptions(), device, note) as pool,
    ):
        shelf = ClassifierShelf(device, loaded or {}, pool)
        wanted = [
            Labelling(recipe.name, judge.role, who, judge.text)
            for recipe in recipes
            for judge, who in shelf.of(recipe, named, only=_to_label(directory, recipe, classifiers)).values()
        ]
        labelled = label(
            directory,
            wanted,
            {labelling.classifier: shelf.get(labelling.classifier) for labelling in wanted},
            progress=progress,
            retry_errors=retry_errors,
        )
        # error counts belong to the earlier classifier
        now = before.model_copy(update={"classifier_error": None})
        _record(directory, named, classifiers, lost=before.classifier_error)
        measure_run(directory, now, now)
    return Rescored(labelled, named)


def _missing_flag_error(recipes: Sequence[Benchmark]) -> UsageError:
    role = next(iter(benchmarks_by_role(recipes)))
    hint = f"Give the new classifier: --classifier {role}=NAME (`evenhand list classifiers` shows them)."
    return forgotten_classifier("Missing option: `--classifier`.", hint, role, with_role=True)


def _to_label(directory: RunDirectory, recipe: Benchmark, classifiers: Mapping[str, str]) -> set[str]:
    # A run that was stopped before classification has roles without labels.
    judged = directory.manifest.judged.get(recipe.name, {})
    waiting = {judge.role for judge in recipe.classified_by if judge.role not in judged}
    return waiting | find_dependent_roles(recipe, classifiers)


def _record(
    directory: RunDirectory, named: Mapping[str, str], classifiers: Mapping[str, str], lost: str | None
) -> None:
    # A resumed run must use the present classifiers.
    with directory.lock():
        manifest = directory.manifest
        resolved = AuditConfig.model_validate(manifest.arguments_resolved).same_results()
        manifest.arguments_resolved = {
            **resolved,
            "classifiers": dict(named),
            "classifier_error": None,
        }
        directory.save()
    roles = ", ".join(f"{role} by {name}" for role, name in classifiers.items())
    dropped = (
        ""
        if lost is None
        else f"; rates are no longer corrected with {lost}, which describes the earlier classifier"
    )
    note_session(directory, [f"{RESCORED}{roles}{dropped}"])
