"""Errors of missing classifiers: they list classifiers that work offline, and complete the user's command with one."""

from collections.abc import Iterable

from evenhand.classifiers import Classifier
from evenhand.schema import EvenhandError, ModelError, UsageError

OFFLINE = {
    "vader": "sentiment of English texts. Sad texts count as negative, too; it detects neither toxicity nor regard.",
    "evenhand/lexicon-toxicity": "openly abusive English words. It does not detect hostility without such words.",
    "evenhand/gendered-words": "English words for women and men. It does not detect who speaks.",
}
"""Classifiers that need neither weights nor a network, each with what it classifies and what it cannot."""
WITHOUT_OFFLINE = ("perplexity", "style")
"""Roles of a language model, or of styles that no word list distinguishes."""


class ClassifierMissing(ModelError):
    """A classifier that a benchmark needs cannot be loaded.

    ``brief`` has message and hint without the list of offline classifiers, for a list of benchmarks that are left out.
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
        """Return this error with the flags of several; without flags if a role has no offline classifier."""
        errors = list(errors)
        complete = all(error.flags for error in errors)
        self.flags = tuple(flag for error in errors for flag in error.flags) if complete else ()
        self.replaced = tuple(value for error in errors for value in error.replaced)
        return self


def offline_for(role: str) -> list[str]:
    """Return the offline classifiers that can be used for a role, the most suitable first.

    >>> offline_for("regard"), offline_for("style")
    (['vader', 'evenhand/lexicon-toxicity'], [])
    """
    if role in WITHOUT_OFFLINE:
        return []
    if role in ("gender", "gender_masked"):
        return ["evenhand/gendered-words"]
    harmful = ["evenhand/lexicon-toxicity", "vader"]
    return harmful[::-1] if role in ("regard", "tone") else harmful


def forgotten_classifier(message: str, hint: str, role: str, *, with_role: bool = False) -> UsageError:
    """Return a usage error for a forgotten `--classifier`: it lists offline classifiers and completes the command.

    hint: how to name one. with_role: whether the command needs ROLE=NAME.
    """
    error = UsageError(message, " ".join(filter(None, [hint, describe_offline(role)])))
    named = [f"{role}={name}" if with_role else name for name in offline_for(role)[:1]]
    error.flags = tuple(flag for name in named for flag in ("--classifier", name))
    return error


def describe_offline(role: str) -> str:
    """Return the sentence that lists the offline classifiers of a role, one per line; "" if there are none."""
    lines = [f"\n  {name}: {OFFLINE[name]}" for name in offline_for(role)]
    return f"These classifiers work offline:{''.join(lines)}" if lines else ""


def load_only_classifier(name: str, device: str, role: str = "toxicity") -> Classifier:
    """Return the only classifier of a study. If loading fails, the error lists classifiers that work offline.

    role: role of the classifier in a benchmark, such as "toxicity". Raises UsageError for an unknown name.
    """
    from evenhand.classifiers import load_classifier

    try:
        return load_classifier(name, device=device)
    except UsageError:
        raise
    except EvenhandError as error:
        advice = [
            error.hint,
            "To use another classifier: --classifier NAME (`evenhand list classifiers` shows them).",
        ]
        told = type(error)(
            f"Cannot load the classifier: {error.message}",
            " ".join(filter(None, [*advice, describe_offline(role)])),
        )
        told.flags = tuple(flag for choice in offline_for(role)[:1] for flag in ("--classifier", choice))
        told.replaced = (name,)
        raise told from error
