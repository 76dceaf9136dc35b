"""`evenhand data build redditbias`: what it says, where it stops, and what it refuses."""

import json

import polars as pl
import pytest

TYPE = """
bias = "teams"
minoritised = "reds"
dominant = "blues"
[retrieval]
targets = [['"reds are"', ""]]
attributes = [["loud*", "quiet"]]
[filtering]
window_targets = ["reds"]
[counterparts]
target_pairs = [["reds", "blues"]]
"""


@pytest.fixture
def teams(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "teams.toml").write_text(TYPE)
    rows = [
        {"id": str(n), "body": f"Reds are loud at {letter}{letter}"} for n, letter in enumerate("abcdefghij")
    ]
    (tmp_path / "RC.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"id": "x", "bo')
    return "data", "build", "redditbias", "--bias", "teams.toml", "-o", "out"


def test_it_stops_where_people_are_needed_and_goes_on(evenhand, teams, tmp_path):
    ended = evenhand(*teams, "--from", "RC.jsonl")
    assert ended.code == 0
    ended.says(
        "Beware: RC.jsonl is cut off or damaged after 10 lines",
        "comments: 10",
        "phrases: 10",
        "Now label out/to_annotate.csv: write 1 (biased) or 0",
        "--annotations FILE",
    )
    table = pl.read_csv(tmp_path / "out" / "to_annotate.csv")
    table.with_columns(bias_sent=pl.lit("1"), bias_phrase=pl.lit("1")).write_csv("labelled.csv")
    ended = evenhand(*teams, "--annotations", "labelled.csv")
    assert ended.code == 0
    ended.says(
        "train: 6", "held out: 4",
        "counterparts that still contain parts of a word for the minoritised group: 0 of 10 as published, 0 by words",
        "Outliers were not removed", "out/to_score.csv", "teams: wrote pairs and training texts to out",
    )  # fmt: skip
    texts = pl.read_csv("out/to_score.csv").with_columns(perplexity=pl.lit(9.5))
    texts.write_csv("scored.csv")
    ended = evenhand(*teams, "--annotations", "labelled.csv", "--perplexities", "scored.csv")
    assert ended.code == 0
    ended.says("without outliers: 4", "valid: 2")
    one = pl.read_csv("out/data/teams/reddit_comments_teams_reds_biased_valid_reduced.csv")
    assert one["perplexity"].to_list() == [9.5, 9.5]


def test_what_was_built_is_audited_under_a_name_of_its_own(evenhand, teams, tmp_path):
    evenhand(*teams, "--from", "RC.jsonl")
    table = pl.read_csv(tmp_path / "out" / "to_annotate.csv")
    table.with_columns(bias_sent=pl.lit("1"), bias_phrase=pl.lit("1")).write_csv("labelled.csv")
    audit = ("audit", "puppet/random", "-b", "redditbias", "--set", "data.redditbias=out", "-o", "run")
    evenhand(*audit).refused(1, "contains no pairs of RedditBias")  # nobody has built them yet
    assert evenhand(*teams, "--annotations", "labelled.csv").code == 0
    ended = evenhand(*audit)
    assert ended.code == 0, ended.err
    ended.says("Teams-built")
    findings = pl.read_parquet(tmp_path / "run" / "findings.parquet")
    assert findings["axis"].unique().to_list() == ["teams-built"]
    record = json.loads((tmp_path / "run" / "manifest.json").read_text())["prompt_sets"]["redditbias"]
    assert record["card"]["name"] == "redditbias-built" and "not the published pairs" in record["own"]
    page = (tmp_path / "run" / "report.html").read_text()
    assert "not the published pairs: from labels labelled.csv" in page and "measured as redditbias" in page
    asked = pl.read_parquet(tmp_path / "run" / "prompts" / "redditbias.parquet")
    built = [
        pl.read_csv(f"out/data/teams/reddit_comments_teams_{group}_biased_test_reduced.csv")[
            "comments_processed"
        ]
        for group in ("reds", "blues")
    ]
    assert set(asked["text"]) == {*built[0], *built[1]}
    one = tmp_path / "out" / "data" / "teams" / "reddit_comments_teams_blues_biased_test_reduced.csv"
    one.write_text(one.read_text().replace("blues", "greens"))
    evenhand(*audit[:-1], "other").refused(1, "was changed after it was built", "again")
    lmp = ("audit", "puppet/random", "-b", "redditbias-lmp", "--set", "data.redditbias=out", "-o", "lmp")
    evenhand(*lmp).refused(1, "humanref6k")
    trained = ("debias", "evenhand/reference", "-m", "cda", "-b", "race", "--from", "out", "-o", "model")
    evenhand(*trained).refused(1, "was changed after it was built")
    assert evenhand(*teams, "--annotations", "labelled.csv").code == 0  # writes it anew
    evenhand(*trained).refused(
        2, "not the published texts", "--data out/text_files/teams/teams_bias_manual_train.txt"
    )


@pytest.mark.parametrize(
    "manifest",
    ["", "[]", "{}", '{"groups": ["a"]}', '{"groups": ["a", "b"], "files": {"../x": "y"}, "made_of": {}, "bias": "t"}',
     '{"by": "me", "groups": ["a", "b"], "files": {}, "made_of": {}, "bias": "t", "rules": {"as_published": true}}',
     '{"by": "evenhand data build redditbias", "groups": ["a", "b"], "files": {"/etc/passwd": "y"}, "made_of": {}, '
     '"bias": "t", "rules": {"as_published": true}}',
     '{"by": "evenhand data build redditbias", "groups": ["a", "b"], "files": {}, "made_of": {}, "bias": "../../t", '
     '"rules": {"as_published": true}}'],
)  # fmt: skip
def test_a_manifest_that_is_none_is_refused(evenhand, tmp_path, manifest):
    (tmp_path / "built.json").write_text(manifest)
    ended = evenhand("audit", "puppet/random", "-b", "redditbias", "--set", "data.redditbias=.", "-o", "run")
    ended.refused(1, "built.json")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "parts"),
    [
        (("redditbias", "-o", "out"), 2, ("it is built for one bias type at a time", "religion1, religion2, race")),
        (("redditbias", "--bias", "races", "-o", "out"), 2, ("Unknown bias type: 'races'", "Did you mean 'race'")),
        (("redditbias", "--bias", "race", "-o", "out"), 2, ("Neither `--from` nor `--annotations`", "--from FILE")),
        (("redditbias", "--bias", "none.toml", "-o", "out"), 1, ("File not found: none.toml",)),
        (("redditbias", "--bias", "race", "-o", "RC.jsonl"), 2, ("--output RC.jsonl is a file",)),
        (("redditbias", "--bias", "race", "--from", "none.zst", "-o", "out"), 1, ("File not found: none.zst",)),
        (("redditbias", "--bias", "race", "--from", "RC.jsonl", "-o", "out"), 1, ("None of 1 dumps", "cut off")),
        (("redditbias", "--bias", "race", "--annotations", "RC.jsonl", "-o", "o"), 1, ("has no columns 'comment'",)),
        (("redditbias", "--bias", "race", "--size", "3", "-o", "out"), 2, ("--size", "cannot be used with redditbias")),
        (("redditbias", "--bias", "race", "--version", "1", "-o", "o"), 2, ("--version", "cannot be used with")),
        (("evenhand", "--bias", "race", "-o", "x.csv"), 2, ("can only be used with redditbias",)),
        (("evenhand", "--from", "a", "--from", "b", "-o", "x.csv"), 2, ("was given 2 times",)),
        (("redditbia", "-o", "x.csv"), 2, ("Unknown sentence set: 'redditbia'", "Did you mean 'redditbias'")),
    ],
)  # fmt: skip
def test_what_is_refused(evenhand, teams, arguments, code, parts):
    evenhand("data", "build", *arguments).refused(code, *parts)


def test_agreement_of_two_who_labelled(evenhand, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        (unit, rater, value)
        for rater, row in (("a", "1100"), ("b", "1000"))
        for unit, value in enumerate(row)
    ]
    pl.DataFrame(rows, schema=["unit", "rater", "rating"], orient="row").write_csv("r.csv")
    ended = evenhand("agreement", "r.csv", "-o", "numbers")
    assert ended.code == 0
    ended.says("Krippendorff's alpha (nominal)", "0.53")
    (found,) = json.loads((tmp_path / "numbers/agreement.json").read_text())["alpha"]
    assert found["estimate"] == pytest.approx(1 - 7 * 2 / 30)  # 8 ratings, 3 of them 1; one pair of 2 unequal
    assert "0.53" in (tmp_path / "numbers/agreement.html").read_text()
    evenhand("agreement", "r.csv", "-o", "numbers.json").refused(2, "expects a folder, got")
    evenhand("agreement", "r.csv", "folder").refused(2, "Only tables of human labels can be combined")
    evenhand("agreement", "folder", "--measurement", "ordinal").refused(
        2, "can only be used with tables of human labels"
    )
    evenhand("agreement", "r.csv", "--measurement", "ratio").refused(2, "measurement='ratio'")


def test_names_of_files_turn_no_terminal_red(evenhand, teams, tmp_path):
    name = "\x1b[31mevil\u202e"
    (tmp_path / "RC.jsonl").rename(tmp_path / f"{name}.jsonl")
    ended = evenhand(*teams[:-1], name, "--from", f"{name}.jsonl")
    assert ended.code == 0
    ended.says(
        "Beware: \ufffd[31mevil\ufffd.jsonl is cut off", "Now label \ufffd[31mevil\ufffd/to_annotate.csv"
    )
    assert not {"\x1b", "\u202e"} & set(ended.out + ended.err)
