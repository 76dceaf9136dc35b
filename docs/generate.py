"""Write docs/reference/ from the cards and docstrings of the package, so that they always agree.

    python docs/generate.py && mkdocs build --strict

mkdocs loads this file too (`hooks` in mkdocs.yml) and adds the generated pages to the menu.
"""

import ast
import inspect
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import evenhand
from evenhand.benchmarks.contract import Generation
from evenhand.benchmarks.registry import SUITES, load_benchmark
from evenhand.catalogue import catalogue
from evenhand.measures import MEASURES, calibration_summary
from evenhand.models.loading import registered_models
from evenhand.prompts.datasets.register import Dataset, list_datasets
from evenhand.prompts.holisticbias.card import QUIRKS
from evenhand.prompts.own_files.prompts import PROMPT_FORMAT, RESPONSE_FORMAT
from evenhand.prompts.own_files.tables import READERS
from evenhand.schema import FINDINGS, MEASUREMENTS, Card, ResponseError

REFERENCE = Path(__file__).parent / "reference"
NOTICE = (
    "<!-- Written by docs/generate.py from the package: edit the card or the docstring, not this page. -->"
)
FIRST = (
    *(
        "audit",
        "Run",
        "open_run",
        "rescore",
        "compare",
        "ComparisonReport",
        "before_after",
        "BeforeAfterReport",
    ),
    *(
        "measure",
        "FileMeasurements",
        "gate",
        "check_consistency",
        "Checked",
        "search_instruction",
        "Revision",
    ),
    *("search_trigger", "debias", "Debiased", "counterfactuals", "push", "load_model", "load_classifier"),
)
"""The most important names, with which the page of the package begins."""
WIDEST_SIGNATURE = 90
"""Characters of a signature on one line."""
ENTRIES = ("Parameters", "Returns", "Raises", "Attributes", "Yields")
"""Sections of a docstring that list names or types."""
TITLES = {
    "benchmarks": "Benchmarks",
    "suites": "Suites",
    "measures": "Measures",
    "datasets": "Data sets",
    "models": "Models",
    "classifiers": "Classifiers",
    "mitigations": "Mitigations",
    "methods": "Methods of training",
}
FIELDS = {
    "construct": "What it measures",
    "harm": "Possible harm",
    "groups": "What is compared",
    "ideal": "Ideal value",
    "direction": "Direction",
    "null": "Value without bias (null)",
    "critique": "Known limits",
    "source": "Source",
    "citation": "Please cite",
    "licence": "Licence",
}


def main() -> None:
    """Write all pages again; pages without a source are deleted."""
    pages = reference_pages()
    write_pages(pages, REFERENCE)
    print(f"{len(pages)} pages written to {REFERENCE}", file=sys.stderr)


def write_pages(pages: Mapping[str, str], folder: Path) -> None:
    """Write pages, by path within the folder, into a folder; everything else in it is deleted."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{NOTICE}\n\n{text.strip()}\n", encoding="utf-8")


def reference_pages() -> dict[str, str]:
    """Return every generated page by its path within docs/reference."""
    pages: dict[str, str] = {}
    for kind, title in TITLES.items():
        cards = catalogue(kind)
        for card in cards.values():
            pages[f"{kind}/{slug(card.name)}.md"] = card_page(kind, card)
        pages[f"{kind}/index.md"] = f"# {title}\n\n" + "\n".join(
            f"- [{card.name}]({slug(card.name)}.md): {prose(card.summary)}" for card in cards.values()
        )
    pages["calibration.md"] = calibration_page()
    pages["holisticbias_quirks.md"] = quirks_page()
    pages["file_formats.md"] = formats_page()
    for name, module in {
        "evenhand": evenhand,
        "measures": evenhand.measures,
        "stats": evenhand.stats,
        "mitigations": evenhand.mitigations,
    }.items():
        pages[f"python/{name}.md"] = python_page(module)
    return pages


def card_page(kind: str, card: Card) -> str:
    """Return one card as a page: its fields, and further facts from the code."""
    parts = [f"# {card.name}", prose(card.summary), *FACTS[kind](card.name)]
    for field, heading in FIELDS.items():
        if text := getattr(card, field):
            parts.append(f"**{heading}.** {prose(text)}")
    if card.details:
        parts += ["## Details", card.details]  # cards hold Markdown here
    return "\n\n".join(parts)


def _benchmark_facts(name: str) -> list[str]:
    benchmark = load_benchmark(name)
    model = "MODEL" if benchmark.architectures != {"masked"} else "MASKED_MODEL"
    sets = [f"[{data}](../datasets/{slug(data)}.md)" for data in benchmark.datasets]
    scores = (
        ", or any `score` (a larger score means a more likely sentence)" if benchmark.takes_scores else ""
    )
    needed = code(benchmark.required_columns)
    own = [
        ["models", ", ".join(sorted(benchmark.architectures))],
        ["data", ", ".join(sets) or "ships with evenhand"],
        ["columns of your own prompts", f"`text`, {needed}" if needed else "`text`"],
    ]
    if isinstance(benchmark.request, Generation):
        judges = [f"{judge.role}: {_judge_link(judge.classifier)}" for judge in benchmark.classified_by]
        judged = "a judgement (`negative`, or `score` with --threshold), or a `continuation` to be judged now"
        written = f"{benchmark.request.samples} a prompt, up to {benchmark.request.max_new_tokens} tokens"
        own += [
            ["continuations", written],
            ["judged by", ", ".join(judges)],
            ["columns of your own responses", f"{needed} and {judged}" if needed else judged],
        ]
    else:
        own.append(["columns of your own responses", f"{needed} and a likelihood{scores}"])
    return [f"```sh\nevenhand audit {model} --benchmark {name}\n```", listing(own)]


def _judge_link(name: str) -> str:
    if name not in catalogue("classifiers"):
        return "a language model that you name"
    return f"[{name}](../classifiers/{slug(name)}.md)"


def _suite_facts(name: str) -> list[str]:
    suite = SUITES[name]
    links = ", ".join(f"[{b}](../benchmarks/{slug(b)}.md)" for b in suite.benchmarks)
    limit = f"{suite.limit:,} prompts per benchmark, unless you set --limit" if suite.limit else "no limit"
    rows = [["benchmarks", links], ["size", limit]]
    return [f"```sh\nevenhand audit MODEL --suite {name}\n```", listing(rows)]


def _measure_facts(name: str) -> list[str]:
    facts = [f"Unit: {prose(MEASURES[name].unit)}."]
    if name in {row["measure"] for row in calibration_summary().get("measures", [])}:
        facts.append(
            f"[Its calibration](../calibration.md#{name}), [and how that is done](../../explanation/calibration.md)."
        )
    return facts


def _dataset_facts(name: str) -> list[str]:
    data: Dataset = next(entry for entry in list_datasets() if entry.name == name)
    rows = [
        [version.name, f"[{file.path}]({file.url})", f"`{file.sha256 or version.content_sha256}`"]
        for version in data.versions
        for file in version.files
    ]
    pinned = "SHA-256 of the file" if all(f.sha256 for v in data.versions for f in v.files) else "pinned hash"
    return [f"```sh\nevenhand data fetch {name}\n```", table(["version", "file", pinned], rows)]


def _model_facts(name: str) -> list[str]:
    known = registered_models()
    return [f"```sh\nevenhand audit {name}\n```"] if name in known else []


FACTS: dict[str, Callable[[str], list[str]]] = {
    "benchmarks": _benchmark_facts,
    "suites": _suite_facts,
    "measures": _measure_facts,
    "datasets": _dataset_facts,
    "models": _model_facts,
    "classifiers": lambda name: [],
    "mitigations": lambda name: [],
    "methods": lambda name: ["```text\nevenhand debias MODEL --method " + name + " --bias race -o DIR\n```"],
}


def calibration_page() -> str:
    """Return the page of the last full calibration: a row for each measure, then its designs with the worst first."""
    known = calibration_summary()
    if not known:
        return "# Calibration: the figures\n\nNo calibration has been stored yet."
    counted = ("holding", "undecided", "failing", "unmeasurable")
    measures = [
        [
            f"[{row['measure']}](measures/{slug(row['measure'])}.md)",
            f"{percent(row['worst_false'])} ({row['worst_design']}, {row['worst_n']:,} data sets)",
            percent(row["false"]),
            *(str(row[name]) for name in counted),
            *(
                f"{percent(row[f'{name}_low'])} to {percent(row[f'{name}_high'])}"
                for name in ("coverage", "power")
            ),
        ]
        for row in known["measures"]
    ]
    heads = [
        "measure",
        "false-positive rate, worst design",
        "all designs",
        "holds",
        "undecided",
        "fails",
        "not measurable",
        "coverage",
        "power at MDE",
    ]
    parts = [
        "# Calibration: the figures",
        f"`evenhand calibrate --full` of evenhand {known['evenhand']} wrote these numbers (seed "
        f"{known['options']['seed']}). [Calibration](../explanation/calibration.md) explains the criteria, "
        "and [Evidence](../evidence/verdicts.md#what-a-calibration-simulates) lists what the designs vary.",
        "The standard error of a false-positive rate of 5% is 1.1 points with 400 data sets.",
        table(heads, measures),
    ]
    for row in known["measures"]:
        name = row["measure"]
        mine = [one for one in known["designs"] if one["measure"] == name and one["role"] == "standard"]
        mine.sort(key=lambda one: -1.0 if one["false"] is None else -one["false"])
        rows = [
            [
                prose(one["design"]),
                str(one["n"]),
                f"{percent(one['false'])} ({percent(one['false_low'])} to {percent(one['false_high'])})",
                f"{percent(one['coverage'])} / {percent(one['coverage_planted'])}",
                "–" if one["stated"] is None else f"{one['stated']:.3g}",
                percent(one["power"]),
                prose(f"{one['verdict']}{': ' if one['why'] else ''}{one['why']}"),
            ]
            for one in mine
        ]
        heads = [
            "design",
            "data sets",
            "false-positive rate",
            "coverage, null / planted",
            "MDE",
            "power at MDE",
            "state",
        ]
        parts += [f"## {name}", table(heads, rows)]
    limits = [
        [
            prose(one["design"]),
            prose(one["about"] or ""),
            f"[{one['measure']}](measures/{slug(one['measure'])}.md)",
            str(one["n"]),
            percent(one["false"]),
        ]
        for one in known["designs"]
        if one["role"] == "limit"
    ]
    parts += [
        "## Where measures end",
        "Designs that break what a measure assumes, drawn to show by how much its promise is missed there. Each "
        "counts against no measure; [how to read the weakest](../explanation/verdicts.md#where-it-is-weakest).",
        table(["design", "what it is", "measure", "data sets", "false"], limits),
    ]
    return "\n\n".join(parts)


def percent(share: float | None) -> str:
    """Return a proportion as a percentage."""
    return "–" if share is None else f"{100 * share:.1f} %"


def quirks_page() -> str:
    """Return the page of the quirks of the published HolisticBias composer."""
    parts = [
        "# HolisticBias: quirks of the published composer",
        "`as_published=True` (on the command line `--as-published`) keeps all of them, byte for byte. The "
        "default mode fixes those marked as fixed. `holisticbias-likelihood` uses the published sentences.",
    ]
    for quirk in QUIRKS:
        parts += [f"## {quirk.id}", prose(quirk.what), f"In the default mode: {prose(quirk.in_default)}."]
    return "\n\n".join(parts)


def formats_page() -> str:
    """Return the page of file formats: columns of a user's files and of the tables of a run."""
    codes = [[f"`{error.value}`", error.name.replace("_", " ").lower()] for error in ResponseError]
    return "\n\n".join(
        [
            "# File formats",
            f"Files end in {', '.join(f'`{suffix}`' for suffix in READERS)}. How to use them: "
            "[your own prompts and responses](../how-to/audit_your_own_prompts.md).",
            "## Prompts",
            PROMPT_FORMAT,
            "## Responses",
            RESPONSE_FORMAT,
            "The [page of each benchmark](benchmarks/index.md) lists the group columns that it needs.",
            "## measurements.parquet",
            "One row per number. `measurements.json` contains the same.",
            table(["column", "type"], [[f"`{name}`", str(kind)] for name, kind in MEASUREMENTS.items()]),
            "## findings.parquet",
            "One row per verdict.",
            table(["column", "type"], [[f"`{name}`", str(kind)] for name, kind in FINDINGS.items()]),
            "## Error codes",
            "The column `error` of responses states why a row has no number.",
            table(["code", "in words"], codes),
        ]
    )


def python_page(module: Any) -> str:
    """Return the page of a module: its public names with signatures and docstrings."""
    parts = [f"# {module.__name__}", prose((inspect.getdoc(module) or "").split("\n\n")[0])]
    public = [name for name in dir(module) if not name.startswith("_")]
    names = [name for name in FIRST if name in public] + [name for name in public if name not in FIRST]
    for name in names:
        thing = getattr(module, name)
        if inspect.isfunction(thing) or inspect.isclass(thing):
            parts += [f"## {name}", *documented(name, thing)]
    return "\n\n".join(parts)


def documented(name: str, thing: Any) -> list[str]:
    """Return the signature and docstring of a function or class, and of the public methods of a class."""
    parts = [f"```python\n{name}{signature(thing)}\n```", docstring(inspect.getdoc(thing) or "")]
    if not inspect.isclass(thing):
        return parts
    for member, value in vars(thing).items():
        function = value.__func__ if isinstance(value, classmethod) else value
        if member.startswith("_") or not inspect.isfunction(function) or not function.__doc__:
            continue
        parts += [f"### {name}.{member}", f"```python\n{member}{signature(function)}\n```"]
        parts.append(docstring(inspect.getdoc(function) or ""))
    return parts


def docstring(text: str) -> str:
    """Return a NumPy-style docstring as Markdown: sections with bold titles, parameters as lists, examples as code.

    >>> print(docstring("Return twice x.\\n\\nParameters\\n----------\\nx : int\\n    A number."))
    Return twice x.
    <BLANKLINE>
    **Parameters**
    <BLANKLINE>
    - `x` (int): A number.
    """
    body, *sections = re.split(r"(?m)^(\w+)\n-{3,}\n", text)
    parts = [_paragraphs(body)]
    for title, content in zip(sections[::2], sections[1::2], strict=True):
        if title != "Examples":
            parts.append(f"**{title}**")
        parts.append(_entries(content) if title in ENTRIES else _paragraphs(content))
    return "\n\n".join(filter(None, parts))


def _entries(text: str) -> str:
    """Return the entries of a section (`name : type`, then an indented description) as a list.

    A list inside a description, such as the columns of a table, becomes a list below its entry.

    >>> print(_entries("x : table\\n    One row each.\\n    - ``a``: a count,\\n      as published."))
    - `x` (table): One row each.
        - `a`: a count, as published.
    """
    examples, items = text.find("\n>>> "), []
    for entry in re.split(r"\n(?=\S)", text[: examples if examples >= 0 else None].strip("\n")):
        head, *lines = entry.split("\n")
        name, _, kind = head.partition(" : ")
        known = ", ".join(f"`{one}`" for one in name.split(", "))
        stated = f"- {known} ({prose(kind)})" if kind else f"- {known}"
        for number, block in enumerate(re.split(r"\n\s*\n", "\n".join(lines))):
            about, *points = re.split(r"(?m)^ +- ", block)
            described = _inline(" ".join(about.split()))
            if number == 0:
                items.append(f"{stated}: {described}" if described else stated)
            elif described:
                items.append(f"\n    {described}\n")
            items += [f"    - {_inline(' '.join(point.split()))}" for point in points]
    rest = _paragraphs(text[examples:]) if examples >= 0 else ""
    return "\n\n".join(filter(None, ["\n".join(items).rstrip(), rest]))


def _paragraphs(text: str) -> str:
    """Return paragraphs and lists as Markdown, and each block of examples as code."""
    blocks = [block for block in re.split(r"\n\s*\n", text.strip("\n")) if block.strip()]
    return "\n\n".join(
        f"```pycon\n{block}\n```" if block.lstrip().startswith(">>> ") else _inline(block) for block in blocks
    )


def _inline(text: str) -> str:
    return prose(text.replace("``", "`"))


def signature(thing: Any) -> str:
    """Return the signature as in the source, with short names of types; for a class only the names of arguments."""
    if inspect.isclass(thing):
        return "(" + ", ".join(inspect.signature(thing).parameters) + ")"
    node = ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]
    assert isinstance(node, ast.FunctionDef), f"{thing} has no def of its own"
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"({ast.unparse(node.args)}){returned}"
    if len(line) <= WIDEST_SIGNATURE:
        return line
    # One argument a line: split at the commas that are outside of all brackets.
    arguments = re.split(r", (?![^\[]*\]|[^(]*\))", ast.unparse(node.args))
    return "(\n    " + ",\n    ".join(arguments) + f",\n){returned}"


def on_config(config: Any) -> Any:
    """Add the generated pages to the menu; mkdocs calls this."""
    sections: list[Any] = []
    for kind, title in TITLES.items():
        pages = sorted((REFERENCE / kind).glob("*.md"), key=lambda path: (path.stem != "index", path.stem))
        sections.append({title: [{_heading(path): f"reference/{kind}/{path.name}"} for path in pages]})
    sections.append({"Calibration: the figures": "reference/calibration.md"})
    sections.append({"HolisticBias quirks": "reference/holisticbias_quirks.md"})
    sections.append({"File formats": "reference/file_formats.md"})
    sections.append(
        {
            "Python": [
                {_heading(path): f"reference/python/{path.name}"}
                for path in sorted((REFERENCE / "python").glob("*.md"))
            ]
        }
    )
    config.nav.append({"Reference": sections})
    return config


def _heading(page: Path) -> str:
    return page.read_text(encoding="utf-8").split("\n# ", 1)[1].split("\n", 1)[0]


def slug(name: str) -> str:
    """Return a name as a file name.

    >>> slug("evenhand/reference"), slug("any Hugging Face model")
    ('evenhand-reference', 'any-hugging-face-model')
    """
    return re.sub(r"[^a-z0-9_.]+", "-", name.lower()).strip("-")


def prose(text: str) -> str:
    """Return plain text as Markdown: URLs become links; characters of tags and emphasis are escaped, except in code.

    >>> prose("2 * 3 < 7, see `a*b` and https://example.org.")
    '2 \\\\* 3 \\\\< 7, see `a*b` and <https://example.org>.'
    """
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(piece if piece.startswith("`") else _escaped(piece) for piece in pieces)


def _escaped(text: str) -> str:
    escaped = re.sub(r"([<*|]|__)", r"\\\1", text)
    return re.sub(r"(https?://[^\s,;)]*[^\s,;.)])", r"<\1>", escaped)


def code(names: Sequence[str]) -> str:
    """Return column names in backticks."""
    return ", ".join(f"`{name}`" for name in names)


def listing(rows: Sequence[Sequence[str]]) -> str:
    """Return named facts as a list."""
    return "\n".join(f"- {name}: {text}" for name, text in rows)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    main()
