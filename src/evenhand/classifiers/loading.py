"""Load a classifier by name: a preset, an offline classifier, a service, stored scores, a folder or a hub name."""

from collections import ChainMap
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from evenhand.classifiers.contract import Classifier
from evenhand.classifiers.presets import PRESETS, Preset
from evenhand.schema import (
    Card,
    ExtensionError,
    ModelError,
    Registry,
    UsageError,
    add_registered_guess,
    checked,
    convert_options,
    is_file,
    is_folder,
    list_options,
    make_unusable_card,
    missing_members,
    split_options,
    unknown_name,
)

SCORES, PEOPLE = "scores:", "people:"
"""Prefixes of a file of existing scores, and of an export of human judgements."""
BACKENDS = {
    "vader": "evenhand.classifiers.vader",
    "evenhand/lexicon-toxicity": "evenhand.classifiers.lexicon",
    "evenhand/gendered-words": "evenhand.classifiers.gendered_words",
    "perspective": "evenhand.classifiers.services.perspective",
    "moderation": "evenhand.classifiers.services.moderation",
    "llm-judge": "evenhand.classifiers.services.llm_judge",
}
"""Modules with a CARD and a function `load(options: dict[str, Any]) -> Classifier`, imported when they are needed."""
FROM_FILES = {SCORES: "evenhand.classifiers.existing_scores", PEOPLE: "evenhand.classifiers.people"}
"""Modules of classifiers that are named by a file, by prefix."""


CLASSIFIERS: Registry[Any] = Registry(
    "classifier",
    "evenhand.classifiers",
    ChainMap(BACKENDS, PRESETS),  # presets come first
    "a function that returns a Classifier",
    lambda entry: callable(entry) or isinstance(entry, Preset | ModuleType),
)
"""Registry of classifiers: a `Preset`, a module of `BACKENDS`, or a function or class of another package."""

MEMBERS = ("labels", "reads_context", "fingerprint", "classify", "describe")


def asks_service(name: str) -> bool:
    """Return whether a built-in classifier sends texts to a service on the network.

    Use it to warn before private texts leave the machine.

    Parameters
    ----------
    name : str
        Name of the classifier, without options.

    Returns
    -------
    bool
        True if the classifier is a service. False for unknown names.

    Examples
    --------
    >>> asks_service("perspective"), asks_service("vader")
    (True, False)
    """
    return BACKENDS.get(name, "").startswith("evenhand.classifiers.services.")


def classifier_names() -> list[str]:
    """Return the names of the classifiers that `load_classifier` knows.

    Folders and models on the hub have no registered name, so they are not listed.

    Returns
    -------
    list of str
        The names. "scores:FILE" and "people:FILE" represent any file.

    Examples
    --------
    >>> classifier_names()[:3]
    ['toxigen', 'regard', 'detoxify']
    """
    names = CLASSIFIERS.names()
    ours = len(CLASSIFIERS.built_in)
    return [*names[:ours], *(f"{kind}FILE" for kind in FROM_FILES), *names[ours:]]


def file_kind(name: str) -> str | None:
    """Return the prefix of a classifier that reads its labels from a file.

    Parameters
    ----------
    name : str
        Name of the classifier, for example "scores:old.csv".

    Returns
    -------
    str or None
        The prefix, such as "scores:". None for other classifiers.

    Examples
    --------
    >>> file_kind("scores:old.csv"), file_kind("vader")
    ('scores:', None)
    """
    return next((kind for kind in FROM_FILES if name.startswith(kind)), None)


def classifier_cards() -> dict[str, Card]:
    """Return the cards of all presets and backends of evenhand by name.

    Read the card before you rely on a classifier. It states the training data, the harmful labels, known bias
    between groups, the licence and the citation.

    Returns
    -------
    dict of str to Card
        The cards.

    Examples
    --------
    >>> classifier_cards()["regard"].licence
    'CC BY 4.0'
    """
    cards: list[Card | None] = []
    for name in CLASSIFIERS.built_in:
        try:
            cards.append(CLASSIFIERS.card(name))
        except ExtensionError as error:  # another package uses a name of evenhand
            cards.append(make_unusable_card(name, error))
    cards += [import_module(module).CARD for module in FROM_FILES.values()]
    return {card.name: card for card in cards if card is not None}


@checked
def load_classifier(
    name: str,
    *,
    device: str = "auto",
    revision: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Classifier:
    """Load a classifier of texts (toxicity, regard, sentiment, ...) by name.

    Use it if you classify texts yourself. For an audit, pass the name to `evenhand.audit` in `classifiers`.

    Parameters
    ----------
    name : str
        A name from the list in Notes, or one that another package registers. Options may follow:
        ``NAME?key=value&key=value``.
    device : str, default "auto"
        "auto", "cpu", "cuda", "cuda:1" or "mps", for classifiers that compute on this machine.
    revision : str, optional
        Branch, tag or commit on the hub.
    options : mapping of str, optional
        Options as Python values. They replace those in `name`.

    Returns
    -------
    Classifier
        The classifier. Files and API keys are checked at once; weights are loaded at the first `classify`.

    Raises
    ------
    UsageError
        The name or an option is unknown.
    ModelError, DataError
        A model or a file cannot be found or read.

    Notes
    -----
    Names:

    - presets (a model with its labels and threshold): "toxigen", "regard", "detoxify", "style",
      "offensiveness";
    - offline word lists: "vader", "evenhand/lexicon-toxicity", "evenhand/gendered-words";
    - services: "perspective", "moderation", "llm-judge";
    - files: "scores:FILE" (existing scores), "people:FILE" (an export of `evenhand annotate`);
    - any text-classification model of Hugging Face: a folder or a hub name.

    Options of Hugging Face classifiers:

    - `model`: a folder or hub name that replaces the usual one;
    - `labels`: a label file;
    - `negative`: names or numbers of the harmful labels, separated by commas;
    - `threshold`: a probability, or "argmax";
    - `multi_label`, `maximum_tokens`, `dtype`, `batch_tokens` and `revision`.

    Examples
    --------
    >>> load_classifier("toxygen")
    Traceback (most recent call last):
    evenhand.schema.errors.UsageError: Unknown classifier: 'toxygen'. Did you mean 'toxigen'...
    """
    if kind := file_kind(name):
        file, given = split_options(name.removeprefix(kind), blank=False)
        return _backend(import_module(FROM_FILES[kind]), {**given, **(options or {}), "file": file}, revision)
    bare, given = split_options(name, blank=False)
    all_options: dict[str, Any] = {**given, **(options or {})}
    if bare in CLASSIFIERS:
        entry = CLASSIFIERS.load(bare)
        if isinstance(entry, Preset):
            return _text_classification(bare, entry, all_options, device, revision)
        if isinstance(entry, ModuleType):
            return _backend(entry, all_options, revision)
        return _load_registered(bare, entry, device, revision, all_options)
    is_path = is_file(Path(bare)) or is_folder(Path(bare)) or bare.startswith((".", "/", "~"))
    if not is_path and ("/" not in bare or bare.split("/")[0] == "evenhand"):
        error = unknown_name("classifier", bare, classifier_names())
        raise UsageError(
            error.message,
            f"{error.hint} You can also give a local folder (./{bare}) or a Hugging Face name "
            f"(OWNER/{bare}).",
        )
    try:
        return _text_classification(bare, None, all_options, device, revision)
    except ModelError as error:
        add_registered_guess(error, bare, CLASSIFIERS.names())
        raise


def _text_classification(
    name: str, preset: Preset | None, options: dict[str, Any], device: str, revision: str | None
) -> Classifier:
    from evenhand.classifiers.text_classification_options import read_options

    return read_options(name, options, preset, device, revision)


def _backend(module: ModuleType, options: dict[str, Any], revision: str | None) -> Classifier:
    all_options = options if revision is None else {"revision": revision, **options}
    return cast(Classifier, module.load(all_options))


def _load_registered(
    name: str, make: Any, device: str, revision: str | None, options: dict[str, Any]
) -> Classifier:
    takes = list_options(make)
    if revision is not None and "revision" not in takes:
        raise UsageError(
            f"The classifier {name!r} does not accept the option revision.", f"Use {name} without revision=."
        )
    offered = {"name": name, "device": device, "revision": revision}
    parameters = {option: parameter for option, parameter in takes.items() if option not in offered}
    if options and not parameters:
        raise UsageError(f"The classifier {name!r} does not accept options.", f"Use {name} without options.")
    if "options" in parameters:  # passed on unchanged
        values: dict[str, Any] = {"options": options}
    else:
        values = convert_options(f"the classifier {name!r}", options, parameters)
    try:
        made = make(**{key: value for key, value in offered.items() if key in takes}, **values)
    except Exception as error:
        if (broken := CLASSIFIERS.explain_failure(name, error)) is not None:
            raise broken from error
        raise
    if lacking := missing_members(made, Classifier):
        raise ExtensionError(
            f"{name!r}, a classifier of the package {CLASSIFIERS.package(name)}, is not a classifier: "
            f"{type(made).__name__} has no {', '.join(f'`{member}`' for member in lacking)}.",
            "Add the missing members. evenhand.classifiers.Classifier describes each of them: "
            f"{', '.join(MEMBERS)}.",
        )
    return cast(Classifier, made)
