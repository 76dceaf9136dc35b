"""Prompts of a benchmark with options: the user's own prompts, style variations and personas."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from evenhand.benchmarks import Benchmark, Conversation, Generation
from evenhand.prompts import PromptSet, behind_personas, between_personas, read_personas
from evenhand.prompts.holisticbias import with_style_variations
from evenhand.runs import ScoreRequest
from evenhand.schema import Unsupported, UsageError, missing_columns
from evenhand.studies.audit.options import AskingOptions

KEPT = (
    "Remove it, or choose benchmarks that support it (holisticbias-likelihood, -styles and -offensiveness)."
)


def as_asked(
    prompts: PromptSet, benchmark: Benchmark, asking: AskingOptions, *, as_dialogue: bool = False
) -> PromptSet:
    """Return the prompts with style variations and personas, if requested.

    Raises Unsupported if the texts of the benchmark cannot have style variations or personas, and DataError if the file
    has no personas.

    Parameters
    ----------
    as_dialogue
        Whether the model answers the prompts in conversations. Each speaker then gets a persona.
    """
    wanted = {"style_variations": asking.style_variations, "personas": asking.personas}
    given = [name for name, value in wanted.items() if value]
    if not given:
        return prompts
    words = " and ".join(given)
    if isinstance(benchmark.request, Conversation):
        if asking.style_variations:
            raise Unsupported(
                f"{benchmark.name} consists of conversations and does not support `style_variations`.", KEPT
            )
        return between_personas(prompts, read_personas(str(asking.personas)), asking.seed)
    if isinstance(benchmark.request, ScoreRequest) and benchmark.request.masking is not None:
        raise Unsupported(
            f"{benchmark.name} scores marked words of its sentences and does not support `{words}`.", KEPT
        )
    if any(judge.text.part != "continuation" for judge in benchmark.classified_by if not judge.optional):
        raise Unsupported(
            f"{benchmark.name} classifies prompt and response as one text and does not support `{words}`.",
            KEPT,
        )
    if asking.style_variations:
        try:
            prompts = with_style_variations(prompts, asking.seed, asking.style_variations)
        except UsageError as error:
            raise Unsupported(
                f"{benchmark.name} does not support `style_variations`: {error.message}", KEPT
            ) from error
    if asking.personas and as_dialogue:
        prompts = between_personas(prompts, read_personas(asking.personas), asking.seed)
    elif asking.personas:
        written = isinstance(benchmark.request, Generation)
        prompts = behind_personas(prompts, read_personas(asking.personas), asking.seed, written=written)
    return prompts


def own_prompts(file: str, benchmark: Benchmark, axes: Sequence[str] = ()) -> PromptSet:
    """Return your own prompts in the form in which a benchmark uses them.

    `axes` are the groups to insert, for benchmarks that make counterfactual texts. Raises a DataError or UsageError.
    """
    if benchmark.from_file is not None:
        return benchmark.from_file(Path(file), axes)
    from evenhand.prompts.own_files import read_prompts, read_table

    prompts = read_prompts(Path(file))
    required = f"{benchmark.name} requires the columns text, {', '.join(benchmark.required_columns)}."
    if missing_columns(file, benchmark.required_columns, prompts.frame.columns, required):
        found = read_table(Path(file), "").columns  # without the columns that reading a file adds
        if lacking := missing_columns(file, benchmark.required_columns, found, required):
            raise lacking
    return prompts


def asked_about_groups(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return two tables about the prompts that are made from a user's prompts: `groups` and `examples`.

    `groups` has the columns axis, group, prompts, texts. `examples` (axis, group, text) has the texts of one prompt on
    each axis.

    Parameters
    ----------
    frame
        Prompts with the columns base (the user's prompt), axis and group.
    """
    keys = ["axis", "group"]
    groups = frame.group_by(keys, maintain_order=True).agg(
        prompts=pl.col("base").n_unique(), texts=pl.col("text").n_unique()
    )
    first = frame.filter(pl.col("base") == pl.col("base").first().over("axis"))
    return {
        "groups": groups,
        "examples": first.unique(keys, keep="first", maintain_order=True).select(*keys, "text"),
    }
