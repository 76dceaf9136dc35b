"""An audit of own prompts names the group that a model answers worse, and nobody where it answers all alike."""

import hashlib
from pathlib import Path

import polars as pl
import pytest

import evenhand as eh
from evenhand.models.puppets import Puppet, writes
from evenhand.prompts.counterfactual.vocabulary import names_by_origin
from evenhand.reports.verdict_summary import headlines

EXAMPLE = str(Path(__file__).parents[3] / "examples" / "application_prompts.csv")
ARABIC = {name for pair in names_by_origin()["arabic"] for name in pair}
WARM, COLD = " I recommend them warmly, great and reliable.", " I cannot recommend them, an awful experience."


def drawn(*words: object) -> float:
    """Evenly between 0 and 1, the same for the same words."""
    return int(hashlib.sha256(repr(words).encode()).hexdigest()[:8], 16) / 2**32


def writer(seed: int, planted: float = 0.0, by_name: float = 0.0) -> Puppet:
    """Answers a fifth of all requests coldly, and more of those that hold an Arabic first name.

    by_name: how far single names are answered otherwise, up or down, whatever their origin.
    """
    known = {name for pairs in names_by_origin().values() for pair in pairs for name in pair}

    def say(prompt: str, sample: int) -> str:
        names = {word.strip(".,:?'") for word in prompt.replace("'s", "").split()} & known
        cold = 0.3 + planted * bool(names & ARABIC) + by_name * sum(drawn(seed, name) - 0.5 for name in names)
        return COLD if drawn(seed, prompt, sample) < cold else WARM

    return writes(say, name=f"puppet/applications-{seed}")


def audited(model: Puppet, folder: Path, axes: tuple[str, ...] = ("name",), **options) -> eh.Run:
    return eh.audit(model, prompts=EXAMPLE, counterfactual=axes, output=folder / "run", **options)


def biased(run: eh.Run) -> set[tuple[str, str]]:
    found = run.findings.filter(pl.col("group").is_null() & (pl.col("verdict") == "biased"))
    return set(found.select("measure", "axis").rows())


def test_the_planted_first_names_are_named_in_the_first_sentence(tmp_path: Path) -> None:
    axes = ("gender", "name:english/arabic/latino")
    run = audited(writer(1, planted=0.35), tmp_path, axes=axes, outcomes=("length",))
    (_, first), *_ = headlines(run.view(), "counterfactual")
    assert first.startswith("Name (tone) — biased. Treated worse than the other two groups: Arabic names (")
    assert ("disparity", "name") in biased(run) and ("disparity", "gender") not in biased(run)
    responses = run.responses("counterfactual")
    assert {"prompt_id", "base", "axis", "group", "text", "original", "sample", "continuation"} <= set(
        responses.columns
    )
    assert set(responses["sample"]) == {0, 1} and responses["setting"].null_count() == 0


def test_a_number_that_is_asked_for_is_read_and_compared(tmp_path: Path) -> None:
    """Three points of ten less for Arabic names, whatever the prompt."""

    def rate(prompt: str, sample: int) -> str:
        less = 3 * any(name in prompt for name in ARABIC)
        return f" I give it {8 - less - round(drawn(prompt, sample))} out of 10."

    axes = ("name:english/arabic/latino",)
    run = audited(writes(rate), tmp_path, axes=axes, outcomes=("rating:1-10",), samples=1)
    row = run.findings.filter(measure="score_difference", group="Arabic names").row(0, named=True)
    assert (row["verdict"], row["stratum"]) == ("biased", "rating:1-10")
    assert -3.4 < row["estimate"] < -2.6
    assert "disparity" not in {measure for measure, _ in biased(run)}


def test_groups_of_too_few_prompts_are_not_measurable(tmp_path: Path) -> None:
    run = audited(writer(1, planted=0.9), tmp_path, axes=("name:english/arabic",), limit=40)
    assert set(run.findings["verdict"]) == {"not measurable"}
    expected = "name: English names, Arabic names cannot be measured: each group needs 10 prompts"
    assert run.view().left_out[0].startswith(expected)


@pytest.mark.slow
@pytest.mark.parametrize("by_name", [0.0, 0.4])
def test_without_a_planted_preference_nothing_is_found_beyond_the_stated_error(
    tmp_path: Path, by_name: float
) -> None:
    """In 50 audits, of 5 % each, 7 or fewer with a finding have a probability of .98; single names may be preferred."""
    axes = ("name:english/arabic/latino",)
    audits = (audited(writer(seed, by_name=by_name), tmp_path / str(seed), axes) for seed in range(50))
    found = [biased(run) for run in audits]
    assert sum(map(bool, found)) <= 7


def test_a_sentence_that_can_say_nothing_says_of_what(tmp_path):
    """Other sentences on the same axis stand beside it, which may say something."""
    prompts = tmp_path / "mine.txt"
    prompts.write_text("\n".join(f"{{name}} is number {place}. {{Pronoun}} left." for place in range(12)))
    mute = writes(lambda prompt, sample: "")
    run = eh.audit(mute, prompts=str(prompts), counterfactual=("gender",), output=tmp_path / "run")
    told = run.tables()["headlines"].filter(measure="disparity")["sentence"].to_list()
    assert told and all(" (tone) — not measurable: " in sentence for sentence in told)
