"""Whatever was asked: every result is read, shown and written in the same way."""

import json
import re
from io import StringIO

import polars as pl
import pytest
from rich.console import Console

import evenhand as eh
from evenhand.mitigations.triggers import TriggerFile
from evenhand.models.puppets import writes
from evenhand.studies import StudyResult
from evenhand.studies.search_trigger import FoundTrigger

WICKED = "<script>alert(1)</script>"


def wicked_writer():
    return writes(
        lambda prompt, sample: " is a liar, <b>." if "red" in prompt else " is kind.", f"house/{WICKED}"
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("results")


@pytest.fixture(autouse=True)
def _known(judged_house, monkeypatch, folder):
    """The house's benchmark rudeness; no data set is here, and relative folders lie where nothing else does."""
    monkeypatch.setenv("EVENHAND_DATA", str(folder / "cache"))
    monkeypatch.chdir(folder)


def a_run(folder):
    return eh.audit(wicked_writer(), benchmarks=["rudeness"], samples=2, output=folder / "run")


def an_agreement(folder):
    run = eh.audit("house/writer", benchmarks=["rudeness"], samples=2, output=folder / "judged")
    return eh.rescore(run, {"rudeness": "house/words?word=kind"}).agreement()


def a_comparison(folder):
    run = eh.audit("house/writer", benchmarks=["rudeness"], samples=2, output=folder / "compared")
    return eh.compare(run, run, names=[WICKED, "b"], output=folder / "comparison")


def a_before_after(folder):
    options = {"benchmarks": ["rudeness"], "samples": 2}
    return eh.before_after(wicked_writer(), ["prefix=Be kind."], output=folder / "before_after", **options)


def a_check(folder):
    pl.DataFrame({"text": [f"He shouted {i} {WICKED}" for i in range(20)]}).write_csv(folder / "wild.csv")
    judge = {"classifier": "evenhand/lexicon-toxicity", "groups": 1, "neutral": "none"}
    return eh.check_consistency(
        "instructive-debiasing",
        wicked_writer(),
        prompts=folder / "wild.csv",
        output=folder / "check",
        **judge,
    )


def measured_responses(folder):
    rows = [
        (f"p{i}", "hair", WICKED if i % 2 else "red", "is rude" if i % 2 else "is kind") for i in range(20)
    ]
    names = ["text", "axis", "group", "continuation"]
    pl.DataFrame(rows, schema=names, orient="row").write_csv(folder / "mine.csv")
    return eh.measure_file(
        folder / "mine.csv", "rudeness", classifiers=["house/words"], output=folder / "mine"
    )


def a_revision(folder):
    return eh.search_instruction(
        wicked_writer(), benchmark="regard", classifiers={"regard": "vader"}, iterations=1, keep=2, variants=2,
        subset=20, final=20, instructions=[f"Be kind {WICKED}.", "Speak."], samples=1, output=folder / "search",
    )  # fmt: skip


def a_trigger(folder):
    found = TriggerFile(
        ids=(5, 6),
        text=WICKED,
        mode="induce",
        tokenizer="ab",
        model={"name": "tiny"},
        history=({"restart": 0, "sweep": 0, "loss": 1.5, "text": " kind"},),
        choice={
            "rows": [{"text": None, "rate": 0.5, "perplexity": 3.0, "passes": True}],
            "note": "It does little.",
        },
        effect={"change": [{"group": None, "before": 0.5, "after": 0.25}], "sentence": "It fell by half."},
    )
    return FoundTrigger(folder / "trigger.json", found.write(folder / "trigger.json"))


MAKERS = [
    a_run, an_agreement, a_comparison, a_before_after, a_check, measured_responses, a_revision, a_trigger
]  # fmt: skip
KNOWN: dict[str, StudyResult] = {}


@pytest.fixture(params=MAKERS, ids=lambda make: make.__name__)
def result(request, folder, _known):
    name = request.param.__name__
    if name not in KNOWN:
        KNOWN[name] = request.param(folder)
    return KNOWN[name]


def test_every_result_of_the_front_doors_has_the_shape():
    shapes = {
        value for value in vars(eh).values() if isinstance(value, type) and issubclass(value, StudyResult)
    }
    shown = {getattr(eh, name) for name in eh.__all__ if isinstance(getattr(eh, name), type)}
    assert shapes <= shown
    named = {"Run", "BeforeAfterReport", "ComparisonReport", "Checked", "FileMeasurements", "Revision"}
    assert all(issubclass(getattr(eh, name), StudyResult) for name in named)


def test_it_lies_somewhere_and_has_tables(result, folder):
    assert isinstance(result, StudyResult) and folder in result.path.parents
    tables = result.tables()
    assert tables and all(isinstance(table, pl.DataFrame) for table in tables.values())
    assert any(table.height for table in tables.values())


def test_its_numbers_are_plain_data_and_those_of_the_file(result, tmp_path):
    numbers = result.to_dict()
    assert json.loads(json.dumps(numbers, allow_nan=False)) == numbers
    written = result.write(tmp_path / "new")
    assert {"report", "numbers"} <= set(written) and all(path.is_file() for path in written.values())
    assert json.loads(written["numbers"].read_text()) == numbers
    assert written["report"].read_text() == result.html()


def test_its_report_lies_with_it_and_where_it_is_wanted(result, tmp_path):
    page = result.report()
    assert page == result.paths["report"] and page.is_file()
    assert all(path.is_file() for path in result.paths.values())
    assert json.loads(result.paths["numbers"].read_text()) == result.to_dict()
    copy = result.report(tmp_path / "deep" / "page.html")
    assert copy == tmp_path / "deep" / "page.html" and copy.read_text() == page.read_text()


def test_its_page_asks_nobody_and_holds_nobodys_markup(result):
    page = result.html()
    assert page.startswith("<!doctype html>") and "default-src 'none'" in page
    assert "<script>alert" not in page and page.count("<script") == 1
    assert not re.search(r'src=|href="(?!#|data:|(?:before/|after/|compare)[\w.]*")', page)


def test_a_notebook_shows_the_page_in_a_frame_of_its_own(result):
    frame = result._repr_html_()
    (content,) = re.findall(r"<iframe sandbox [^>]*srcdoc='([^']*)'></iframe>", frame)
    assert content.startswith("&lt;!doctype html&gt;") and "<script" not in frame


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_it_is_printed_with_the_files_it_is_told_of(result, encoding):
    out = StringIO()
    result.render(Console(file=out, width=100))
    bare = out.getvalue()
    assert bare.strip() and "report:" not in bare
    result.render(Console(file=out, width=100), {"report": result.paths["report"]})
    assert f"report: {result.paths['report']}" in out.getvalue()


def test_a_found_trigger_stands_for_its_file(folder):
    found = a_trigger(folder)
    assert (found.ids, found.mode, found.effect["sentence"]) == ((5, 6), "induce", "It fell by half.")
    assert eh.mitigations.load_mitigation(f"trigger={found.path}").parameters()["text"] == WICKED
    with pytest.raises(AttributeError, match="FoundTrigger has no colour"):
        _ = found.colour
