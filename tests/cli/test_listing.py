"""Help, lists and cards: all that a newcomer reads first, and what it costs."""

import shlex
import subprocess
import sys

import pytest

import evenhand as eh
from evenhand.catalogue import catalogue

VERBS = [(), ("audit",), ("measure",), ("rescore",), ("agreement",), ("list",), ("show",), ("data",)]
VERBS += [("push",), ("report",), ("compare",), ("check-consistency",), ("debias",)]
VERBS += [("data", verb) for verb in ("list", "fetch", "build")]
KINDS = ("benchmarks", "suites", "models", "classifiers", "mitigations", "methods", "measures", "datasets")
HEAVY = ("torch", "transformers", "altair", "scipy.stats", "jinja2", "vl_convert", "pydantic")
HEAVY += ("evenhand.schema.files", "hashlib")


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_every_verb_explains_itself(evenhand, verb, flag):
    ended = evenhand(*verb, flag)
    assert ended.code == 0
    ended.says("Usage: evenhand", *verb)
    assert ended.err == ""


def test_help_names_the_extra_that_training_needs(evenhand):
    evenhand("debias", "--help").says("'evenhand[training]'")


def test_help_names_verbs_and_exit_codes(evenhand):
    evenhand("--help").says("audit", "measure", "list", "show", "data", "130 interrupted", "--version")
    evenhand("audit", "--help").says("--limit", "--axis", "--plan", "--set", "3 finished, but too many rows")


def test_the_columns_of_a_file_are_told_where_a_newcomer_looks(evenhand):
    evenhand("measure", "--help").says(
        "prompt_id", "ROLE_negative", "docs/how-to/measure_your_own_answers.md"
    )
    evenhand("show", "bold").says("`prompt_id`", "`text`", "`prompt`", "`sample`")


def test_the_card_of_a_benchmark_lists_its_axes(evenhand):
    evenhand("show", "regard").says("Axes: gender_and_sex, race_ethnicity, sexual_orientation")
    evenhand("show", "evenhand-likelihood").says("socioeconomic_class")
    evenhand("show", "names").says("gender, gender and race")


@pytest.mark.parametrize("called", ["people:labels.jsonl", "people=labels.jsonl?negative=yes", "people:FILE"])
def test_a_classifier_of_a_file_shows_the_card_of_all_such_files(evenhand, called):
    told = evenhand("show", called)
    assert told.code == 0
    told.says("people:FILE", "votes=majority")
    evenhand("show", "scores:old.csv?threshold=0.5").says("scores:FILE", "threshold")
    evenhand("show", "peoples:labels.jsonl").refused(2, "Unknown card: 'peoples:labels.jsonl'")


def starting_commands(shown):
    """Return the arguments of the commands that `evenhand` without arguments shows."""
    return [shlex.split(line.split(":", 1)[1])[1:] for line in shown.out.splitlines() if ":  " in line]


def test_without_arguments_three_commands_are_shown(evenhand):
    shown = evenhand()
    assert shown.code == 2
    shown.says("All commands: evenhand --help")
    assert max(map(len, shown.out.splitlines())) <= 80
    assert [command[0] for command in starting_commands(shown)] == ["audit", "measure", "compare"]


@pytest.mark.slow
def test_the_three_commands_work(evenhand, tmp_path):
    audit, measure, compare = starting_commands(evenhand())
    for folder in compare[1:]:
        assert evenhand(*audit, "-b", "evenhand-likelihood", "--limit", "20", "-o", folder).code == 0
    assert evenhand(*compare).code == 0
    (tmp_path / measure[1]).write_text("who,pay\n" + "anna,3\nberta,4\nanna,5\nberta,2\n" * 10)
    measured = evenhand(*measure)
    assert measured.code == 0
    measured.says("who")


def test_the_version_is_the_package_s(evenhand):
    import evenhand as package

    assert evenhand("--version").out == f"evenhand {package.__version__}\n"


def test_help_costs_nothing(shell):
    code = (
        "import sys; sys.argv = ['evenhand', '--help']\n"
        "from evenhand.cli.app import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"print('heavy:', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.rstrip().endswith("heavy: []")
    light = "import sys, evenhand; print([n for n in %r if n in sys.modules])" % (HEAVY,)  # noqa: UP031
    told = subprocess.run([sys.executable, "-c", light], capture_output=True, text=True, check=True).stdout
    assert told == "[]\n"
    assert shell("--help").stdout.strip().startswith("Usage: evenhand")


@pytest.mark.parametrize("kind", KINDS)
def test_lists_name_everything_in_one_line_each(evenhand, kind):
    ended = evenhand("list", kind)
    assert ended.code == 0
    cards = catalogue(kind)
    assert cards
    for name, card in cards.items():
        ended.says(name, card.summary)


@pytest.mark.parametrize(("kind", "name"), [(k, n) for k in KINDS for n in catalogue(k)])
def test_every_name_that_is_listed_has_a_card(evenhand, kind, name):
    ended = evenhand("show", name)
    assert ended.code == 0
    card = catalogue(kind)[name]
    ended.says(card.name, card.summary, *(part for part in (card.ideal, card.null) if part))


def test_a_card_says_what_the_number_cannot(evenhand):
    evenhand("show", "crows-pairs").says("critique", "Blodgett", "licence", "CC BY-SA 4.0", "citation")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("show", "crow-pairs"), ("Unknown card: 'crow-pairs'", "Did you mean", "crows-pairs")),
        (("list", "benchmark"), ("Unknown kind: 'benchmark'", "Did you mean 'benchmarks'")),
        (("list",), ("Missing argument",)),
        (("audti", "gpt2"), ("No such command 'audti'", "audit")),
        (("audit", "gpt2", "--limits", "3"), ("No such option", "--limits")),
    ],
)
def test_a_slip_of_the_pen_is_answered_with_what_there_is(evenhand, arguments, parts):
    evenhand(*arguments).refused(2, *parts)


def test_a_reader_who_has_seen_enough_is_no_error():
    command = f"{sys.executable} -m evenhand list measures | head -n 1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert done.returncode == 0
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("kind", "name", "shown"),
    [
        ("classifiers", "vader", "vader"),
        ("mitigations", "prefix", "prefix=TEXT"),
        ("mitigations", "instruction", "prefix=TEXT"),
        ("benchmarks", "stereoset", "stereoset"),
        ("suites", "quick", "quick"),
    ],
)
def test_a_package_that_claims_our_name_disturbs_only_those_who_use_it(
    evenhand, installed, kind, name, shown
):
    installed("greedy", f"evenhand.{kind}", {name: "json:loads"})
    listed = evenhand("list", kind)
    assert listed.code == 0
    listed.says(shown, "Cannot be used: 2 packages contain a", "evenhand, greedy")
    evenhand("show", shown).says(shown)
    assert evenhand("show", "crows_pairs").code == 0
    assert "Cannot be used" not in evenhand("list", "measures").out


def test_a_module_that_leaves_while_it_is_imported_does_not_end_the_list(
    evenhand, installed, tmp_path, monkeypatch
):
    (tmp_path / "leaving_listing.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.syspath_prepend(tmp_path)
    installed("leaving", "evenhand.classifiers", {"leaves": "leaving_listing:X"})
    listed = evenhand("list", "classifiers")
    assert listed.code == 0
    listed.says("leaves", "Cannot be used", "vader")


@pytest.mark.parametrize(
    "line",
    [
        ("audit", "puppet/uniform", "--seed", "-5"),
        ("compare", "a", "b", "--seed", "-5"),
        ("measure", "a.csv", "--seed", "-5"),
        ("search-instruction", "puppet/uniform", "--seed", "-5"),
        ("data", "build", "advpromptset", "--seed", "-5"),
        ("audit", "puppet/uniform", "--set", "seed=-5"),
    ],
)
def test_a_negative_seed_is_refused_before_anything_is_asked(evenhand, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = evenhand(*line)
    assert ended.code == 2 and "seed" in ended.err and "0" in ended.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("old", "new"), [("check", "check-consistency"), ("revise", "search-instruction")])
def test_verbs_that_were_renamed_are_refused_with_their_names(evenhand, old, new):
    evenhand(old, "anything").refused(2, f"was renamed to `evenhand {new}`")
    with pytest.raises(AttributeError, match=new.replace("-", "_")):
        getattr(eh, old)


def test_no_file_is_written_over_another_of_the_same_line(evenhand, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("who,verdict\nx,bad\n")
    line = ("measure", "a.csv", "--column", "who=group", "--column", "verdict=label", "--negative", "bad")
    evenhand(*line, "--fail-if", "biased", "--junit", "a.csv").refused(
        2, "--junit a.csv", "would overwrite another file that this command reads or writes"
    )
    evenhand(*line, "--junit", "x", "--summary=./x").refused(
        2, "would overwrite another file that this command reads or writes"
    )
    assert (tmp_path / "a.csv").read_text().startswith("who")
