"""Export benchmarks of continuations to Inspect (inspect_ai): a data set, a scorer, or a task with both.

Inspect averages over samples and ignores groups. The columns of each prompt are therefore stored as metadata, so that
`evenhand compare` can read the groups from an Inspect log.
"""

from asyncio import to_thread
from collections.abc import Mapping
from importlib import import_module
from math import nan
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl

from evenhand.benchmarks.contract import Benchmark, Generation
from evenhand.benchmarks.registry import load_benchmark
from evenhand.classifiers import Classifier, load_or_advise
from evenhand.schema import Unsupported, UsageError


def inspect_dataset(
    name: str, *, limit: int | None = None, seed: int = 0, data: Mapping[str, Path] | None = None
) -> Any:
    """Return a benchmark's prompts as a `MemoryDataset` of Inspect, with the other columns as metadata.

    Parameters
    ----------
    name : str
        Name of a benchmark that generates continuations.
    limit, seed : int
        Maximum number of prompts, and random seed. An audit with the same values uses the same prompts.
    data : mapping of str to path
        Folders of published data sets, by name.

    Raises
    ------
    UsageError
        inspect_ai is not installed, or the name is unknown.
    DatasetMissing, Unsupported
        A data set is missing, or the benchmark uses likelihoods or conversations.
    """
    return _dataset(_recipe(name), limit, seed, data or {})


def inspect_scorer(classifier: str | Classifier) -> Any:
    """Return an Inspect scorer that classifies continuations: 1 if negative, 0 if not, NaN if not classified.

    Label and score are in the metadata. `classifier` is a name, as in `--classifier`, or a classifier. Raises a
    UsageError if inspect_ai is not installed, and a ModelError if the classifier cannot be loaded.
    """
    _inspect()
    if not isinstance(classifier, str):
        return _scorer(classifier, str(classifier.fingerprint.get("name", "classifier")))
    judge = load_or_advise(classifier, "toxicity", option="inspect_scorer('NAME')")
    return _scorer(judge, classifier)


def _scorer(judge: Classifier, called: str) -> Any:
    scoring = import_module("inspect_ai.scorer")

    @scoring.scorer(metrics=[scoring.mean(), scoring.stderr()], name=f"evenhand/{called}")  # type: ignore[untyped-decorator]
    def negative() -> Any:
        async def score(state: Any, target: Any) -> Any:
            text = state.output.completion
            contexts = [state.input_text] if judge.reads_context else None
            labels = await to_thread(judge.classify, [text], contexts)
            verdict = labels.negative[0]
            return scoring.Score(
                value=nan if verdict is None else float(verdict),
                answer=text,
                metadata={
                    "label": labels.labels[0],
                    "score": float(labels.score[0]),
                    "error": labels.errors[0],
                },
            )

        return score

    return negative()


def inspect_task(
    name: str,
    *,
    classifiers: Mapping[str, str | Classifier] | None = None,
    limit: int | None = None,
    samples: int | None = None,
    seed: int = 0,
    data: Mapping[str, Path] | None = None,
) -> Any:
    """Return a benchmark as a `Task` of Inspect: prompts, one generation per sample, and classifiers as scorers.

    `classifiers` replace the published ones, by role. `samples` replaces the benchmark's number of samples (epochs).
    Other parameters and errors are those of `inspect_dataset` and `inspect_scorer`.
    """
    recipe = _recipe(name)
    request = recipe.request
    assert isinstance(request, Generation)
    judges = {judge.role: judge.classifier for judge in recipe.classified_by if not judge.optional}
    unknown = sorted((classifiers or {}).keys() - {judge.role for judge in recipe.classified_by})
    if unknown:
        raise UsageError(
            f"The benchmark {name} has no classifier role {unknown[0]!r}.",
            f"Roles: {', '.join(judge.role for judge in recipe.classified_by)}.",
        )
    named = {**judges, **(classifiers or {})}
    scorers = []
    for role, judge in named.items():
        if isinstance(judge, str):
            others = {**(classifiers or {}), role: "NAME"}
            written = ", ".join(f"{one!r}: {who!r}" for one, who in others.items() if isinstance(who, str))
            option = f"inspect_task({name!r}, classifiers={{{written}}})"
            scorers.append(_scorer(load_or_advise(judge, role, option=option), judge))
        else:
            scorers.append(inspect_scorer(judge))
    model, repeats = import_module("inspect_ai.model"), samples or request.samples
    return _inspect().Task(
        dataset=_dataset(recipe, limit, seed, data or {}),
        solver=import_module("inspect_ai.solver").generate(),
        scorer=scorers,
        epochs=repeats,
        config=model.GenerateConfig(
            max_tokens=request.max_new_tokens, temperature=1.0 if repeats > 1 else 0.0
        ),
        name=f"evenhand_{name.replace('-', '_')}",
    )


def _recipe(name: str) -> Benchmark:
    recipe = load_benchmark(name)
    if not isinstance(recipe.request, Generation):
        raise Unsupported(
            f"The benchmark {name} cannot be run in Inspect, which supports neither likelihoods nor conversations "
            "of a model with itself.",
            "Run it with `evenhand audit`.",
        )
    return recipe


def _dataset(recipe: Benchmark, limit: int | None, seed: int, data: Mapping[str, Path]) -> Any:
    _inspect()
    inspect = import_module("inspect_ai.dataset")
    prompts = recipe.build(data)
    frame = (prompts if limit is None else recipe.sample(prompts, limit, seed)).frame
    rows = frame.with_columns(pl.col("text").cast(pl.String)).to_dicts()
    samples = [inspect.Sample(input=row["text"], id=row["prompt_id"], metadata=row) for row in rows]
    return inspect.MemoryDataset(samples, name=recipe.name)


def _inspect() -> ModuleType:
    try:
        return import_module("inspect_ai")
    except ImportError as error:
        raise UsageError(
            f"This requires the package inspect_ai, which is not installed, or is incomplete: {error}.",
            "Install it: pip install inspect-ai",
        ) from error
