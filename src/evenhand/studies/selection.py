"""What an audit will put to a model: which benchmarks, which prompts, how continuations are written and judged."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evenhand.benchmarks.contract import Benchmark, Generation
from evenhand.benchmarks.registry import load_benchmark, load_suite
from evenhand.classifiers.contract import Classifier
from evenhand.mitigations.contract import Mitigated
from evenhand.models.contract import LanguageModel, text_generator
from evenhand.models.decoding import Decoding
from evenhand.prompts.prompt_set import PromptSet
from evenhand.runs import Part, Plan, make_plan
from evenhand.runs.labelling import Labelling
from evenhand.schema import DataError, Unsupported, UsageError
from evenhand.schema.errors import unknown_name
from evenhand.studies.config import AuditConfig
from evenhand.studies.decoding import ChosenDecoding, choose_decoding
from evenhand.studies.judges import (
    ClassifierMissing,
    ClassifierShelf,
    check_roles,
    named_by_role,
    without_judge,
)

JUDGED = ("label", "score", "negative", "scores", "error")
"""What a judge's columns are called behind its role."""
WRITING = ("decoding", "temperature", "top_k", "top_p", "num_beams", "samples", "max_new_tokens")
"""Options that say how continuations are written."""


@dataclass(frozen=True)
class Selection:
    """Benchmarks with their prompts, decodings and judges, and what was left out and why."""

    benchmarks: tuple[Benchmark, ...]
    prompts: Mapping[str, PromptSet]
    left_out: Mapping[str, str]
    decodings: Mapping[str, ChosenDecoding] = field(default_factory=dict)
    """Of the benchmarks of continuations."""
    labellings: tuple[Labelling, ...] = ()
    classifiers: Mapping[str, Classifier] = field(default_factory=dict)
    """All that judge, by the name they go by in `labellings`."""
    unjudged: tuple[str, ...] = ()
    """What nobody judges, each with how to have it judged."""

    def plan(self, model: LanguageModel) -> Plan:
        """Every request of these benchmarks."""
        parts = []
        for benchmark in self.benchmarks:
            chosen = self.decodings.get(benchmark.name)
            request = benchmark.request_for(model, None if chosen is None else chosen.decoding)
            parts.append(Part(benchmark.name, self.prompts[benchmark.name].frame, request))
        return make_plan(parts, model.fingerprint)


def wanted_benchmarks(config: AuditConfig) -> tuple[str, ...]:
    """Names of the benchmarks that an audit's options ask for, whether or not they can run here.

    Raises UsageError for an unknown suite, and for a suite beside single benchmarks.
    """
    if config.benchmarks and config.suite:
        raise UsageError("A suite and single benchmarks were named.", "Name either --suite or --benchmark.")
    chosen = config.benchmarks or load_suite(config.suite or "quick").benchmarks
    return tuple(dict.fromkeys([*chosen, *config.beside]))


def with_classifiers(config: AuditConfig, named: Sequence[str]) -> AuditConfig:
    """The options with the classifiers that `--classifier` names put in place of theirs.

    named: ROLE=NAME, or NAME alone where the benchmarks have a single role. Raises UsageError for an unknown role.
    """
    if not named:
        return config
    judges = named_by_role(named, [load_benchmark(name) for name in wanted_benchmarks(config)])
    return config.model_copy(update={"classifiers": {**config.classifiers, **judges}})


def select(
    config: AuditConfig, model: LanguageModel, *, loaded: Mapping[str, Classifier] | None = None
) -> Selection:
    """Benchmarks and prompts of an audit, after axes and limit, with every classifier loaded.

    A benchmark named by the user must suit the model and its classifiers must be here; of a suite, those that do
    not suit it, or whose data or classifiers are not here, are left out, with the reason, and so are those that
    run beside. A classifier named by the user must be here in any case. loaded: classifiers that need no loading, by
    name. Raises Unsupported, UsageError, DataError, ModelError.
    """
    wanted = wanted_benchmarks(config)
    forgiving, alternatives, limit = not config.benchmarks, False, config.limit
    if forgiving:
        suite = load_suite(config.suite or "quick")
        alternatives, limit = suite.one_for_each_kind, limit or suite.limit
    beside = set(config.beside) - set(config.benchmarks)
    if config.prompts:
        compared = [name for name in wanted if name not in beside]
        suited = [name for name in compared if model.architecture in load_benchmark(name).architectures]
        if forgiving and len(suited) == 1:  # of the default suite one benchmark suits each kind of model
            compared = suited
        if len(compared) != 1:
            raise UsageError(
                f"Your own prompts go with one benchmark, and {len(compared)} are selected: {', '.join(compared)}.",
                "Name one with --benchmark.",
            )
        wanted = tuple(name for name in wanted if name in beside or name in compared)
    recipes = [load_benchmark(name) for name in wanted]
    check_roles(config.classifiers, recipes)
    _check_writing(config, recipes)
    folders = {name: Path(folder).expanduser() for name, folder in config.data.items()}
    shelf = ClassifierShelf(config.device, loaded or {})
    chosen: list[Benchmark] = []
    prompts: dict[str, PromptSet] = {}
    decodings: dict[str, ChosenDecoding] = {}
    labellings: list[Labelling] = []
    left_out: dict[str, str] = {}
    seen: set[str] = set()
    for benchmark in recipes:
        name = benchmark.name
        try:
            _check_architecture(benchmark, model)
            _check_mitigations(benchmark, model)
            own = None if name in beside else config.prompts
            full = _own_prompts(own, benchmark) if own else benchmark.build(folders)
            full = benchmark.prompts_for(full, model.architecture)
            judges = shelf.of(benchmark, config.classifiers)
        except (Unsupported, DataError, ClassifierMissing) as error:
            asked_for = isinstance(error, ClassifierMissing) and error.role in config.classifiers
            if not (forgiving or name in beside) or asked_for:
                raise
            if not (alternatives and model.architecture not in benchmark.architectures):
                left_out[name] = str(error)
            continue
        if config.axes and name not in beside:
            axes = config.axes
            if forgiving:  # the benchmarks of a suite know different axes
                there = set(full.frame["axis"].unique()) if "axis" in full.frame.columns else set()
                seen |= there
                axes = tuple(axis for axis in axes if axis in there)
                if not axes:
                    left_out[name] = f"It has no axis {' or '.join(config.axes)}."
                    continue
            full = full.filter_axes(axes)
        prompts[name] = benchmark.sample(full, limit, config.seed) if limit else full
        if isinstance(benchmark.request, Generation):
            # Samples are asked for to tell groups apart; what runs beside compares none.
            asked = config.model_copy(update={"samples": None}) if name in beside else config
            decodings[name] = choose_decoding(benchmark.request, asked, model)
        _check_free(benchmark, judges, prompts[name])
        labellings += [Labelling(name, judge.role, who, judge.text) for judge, who in judges.values()]
        chosen.append(benchmark)
    if seen:
        for axis in config.axes:
            if axis not in seen:
                raise unknown_name("axis", axis, seen)
    if not chosen:
        reasons = "\n".join(f"- {name}: {reason}" for name, reason in left_out.items())
        raise UsageError("No benchmark of this suite can run here.", reasons)
    classifiers = {labelling.classifier: shelf.get(labelling.classifier) for labelling in labellings}
    unjudged = tuple(told for benchmark in chosen for told in without_judge(benchmark, config.classifiers))
    return Selection(tuple(chosen), prompts, left_out, decodings, tuple(labellings), classifiers, unjudged)


def _check_architecture(benchmark: Benchmark, model: LanguageModel) -> None:
    if model.architecture not in benchmark.architectures:
        suited = " or ".join(sorted(benchmark.architectures))
        raise Unsupported(
            f"{benchmark.name} needs a {suited} model, and this one is {model.architecture}.",
            "`evenhand list benchmarks` names those for each kind of model.",
        )
    if isinstance(benchmark.request, Generation):
        # Some models have the method and say only when asked that they cannot: so they are asked for nothing.
        text_generator(model).generate([], Decoding(max_new_tokens=1))


def _check_mitigations(benchmark: Benchmark, model: LanguageModel) -> None:
    if isinstance(model, Mitigated):
        model.check_answers("generate" if isinstance(benchmark.request, Generation) else "log_likelihoods")


def _check_free(benchmark: Benchmark, judges: Collection[str], prompts: PromptSet) -> None:
    for role in judges:
        if taken := [f"{role}_{name}" for name in JUDGED if f"{role}_{name}" in prompts.frame.columns]:
            raise DataError(
                f"The prompts of {benchmark.name} have a column {taken[0]}, which judging the {role} writes.",
                "Rename it.",
            )


def _check_writing(config: AuditConfig, benchmarks: Sequence[Benchmark]) -> None:
    given = [name for name in WRITING if getattr(config, name) != AuditConfig.model_fields[name].default]
    if given and not any(isinstance(benchmark.request, Generation) for benchmark in benchmarks):
        names = ", ".join(benchmark.name for benchmark in benchmarks)
        raise UsageError(
            f"{', '.join(given)} would change nothing: no continuations are written for {names}.",
            "Leave it out, or name a benchmark of continuations (`evenhand list benchmarks`).",
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
