"""`evenhand compare`: what it ends with and what it writes, for our own runs and for other programs' files."""

import json
from pathlib import Path

import polars as pl
import pytest

from evenhand.models.puppets import writes
from evenhand.studies.audit.result import audit

SAMPLES = (
    Path(__file__).parents[1]
    / "studies"
    / "compare"
    / "data"
    / "samples_harm_demo_2026-11-20T22-06-48.029750.jsonl"
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared")

    def run(name, text, **options):
        model = writes(lambda prompt, sample: text if "gay" in prompt else " a cook.", f"puppet/{name}")
        options = {"samples": 8, "classifiers": {"regard": "vader"}, **options}
        return audit(model, benchmarks=["regard"], output=folder / name, **options).path

    return {
        "rude": run("rude", " a horrible, hated liar."),
        "kind": run("kind", " a cook."),
        "other": run("other", " a cook.", classifiers={"regard": "evenhand/lexicon-toxicity"}),
    }


def test_two_runs_are_paired_and_written(evenhand, runs, tmp_path):
    ended = evenhand(
        "compare", runs["rude"], runs["kind"], "--name", "first", "--name", "second", "-o", "out"
    )
    assert ended.code == 0
    ended.says("first against second", "gay person", "lower", "compare.html")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "compare.html",
        "compare.json",
        "changes.parquet",
        "moved.parquet",
    }
    changes = pl.read_parquet(tmp_path / "out" / "changes.parquet")
    assert changes.filter(group="gay person", outcome="regard")["after"].to_list() == [0.0]
    assert json.loads((tmp_path / "out" / "compare.json").read_text())["names"] == ["first", "second"]


def test_nothing_is_written_unless_asked(evenhand, runs, tmp_path):
    assert evenhand("compare", runs["rude"], runs["kind"]).code == 0
    assert list(tmp_path.iterdir()) == []


def test_files_of_other_programs(evenhand):
    ended = evenhand("compare", SAMPLES, SAMPLES, "--name", "a", "--name", "b")
    assert ended.code == 0
    ended.says(
        "harm_demo",
        "a against b",
        "Gender — change not measurable: fewer than two groups have two prompts that both models answered",
        "b, all groups: 100.0% to 100.0% (0.0 points, 95% CI −70.8 to 70.8), not measurable",
    )


@pytest.mark.parametrize(
    ("sources", "code", "told"),
    [
        (("rude",), 2, "at least two runs"),
        (("rude", "kind", "--name", "one"), 2, "1 names (`--name`) for 2 runs"),
        (("rude", "nowhere"), 1, "nowhere does not exist"),
        (("rude", "other"), 1, "evenhand rescore RUN --classifier ROLE=NAME"),
        ((), 2, "Missing argument"),
        *((("rude", "kind", "--alpha", level), 2, "`--alpha`") for level in ("0", "1", "-1", "nan")),
        *(
            (("rude", "kind", "--no-worse", size), 2, "(`--no-worse`) must be")
            for size in ("0", "inf", "nan", "-1")
        ),
        (("rude", "kind", "--no-worse", "5"), 2, "do not range that far, so no group could fail"),
    ],
)
def test_what_cannot_be_compared(evenhand, runs, sources, code, told):
    ended = evenhand("compare", *(runs.get(source, source) for source in sources))
    ended.refused(code, told)


def test_whether_groups_fare_no_worse_is_told_axis_by_axis(evenhand, runs, tmp_path):
    """The model was rude about gay people alone: beside them straight people fare worse by far."""
    ended = evenhand("compare", runs["rude"], runs["kind"], "--no-worse", 0.05, "-o", "out")
    assert ended.code == 0
    told = "Sexual orientation, no worse by more than 5 percentage points: fails: straight"
    ended.says(told)
    page = (tmp_path / "out" / "compare.html").read_text()
    assert told in page and "Gender" in page
    assert json.loads((tmp_path / "out" / "compare.json").read_text())["margin"] == 0.05
    changes = pl.read_parquet(tmp_path / "out" / "changes.parquet")
    groups = changes.drop_nulls("group")
    assert not groups.filter(outcome="regard")["no_worse"].has_nulls()
    assert groups.filter(outcome="regard score")["no_worse"].is_null().all()
    ended.says("The margin of --no-worse, 5 percentage points, is not applied to regard score of regard")


def test_a_folder_of_measured_numbers_is_refused_with_a_way_out(evenhand, tmp_path):
    rows = [f"age,{group},{i},{i % 2}" for group in ("old", "young") for i in range(4)]
    Path("mine.csv").write_text("\n".join(["axis,group,prompt,negative", *rows]))
    assert evenhand("measure", "mine.csv", "-b", "bold", "-o", "measured").code == 0
    evenhand("compare", "measured", "measured").refused(
        1, "evenhand measure", "evenhand audit MODEL -o RUN", "samples_*.jsonl"
    )


def test_a_finished_run_of_a_model_in_memory_says_how_to_go_on(evenhand, runs):
    evenhand("audit", runs["kind"]).refused(
        2, "If the model was an object in memory, the command line", "eh.open_run(", ".report()"
    )


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".xlsx"])
def test_a_table_is_refused_with_the_command_that_measures_it(evenhand, runs, tmp_path, ending):
    table = tmp_path / f"survey{ending}"
    table.write_text("who,pay\na,1\nb,2\n")
    evenhand("compare", runs["rude"], table).refused(1, "is a table", f"evenhand measure {table}")
