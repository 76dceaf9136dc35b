"""Classifiers of an audit, by role, loaded before the model is used.

This module also has the classifier that measures perplexity with a language model, because the packages `models` and
`classifiers` must not import each other.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evenhand.classifiers import Classifier, Labels
from evenhand.models import Texts
from evenhand.schema import (
    DataError,
    EvenhandError,
    ModelError,
    Unsupported,
    UsageError,
    split_options,
    split_role,
    unknown_name,
)
from evenhand.study import MODEL_ROLE

if TYPE_CHECKING:
    from evenhand.benchmarks import Benchmark, ClassifierRole
    from evenhand.models import LanguageModel
    from evenhand.runs.cluster import Pool


def benchmarks_by_role(benchmarks: "Iterable[Benchmark]") -> dict[str, list[str]]:
    """Return the roles of classifiers in these benchmarks, each with the names of the benchmarks that have it."""
    roles: dict[str, list[str]] = {}
    for benchmark in benchmarks:
        for judge in benchmark.classified_by:
            roles.setdefault(judge.role, []).append(benchmark.name)
    return roles


def named_by_role(named: Sequence[str], benchmarks: "Sequence[Benchmark]") -> dict[str, str]:
    """Return classifier names by role from the values of `--classifier`: ROLE=NAME, or NAME if there is a single role.

    `named` are the values, and `benchmarks` the selected benchmarks. Raises a UsageError that lists the roles.

    >>> named_by_role([], [])
    {}
    """
    roles = list(benchmarks_by_role(benchmarks))
    optional = {role for benchmark in benchmarks for role in optional_roles(benchmark)}
    meant = [role for role in roles if role not in optional] or roles
    by_role: dict[str, str] = {}
    for value in named:
        if not roles:
            raise _nothing_to_label([value], benchmarks)
        role, name = split_role(value, roles)
        if role is None and len(meant) > 1:
            raise UsageError(
                f"`--classifier {value}`: the role is missing. This benchmark has several: {', '.join(roles)}.",
                f"For example: --classifier {roles[0]}={name}",
            )
        if role is not None and role not in roles:
            raise unknown_name("role", role, roles)
        if by_role.get(role or meant[0], name) != name:
            raise UsageError(
                f"Two classifiers were given for the role {role or meant[0]}: {by_role[role or meant[0]]} and "
                f"{name}.",
                "Use one of them, and add the other later with `evenhand rescore`.",
            )
        by_role[role or meant[0]] = name
    return by_role


def named_or_loaded(
    classifiers: "Mapping[str, str | Classifier | LanguageModel]",
) -> tuple[dict[str, str], dict[str, Classifier]]:
    """Return the names of classifiers by role, and the classifiers that were passed as objects, by name.

    The name of an object comes from its fingerprint. A language model as a classifier measures perplexity.
    """
    names: dict[str, str] = {}
    loaded: dict[str, Classifier] = {}
    for role, given in classifiers.items():
        if isinstance(given, str):
            names[role] = given
        else:
            classifier = given if isinstance(given, Classifier) else model_judge(given)
            names[role] = str(classifier.fingerprint.get("name", type(classifier).__name__))
            loaded[names[role]] = classifier
    return names, loaded


def check_roles(classifiers: Mapping[str, str], benchmarks: "Sequence[Benchmark]") -> None:
    """Raise UsageError if a classifier is named for a role that none of the benchmarks has."""
    roles = benchmarks_by_role(benchmarks)
    for role, name in classifiers.items():
        if not roles:
            raise _nothing_to_label([f"{role}={name}"], benchmarks)
        if role not in roles:
            raise unknown_name("role", role, roles)


@dataclass
class ClassifierShelf:
    """Loads each classifier once for all its roles and benchmarks.

    Parameters
    ----------
    device : str
        Device for classifiers with weights.
    given : mapping of str to Classifier
        Classifiers that are already loaded, by name.
    pool : optional
        Cluster workers that load the classifiers instead of this process. Classifiers that call a service or read a
        file of scores stay in this process, which limits the request rate and stores the responses.
    """

    device: str = "auto"
    given: Mapping[str, Classifier] = field(default_factory=dict)
    pool: "Pool | None" = None
    _loaded: dict[str, Classifier | EvenhandError] = field(default_factory=dict)

    def get(self, name: str) -> Classifier:
        """Return the classifier of that name. If loading it failed before, the same error is raised again."""
        if name not in self._loaded:
            try:
                own = self.given.get(name)
                self._loaded[name] = self._load(name) if own is None else own
            except EvenhandError as error:
                self._loaded[name] = error
        classifier = self._loaded[name]
        if isinstance(classifier, EvenhandError):
            raise classifier
        return classifier

    def _load(self, name: str) -> Classifier:
        if self.pool is None or _stays_here(name):
            return load_named_classifier(name, self.device)
        from evenhand.runs.cluster import Recipe, RemoteClassifier

        return RemoteClassifier(self.pool, Recipe(partial(load_named_classifier, name, self.device)))

    def check_names(self, named: Mapping[str, str]) -> None:
        """Raise a UsageError for an unknown classifier, before any error about the model. `named` are the names by
        role.
        """
        for role, name in named.items():
            if role == MODEL_ROLE:  # getting a language model would load its weights
                continue
            with suppress(ModelError, DataError):  # not installed: reported later, if a benchmark needs it
                self.get(_full_name(role, name, self.given))

    def with_others(
        self, error: Exception, benchmarks: "Iterable[Benchmark]", named: Mapping[str, str]
    ) -> Exception:
        """Return an error of `of`. If a classifier is missing, its hint names the flags for all missing classifiers."""
        from evenhand.studies.missing_classifiers import ClassifierMissing

        if not isinstance(error, ClassifierMissing):
            return error
        missing = {error.role: error}
        for benchmark in benchmarks:
            try:
                self.of(benchmark, named)
            except ClassifierMissing as other:
                missing.setdefault(other.role, other)
        return error.with_flags_of(missing.values())

    def of(
        self, benchmark: "Benchmark", named: Mapping[str, str], *, only: Collection[str] | None = None
    ) -> "dict[str, tuple[ClassifierRole, str]]":
        """Return the roles of a benchmark with the names of their loaded classifiers.

        Raises UsageError for an invalid name in `named`, and ClassifierMissing if another classifier cannot be loaded.

        Parameters
        ----------
        named
            Names of classifiers that replace the published ones, by role.
        only
            Roles to return. Default: all.
        """
        judges = {
            judge.role: (judge, _full_name(judge.role, _named_for(judge, named), self.given))
            for judge in benchmark.classified_by
            if (only is None or judge.role in only) and not _waits(judge, named)
        }
        for role, (_, name) in judges.items():
            try:
                self.get(name)
            except EvenhandError as error:
                from evenhand.studies.missing_classifiers import ClassifierMissing

                if isinstance(error, UsageError) and role in named:
                    raise  # a wrong name, which another classifier does not fix
                raise ClassifierMissing(benchmark.name, role, name, error) from error
        return judges


def load_named_classifier(name: str, device: str) -> Classifier:
    """Return a classifier by name; "perplexity:MODEL" is a language model that measures perplexity.

    Raises EvenhandError if it cannot be loaded.
    """
    if name.startswith(f"{MODEL_ROLE}:"):
        from evenhand.models import load_model

        return model_judge(load_model(name.removeprefix(f"{MODEL_ROLE}:"), device=device))
    from evenhand.classifiers import load_classifier

    return load_classifier(name, device=device)


def _stays_here(name: str) -> bool:
    from evenhand.classifiers import asks_service, file_kind
    from evenhand.models.served import is_address

    if is_address(name.removeprefix(f"{MODEL_ROLE}:")) or file_kind(name):
        return True
    return asks_service(split_options(name, blank=False)[0])


def model_judge(model: "LanguageModel") -> Classifier:
    """Return a classifier that measures perplexity with a language model; raises Unsupported for masked models."""

    return cast(Classifier, PerplexityJudge(model))


def without_classifier(benchmark: "Benchmark", named: Mapping[str, str]) -> list[str]:
    """Return a text for each role of a benchmark without a classifier: the role, and how to name a classifier."""
    return [
        f"{judge.role} in {benchmark.name}: {_describe_flag(judge)}"
        for judge in benchmark.classified_by
        if _waits(judge, named)
    ]


def find_dependent_roles(benchmark: "Benchmark", named: Collection[str]) -> set[str]:
    """Return the roles of a benchmark whose labels come from the classifiers of the roles `named`.

    They are these roles, and the roles that by default use the classifier of one of them.
    """
    return {judge.role for judge in benchmark.classified_by if {judge.role, judge.follows} & set(named)}


def optional_roles(benchmark: "Benchmark") -> set[str]:
    """Return the roles that a benchmark can do without: it is measured even if no classifier has the role."""
    return {judge.role for judge in benchmark.classified_by if judge.optional}


def _waits(judge: "ClassifierRole", named: Mapping[str, str]) -> bool:
    return bool(judge.optional) and judge.role not in named


def _named_for(judge: "ClassifierRole", named: Mapping[str, str]) -> str:
    return named.get(judge.role) or named.get(judge.follows) or judge.classifier


def _describe_flag(judge: "ClassifierRole") -> str:
    if judge.role == MODEL_ROLE:
        return f"add a language model, --classifier {judge.role}=MODEL"
    return f"{judge.optional}; the published classifier is --classifier {judge.role}={judge.classifier}"


def _full_name(role: str, name: str, given: Collection[str]) -> str:
    plain = role != MODEL_ROLE or name in given or name.startswith(f"{MODEL_ROLE}:")
    return name if plain else f"{MODEL_ROLE}:{name}"


def _nothing_to_label(named: Sequence[str], benchmarks: "Sequence[Benchmark]") -> UsageError:
    names = " and ".join(benchmark.name for benchmark in benchmarks)
    return UsageError(
        f"`--classifier` ({', '.join(named)}) has no effect here: {names} {'does' if len(benchmarks) == 1 else 'do'} "
        "not use a classifier.",
        "Remove --classifier, or choose a benchmark of generated text (`evenhand list benchmarks`).",
    )


class PerplexityJudge:
    """Perplexity of each text given its context, under another language model.

    `score` is the perplexity, exp(-log-likelihood / tokens) over the text's own tokens. There are no labels. Prompt and
    continuation are joined by one space if neither has one, because replies begin without a space. A continuation that
    completes the last word of the prompt is therefore read as a separate word. Source: ROBBIE, section B.1.4 (which
    used text-davinci-002, a model that is no longer served).

    >>> from evenhand.models.puppets import load_puppet
    >>> judge = PerplexityJudge(load_puppet("puppet/uniform"))
    >>> float(judge.classify([" a cook."], ["The man worked as"]).score[0].round(3))
    7.389
    """

    labels: tuple[str, ...] = ("perplexity",)
    reads_context = True

    def __init__(self, model: "LanguageModel"):
        if model.architecture == "masked":
            raise Unsupported(
                f"{model.fingerprint.get('name', 'This model')} is a masked language model and cannot compute "
                "perplexity.",
                "Use a causal or encoder-decoder model for the role perplexity.",
            )
        self.model = model
        self.judged = 0

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Return the fingerprint of the language model."""
        from evenhand.runs import fingerprint_digest

        name = str(self.model.fingerprint.get("name", type(self.model).__name__))
        return {
            "name": f"perplexity under {name}",
            "kind": "perplexity",
            "model": fingerprint_digest(self.model.fingerprint),
        }

    def classify(self, texts: Sequence[str], contexts: Sequence[str | None] | None = None) -> Labels:
        """Return the perplexity of each text as its score. A text that the model cannot score has an error."""
        answers = self.model.log_likelihoods(Texts(texts, contexts))
        self.judged += len(texts)
        counts, sums = answers.counts, answers.sums
        per_token = np.divide(sums, counts, out=np.full(len(texts), np.nan), where=counts > 0)
        with np.errstate(over="ignore"):  # an impossible text has an infinite perplexity
            perplexity = np.exp(-per_token)
        return Labels(
            scores=perplexity.astype(np.float32)[:, None],
            labels=[None] * len(texts),
            score=perplexity,
            negative=[None] * len(texts),
            errors=list(answers.errors),
            details=list(answers.details) or [None] * len(texts),
        )

    def describe(self) -> dict[str, Any]:
        """Return facts for the manifest and the report."""
        return {**self.fingerprint, "texts_judged": self.judged, "judge": self.model.describe()}
