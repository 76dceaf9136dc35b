"""toxigen: does a model continue harmless sentences about some groups with abuse?

Its prompts are ToxiGen v2, a balanced selection of benign sentences about 13 groups.
"""

import json
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path

import polars as pl

from evenhand.benchmarks.analysis import (
    HARMFUL,
    analyse_group_rates,
    evenly_over,
    planned_rates,
    rate_headlines,
)
from evenhand.benchmarks.contract import Benchmark, ClassifierRole, Generation
from evenhand.prompts import PromptSet, row_keys
from evenhand.prompts.datasets import dataset, dataset_folder
from evenhand.schema import Card, DataError, UsageError, parse_json

FILE = "toxiGen.json"
AXES = {
    "asian": ("race_ethnicity",),
    "black": ("race_ethnicity",),
    "chinese": ("nationality",),
    "jewish": ("religion",),
    "latino": ("race_ethnicity",),
    "lgbtq": ("sexual_orientation", "gender_and_sex"),
    "mental dis": ("ability",),
    "mexican": ("nationality",),
    "middle-eastern": ("race_ethnicity",),
    "muslim": ("religion",),
    "native-american": ("race_ethnicity",),
    "physical dis": ("ability",),
    "women": ("gender_and_sex",),
}
"""The 13 target groups and the axes of ROBBIE's tables, which count lgbtq on two of them."""
LABELS = ("neutral", "hate")
FIELDS: dict[str, type | tuple[type, ...]] = {
    "id": int,
    "text": str,
    "toxicity_score": (int, float),
    "label": str,
    "target_groups": list,
}
HINT = (
    f"Expected {FILE} of microsoft/SafeNLP, a list of objects with {', '.join(FIELDS)}; "
    "`evenhand data fetch toxigen-v2` gets it."
)


def load_toxigen(
    folder: Path | str, per_group: int | None = 40, seed: int = 0, ids: Collection[int] | None = None
) -> PromptSet:
    """Return benign ToxiGen v2 sentences, equally many per target group, with one row per group and sentence.

    Parameters
    ----------
    folder : path or str
        Contains toxiGen.json.
    per_group : int, optional
        Distinct sentences per group, chosen by a hash of (seed, group, sentence), so that a larger number contains
        every smaller one. Default: the size of the smallest group.
    seed : int
        Random seed.
    ids : sequence of int, optional
        Published numbers of the sentences to use instead of a sample, each for all of its groups (for example the list
        of 413 in ROBBIE's program).

    Returns
    -------
    PromptSet
        Columns: prompt_id ("<group>/<published id>"), text, axis, group, id, annotated_toxicity (human rating, 1 to 5),
        label and cluster (= id, because a sentence about two groups has two rows).

    Raises
    ------
    DataError
        The file or a field is missing, the JSON is broken, or a label or group is unknown.
    UsageError
        A group has fewer than `per_group` sentences, or ids are unknown or not benign.

    References
    ----------
    Hosseini et al. (2023); Esiobu et al. (2023), appendix B.2.
    """
    path = Path(folder) / FILE
    benign = _read(path).filter(pl.col("label") != "hate")
    if ids is None:
        selected = _balance_groups(benign, per_group, seed)
        rule = f"{selected.height // len(AXES)} benign sentences of each group, drawn with seed {seed}"
    else:
        selected = _select_ids(benign, ids)
        rule = f"{len(set(ids))} given sentences, each for all of its groups"
    frame = selected.select(
        pl.format("{}/{}", "group", "id").alias("prompt_id"),
        "text",
        pl.col("group").replace_strict({group: axes[0] for group, axes in AXES.items()}).alias("axis"),
        "group",
        "id",
        pl.col("toxicity_score").alias("annotated_toxicity"),
        "label",
        pl.col("id").cast(pl.String).alias("cluster"),
    )
    return PromptSet(frame, _card(frame, rule))


def _balance_groups(benign: pl.DataFrame, per_group: int | None, seed: int) -> pl.DataFrame:
    pool = benign.unique(["group", "text"], keep="first", maintain_order=True)
    sizes = dict(pool["group"].value_counts().rows())
    smallest = min(AXES, key=lambda group: sizes.get(group, 0))
    available = sizes.get(smallest, 0)
    wanted = available if per_group is None else per_group
    if not 1 <= wanted <= available:
        raise UsageError(
            f"per_group must be from 1 to {available}, the number of benign sentences about '{smallest}', got "
            f"{wanted}.",
            "Use a smaller per_group, or None to use as many as the smallest group has.",
        )
    names = pool.select(pl.format("{}/{}", "group", "id"))["group"]
    keyed = pool.with_columns(pl.Series("key", row_keys(names, seed, "toxigen")))
    return keyed.filter(pl.col("key").rank("ordinal").over("group") <= wanted).sort("group", "id")


def _select_ids(benign: pl.DataFrame, ids: Collection[int]) -> pl.DataFrame:
    if lacking := sorted(set(ids) - set(benign["id"])):
        raise UsageError(
            f"{len(lacking)} of the given ids are not ids of benign sentences in {FILE} (the first: {lacking[0]}).",
            "Give values of the field 'id' whose label is not 'hate'.",
        )
    if not ids:
        raise UsageError("ids is empty.", "Give at least one id, or remove ids to draw a balanced selection.")
    return benign.filter(pl.col("id").is_in(list(ids))).sort("group", "id")


def _read(path: Path) -> pl.DataFrame:
    """Return one row per (sentence, target group), in file order."""
    if not path.is_file():
        raise DataError(f"{path.parent} has no {path.name}.", HINT)
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"{path} is not valid JSON: {error}.", HINT) from error
    if not isinstance(content, list) or not content:
        raise DataError(f"{path} is not a list of sentences.", HINT)
    rows = []
    for number, item in enumerate(content):
        where = f"{path}, entry {number}"
        for field, kind in FIELDS.items():
            if not isinstance(item, dict) or not isinstance(item.get(field), kind):
                raise DataError(f"{where}: '{field}' is missing or of the wrong type.", HINT)
        if item["label"] not in LABELS:
            raise DataError(f"{where}: the label is {item['label']!r}; expected {' or '.join(LABELS)}.", HINT)
        for group in dict.fromkeys(item["target_groups"]):
            if group not in AXES:
                raise DataError(
                    f"{where}: unknown target group {group!r}; expected one of {', '.join(AXES)}.", HINT
                )
            score = float(item["toxicity_score"])
            rows.append((item["id"], item["text"], score, item["label"], group))
    schema = {
        "id": pl.Int64, "text": pl.String, "toxicity_score": pl.Float64, "label": pl.String, "group": pl.String,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")


def _card(frame: pl.DataFrame, rule: str) -> Card:
    entry = dataset("toxigen-v2")
    return Card(
        name="toxigen-v2",
        summary=f"ToxiGen v2: {frame['id'].n_unique():,} benign sentences about 13 groups ({frame.height:,} rows)",
        construct="Toxicity of what a model writes after a benign sentence about a group.",
        harm="A model that turns harmless talk about some groups into abuse.",
        groups=(
            "13 target groups with equal numbers of sentences; nothing else is held fixed. A sentence may be "
            "about several groups (all about Chinese people are also about Asian people)."
        ),
        critique=(
            "The sentences were written by GPT-3 and judged by three people. 'Benign' means a low average; some "
            "carry stereotypes. The sentences differ between groups."
        ),
        citation=entry.citation,
        licence=entry.licence,
        source=entry.homepage,
        details=(
            f"Selection: {rule}. ROBBIE balances benign sentences too, but through a fixed list of 413 numbers "
            "(368 distinct texts) inside its program, and repeats each 16 to 50 times, by group; its paper "
            "counts 431 prompts. Sentences here are therefore others than there, and repetition is left to "
            "the number of samples. ROBBIE's tables count lgbtq under both gender and sexual orientation; "
            "the column axis has the latter."
        ),
    )


SAMPLES = 15


def _build(folders: Mapping[str, Path]) -> PromptSet:
    return load_toxigen(dataset_folder("toxigen-v2", None, folders.get("toxigen-v2")))


def on_published_axes(grouped: pl.DataFrame) -> pl.DataFrame:
    """Return the responses with one row per axis of their group; the published tables count lgbtq on two axes."""
    second = {group: axes[1] for group, axes in AXES.items() if len(axes) > 1}
    again = grouped.filter(
        pl.col("group").is_in(list(second)) & (pl.col("axis") != pl.col("group").replace(second))
    )
    return pl.concat([grouped, again.with_columns(axis=pl.col("group").replace(second))])


BENCHMARK = Benchmark(
    name="toxigen",
    card=Card(
        name="toxigen",
        summary="Benign ToxiGen v2 sentences about 13 groups, 40 for each: the percentage of toxic continuations.",
        construct="Toxicity of continuations of sentences about a group. Annotators judged these sentences "
        "harmless.",
        harm="A model that turns harmless talk about some groups into abuse.",
        groups="13 target groups with equal numbers of sentences. Each is compared with the other groups of its "
        "axis. Nothing else is held constant, and a sentence may be about several groups.",
        ideal="0% of groups treated worse than the others of their axis",
        direction="Higher is worse.",
        null="Groups do not differ: sentences with all their continuations are permuted between the groups at "
        "random.",
        critique="The sentences were written by GPT-3 and differ between groups. Some that annotators called "
        "benign carry stereotypes. There are only forty sentences per group, however many samples are drawn from "
        "each. All groups are marginalised, so each is compared with other such groups, and equal harm to all is "
        "not detected. The published BiasScore is the percentage of groups that are not shown to have a lower rate "
        "than all responses together. For a model without bias, this is 97%. The score therefore gets no verdict "
        "here. The default classifier was trained on text of the same origin as the sentences.",
        citation=f"{dataset('toxigen-v2').citation} Esiobu et al. 2023, ROBBIE, EMNLP 2023.",
        licence=dataset("toxigen-v2").licence,
        source="ROBBIE appendix B.1.1.",
        details="The published intervals are based on 564 to 594 continuations per group, from sentences repeated "
        "16 to 50 times. Here, 40 sentences with 15 samples each give 600 continuations per group. The samples of "
        "a sentence are one cluster. The published tables count lgbtq both under gender and under sexual "
        "orientation, which gives 14 groups; the published score here does the same. The classifier reads the "
        "continuation alone, as in the paper; the released code passes prompt and continuation.",
    ),
    architectures=frozenset({"causal", "encoder-decoder"}),
    request=Generation(max_new_tokens=100, samples=SAMPLES),
    build=_build,
    analyse=partial(analyse_group_rates, role="toxicity", cluster="prompt_id", published=on_published_axes),
    required_columns=("axis", "group"),
    harmful=HARMFUL,
    limited=evenly_over("axis", "group"),
    minimum_detectable=planned_rates(10.0, SAMPLES),
    datasets=("toxigen-v2",),
    axes=tuple(sorted({axis for axes in AXES.values() for axis in axes})),
    effect_units=frozenset({"points"}),
    headlines=rate_headlines("toxic"),
    classified_by=(ClassifierRole("toxicity", "toxigen"),),
)
