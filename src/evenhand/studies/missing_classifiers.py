"""Errors of missing classifiers: they list classifiers that work offline, and complete the user's command with one."""

from collections.abc import Iterable

from evenhand.classifiers import Classifier, describe_offline, load_or_advise, offline_for
from evenhand.schema import EvenhandError, ModelError, UsageError


class ClassifierMissing(ModelError):
    """A classifier that a benchmark needs cannot be loaded.

    ``brief`` has message and hint without the list of offline classifiers. It is used in lists of benchmarks that are
    left out.
    """

    def __init__(self, benchmark: str, role: str, name: str, error: EvenhandError):
        self.role = role
        reason = error.message if error.message.endswith(".") else f"{error.message}."
        message = f"Cannot load the classifier {name!r} (role {role}, benchmark {benchmark}): {reason}"
        parts = [] if error.hint is None else [error.hint.replace("ROLE=", f"{role}=")]
        parts.append(
            f"To use another one: --classifier {role}=NAME (`evenhand list classifiers` shows them)."
        )
        self.brief = f"{message}\n{' '.join(parts)}"
        super().__init__(message, " ".join([*parts, *filter(None, [describe_offline(role)])]))
        self.flags = tuple(
            flag for choice in offline_for(role)[:1] for flag in ("--classifier", f"{role}={choice}")
        )
        self.replaced = (name, f"{role}={name}")

    def with_flags_of(self, errors: "Iterable[ClassifierMissing]") -> "ClassifierMissing":
        """Return this error with a hint that has the flags of all these errors.

        The hint has no flags if there is no offline classifier for one of the roles.
        """
        errors = list(errors)
        complete = all(error.flags for error in errors)
        self.flags = tuple(flag for error in errors for flag in error.flags) if complete else ()
        self.replaced = tuple(value for error in errors for value in error.replaced)
        return self


def forgotten_classifier(message: str, hint: str, role: str, *, with_role: bool = False) -> UsageError:
    """Return a usage error for a forgotten `--classifier`: it lists offline classifiers and completes the command.

    Parameters
    ----------
    message
        Message of the error.
    hint
        How to name a classifier.
    role
        Role for which a classifier is missing, such as "toxicity".
    with_role
        Whether the command needs ROLE=NAME.
    """
    error = UsageError(message, " ".join(filter(None, [hint, describe_offline(role)])))
    named = [f"{role}={name}" if with_role else name for name in offline_for(role)[:1]]
    error.flags = tuple(flag for name in named for flag in ("--classifier", name))
    return error


def load_only_classifier(name: str, device: str, role: str = "toxicity") -> Classifier:
    """Return the only classifier of a study. If loading fails, the error lists classifiers that work offline.

    role: role of the classifier in a benchmark, such as "toxicity". Raises UsageError for an unknown name.
    """
    return load_or_advise(name, role, device=device)
