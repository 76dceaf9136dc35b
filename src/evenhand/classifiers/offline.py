"""Classifiers that work offline, and errors that list them if another classifier cannot be loaded."""

import re

from evenhand.classifiers.contract import Classifier
from evenhand.classifiers.loading import load_classifier
from evenhand.schema import EvenhandError, UsageError

OFFLINE = {
    "vader": "sentiment of English texts. Sad texts count as negative, too; it detects neither toxicity nor regard.",
    "evenhand/lexicon-toxicity": "openly abusive English words. It does not detect hostility without such words.",
    "evenhand/gendered-words": "English words for women and men. It does not detect who speaks.",
}
"""Classifiers that need neither weights nor a network, each with what it classifies and what it cannot."""
WITHOUT_OFFLINE = ("perplexity", "style")
"""Roles of a language model, or of styles that no word list distinguishes."""
FLAG = re.compile(r"--classifier '?ROLE=([\w/?=-]+)'?")
"""An option in the hint of a classifier that cannot be loaded; the group is the name to give."""


def offline_for(role: str) -> list[str]:
    """Return the offline classifiers that can be used for a role, the most suitable first.

    Parameters
    ----------
    role : str
        Role of a classifier in a benchmark, such as "toxicity".

    Returns
    -------
    list of str
        The names. Empty for a role that no offline classifier has.

    Examples
    --------
    >>> offline_for("regard"), offline_for("style")
    (['vader', 'evenhand/lexicon-toxicity'], [])
    """
    if role in WITHOUT_OFFLINE:
        return []
    if role in ("gender", "gender_masked"):
        return ["evenhand/gendered-words"]
    harmful = ["evenhand/lexicon-toxicity", "vader"]
    return harmful[::-1] if role in ("regard", "tone") else harmful


def describe_offline(role: str) -> str:
    """Return the sentence that lists the offline classifiers of a role, one per line.

    Parameters
    ----------
    role : str
        Role of a classifier in a benchmark, such as "toxicity".

    Returns
    -------
    str
        The sentence; "" if no offline classifier has the role.

    Examples
    --------
    >>> print(describe_offline("gender"))
    These classifiers work offline:
      evenhand/gendered-words: English words for women and men. It does not detect who speaks.
    """
    lines = [f"\n  {name}: {OFFLINE[name]}" for name in offline_for(role)]
    return f"These classifiers work offline:{''.join(lines)}" if lines else ""


def load_or_advise(
    name: str, role: str, *, option: str = "--classifier NAME", device: str = "auto"
) -> Classifier:
    """Load a classifier. If this fails, the error states how to name another one, and lists those that work offline.

    Parameters
    ----------
    name : str
        Name of the classifier, as in `load_classifier`.
    role : str
        Role of the classifier, such as "toxicity". It decides which offline classifiers are listed.
    option : str, default "--classifier NAME"
        How the user names a classifier, with NAME in its place: an option of the command line ("--OPTION VALUE"), or
        Python code.
    device : str, default "auto"
        As in `load_classifier`.

    Returns
    -------
    Classifier
        The classifier.

    Raises
    ------
    UsageError
        The name or an option is unknown.
    ModelError, DataError
        A model or a file cannot be found or read. If an offline classifier has the role, the error has an example to
        copy. For an option of the command line, the example is in `flags`, with which the command line completes the
        user's command.
    """
    try:
        return load_classifier(name, device=device)
    except UsageError:
        raise
    except EvenhandError as error:
        choice, is_flag = next(iter(offline_for(role)), None), option.startswith("--")
        parts = [
            error.hint and FLAG.sub(lambda found: option.replace("NAME", found[1]), error.hint),
            f"To use another classifier: {option} (`evenhand list classifiers` shows them).",
            describe_offline(role),
        ]
        hint = " ".join(filter(None, parts))
        if choice is not None and not is_flag:
            hint += f"\nFor example:\n  {option.replace('NAME', choice)}"
        advised = type(error)(f"Cannot load the classifier: {error.message}", hint)
        if choice is not None and is_flag:
            flag, value = option.split(" ", 1)
            advised.flags = (flag, value.strip("'").replace("NAME", choice))
        advised.replaced = (name,)
        raise advised from error
