"""`evenhand check-consistency`: the checklist in the terminal, the page, going on with a study, and wrong calls."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from evenhand.studies.consistency.level_runs import level_runs


@pytest.fixture
def files(tmp_path):
    """Prompts to which the house's writer answers rudely one time in three, on purpose."""
    for name, kinds in {"wild.csv": ("red", "blue", "blue"), "calm.csv": ("blue", "blue", "red")}.items():
        rows = [
            {"prompt_id": f"{name}-{i}", "text": f"In case {i} my {kinds[i % 3]}-haired neighbour"}
            for i in range(60)
        ]
        pl.DataFrame(rows).write_csv(tmp_path / name)
    return ("--prompts", tmp_path / "wild.csv", "--neutral", tmp_path / "calm.csv")


METHOD = ("check-consistency", "instructive-debiasing", "--model", "house/writer", "--groups", 1)
JUDGE = ("--classifier", "rudeness=house/words")


def test_a_check_prints_the_checklist_and_writes_page_numbers_and_tables(evenhand, judged_house, files):
    ended = evenhand(*METHOD, *files, *JUDGE, "-o", "study")
    assert ended.code == 0, ended.err
    ended.says(
        "instructive-debiasing on house/writer: is it consistent?",
        "60 adversarial and 60 neutral",
        "3 beams, 20",
        "1 wording on 60 prompts per domain",
        "words/rude: rudeness",
        "Undecided: effect needs more data on adversarial and neutral prompts",
        "effect not decided not decided",
        "polarity not applicable not applicable",
        "no effect to explain",
        "transfer not applicable",
        "prompts would give 80% power.",
        "Harmful continuations, neutral prompts",
        "default (no method) 33.33",
    )
    written = json.loads(Path("study/consistency.json").read_text())
    # the writer takes no notice of what stands in front of a prompt: nothing changes, and nothing is invented
    assert {row["change"] for row in written["table"] if row["level"] != "default"} == {0.0}
    assert {one["outcome"] for one in written["decisions"] if one["rule"] == "tested"} == {
        "not decided",
        "not applicable",
    }
    assert [row["text"] for row in written["wordings"]][-1] == "Be for: "
    page = Path("study/consistency.html").read_text()
    assert "effect needs more data on adversarial and neutral prompts" in page
    assert {path.stem for path in Path("study").glob("*.parquet")} == {
        "table", "boundaries", "nonsense", "decisions", "wordings", "scores"
    }  # fmt: skip
    assert len(list(Path("study/levels").iterdir())) == 10


def test_the_folder_goes_on_and_takes_another_rule_and_judge_without_asking(evenhand, judged_house, files):
    evenhand(*METHOD, *files, *JUDGE, "-o", "study")
    shutil.rmtree("study/levels/neutral-blank")
    again = evenhand("check-consistency", "study")
    assert again.code == 0 and again.err.count("requests to process") == 1
    assert "neutral prompts, blank (10 of 10)" in again.err
    other = evenhand(
        "check-consistency", "study", "--rule", "strict", "--classifier", "meanness=house/words?word=mean"
    )
    assert other.code == 0 and "requests to process" not in other.err
    other.says("rule strict", "words/mean: meanness", "Not consistent")
    evenhand("check-consistency", "study", "--seed", 3).refused(
        2, "seed: stored 0, given now 3", "Start another study with -o"
    )
    evenhand(*METHOD, *JUDGE, "--neutral", "none", "--prompts", files[1], "-o", "study").refused(
        2, "neutral: stored"
    )


def test_a_study_from_before_there_was_chat_goes_on(evenhand, judged_house, files):
    evenhand(*METHOD, *files, *JUDGE, "-o", "study")
    record = Path("study/study.json")
    content = json.loads(record.read_text())
    assert {name: content["options"].pop(name) for name in ("chat", "system")} == {
        "chat": False,
        "system": None,
    }
    record.write_text(json.dumps(content))
    again = evenhand("check-consistency", "study")
    assert again.code == 0 and "requests to process" not in again.err


def test_a_plan_runs_nothing_and_shows_every_wording(evenhand, judged_house, files):
    ended = evenhand(*METHOD, *files, *JUDGE, "--plan", "--opposite", "Be horrid for: ", "-o", "study")
    assert ended.code == 0 and not Path("study").exists()
    ended.says(
        "nothing has been run",
        "600",
        "'Be horrid for: '",
        "'Be uf a;wo 3; na;o8d ;n3oi8ue o8 fypaoh3fkjnef for: '",
        "changes from 18.4",
    )
    lacking = evenhand("check-consistency", "prefix=Be kind.", *METHOD[2:], *files, *JUDGE, "--plan")
    lacking.says("No level opposite", "--opposite TEXT")


def test_a_plan_of_many_wordings_makes_no_requests_of_them(evenhand, judged_house, files, monkeypatch):
    planned = []

    def counting(path, model, levels, *rest):
        planned.extend(level.key for level in levels)
        return level_runs(path, model, levels, *rest)

    monkeypatch.setattr("evenhand.studies.consistency.plan.level_runs", counting)
    ended = evenhand(*METHOD[:-1], 500, *files, *JUDGE, "--plan")
    assert ended.code == 0, ended.err
    ended.says("nonsensical (500 wordings)", f"{2 * 60 * 504:,}")  # four levels beside them
    assert planned == ["default", "original"]


def test_texts_that_cannot_be_judged_end_with_three(evenhand, judged_house, files):
    ended = evenhand(*METHOD, *files, "--classifier", "house/words?unsure=true", "-o", "study")
    assert ended.code == 3
    ended.says("of the texts could not be classified at the level default", "more than the threshold allows")


@pytest.mark.parametrize(
    ("arguments", "code", "parts"),
    [
        (
            ("check-consistency", "selfdebiasing", "--model", "house/writer"),
            2,
            ("Unknown mitigation", "Known: "),
        ),
        (("check-consistency", "instructive-debiasing"), 2, ("Missing option: model", "--model gpt2")),
        ((*METHOD, "--classifier", "toxicity=vadr"), 2, ("Unknown classifier: 'vadr'", "'vader'")),
        ((*METHOD, "--classifier", "toxicity="), 2, ("the classifier is missing",)),
        (
            (*METHOD, "--classifier", "house/words?word=absent"),
            1,
            ("Cannot load the classifier", "--classifier NAME"),
        ),
        (METHOD, 1, ("PERSPECTIVE_API_KEY", "--classifier NAME")),
        (
            (*METHOD, *JUDGE),
            1,
            ("prompts come from RealToxicityPrompts, which is not", "data fetch", "--neutral FILE"),
        ),
        (
            (*METHOD, *JUDGE, "--prompts", "wild.csv"),
            2,
            ("but no neutral prompts to test the transfer of the", "--neutral none"),
        ),
        ((*METHOD, *JUDGE, "--prompts", "no.csv", "--neutral", "none"), 1, ("File not found", "no.csv")),
        ((*METHOD, *JUDGE, "--data", "folder"), 2, ("`--data` expects name=folder",)),
        ((*METHOD, *JUDGE, "--rule", "kind"), 2, ("rule: expected '",)),
        (
            (*METHOD, *JUDGE, "--groups", 100_000_000_000, "--plan"),
            2,
            ("groups: must be at most 1,000, got 100,000,000,000",),
        ),
        ((*METHOD, *JUDGE, "--margin", "0"), 2, ("margin: must be greater than 0, got 0.0",)),
        (
            ("check-consistency", "empty", "--model", "house/writer"),
            2,
            ("does not contain a consistency study",),
        ),
    ],
    ids=lambda value: " ".join(map(str, value))[-40:] if isinstance(value, tuple) else None,
)
def test_wrong_calls_say_what_is_wrong(evenhand, judged_house, files, monkeypatch, arguments, code, parts):
    monkeypatch.delenv("PERSPECTIVE_API_KEY", raising=False)
    Path("empty").mkdir()
    evenhand(*arguments).refused(code, *parts)
    assert not Path("runs").exists()


def test_a_study_is_not_written_over_something_else(evenhand, judged_house, files):
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("keep")
    evenhand(*METHOD, *files, *JUDGE, "-o", "mine").refused(2, "exists and is not the folder of")
    assert [path.name for path in Path("mine").iterdir()] == ["notes.txt"]


@pytest.mark.browser
def test_the_page_is_silent_offline_and_never_scrolls_sideways(evenhand, judged_house, files, chromium):
    evenhand(*METHOD, *files, *JUDGE, "-o", "study")
    for width in (400, 1280):
        page = chromium.new_page(viewport={"width": width, "height": 900})
        heard, asked = [], []
        page.on("console", lambda message, heard=heard: heard.append(message.text))
        page.on("pageerror", lambda error, heard=heard: heard.append(str(error)))
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto(Path("study/consistency.html").absolute().as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert heard == [] and [url for url in asked if not url.startswith(("file:", "data:"))] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
