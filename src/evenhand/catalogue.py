"""The cards behind `evenhand list` and `evenhand show`, which data sets are on this machine, and the sentence sets
that `evenhand data build` writes.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.schema import (
    Card,
    DataError,
    ExtensionError,
    Registry,
    UsageError,
    make_unusable_card,
    unknown_name,
)

if TYPE_CHECKING:
    from evenhand.benchmarks import Benchmark

ANY_CLASSIFIER = "any Hugging Face classifier"


def catalogue(kind: str) -> dict[str, Card]:
    """Return cards by name.

    kind: benchmarks, suites, models, classifiers, mitigations, methods (of training), measures or datasets. Raises
    UsageError for any other kind.

    >>> "stereoset" in catalogue("benchmarks")
    True
    """
    kinds = {
        "benchmarks": _benchmarks,
        "suites": _suites,
        "models": _models,
        "classifiers": _classifiers,
        "mitigations": _mitigations,
        "methods": _methods,
        "measures": _measures,
        "datasets": _datasets,
    }
    if kind not in kinds:
        raise unknown_name("kind of object", kind, kinds)
    return kinds[kind]()


def build_sentences(
    name: str,
    output: Path,
    *,
    version: str | None = None,
    source: Path | None = None,
    as_published: bool = False,
    style: str | None = None,
    advpromptset: Mapping[str, Any] | None = None,
    report_progress: Callable[[str, int, int], None] | None = None,
) -> int:
    """Write a sentence set to a file atomically, and return the number of sentences.

    name: holisticbias, evenhand or advpromptset. style: csv (default) or parquet. advpromptset: options for that set,
    namely the fields of `evenhand.prompts.advpromptset.BuildOptions`, embedding_model (folder or hub name) and device;
    if only its terms are requested, their number is returned. report_progress: called with a stage, the number of
    finished steps and the total number. Raises UsageError for anything else and for options of another set, DataError
    for missing or invalid files, and WriteError.
    """
    if name == "advpromptset":
        if version is not None or as_published or style is not None:
            raise UsageError(
                "advpromptset has no versions, and is always written as JSON Lines.",
                "Remove --version, --as-published and --format.",
            )
        return _build_advpromptset(source, output, dict(advpromptset or {}), report_progress)
    if advpromptset:
        raise UsageError(
            f"{', '.join(advpromptset)}: only advpromptset has these options, not {name}.",
            "Remove these options.",
        )
    style = "csv" if style is None else style
    if style not in ("csv", "parquet"):
        raise unknown_name("format", style, ["csv", "parquet"])
    if name == "holisticbias":
        from evenhand.prompts.datasets import dataset_folder
        from evenhand.prompts.holisticbias import HolisticBias

        release = "v1.1" if version is None else version
        folder = dataset_folder(name, release, source, allow_modified=not as_published)
        sentences = HolisticBias.load(folder, release, as_published=as_published)
        sentences.write_sentences(output, style)  # type: ignore[arg-type]  # checked above
        return len(sentences)
    if name == "evenhand":
        if version is not None or source is not None or as_published:
            raise UsageError(
                "The sentence set evenhand has no versions and no published files.",
                "Remove --version, --from and --as-published.",
            )
        from evenhand.prompts.language import compose
        from evenhand.schema import write_table

        frame = compose()
        write_table(output, frame, style)  # type: ignore[arg-type]  # checked above
        return frame.height
    raise unknown_name("sentence set", name, ["holisticbias", "evenhand", "advpromptset", "redditbias"])


def _build_advpromptset(
    source: Path | None,
    output: Path,
    options: dict[str, Any],
    report_progress: Callable[[str, int, int], None] | None,
) -> int:
    from evenhand.prompts.advpromptset import (
        HINT,
        BuildOptions,
        SentenceEmbedding,
        build_advpromptset,
        read_terms,
    )

    if source is None:
        raise UsageError("advpromptset is built from your own Kaggle downloads: --from FOLDER.", HINT)
    model, device = options.pop("embedding_model", None), options.pop("device", "auto")
    embedding = SentenceEmbedding(model, device) if model else None
    how = BuildOptions(**options)
    built = build_advpromptset(source, output, embedding, how, report_progress)
    return read_terms(built.terms)["term"].n_unique() if how.only_terms else built.written


def _of(registry: Registry[Any], names: Iterable[str] | None = None) -> dict[str, Card]:
    """Return the cards of a registry. An unusable object of another package is listed with the reason."""
    cards = {}
    for name in registry.names() if names is None else names:
        try:
            card = registry.card(name)
            if card is None:
                documentation = _documentation(registry.load(name)) or f"A registered {registry.kind}."
                card = Card(name, documentation.splitlines()[0], source=registry.package(name))
        except ExtensionError as error:
            card = make_unusable_card(name, error)
        cards[name] = card
    return cards


def _documentation(thing: object) -> str | None:
    try:
        return inspect.getdoc(thing)
    except Exception:  # an object of another package may fail when its attributes are read
        return None


def _benchmarks() -> dict[str, Card]:
    from evenhand.benchmarks import RECIPES

    cards = _of(RECIPES)
    for name, card in cards.items():
        try:
            benchmark = RECIPES.load(name)
        except ExtensionError:
            continue
        columns = ", ".join(f"`{column}`" for column in benchmark.required_columns)
        needed = f"Columns of a file for `evenhand measure`: {columns}; and {_values(benchmark)}."
        if "role" in benchmark.required_columns:
            needed += " `role` is `more` or `less` (stereotyped); each pair has one row of each."
        if benchmark.axes:
            needed = f"Axes: {', '.join(benchmark.axes)}.\n\n{needed}"
        cards[name] = replace(card, details=f"{card.details}\n\n{needed}".strip())
    return cards


def _values(benchmark: "Benchmark") -> str:
    from evenhand.benchmarks import Conversation

    if isinstance(benchmark.request, Conversation):
        return (
            "`text`. Each row is one utterance, and the opener (turn 1) is one of them. Optional columns: "
            "`race_ethnicity`, `tier`, `name_in_context`, `error` and classifications (`gender_label`, "
            "`toxicity_negative`). Utterances without a classification are classified by the benchmark's own "
            "classifiers, or by those named with --classifier"
        )
    if benchmark.classified_by:
        judges = [judge for judge in benchmark.classified_by if not judge.optional] or benchmark.classified_by
        roles = [judge.role for judge in judges]
        judged = " and ".join(f"`{role}_negative` (or `{role}_score` with --threshold)" for role in roles)
        return (
            f"{judged}, or `continuation`, which is then classified by a classifier named with --classifier. If "
            "there are several responses to one prompt, `prompt_id` (or else `text`, or else `prompt`) identifies "
            "the prompt. Optionally, `sample` distinguishes the responses"
        )
    values = "`perplexity`, or `log_likelihood` with `token_count`"
    return (
        f"{values}, or `score` (a larger score means a more likely sentence)"
        if benchmark.takes_scores
        else values
    )


def _suites() -> dict[str, Card]:
    from evenhand.benchmarks import COLLECTIONS

    return _of(COLLECTIONS)


def _measures() -> dict[str, Card]:
    from evenhand.measures import REGISTERED, calibrated

    cards = _of(REGISTERED)
    for name, card in cards.items():
        if (known := calibrated(name)) is not None:
            cards[name] = replace(card, details=f"{card.details}\n\nCalibration: {known.sentence}".strip())
    return cards


def _models() -> dict[str, Card]:
    from evenhand.models import MODELS

    cards = _of(MODELS)
    cards["any Hugging Face model"] = Card(
        "any Hugging Face model",
        "A hub name (gpt2, bert-base-uncased, ...) or a folder with config.json, safetensors and tokenizer.",
    )
    return cards


def _classifiers() -> dict[str, Card]:
    from evenhand.classifiers import CLASSIFIERS, classifier_cards

    cards = classifier_cards()
    cards |= _of(CLASSIFIERS, [name for name in CLASSIFIERS.names() if name not in CLASSIFIERS.built_in])
    cards[ANY_CLASSIFIER] = Card(
        ANY_CLASSIFIER,
        "A hub name (OWNER/NAME) or a folder of a text-classification model, with its options: "
        "OWNER/NAME?negative=toxic&threshold=0.5.",
    )
    return cards


def _mitigations() -> dict[str, Card]:
    from evenhand.mitigations import mitigation_cards

    # by the words of --mitigate, which show the required values
    return {words: replace(card, name=words) for words, card in mitigation_cards().items()}


def _methods() -> dict[str, Card]:
    from evenhand.mitigations.training import METHOD_MAKERS

    return _of(METHOD_MAKERS)


def _datasets() -> dict[str, Card]:
    from evenhand.prompts.datasets import list_datasets

    return {
        data.name: data.card(
            name=data.name,
            summary=data.summary,
            details=f"Versions: {', '.join(version.name for version in data.versions)}. {data.note}".strip(),
        )
        for data in list_datasets()
    }


def dataset_is_here(name: str, version: str) -> bool:
    """Return whether a data set is completely in this machine's cache."""
    from evenhand.prompts.datasets import dataset_folder

    try:
        dataset_folder(name, version, allow_modified=True)
    except DataError:
        return False
    return True
