"""What there is: the cards behind `evenhand list` and `evenhand show`, by kind."""

import inspect
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from evenhand.schema import Card, DataError, UsageError
from evenhand.schema.errors import unknown_name

CARDS = {
    "evenhand/reference": "evenhand.reference.embedded:REFERENCE_CARD",
    "evenhand/world": "evenhand.reference.embedded:WORLD_CARD",
}


def catalogue(kind: str) -> dict[str, Card]:
    """Cards by name.

    kind: benchmarks, suites, models, measures or datasets. Raises UsageError for any other.

    >>> "stereoset" in catalogue("benchmarks")
    True
    """
    kinds = {
        "benchmarks": _benchmarks,
        "suites": _suites,
        "models": _models,
        "measures": _measures,
        "datasets": _datasets,
    }
    if kind not in kinds:
        raise unknown_name("kind of thing", kind, kinds)
    return kinds[kind]()


def build_sentences(
    name: str,
    output: Path,
    *,
    version: str | None = None,
    source: Path | None = None,
    as_published: bool = False,
    style: str = "csv",
) -> int:
    """Write a sentence set to a file, whole or not at all; returns the number of sentences.

    name: holisticbias or evenhand. style: csv or parquet. Raises UsageError for anything else, DataError for
    files that are missing or wrong, WriteError.
    """
    if style not in ("csv", "parquet"):
        raise unknown_name("format", style, ["csv", "parquet"])
    if name == "holisticbias":
        from evenhand.prompts.datasets import dataset_folder
        from evenhand.prompts.holisticbias import HolisticBias

        chosen = version or "v1.1"
        folder = dataset_folder(name, chosen, source, allow_modified=not as_published)
        sentences = HolisticBias.load(folder, chosen, as_published=as_published)
        sentences.write_sentences(output, style)  # type: ignore[arg-type]  # checked above
        return len(sentences)
    if name == "evenhand":
        if version or source or as_published:
            raise UsageError(
                "Our own set has no versions and no published files.", "Leave these options out."
            )
        from evenhand.prompts.composer import compose
        from evenhand.schema.files import atomic_write

        frame = compose()
        with atomic_write(output) as handle:
            if style == "csv":
                frame.write_csv(handle)
            else:
                frame.write_parquet(handle)
        return frame.height
    raise unknown_name("sentence set", name, ["holisticbias", "evenhand"])


def _benchmarks() -> dict[str, Card]:
    from evenhand.benchmarks.registry import benchmark_names, load_benchmark

    cards = {}
    for name in benchmark_names():
        benchmark = load_benchmark(name)
        values = "`perplexity`, or `log_likelihood` with `token_count`"
        if benchmark.takes_scores:
            values += ", or `score` (larger is likelier)"
        columns = ", ".join(f"`{column}`" for column in benchmark.required_columns)
        told = f"Columns of a file for `evenhand measure`: {columns}; and {values}."
        if "role" in benchmark.required_columns:
            told += " `role` is more or less (stereotyped); a pair has one row of each."
        cards[name] = replace(benchmark.card, details=f"{benchmark.card.details}\n\n{told}".strip())
    return cards


def _suites() -> dict[str, Card]:
    from evenhand.benchmarks.registry import SUITES

    return {name: suite.card for name, suite in SUITES.items()}


def _measures() -> dict[str, Card]:
    from evenhand.measures import MEASURES

    return {name: info.card for name, info in MEASURES.items()}


def _models() -> dict[str, Card]:
    from evenhand.models.loading import registered_models

    cards = {}
    for name, point in sorted(registered_models().items()):
        if name in CARDS:
            module, attribute = CARDS[name].split(":")
            cards[name] = getattr(import_module(module), attribute)
        elif name.startswith("puppet/"):
            from evenhand.models.puppets import PUPPET_CARDS

            cards[name] = PUPPET_CARDS[name]
        else:
            summary = (inspect.getdoc(point.load()) or "A registered model.").splitlines()[0]
            cards[name] = Card(name, summary, source=f"{point.dist.name if point.dist else 'a package'}")
    cards["any Hugging Face model"] = Card(
        "any Hugging Face model",
        "A hub name (gpt2, bert-base-uncased, ...) or a folder with config.json, safetensors and tokenizer.",
    )
    return cards


def _datasets() -> dict[str, Card]:
    from evenhand.prompts.datasets import list_datasets

    return {
        data.name: Card(
            name=data.name,
            summary=data.summary,
            citation=data.citation,
            licence=data.licence,
            source=data.homepage,
            details=f"Versions: {', '.join(version.name for version in data.versions)}. {data.note}".strip(),
        )
        for data in list_datasets()
    }


def dataset_is_here(name: str, version: str) -> bool:
    """Whether a data set lies complete in this machine's cache."""
    from evenhand.prompts.datasets import dataset_folder

    try:
        dataset_folder(name, version, allow_modified=True)
    except DataError:
        return False
    return True
