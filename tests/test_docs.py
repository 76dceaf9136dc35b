"""The documentation does what it says: every page is run from top to bottom, and every link leads somewhere."""

import doctest
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
import typer.main
import yaml

from evenhand.benchmarks.registry import SUITES, benchmark_names, load_benchmark
from evenhand.catalogue import catalogue, dataset_is_here
from evenhand.cli.app import app, main
from evenhand.models.loading import registered_models
from evenhand.prompts.datasets.register import dataset, list_datasets

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("EVENHAND_SHARED", ROOT.parent / "shared"))
DOCS = ROOT / "docs"
PURPOSES = ("tutorials", "how-to", "explanation", "evidence")
WRITTEN = [
    ROOT / "README.md",
    *sorted(path for path in DOCS.rglob("*.md") if not path.is_relative_to(DOCS / "reference")),
]
LINKED = [*WRITTEN, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
FENCE = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!\\)!?\[[^\]]*\]\(([^)\s]+)\)")
EXIT = re.compile(r"#.*\bexit code (\d+)")
KINDS = ("benchmarks", "suites", "measures", "datasets", "models", "classifiers", "mitigations", "methods")
TO_FILL_IN = re.compile(r"[A-Z_]+(\.[a-z]+)?")  # MODEL, RESPONSES.csv: stands for something of the reader's


class Block(NamedTuple):
    """One fenced block: its language, what stands behind it on the fence, its text, and its first line."""

    language: str
    options: str
    text: str
    line: int


def blocks(text: str) -> Iterator[Block]:
    for match in FENCE.finditer(text):
        yield Block(match[1], match[2], match[3], text.count("\n", 0, match.start()) + 1)


def commands(block: Block) -> Iterator[tuple[list[str], int]]:
    """The `evenhand` calls of a shell block as arguments, each with the exit code that it announces."""
    for arguments, code, _ in sessions(block):
        yield arguments, code


def sessions(block: Block) -> Iterator[tuple[list[str], int, str]]:
    """Yield each `evenhand` call of a shell block: arguments, expected exit code, and the output shown below it.

    In a console block the lines that begin with "$ " are commands, and the lines below them are their output.
    """
    text = block.text.replace("\\\n", " ")
    lines = [(line, "") for line in text.splitlines()]
    if block.language == "console":
        assert text.startswith("$ "), f"line {block.line}: a console block begins with a command"
        lines = [
            (first, shown) for first, _, shown in (part.partition("\n") for part in text[2:].split("\n$ "))
        ]
    for line, shown in lines:
        words = shlex.split(line, comments=True)
        if words and Path(words[0]).name == "evenhand":
            code = EXIT.search(line)
            yield words[1:], int(code[1]) if code else 0, shown


def parsed(arguments: list[str]) -> dict[str, Any]:
    """What the command line makes of the arguments, with the verbs as "verb"; nothing is run.

    Raises what the command line raises for an unknown verb or option, or a value of the wrong kind.
    """
    command: Any = typer.main.get_command(app)
    context, verbs = command.make_context("evenhand", list(arguments)), []
    while hasattr(command, "resolve_command"):
        # where the parser leaves the name of the verb; it has no public place
        name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        verbs.append(name)
        context = command.make_context(name, rest, parent=context)
    return {**context.params, "verb": " ".join(verbs)}


@pytest.fixture(scope="session")
def generate() -> ModuleType:
    """docs/generate.py as a module."""
    from docs import generate as module

    return module


@pytest.fixture(scope="session")
def reference(generate: ModuleType) -> Mapping[str, str]:
    """The generated pages by their path within docs/."""
    return {f"reference/{name}": text for name, text in generate.reference_pages().items()}


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with a cache of its own and, where they are, the published files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    if SHARED.is_dir():
        (tmp_path / "downloads").mkdir()
        for name, there in {
            "holisticbias": SHARED / "data" / "holisticbias" / "v1.1",
            "crows-pairs": SHARED / "data" / "crows_pairs",
            "stereoset": SHARED / "data" / "stereoset",
            "redditbias": SHARED / "data" / "redditbias",
            "names": SHARED / "data" / "names",
            "likelihood_bias_small": SHARED / "parity" / "likelihood_bias_small",
        }.items():
            (tmp_path / "downloads" / name).symlink_to(there)
    return tmp_path


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.stem)
def test_page_works_from_top_to_bottom(
    page: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = page.read_text(encoding="utf-8")
    found = list(blocks(text))
    reads_published = any("downloads/" in block.text for block in found if block.language == "python")
    if reads_published and not (workplace / "downloads").is_dir():
        pytest.skip("the page reads published files, which are not here")
    if "survey.csv" in text and page.name == "README.md":  # it links to the page that creates the file
        survey = DOCS / "tutorials" / "table_of_answers.md"
        run_python(next(blocks(survey.read_text(encoding="utf-8"))), {"__name__": "page"}, survey)
    names: dict[str, Any] = {"__name__": "page"}
    output: str | None = None  # of the last shell block; None if a part of it cannot run here
    for block in found:
        if title := re.search(r'title="([^"]+)"', block.options):
            (workplace / title[1]).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            run_python(block, names, page)
        elif block.language in ("sh", "console"):
            output = ""
            for arguments, expected, shown in sessions(block):
                if why_not_here(parsed(arguments)) is not None:
                    output = None
                    continue
                capsys.readouterr()
                assert exit_code(arguments, monkeypatch) == expected, shlex.join(arguments)
                printed = "".join(capsys.readouterr())
                check_output(shown, printed)
                output = None if output is None else output + printed
        elif block.language == "output" and output is not None:
            check_output(block.text.replace("[...]", "...\n"), output)


def check_output(shown: str, printed: str) -> None:
    """Assert that a page shows what a command prints; "..." stands for anything, and line breaks do not count."""
    expected = [re.escape(" ".join(part.split())) for part in shown.split("...\n")]
    actual = " ".join(printed.split())
    assert re.search(".*".join(expected), actual), (
        f"The page shows\n{shown}\nbut the command prints\n{printed}"
    )


@pytest.mark.parametrize("shown", ["one two\n", "...\nthree\n", "one\n...\nfour\n", ""])
def test_output_that_was_printed_is_accepted(shown: str) -> None:
    check_output(shown, "one\ntwo three\nfour")


@pytest.mark.parametrize("shown", ["one three\n", "...\nfive\n", "four\n...\none\n"])
def test_output_that_was_not_printed_is_noticed(shown: str) -> None:
    with pytest.raises(AssertionError, match="but the command prints"):
        check_output(shown, "one\ntwo three\nfour")


def run_python(block: Block, names: dict[str, Any], page: Path) -> None:
    where = f"{page.name}, line {block.line}"
    if ">>>" not in block.text:
        exec(compile("\n" * block.line + block.text, str(page), "exec"), names)
        return
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    test = doctest.DocTestParser().get_doctest(block.text, names, where, str(page), block.line)
    report: list[str] = []
    doctest.DocTestRunner(optionflags=flags).run(test, out=report.append, clear_globs=False)
    assert not report, "".join(report)
    names.update(test.globs)


def why_not_here(call: dict[str, Any]) -> str | None:
    """Why a command cannot be run by a test: it wants the network, minutes, or data that is not on this machine."""
    if call.get("on") not in (None, "local"):
        return "a cluster"
    match call["verb"]:
        case "audit":
            model = call["model"]
            if model and TO_FILL_IN.fullmatch(model):
                return "a name to fill in"
            if model and model not in registered_models() and not model.startswith("runs/"):
                return "a model from the hub"
            given = {setting.partition("=")[0].removeprefix("data.") for setting in call["settings"]}
            for name in call["benchmark"]:
                if name not in benchmark_names():
                    continue
                for data in load_benchmark(name).datasets:
                    there = data in given or dataset_is_here(data, dataset(data).default_version)
                    if not there or (data in given and not Path("downloads").is_dir()):
                        return f"{data} is not here"
        case (
            "check-consistency"
            | "before-after"
            | "debias"
            | "compare"
            | "rescore"
            | "agreement"
            | "search-instruction"
            | "search-trigger"
            | "study redditbias"
            | "study names"
            | "annotate serve"
            | "annotate export"
            | "annotate analyse"
        ):
            given = [value if isinstance(value, list | tuple) else [value] for value in call.values()]
            names = [str(value) for values in given for value in values]
            if any(TO_FILL_IN.fullmatch(name) for name in names):
                return "a name to fill in"
            model = str(call.get("model") or "runs/")
            known = model in registered_models() or model.startswith(("runs/", "studies/"))
            return None if known or Path(model).exists() else "a model from the hub"
        case "calibrate":
            return "minutes"
        case "frequencies":
            places = [source.partition("=")[2] or source for source in call["sources"]]
            if any(TO_FILL_IN.fullmatch(str(place)) for place in [*places, call["join"] or "x"]):
                return "a name to fill in"
            return None if all(Path(place).exists() for place in places) else "a corpus from elsewhere"
        case "measure" | "data counterfactuals":
            return "a file to fill in" if TO_FILL_IN.fullmatch(str(call["file"])) else None
        case "data fetch":
            if call["source"] is None:
                return "a download"
            return None if call["source"].is_dir() else "no published files"
        case "data build":
            places = call["source"] or []
            if any(TO_FILL_IN.fullmatch(str(place)) for place in places):
                return "a name to fill in"
            if not all(place.exists() for place in places):
                return "no published files"
            if not places and call["name"] == "holisticbias":
                return None if dataset_is_here("holisticbias", call["version"] or "v1.1") else "not fetched"
    return None


def exit_code(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["evenhand", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0)


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.stem)
def test_commands_parse_and_name_what_exists(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8")):
        for arguments, expected in commands(block) if block.language in ("sh", "console") else ():
            check_names(parsed(arguments), known=expected == 0)


def test_commands_of_the_overview_parse() -> None:
    """The table of commands has them as inline code."""
    page = (DOCS / "how-to" / "find_a_command.md").read_text(encoding="utf-8")
    found = [shlex.split(line)[1:] for line in re.findall(r"`(evenhand [^`]+)`", page)]
    complete = [arguments for arguments in found if len(arguments) > 1 and arguments[-1] != "--help"]
    assert len(complete) > 20
    for arguments in complete:
        check_names(parsed(arguments), known=True)


def test_generated_commands_parse(reference: Mapping[str, str]) -> None:
    calls = [
        call
        for text in reference.values()
        for b in blocks(text)
        if b.language == "sh"
        for call in commands(b)
    ]
    assert len(calls) > len(benchmark_names()) + len(SUITES)
    for arguments, _ in calls:
        check_names(parsed(arguments), known=True)


def check_names(call: dict[str, Any], *, known: bool) -> None:
    if not known:
        return
    wanted = call.get("benchmark") or []
    for name in [wanted] if isinstance(wanted, str) else wanted:
        assert name in benchmark_names()
    assert call.get("suite") in (None, *SUITES)
    model = call.get("model") or ""
    if model.startswith(("evenhand/", "puppet/")):
        assert model in registered_models()
    if call["verb"] == "show" and call["name"] != "NAME":
        assert any(call["name"] in catalogue(kind) for kind in KINDS), call["name"]
    if call["verb"] == "data fetch":
        assert call["name"] in [data.name for data in list_datasets()]


@pytest.mark.parametrize("arguments", ["audit x --no-such-option", "no-such-verb", "list sausages", "data x"])
def test_a_wrong_command_would_be_noticed(arguments: str) -> None:
    with pytest.raises(Exception, match=r"(?i)no such|is not one of|unknown kind"):
        parsed(arguments.split())


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.stem)
def test_no_python_is_left_unrun(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8")):
        assert block.language in ("python", "sh", "console", "output", "text", "toml", "yaml"), (
            f"{page.name}, line {block.line}"
        )
        assert block.language == "python" or ">>>" not in block.text


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path, reference: Mapping[str, str]) -> None:
    check_links(page, page.read_text(encoding="utf-8"), reference)


def test_generated_links_lead_somewhere(reference: Mapping[str, str]) -> None:
    for name, text in reference.items():
        check_links(ROOT / "docs" / name, text, reference)


def check_links(page: Path, text: str, reference: Mapping[str, str]) -> None:
    for link in LINK.findall(FENCE.sub("", text)):
        target, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        path = (page.parent / target).resolve() if target else page
        within = path.relative_to(ROOT / "docs").as_posix() if path.is_relative_to(ROOT / "docs") else ""
        # mkdocs --strict refuses a link that leaves the folder of the documentation
        assert within or page.parent == ROOT, (
            f"{page.name} links to {link}, which is not part of the documentation"
        )
        assert within in reference or path.exists(), f"{page.name} links to {link}, which is not there"
        if anchor:
            there = reference.get(within) or path.read_text(encoding="utf-8")
            assert anchor in anchors(there), f"{page.name} links to {link}: no such heading"


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE)
    return {
        re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower())).strip("-") for heading in headings
    }


def test_every_page_is_in_the_menu_once() -> None:
    menu = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    written = [page.relative_to(DOCS).as_posix() for page in WRITTEN if page.is_relative_to(DOCS)]
    assert sorted(pages_in(menu)) == sorted(written)


def pages_in(menu: Any) -> Iterator[str]:
    """Yield the paths of all pages in a navigation menu, which can have sections within sections."""
    if isinstance(menu, str):
        yield menu
    else:
        for part in menu.values() if isinstance(menu, dict) else menu:
            yield from pages_in(part)


def test_the_readme_is_short() -> None:
    assert (ROOT / "README.md").read_text(encoding="utf-8").count("\n") <= 120


def test_every_page_is_in_the_folder_of_its_purpose() -> None:
    folders = {page.relative_to(DOCS).parts[0] for page in WRITTEN if page.parent not in (ROOT, DOCS)}
    assert folders == set(PURPOSES)
    assert {page.name for page in WRITTEN if page.parent == DOCS} == {"index.md", "gallery.md", "glossary.md"}
    assert len([page for page in WRITTEN if page.parent.name == "tutorials"]) == 4


@pytest.mark.parametrize("kind", KINDS)
def test_every_card_has_its_page_with_all_it_says(
    kind: str, generate: ModuleType, reference: Mapping[str, str]
) -> None:
    for card in catalogue(kind).values():
        page = reference[f"reference/{kind}/{generate.slug(card.name)}.md"]
        for field, value in card.to_dict().items():
            shown = value if field in ("details", "name") else generate.prose(value)
            assert shown in page, f"{card.name}: {field}"
        assert f"({generate.slug(card.name)}.md)" in reference[f"reference/{kind}/index.md"]


def test_generated_files(generate: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference" / "gone.md").write_text("of a thing that is no more")
    pages = generate.reference_pages()
    generate.write_pages(pages, tmp_path / "reference")
    files = {
        path.relative_to(tmp_path / "reference").as_posix() for path in (tmp_path / "reference").rglob("*.md")
    }
    assert files == pages.keys()
    assert doctest.testmod(generate).failed == 0
    assert "docs/reference/" in (ROOT / ".gitignore").read_text()


def test_quirks_and_formats_are_told(reference: Mapping[str, str]) -> None:
    from evenhand.prompts.holisticbias.card import QUIRKS
    from evenhand.prompts.own_files.prompts import PROMPT_FORMAT, RESPONSE_FORMAT

    for quirk in QUIRKS:
        assert f"## {quirk.id}" in reference["reference/holisticbias_quirks.md"]
    formats = reference["reference/file_formats.md"]
    assert PROMPT_FORMAT in formats and RESPONSE_FORMAT in formats


@pytest.mark.parity
@pytest.mark.slow
def test_the_numbers_beside_the_papers_are_computed(shared: Path) -> None:
    from docs.reproduce import PAGE, Downloads, with_tables

    page = PAGE.read_text(encoding="utf-8")
    assert with_tables(page, Downloads(shared / "data", shared / "parity")) == (page, {})


def test_without_its_files_the_page_of_numbers_loses_no_row_and_says_which_were_not_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from docs import reproduce

    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path))
    page = reproduce.PAGE.read_text(encoding="utf-8")
    made, left = reproduce.with_tables(page, reproduce.Downloads(None))
    assert made == page
    assert left.keys() == reproduce.TABLES.keys()
    assert "axes" in left["holisticbias"].rows
    monkeypatch.setattr(sys, "argv", ["reproduce.py", "--check"])
    assert reproduce.main() == 1
    told = capsys.readouterr().out
    assert "Nothing was checked" in told
    assert (
        "programs: 6 rows not checked, kept as they are. Outputs of the published programs need --outputs"
        in told
    )


def test_a_number_of_the_page_that_differs_is_shown() -> None:
    from docs import reproduce

    rows = iter([reproduce.Row("a", 1, 2), reproduce.Row("b", 3, 3)])
    lines, kept = reproduce.table(rows, ["| a | 1 | 1 | 0 |  |", "| b | 3 | 3 | 0 |  |"])
    assert kept is None
    assert lines == ["| a | 1 | 2 | +1 |  |", "| b | 3 | 3 | 0 |  |"]
