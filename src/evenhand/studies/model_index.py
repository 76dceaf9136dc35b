"""Text for a model card on the Hugging Face hub: front matter (`model-index`) and Markdown.

The front matter has the form that the hub documents (https://huggingface.co/docs/hub/model-cards) and that
`huggingface_hub` reads as EvalResult. Each number is one metric, and none is marked as verified. The Markdown adds
what a number alone does not show: treatment of groups, uncertainty, power, and the command to repeat the result.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from evenhand.reports import (
    BIASED,
    NOT_DETECTED,
    NOT_MEASURABLE,
    SYMBOLS,
    decimals,
    known,
    label,
    number,
    wording,
)
from evenhand.schema import VERSION, UsageError

TASK = {"type": "text-generation", "name": "Text generation"}
CALLED = {"benchmarks": "benchmark", "axes": "axis", "num_beams": "beams", "classifiers": "classifier",
          "columns": "column"}  # fmt: skip
"""Flags whose name differs from that of their option, by option."""
OWN_RESPONSES = "answers"
"""The benchmark of `evenhand measure` if none is given."""
FLAGS = frozenset(
    {"suite", "limit", "samples", "seed", "prompts", "decoding", "mitigate", "reference", *CALLED}
)
"""Options that have a flag. All others are given with `--set`."""
SPECIAL = "\\`*_[]<>|#~"
Content = Mapping[str, Any]


def model_card(content: Content) -> str:
    """Return the model card (README.md) of a result, with front matter for the Hugging Face hub.

    Use it to publish the results of an audit next to the model.

    Parameters
    ----------
    content : mapping
        Result of `to_dict()` of an audit or of `evenhand.measure`, or the content of its measurements.json.

    Returns
    -------
    str
        The text of a README.md: front matter and Markdown.

    Raises
    ------
    UsageError
        The result is neither an audit nor a measured file.

    Examples
    --------
    >>> empty = {"title": "gpt2", "alpha": 0.05, "measurements": [], "findings": [], "headlines": [], "benchmarks": []}
    >>> print(model_card({**empty, "manifest": {"arguments_given": {"model": "gpt2", "limit": 20}}}).splitlines()[0])
    ---
    """
    if "findings" not in content or "measurements" not in content:
        raise UsageError(
            "A model card can only show the results of one model.",
            "Give the folder of an audit, or of a measured file.",
        )
    front = yaml.safe_dump(model_index(content), sort_keys=False, allow_unicode=True, width=1000)
    return f"---\n{front}---\n\n" + "\n".join(_lines(content)) + "\n"


def model_index(content: Content) -> dict[str, Any]:
    """Return the front matter as plain data: `model-index` with one result for each benchmark.

    Metrics are the tested estimates of axes (not of single groups), and published scores across all responses. Rows
    without an estimate are left out.
    """
    results = []
    for benchmark, rows in _numbers(content).items():
        metrics = [
            {
                "type": row["measure"],
                "value": float(f"{row['estimate']:.6g}"),
                "name": _metric_name(row),
                "verified": False,
            }
            for row in rows
            if known(row["estimate"])
        ]
        if metrics:
            results.append(
                {
                    "task": dict(TASK),
                    "dataset": {"name": benchmark, "type": benchmark},
                    "metrics": metrics,
                }
            )
    return {"model-index": [{"name": wording.visible(str(content["title"])), "results": results}]}


def build_command(content: Content) -> str:
    """Return the command that repeats a result; empty if the result does not record it.

    >>> build_command({"manifest": {"arguments_given": {"model": "my model", "benchmarks": ["regard"], "samples": 5}}})
    "evenhand audit 'my model' --benchmark regard --samples 5"
    """
    manifest = content.get("manifest") or {}
    given = dict(manifest.get("arguments_given") or {})
    if "model" in given:
        words = ["evenhand", "audit", str(given.pop("model"))]
    else:
        given = dict(manifest.get("arguments_resolved") or {})
        if "file" not in given:
            return ""
        return _measure_command(given)
    for name, value in given.items():
        if value not in (None, (), [], {}):
            words += _flag(name, value)
    return shlex.join(words)


def _measure_command(given: dict[str, Any]) -> str:
    """Return the command that measures a table again, with the roles of columns that the user gave."""
    words = ["evenhand", "measure", str(given.pop("file"))]
    if given.get("benchmark") == OWN_RESPONSES:
        del given["benchmark"]
    for name, value in given.items():
        if isinstance(value, Mapping):
            value = [f"{role}={classifier}" for role, classifier in value.items()]
        flag = f"--{CALLED.get(name, name).replace('_', '-')}"
        for one in value if isinstance(value, (list, tuple)) else [value]:
            words += [flag, str(one)]
    return shlex.join(words)


def _flag(name: str, value: Any, prefix: str = "") -> Iterator[str]:
    if isinstance(value, Mapping) and name != "classifiers":
        for key, inner in value.items():
            yield from _flag(str(key), inner, f"{prefix}{name}.")
        return
    if isinstance(value, Mapping):
        value = [f"{role}={judge}" for role, judge in value.items()]
    flag = CALLED.get(name, name)
    if prefix or name not in (*FLAGS, "benchmark", "classifier"):
        text = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
        yield from ("--set", f"{prefix}{name}={text}")
        return
    for one in value if isinstance(value, (list, tuple)) else [value]:
        yield from (f"--{flag.replace('_', '-')}", str(one))


def _numbers(content: Content) -> dict[str, list[dict[str, Any]]]:
    """Return the reported rows of each benchmark: estimates of tested axes, and published scores over all responses."""
    judged = {
        (row["benchmark"], row["measure"], row["axis"]): row
        for row in content["findings"]
        if row["group"] is None and row["stratum"] is None
    }
    found: dict[str, list[dict[str, Any]]] = {}
    for row in content["measurements"]:
        if row["group"] is not None or row["stratum"] is not None:
            continue
        finding = judged.get((row["benchmark"], row["measure"], row["axis"]))
        if finding is not None or (row["axis"] is None and row["measure"].endswith("_published")):
            verdict = finding["verdict"] if finding else None
            found.setdefault(str(row["benchmark"]), []).append({**row, "verdict": verdict})
    return found


def _metric_name(row: Mapping[str, Any]) -> str:
    told = [f"{label(row['measure'])}, {label(row['axis'])}"]
    if row["unit"]:
        told.append(str(row["unit"]))
    places = decimals([row[name] for name in ("estimate", "low", "high")])
    if limits := wording.interval(row["low"], row["high"], places):
        told.append(f"95% CI {limits}")
    if known(row["null"]):
        told.append(f"unbiased {number(row['null'], places)}")
    if row["verdict"]:
        told.append(row["verdict"])
    return wording.visible("; ".join(told))


def _lines(content: Content) -> Iterator[str]:
    yield "## Social bias, measured with evenhand"
    yield ""
    yield "Every estimate has a 95% CI and the value that is expected without bias."
    cards = {one["name"]: one.get("card") or {} for one in content["benchmarks"]}
    numbers = _numbers(content)
    for benchmark in dict.fromkeys([*cards, *numbers]):
        yield from ("", f"### {_escape_markdown(benchmark)}", "")
        if summary := cards.get(benchmark, {}).get("summary"):
            yield from (_escape_markdown(summary), "")
        told = [line for line in content["headlines"] if line["benchmark"] == benchmark]
        order = (BIASED, NOT_DETECTED, NOT_MEASURABLE)
        for line in sorted(told, key=lambda line: order.index(line["verdict"])):
            yield f"- {SYMBOLS[line['verdict']]} {_escape_markdown(line['sentence'])}"
        yield from _table(numbers.get(benchmark, []))
    yield from _unseen(content, cards)
    if command := build_command(content):
        yield from (
            "",
            "### How to repeat this result",
            "",
            f"evenhand {VERSION} is not on PyPI yet, so install it from a checkout:",
            "",
            "```sh",
            "pip install .",
            command,
            "```",
        )
    cited = dict.fromkeys(card["citation"] for card in cards.values() if card.get("citation"))
    if cited:
        yield from ("", "### How to cite", "")
        yield from (f"- {_escape_markdown(citation)}" for citation in cited)


def _table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not rows:
        return
    yield ""
    yield "| measure | axis | value | 95% CI | unbiased | MDE (80% power) | verdict |"
    yield "|---|---|---:|---|---:|---:|---|"
    for row in rows:
        places = decimals([row[name] for name in ("estimate", "low", "high")])
        smallest = row["minimum_detectable"]
        effect = row["effect_unit"] if row["effect_unit"] != row["unit"] else ""
        cells = [
            label(row["measure"]),
            label(row["axis"]),
            f"{number(row['estimate'], places)} {row['unit'] or ''}".strip(),
            wording.interval(row["low"], row["high"], places) or "–",
            number(row["null"], places),
            f"{number(smallest)} {effect or ''}".strip() if known(smallest) else "–",
            row["verdict"] or "no verdict",
        ]
        yield f"| {' | '.join(map(_escape_markdown, cells))} |"


def _unseen(content: Content, cards: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    yield from ("", "### Limits", "")
    yield (
        "- *No bias detected* does not mean that there is no bias: the line states which effects had 80% power to be "
        "detected. *Not measurable* means that there were too few usable responses for a verdict."
    )
    for one in content["benchmarks"]:
        if one.get("n_errors"):
            share = wording.share(one["n_errors"], one["n_prompts"])
            lost = f"{one['n_errors']:,} of {one['n_prompts']:,} responses have no result ({share})"
            yield f"- {_escape_markdown(one['name'])}: {lost}."
    for benchmark, card in cards.items():
        if card.get("critique"):
            yield f"- {_escape_markdown(benchmark)}: {_escape_markdown(card['critique'])}"


def _escape_markdown(text: str) -> str:
    """Return a text as one line of Markdown that shows it literally."""
    line = " ".join(wording.visible(str(text)).split())
    return "".join(f"\\{c}" if c in SPECIAL else "&amp;" if c == "&" else c for c in line)
