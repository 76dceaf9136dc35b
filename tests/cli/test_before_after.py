"""`evenhand before-after`, `audit --mitigate`, and what the lists say of mitigations."""

import json

import pytest

from evenhand.runs import RunDirectory

STUDY = ("before-after", "house/writer", "-b", "rudeness", "--mitigate", "prefix=Be kind.", "-o", "study")


@pytest.fixture(autouse=True)
def _known(judged_house):
    """Benchmarks, classifiers and the model of tests/helpers/judged_house.py are there by name."""


def test_one_command_from_model_to_page(evenhand, tmp_path):
    ended = evenhand(*STUDY, "--mitigate", "instruction=respect", "--samples", 3)
    assert ended.code == 0, ended.err
    ended.says(
        "house/writer, before and after prefix=Be kind. and instruction=respect",
        "No change in harm detected", "Neither model gave an empty or refused response",
        "Responses to rudeness", "perplexity of given texts", "tokens written or read, per second",
        "report: study/before_after.html",
    )  # fmt: skip
    study = tmp_path / "study"
    assert {"before_after.html", "before_after.json", "compare.html"} <= {
        path.name for path in study.iterdir()
    }
    after = RunDirectory.open(study / "after").manifest
    assert [link.words for link in after.mitigations] == ["prefix=Be kind.", "instruction=respect"]
    assert after.arguments_given["mitigate"] == ["prefix=Be kind.", "instruction=respect"]
    numbers = json.loads((study / "before_after.json").read_text())
    assert numbers["verdicts"][0]["verdict"] == "not detected"


def test_stopped_it_says_how_to_go_on_and_goes_on(evenhand, tmp_path, judged_house):
    judged_house.WordJudge.stop_after = 2
    evenhand(*STUDY).refused(130, "interrupted", "Resume with: evenhand before-after study")
    judged_house.WordJudge.stop_after = None
    ended = evenhand("before-after", "study")
    assert ended.code == 0, ended.err
    assert (tmp_path / "study" / "before_after.html").is_file()
    evenhand("before-after", "study", "--seed", 4).refused(2, "seed: stored 0, given now 4")
    evenhand("before-after", ".").refused(2, "does not contain a before-after study")


def test_judges_by_role_and_a_model_for_perplexity(evenhand, tmp_path):
    judges = ("--classifier", "house/words?word=mean", "--classifier", "perplexity=puppet/random")
    ended = evenhand(*STUDY, *judges)
    assert ended.code == 0, ended.err
    ended.says("perplexity under a second model")
    manifest = RunDirectory.open(tmp_path / "study" / "after").manifest
    assert set(manifest.judged["rudeness"]) == {"rudeness", "perplexity"}
    assert manifest.arguments_resolved["classifiers"] == {"rudeness": "house/words?word=mean"}


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        (STUDY[:4] + STUDY[-2:], ("`before-after` requires `--mitigate`",)),
        ((*STUDY, "--mitigate", "prefx=Hi"), ("Unknown mitigation: 'prefx'", "'prefix'")),
        ((*STUDY, "--mitigate", "prefix="), ("is empty",)),
        (("audit", "house/writer", "-b", "rudeness", "--mitigate", "nobody"), ("Unknown mitigation: 'nobody'",)),
        ((*STUDY, "--classifier", "malice=vader"), ("Unknown role: 'malice'",)),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_before_anything_is_made(evenhand, tmp_path, command, parts):
    evenhand(*command).refused(2, *parts)
    assert list(tmp_path.iterdir()) == []


def test_an_audit_behind_mitigations_carries_them_in_folder_title_and_manifest(evenhand, tmp_path):
    command = ("audit", "house/writer", "-b", "rudeness", "--mitigate", "prefix=Be kind/polite.")
    assert evenhand(*command).code == 0
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.endswith("_writer+prefix-Be-kind-polite_rudeness")
    assert "house/writer + prefix=Be kind/polite." in (folder / "report.html").read_text()
    manifest = RunDirectory.open(folder).manifest
    assert manifest.mitigations[0].card["name"] == "prefix"
    assert evenhand("audit", f"runs/{folder.name}").code == 0
    evenhand("audit", f"runs/{folder.name}", "--mitigate", "prefix=No.").refused(2, "mitigate")


def test_mitigations_are_listed_with_their_cards(evenhand):
    evenhand("list", "mitigations").says("prefix=TEXT", "instructive-debiasing", "instruction=respect")
    evenhand("show", "instruction=respect").says("critique", "BlenderBot", "speaks of everyone with respect")
    evenhand("show", "instructive-debiasing").says("Morabito")


def test_help_names_every_option_of_an_audit(evenhand):
    told = evenhand("before-after", "--help")
    assert told.code == 0
    told.says("--mitigate", "--classifier", "--suite", "--samples", "--error-threshold", "STUDY_FOLDER")
    assert "--plan" not in told.out


def test_every_flag_of_an_audit_is_an_option_here_too(evenhand, tmp_path):
    ended = evenhand(*STUDY, "--beams", 2)
    assert ended.code == 0, ended.err
    asked = RunDirectory.open(tmp_path / "study" / "after").manifest.asked["rudeness"]
    assert asked.decoding["num_beams"] == 2


@pytest.mark.parametrize("level", ["0", "1", "-1", "nan"])
def test_a_level_that_cannot_be_is_refused(evenhand, level):
    evenhand(*STUDY, "--alpha", level).refused(2, "alpha")
