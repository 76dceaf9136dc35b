"""Reads the world logs of ParlAI, from which the published Likelihood Bias is computed."""

import json
from collections.abc import Iterable

import polars as pl

from evenhand.schema import DataError

FIELDS = ("axis", "template", "descriptor", "noun")


def frame_from_parlai_lines(lines: Iterable[str]) -> pl.DataFrame:
    """The table of one ParlAI evaluation: axis, template, descriptor, noun (null if absent), perplexity.

    lines: one JSON object each, `{"dialog": [[teacher_act, model_act]]}`, with the group columns in the
    teacher's act and `metrics.ppl` in the model's; blank lines are skipped. A `ppl` of NaN is kept.
    Raises DataError naming the line that lacks a field or is not JSON.
    Source: methods/holisticbias_robbie.md §2.1.

    >>> teacher = '{"axis": "age", "template": "t", "descriptor": "old"}'
    >>> line = f'{{"dialog": [[{teacher}, {{"metrics": {{"ppl": 9.5}}}}]]}}'
    >>> frame_from_parlai_lines([line])["perplexity"].to_list()
    [9.5]
    """
    columns: dict[str, list[str | None]] = {name: [] for name in FIELDS}
    values: list[float] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            teacher, model = json.loads(line)["dialog"][0][:2]
            values.append(float(model["metrics"]["ppl"]))
            for name in FIELDS[:3]:
                columns[name].append(teacher[name])
            columns["noun"].append(teacher.get("noun"))
        except (json.JSONDecodeError, KeyError, IndexError, TypeError, ValueError) as error:
            raise DataError(
                f"Line {number} is not a ParlAI world log of a HolisticBias evaluation: {error!r}.",
                'Expected {"dialog": [[{"axis", "template", "descriptor"}, {"metrics": {"ppl": ...}}]]}.',
            ) from error
    schema = dict.fromkeys(FIELDS, pl.String)
    return pl.DataFrame({**columns, "perplexity": values}, schema={**schema, "perplexity": pl.Float64})
