"""The selection of an audit: benchmarks, prompts, decoding and classifiers."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from evenhand.benchmarks import (
    Benchmark,
    ClassifierRole,
    Conversation,
    Generation,
    load_benchmark,
    load_suite,
)
from evenhand.classifiers import Classifier, check_prompts
from evenhand.models import Decoding, LanguageModel, TextGenerator, text_generator
from evenhand.prompts import PromptSet
from evenhand.runs import Labelling, Plan, PlanPart, make_plan
from evenhand.schema import DataError, Unsupported, UsageError, is_file, is_folder, missing_file, unknown_name
from evenhand.studies.audit.asked import as_asked, asked_for_replies, make_speaker, own_prompts
from evenhand.studies.audit.classifiers import ClassifierShelf, check_roles, named_by_role, without_classifier
from evenhand.studies.audit.decoding import ChosenDecoding, choose_decoding, choose_reply_decoding
from evenhand.studies.audit.options import AskingOptions, AuditConfig, LabellingOptions
from evenhand.studies.chain import check_answers
from evenhand.studies.classifier_error import check_error_groups, read_classifier_error
from evenhand.studies.missing_classifiers import ClassifierMissing
from evenhand.studies.placing import find_pool
from evenhand.study import name_options

JUDGED = ("label", "score", "negative", "scores", "error")
"""Suffixes of the columns of a classifier; the prefix is its role."""
WRITING = ("decoding", "temperature", "top_k", "top_p", "num_beams", "samples", "max_new_tokens")
"""Decoding options. `samples` does not apply to conversations, which are generated once."""
DIALOGUE = ("dialogue",)
"""Options for how conversations are formatted for the model."""


@dataclass(frozen=True)
class Selection:
    """Benchmarks of an audit with their prompts, decoding settings and classifiers, and reasons for those left out."""

    benchmarks: tuple[Benchmark, ...]
    prompts: Mapping[str, PromptSet]
    left_out: Mapping[str, str]
    decodings: Mapping[str, ChosenDecoding] = field(default_factory=dict)
    """Decoding settings by benchmark, for benchmarks that generate continuations."""
    labellings: tuple[Labelling, ...] = ()
    classifiers: Mapping[str, Classifier] = field(default_factory=dict)
    """All classifiers, by the name under which `labellings` uses them."""
    unjudged: tuple[str, ...] = ()
    """Roles without a classifier, each with advice on how to get one."""
    asked_whole: tuple[str, ...] = ()
    """Benchmarks without axes, which ignore the selected axes."""
    speaker: TextGenerator | None = None
    """The model that replies in conversations; None without conversations."""
    as_dialogue: frozenset[str] = frozenset()
    """Benchmarks whose prompts the model answers in a conversation of two turns (`asked_for_replies`)."""

    def plan(self, model: LanguageModel) -> Plan:
        """Return the plan of all requests of these benchmarks."""
        parts = []
        for benchmark in self.benchmarks:
            chosen = self.decodings.get(benchmark.name)
            talks = benchmark.name in self.as_dialogue
            decoding = None if chosen is None else chosen.decoding
            request = benchmark.request_for(model, decoding, as_dialogue=talks)
            rows = benchmark.rows_for(self.prompts[benchmark.name], model)
            if talks and "conversation" not in rows.columns:
                rows = rows.with_columns(conversation="prompt_id")
            parts.append(PlanPart(benchmark.name, rows, request))
        return make_plan(parts, model.fingerprint, self.speaker)


def wanted_benchmarks(asking: AskingOptions) -> tuple[str, ...]:
    """Return the benchmarks that an audit's options request, whether or not they can run. Raise a UsageError for wrong
    names.
    """
    if asking.benchmarks and asking.suite:
        raise UsageError("`--suite` and `--benchmark` cannot be combined.", "Remove --suite or --benchmark.")
    names = asking.benchmarks or load_suite(asking.suite or "quick").benchmarks
    return tuple(dict.fromkeys([*names, *asking.beside]))


def with_classifiers(config: AuditConfig, named: Sequence[str]) -> AuditConfig:
    """Return the options with the classifiers of `--classifier`.

    named: ROLE=NAME, or NAME alone if the benchmarks have a single role. Raises UsageError for an unknown role.
    """
    if not named:
        return config
    judges = named_by_role(named, [load_benchmark(name) for name in wanted_benchmarks(config)])
    return config.model_copy(update={"classifiers": {**config.classifiers, **judges}})


def select(
    config: AuditConfig, model: LanguageModel, *, loaded: Mapping[str, Classifier] | None = None
) -> Selection:
    """Select the benchmarks and prompts of an audit, and load all classifiers.

    A benchmark that you name must suit the model, and its classifiers must be available. Benchmarks of a suite, and
    additional ones, are left out with the reason if they cannot run. `loaded` are classifiers that need no loading.
    Raises Unsupported, UsageError, DataError or ModelError for unusable benchmarks or classifiers.
    """
    if config.personas and not is_file(config.personas):
        raise missing_file(config.personas, "Check the path in --set personas=FILE.")
    error = read_classifier_error(config.classifier_error)
    for name, folder in config.folders.items():
        if not is_folder(folder):
            raise DataError(
                f"Folder not found: {folder} (option data.{name}).",
                "Give the folder with the files of the data set (`evenhand data list`).",
            )
    shelf = ClassifierShelf(config.device, loaded or {}, find_pool(model))
    shelf.check_names(config.classifiers)
    asked = find_requested_benchmarks(config, config, model)
    selection = prepare_selection(
        available(asked, config, config, model, shelf), config, config, model, shelf
    )
    frames = {name: prompts.frame for name, prompts in selection.prompts.items()}
    for labelling in selection.labellings:
        check_prompts(frames[labelling.benchmark], labelling.rule, labelling.benchmark)
    if error is not None:
        check_error_groups(error, frames, selection.benchmarks)
    if config.reference is not None:
        _check_reference(config.reference, frames, selection.benchmarks)
    return selection


def _check_reference(
    reference: str, frames: Mapping[str, pl.DataFrame], benchmarks: Sequence[Benchmark]
) -> None:
    judged = [frames[benchmark.name] for benchmark in benchmarks if benchmark.classified_by]
    if not judged:
        raise UsageError(
            f"`--reference {reference!r}` has no effect here: none of these benchmarks compares rates between "
            "groups.",
            "Remove --reference, or choose a benchmark of generated text, for example -b regard.",
        )
    if all("group" in frame.columns for frame in judged):  # otherwise unknown until the responses exist
        groups = pl.concat([frame["group"].cast(pl.String) for frame in judged]).drop_nulls()
        if not groups.is_in([reference]).any():
            raise unknown_name("group", reference, groups.unique())


@dataclass(frozen=True)
class RequestedBenchmarks:
    """Benchmarks that the options ask for, before it is known which of them can run here."""

    benchmarks: tuple[Benchmark, ...]
    beside: frozenset[str]
    """Names of benchmarks that run in addition to the others, with their own prompts and on all axes."""
    forgiving: bool
    """True for a suite: benchmarks that cannot run are left out instead of raising an error."""
    alternatives: bool
    """True for a suite with one benchmark per type of model. Those for other types are not reported as left out."""
    limit: int | None


@dataclass(frozen=True)
class Available:
    """Benchmarks that can run here, each with its prompts and classifiers, and reasons why others cannot."""

    wanted: RequestedBenchmarks
    benchmarks: tuple[Benchmark, ...]
    prompts: Mapping[str, PromptSet]
    classifiers: Mapping[str, Mapping[str, tuple[ClassifierRole, str]]]
    """Role and name of the loaded classifier, by benchmark and name of the role."""
    left_out: Mapping[str, str]
    speaker: TextGenerator | None = None
    """The model that replies in conversations; None without conversations."""
    as_dialogue: frozenset[str] = frozenset()
    """Benchmarks whose texts the model answers in a conversation of two turns (`asked_for_replies`)."""


def find_requested_benchmarks(
    asking: AskingOptions, judging: LabellingOptions, model: LanguageModel
) -> RequestedBenchmarks:
    """Return the requested benchmarks; for a suite with custom prompts, the one that suits the model.

    Raises UsageError for unknown names, for custom prompts with several benchmarks, for a classifier in a role that no
    benchmark has, and for decoding options if no benchmark generates text.
    """
    names = wanted_benchmarks(asking)
    forgiving, alternatives, limit = not asking.benchmarks, False, asking.limit
    if forgiving:
        suite = load_suite(asking.suite or "quick")
        alternatives, limit = suite.one_for_each_kind, limit or suite.limit
    beside = frozenset(asking.beside) - frozenset(asking.benchmarks)
    if asking.prompts:
        others = [name for name in names if name not in beside]
        compared = _choose_benchmark_for_prompts(others, model, forgiving)
        names = tuple(name for name in names if name in beside or name == compared)
    recipes = tuple(load_benchmark(name) for name in names)
    check_roles(judging.classifiers, recipes)
    _check_writing(asking, recipes)
    return RequestedBenchmarks(recipes, beside, forgiving, alternatives, limit)


def available(
    asked: RequestedBenchmarks,
    asking: AskingOptions,
    judging: LabellingOptions,
    model: LanguageModel,
    shelf: ClassifierShelf,
) -> Available:
    """Return the requested benchmarks that suit the model and have their prompts and classifiers available.

    Raises Unsupported, DataError and ClassifierMissing for a benchmark that was named and cannot run, and for a
    classifier that was named and is not here; what a suite lacks is noted in `left_out`.
    """
    fit: list[Benchmark] = []
    prompts: dict[str, PromptSet] = {}
    judges: dict[str, Mapping[str, tuple[ClassifierRole, str]]] = {}
    left_out: dict[str, str] = {}
    speaker: TextGenerator | None = None
    as_dialogue: set[str] = set()
    for benchmark in asked.benchmarks:
        name = benchmark.name
        try:
            _check_architecture(benchmark, model)
            check_answers(model, "generate" if benchmark.writes else "log_likelihoods")
            if isinstance(benchmark.request, Conversation):
                speaker = speaker or make_speaker(model, asking.dialogue)
                text_generator(model).generate(
                    [], choose_reply_decoding(benchmark.request, asking, model).decoding
                )
            if replies := asked_for_replies(benchmark, model, asking.dialogue):
                speaker = speaker or make_speaker(model, asking.dialogue)
            own = asking.prompts if name not in asked.beside else None
            full = (
                own_prompts(own, benchmark, asking.counterfactual) if own else benchmark.build(asking.folders)
            )
            full = benchmark.prompts_for(full, model.architecture)
            if name not in asked.beside:
                full = as_asked(full, benchmark, asking, as_dialogue=replies)
            judges[name] = shelf.of(benchmark, judging.classifiers)
        except (Unsupported, DataError, ClassifierMissing) as error:
            asked_for = isinstance(error, ClassifierMissing) and error.role in judging.classifiers
            is_own = isinstance(error, DataError) and asking.prompts is not None
            if asked_for or not (name in asked.beside or (asked.forgiving and not is_own)):
                raise shelf.with_others(error, asked.benchmarks, judging.classifiers) from error.__cause__
            if not (asked.alternatives and model.architecture not in benchmark.architectures):
                left_out[name] = error.brief if isinstance(error, ClassifierMissing) else str(error)
            continue
        prompts[name] = full
        fit.append(benchmark)
        as_dialogue |= {name} if replies else set()
    return Available(asked, tuple(fit), prompts, judges, left_out, speaker, frozenset(as_dialogue))


def prepare_selection(
    here: Available,
    asking: AskingOptions,
    judging: LabellingOptions,
    model: LanguageModel,
    shelf: ClassifierShelf,
) -> Selection:
    """Return the available benchmarks with axes, limit, decoding settings and classifiers applied.

    Raises UsageError if an axis is unknown or no benchmark is left, and the errors of choosing decoding settings and
    axes.
    """
    prepared: list[Benchmark] = []
    prompts: dict[str, PromptSet] = {}
    decodings: dict[str, ChosenDecoding] = {}
    labellings: list[Labelling] = []
    left_out = dict(here.left_out)
    asked_whole = _without_axes(here, asking)
    for benchmark in here.benchmarks:
        name, beside = benchmark.name, benchmark.name in here.wanted.beside
        whole = beside or name in asked_whole
        on_axes = here.prompts[name] if whole else _on_axes(here.prompts[name], asking, here.wanted)
        if on_axes is None:
            left_out[name] = f"It has no axis {' or '.join(asking.axes)}."
            continue
        limit = here.wanted.limit
        prompts[name] = benchmark.sample(on_axes, limit, asking.seed) if limit else on_axes
        if isinstance(benchmark.request, Generation):
            # Additional benchmarks compare no groups, so they do not need several samples.
            asked = asking.model_copy(update={"samples": None}) if beside else asking
            decodings[name] = choose_decoding(benchmark.request, asked, model)
        elif isinstance(benchmark.request, Conversation):
            decodings[name] = choose_reply_decoding(benchmark.request, asking, model)
        judges = here.classifiers[name]
        _check_free(benchmark, judges, prompts[name])
        labellings += [Labelling(name, judge.role, who, judge.text) for judge, who in judges.values()]
        prepared.append(benchmark)
    _check_axes(here, asking)
    if not prepared:
        reasons = "\n".join(f"- {name}: {reason}" for name, reason in left_out.items())
        raise UsageError("None of the selected benchmarks can run here.", reasons)
    classifiers = {labelling.classifier: shelf.get(labelling.classifier) for labelling in labellings}
    unjudged = tuple(
        told for benchmark in prepared for told in without_classifier(benchmark, judging.classifiers)
    )
    return Selection(
        tuple(prepared),
        prompts,
        left_out,
        decodings,
        tuple(labellings),
        classifiers,
        unjudged,
        asked_whole,
        here.speaker,
        here.as_dialogue,
    )


def _choose_benchmark_for_prompts(names: Sequence[str], model: LanguageModel, forgiving: bool) -> str:
    """Return the name of the benchmark that uses the user's own prompts, which must be a single one."""
    suited = [name for name in names if model.architecture in load_benchmark(name).architectures]
    if forgiving and len(suited) == 1:  # the default suite has one benchmark for each type of model
        names = suited
    if len(names) != 1:
        raise UsageError(
            f"`--prompts` requires exactly one benchmark, but {len(names)} are selected: {', '.join(names)}.",
            "Choose one with --benchmark.",
        )
    return names[0]


def _without_axes(here: Available, asking: AskingOptions) -> tuple[str, ...]:
    """Return the benchmarks named by the user that have no axes, if the user selected axes of other benchmarks."""
    if here.wanted.forgiving or asking.prompts or not asking.axes:
        return ()
    named = [one for one in here.benchmarks if one.name not in here.wanted.beside]
    return tuple(one.name for one in named if "axis" not in here.prompts[one.name].frame.columns)


def _on_axes(prompts: PromptSet, asking: AskingOptions, asked: RequestedBenchmarks) -> PromptSet | None:
    """Return the prompts of the selected axes; None if a benchmark of a suite has none of them."""
    axes = asking.axes
    if axes and asked.forgiving:  # the benchmarks of a suite know different axes
        there = _list_axes(prompts)
        axes = tuple(axis for axis in axes if axis in there)
        if not axes:
            return None
    return prompts.filter_axes(axes) if axes else prompts


def _list_axes(prompts: PromptSet) -> set[str]:
    return set(prompts.frame["axis"].unique()) if "axis" in prompts.frame.columns else set()


def _check_axes(here: Available, asking: AskingOptions) -> None:
    """Raise UsageError for an axis that no benchmark of a suite has; a single benchmark raises it itself."""
    if not (here.wanted.forgiving and asking.axes):
        return
    seen: set[str] = set()
    for benchmark in here.benchmarks:
        if benchmark.name not in here.wanted.beside:
            seen |= _list_axes(here.prompts[benchmark.name])
    for axis in asking.axes if seen else ():
        if axis not in seen:
            raise unknown_name("axis", axis, seen)


def _check_architecture(benchmark: Benchmark, model: LanguageModel) -> None:
    if model.architecture not in benchmark.architectures:
        suited = " or ".join(sorted(benchmark.architectures))
        raise Unsupported(
            f"Benchmark {benchmark.name} requires a {suited} model, but this model is {model.architecture}.",
            "`evenhand list benchmarks` shows the benchmarks for each kind of model.",
        )
    if benchmark.writes:
        # Some models raise Unsupported only when they are called, so they are called with an empty list of prompts.
        text_generator(model).generate([], Decoding(max_new_tokens=1))


def _check_free(benchmark: Benchmark, judges: Collection[str], prompts: PromptSet) -> None:
    for role in judges:
        if taken := [f"{role}_{name}" for name in JUDGED if f"{role}_{name}" in prompts.frame.columns]:
            raise DataError(
                f"The prompts of {benchmark.name} have a column {taken[0]}, which is reserved for the classifier "
                f"of the role {role}.",
                "Rename the column.",
            )


def _check_writing(asking: AskingOptions, benchmarks: Sequence[Benchmark]) -> None:
    kinds = {type(benchmark.request) for benchmark in benchmarks}
    replied = any(isinstance(b.request, Generation) and b.request.replies for b in benchmarks)
    idle = set(DIALOGUE) if not replied and Conversation not in kinds else set()
    if Generation not in kinds:
        idle |= {"samples"} if Conversation in kinds else {*WRITING}
    untouched = AskingOptions()
    if given := [
        name
        for name in (*WRITING, *DIALOGUE)
        if name in idle and getattr(asking, name) != getattr(untouched, name)
    ]:
        names = ", ".join(benchmark.name for benchmark in benchmarks)
        what = "hold conversations" if set(given) <= set(DIALOGUE) else "generate text"
        verb = "does" if len(benchmarks) == 1 else "do"
        raise UsageError(
            f"{name_options(given)} {'has' if len(given) == 1 else 'have'} no effect here: {names} {verb} not {what}.",
            f"Remove {name_options(given)}, or choose a benchmark that can {what} (`evenhand list benchmarks`).",
        )
