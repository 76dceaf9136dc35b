"""Automatic prompt revision from prompts to instruction file, on puppets whose harm depends on what they are told."""

import hashlib
import json
import resource
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evenhand.benchmarks.registry import load_benchmark
from evenhand.mitigations.loading import load_mitigation, mitigated
from evenhand.mitigations.prompting.instructions import INSTRUCTIONS
from evenhand.mitigations.revision.searching import NONE
from evenhand.models.contract import text_generator
from evenhand.models.decoding import Decoding
from evenhand.models.puppets import Puppet, writes
from evenhand.prompts.own_files.prompts import read_prompts
from evenhand.prompts.prompt_set import PromptSet
from evenhand.runs.requests import fingerprint_digest
from evenhand.schema import (
    Card,
    DataError,
    Interrupted,
    ModelError,
    ResumeRefused,
    Unsupported,
    UsageError,
    WriteError,
)
from evenhand.studies.audit.options import AuditConfig
from evenhand.studies.search_instruction.conduct import (
    HISTORY_FILE,
    INSTRUCTION_FILE,
    RevisionStudy,
    search_prompts,
)
from evenhand.studies.search_instruction.options import RevisionConfig
from evenhand.studies.search_instruction.record import is_search, stored_search
from evenhand.studies.search_instruction.trials import RevisionPrompts, revision_prompts

HAIR = ("red", "brown", "black")
CALMING = {"dignity": 0.2, "fair": 0.15, "kindness": 0.1}
JUDGE = "evenhand/lexicon-toxicity"
RUDE, KIND = " is a moron.", " is a baker."


def chance(text: str) -> float:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest(), "big") / 2**48


def puppet(
    calming: dict[str, float] = CALMING, asked: list[str] | None = None, stop_after: int | None = None
) -> Puppet:
    """Rude half the time, less for each calming word it has been told; draws from the whole text, as models here do."""

    def say(prompt: str, sample: int) -> str:
        if asked is not None:
            if stop_after is not None and len(asked) >= stop_after:
                raise KeyboardInterrupt
            asked.append(prompt)
        rude = 0.5 - sum(less for word, less in calming.items() if word in prompt)
        return RUDE if chance(f"{sample} {prompt}") < rude else KIND

    return writes(say)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [
        (f"{hair}-{i}", f"In case {i} the {hair}-haired neighbour", "hair", hair)
        for hair in HAIR
        for i in range(120)
    ]
    path = tmp_path_factory.mktemp("prompts") / "mine.csv"
    pl.DataFrame(rows, schema=["prompt_id", "text", "axis", "group"], orient="row").write_csv(path)
    return path


@pytest.fixture(scope="module")
def config(file: Path) -> RevisionConfig:
    audit = AuditConfig(
        model="puppet/writer",
        benchmarks=("toxigen",),
        prompts=str(file),
        classifiers={"toxicity": JUDGE},
        decoding="greedy",
    )
    return RevisionConfig(audit=audit, iterations=3, keep=3, variants=3, subset=60, final=150)


@pytest.fixture(scope="module")
def found(config: RevisionConfig, tmp_path_factory: pytest.TempPathFactory) -> RevisionStudy:
    return search_prompts(config, puppet(), tmp_path_factory.mktemp("search") / "out")


def test_finds_better_instructions_than_the_seeds(found: RevisionStudy) -> None:
    seeds = [one.text for one in INSTRUCTIONS.values()]
    chosen = found.chosen
    assert not any(word in seed for word in CALMING for seed in seeds), (
        "the seeds do nothing, by construction"
    )
    assert any(word in chosen["instruction"] for word in CALMING) and chosen["instruction"] not in seeds
    assert chosen["verdict"] == "lower" and chosen["change_high"] < 0
    truth = -sum(less for word, less in CALMING.items() if word in chosen["instruction"])
    assert chosen["change_low"] <= truth <= chosen["change_high"]
    assert chosen["optimism"] == pytest.approx(chosen["selected_change"] - chosen["change"])
    first = found.history.filter((pl.col("iteration") == 0) & (pl.col("instruction") != NONE))
    assert sorted(first["instruction"]) == sorted(seeds)


def test_the_file_is_a_mitigation_that_says_what_it_changes(found: RevisionStudy) -> None:
    path = found.folder / INSTRUCTION_FILE
    mitigation = load_mitigation(f"instruction-file={path}")
    chosen = found.chosen
    assert mitigation.parameters().items() >= {"text": chosen["instruction"], "delimiter": "\n"}.items()
    card = mitigation.card
    for told in ("puppet/writer", "toxigen", "negative continuations fell by", JUDGE):
        assert told in card.summary + card.construct
    assert (
        "150 prompts not used in the search" in card.details
        and "simultaneous for the 3 finalists" in card.details
    )
    facts = json.loads(path.read_text())["facts"]
    assert facts["with"]["change"] == chosen["change"] and facts["lineage"][-1] == chosen["instruction"]
    model = mitigated(puppet(), [mitigation])
    said = (
        text_generator(model)
        .generate(["In case 0 the red-haired neighbour"], Decoding(max_new_tokens=9))
        .texts
    )
    told = puppet().generate(
        [f"{chosen['instruction']}\nIn case 0 the red-haired neighbour"], Decoding(max_new_tokens=9)
    )
    assert said == told.texts


def test_a_model_that_ignores_instructions_is_not_improved(config: RevisionConfig, tmp_path: Path) -> None:
    small = config.model_copy(update={"iterations": 2})
    found = search_prompts(small, puppet({}), tmp_path / "out")
    assert found.chosen["verdict"] == "not detected"
    assert found.chosen["change_low"] < 0 < found.chosen["change_high"]
    assert "no change was detected" in found.instruction.card.summary
    assert found.chosen["minimum_detectable"] > 0


def test_the_same_prompts_for_all_of_a_round_new_ones_each_round_and_others_for_the_choice(
    found: RevisionStudy,
) -> None:
    used: dict[str, set[frozenset[str]]] = {}
    for path in (found.folder / "trials").glob("*.parquet"):
        trial = pl.read_parquet(path)
        used.setdefault(path.name.rsplit("-", 1)[0], set()).add(frozenset(trial["prompt_id"]))
        assert trial["prompt_id"].str.extract(r"(\w+)-").value_counts()["count"].unique().len() == 1, (
            "balanced"
        )
    assert {name: len(sets) for name, sets in used.items()} == {
        "final": 1, "round-000": 1, "round-001": 1, "round-002": 1, "round-003": 1,
    }  # fmt: skip
    sets = {name: next(iter(one)) for name, one in used.items()}
    assert len(set(sets.values())) == 5
    assert all(not sets["final"] & one for name, one in sets.items() if name != "final")


def test_the_instruction_itself_is_never_judged(config: RevisionConfig, tmp_path: Path) -> None:
    class Listening:
        labels = ("harmless", "harmful")
        reads_context = True
        fingerprint = {"name": "listening"}
        heard: list[str | None] = []

        def describe(self) -> dict[str, Any]:
            return {}

        def classify(self, texts: Any, contexts: Any = None) -> Any:
            from evenhand.classifiers.loading import load_classifier

            self.heard += [*texts, *(contexts or [])]
            judged = load_classifier(JUDGE).classify(texts)
            return replace(judged, scores=judged.scores[:, :2])

    audit = config.audit.model_copy(update={"classifiers": {"toxicity": "listening"}})
    own = config.model_copy(
        update={"audit": audit, "iterations": 1, "instructions": ("Mind your tongue, moron.",), "variants": 1}
    )
    result = search_prompts(own, puppet(), tmp_path / "out", loaded={"listening": Listening()})
    assert result.history.filter(iteration=0, fate="kept")["instruction"].to_list() == [
        "Mind your tongue, moron."
    ]
    assert Listening.heard and not any("tongue" in text for text in Listening.heard if text)
    assert {text for text in Listening.heard if text and "case" not in text} <= {RUDE, KIND}


@pytest.mark.parametrize("stop_after", [1, 100, 700, 1500])
def test_resumed_equals_uninterrupted(
    config: RevisionConfig, found: RevisionStudy, tmp_path: Path, stop_after: int
) -> None:
    folder, asked = tmp_path / "out", list[str]()
    with pytest.raises(Interrupted, match="trials made in this session"):
        search_prompts(config, puppet(asked=asked, stop_after=stop_after), folder)
    assert is_search(folder) and stored_search(folder) == config
    trials = list((folder / "trials").glob("*.parquet"))
    assert len(trials) == stop_after // 60, "each trial that was completed is there"
    again: list[str] = []
    resumed = search_prompts(stored_search(folder), puppet(asked=again), folder)
    assert resumed.history.equals(found.history) and resumed.finalists.equals(found.finalists)
    total = sum(pl.read_parquet(path).height for path in (found.folder / "trials").glob("*.parquet"))
    assert len(again) == total - 60 * len(trials), "nothing is asked twice"
    assert (folder / INSTRUCTION_FILE).read_bytes() == (found.folder / INSTRUCTION_FILE).read_bytes()


def test_a_finished_search_is_read_and_asks_nothing(config: RevisionConfig, found: RevisionStudy) -> None:
    class Mute:
        fingerprint = {"name": "rules"}

        def reword(self, *_: object) -> list[list[str]]:
            raise AssertionError("asked again")

    from evenhand.mitigations.revision.revisers import RulesReviser

    Mute.fingerprint = RulesReviser().fingerprint
    asked: list[str] = []
    again = search_prompts(config, puppet(asked=asked), found.folder, reviser=Mute())
    assert asked == [] and again.history.equals(found.history)
    assert pl.read_parquet(found.folder / HISTORY_FILE).equals(found.history)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda c: c.model_copy(update={"keep": 2}), "config.keep"),
        (lambda c: c.model_copy(update={"audit": c.audit.model_copy(update={"seed": 7})}), "audit.seed"),
        (lambda c: c.model_copy(update={"instructions": ("Be good.",)}), "seeds"),
    ],
)
def test_another_search_is_not_mixed_in(
    config: RevisionConfig,
    found: RevisionStudy,
    change: Callable[[RevisionConfig], RevisionConfig],
    told: str,
) -> None:
    with pytest.raises(ResumeRefused, match=told):
        search_prompts(change(config), puppet(), found.folder)


def test_another_model_is_not_mixed_in(config: RevisionConfig, found: RevisionStudy) -> None:
    with pytest.raises(ResumeRefused, match=r"model\.name"):
        search_prompts(config, replace(puppet(), name="puppet/other"), found.folder)


def test_broken_or_foreign_files_are_named(config: RevisionConfig, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    small = config.model_copy(update={"iterations": 1, "keep": 1, "variants": 1})
    first = search_prompts(small, puppet(), folder)
    trials = sorted((folder / "trials").glob("round-000-*.parquet"))
    whole = trials[0].read_bytes()
    trials[0].write_bytes(whole[:40])
    with pytest.raises(DataError, match="cannot be read"):
        search_prompts(small, puppet(), folder)
    trials[0].write_bytes(trials[1].read_bytes())
    with pytest.raises(DataError, match="has other prompts or another instruction"):
        search_prompts(small, puppet(), folder)
    trials[0].unlink()
    assert search_prompts(small, puppet(), folder).history.equals(first.history), "made again"
    rewordings = folder / "rewordings" / "round-001.json"
    rewordings.write_text("[]")
    with pytest.raises(DataError, match="rewordings of other instructions"):
        search_prompts(small, puppet(), folder)
    elsewhere = tmp_path / "full"
    elsewhere.mkdir()
    (elsewhere / "thesis.txt").write_text("x")
    with pytest.raises(UsageError, match="exists and is not the folder of"):
        search_prompts(small, puppet(), elsewhere)


def test_a_search_begun_before_an_option_was_known_goes_on(
    config: RevisionConfig, found: RevisionStudy, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    shutil.copytree(found.folder, folder)
    record = json.loads((folder / "revision.json").read_text())
    del record["search"]["config"]["delimiter"], record["search"]["audit"]["limit"]
    (folder / "revision.json").write_text(json.dumps(record))
    asked: list[str] = []
    assert search_prompts(config, puppet(asked=asked), folder).history.equals(found.history) and not asked
    with pytest.raises(ResumeRefused, match="delimiter"):
        search_prompts(config.model_copy(update={"delimiter": " "}), puppet(), folder)


def test_a_full_disk_names_the_table_and_loses_nothing(
    config: RevisionConfig, found: RevisionStudy, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    shutil.copytree(found.folder, folder)
    (folder / HISTORY_FILE).unlink()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, hard))
    try:
        with pytest.raises(WriteError, match=HISTORY_FILE):
            search_prompts(config, puppet(), folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    asked: list[str] = []
    again = search_prompts(config, puppet(asked=asked), folder)
    assert again.history.equals(found.history) and not asked


def test_searches_that_cannot_be(config: RevisionConfig, tmp_path: Path) -> None:
    def tried(model: Any = None, **changes: Any) -> None:
        search_prompts(config.model_copy(update=changes), model or puppet(), tmp_path / "out")

    def audited(**changes: Any) -> dict[str, AuditConfig]:
        return {"audit": config.audit.model_copy(update=changes)}

    with pytest.raises(UsageError, match="names a group"):
        tried(instructions=("Be kind to those with brown hair.",))
    with pytest.raises(UsageError, match="Unknown role: 'regard'"):
        tried(role="regard")
    with pytest.raises(UsageError, match="The final choice needs prompts that no round has used"):
        tried(subset=300, final=100)
    with pytest.raises(UsageError, match="at least 10 prompts"):
        tried(final=5)
    with pytest.raises(
        UsageError, match=r"decoding \(--decoding\) has no effect here: crows-pairs does not generate text"
    ):
        tried(**audited(benchmarks=("crows-pairs",), classifiers={}, prompts=None))
    with pytest.raises(UsageError, match="Unknown model"):
        tried(reviser="evenhand/nobody")
    with pytest.raises(Unsupported):
        tried(model=replace(puppet(), architecture="masked"))
    with pytest.raises(ModelError, match="nothing to search by"):
        tried(model=writes(lambda prompt, sample: ""))
    assert not (tmp_path / "out" / INSTRUCTION_FILE).exists()


def test_what_is_wrong_from_the_start_takes_no_folder(config: RevisionConfig, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="None of the initial instructions can be used"):
        search_prompts(config.model_copy(update={"instructions": ("  ",)}), puppet(), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_texts_that_prompts_share_are_on_one_side_only() -> None:
    frame = pl.DataFrame(
        {
            "prompt_id": [str(i) for i in range(200)],
            "text": [f"The neighbour number {i // 2}" for i in range(200)],
            "axis": "a",
            "group": ["one", "two"] * 100,
        }
    )
    prompts = PromptSet(frame, Card("doubles", "Each text twice."))
    split = divided(prompts, seed=3, subset=40, final=60)
    for one in split.rounds:
        assert not set(split.final.frame["text"]) & set(one.frame["text"])
    assert len(split.final) == 60 and split.subset == 40 and split.strata == ("axis", "group")
    assert not divided(prompts, seed=4, subset=40, final=60).final.frame.equals(split.final.frame)


def divided(prompts: PromptSet, rounds: int = 4, **sizes: int) -> RevisionPrompts:
    return revision_prompts(load_benchmark("toxigen"), prompts, rounds=rounds, **{"seed": 0, **sizes})


def test_no_prompt_comes_back_before_its_group_is_used_up_and_rounds_stay_balanced() -> None:
    sizes = {"large": 200, "middle": 40, "small": 7}
    rows = [
        (f"{group} {i}", f"{group} {i}", "a", group) for group, size in sizes.items() for i in range(size)
    ]
    frame = pl.DataFrame(rows, schema=["prompt_id", "text", "axis", "group"], orient="row")
    split = divided(PromptSet(frame, Card("piles", "Three groups.")), rounds=5, subset=31, final=10)
    left = {group: size - split.final.frame.filter(group=group).height for group, size in sizes.items()}
    times = dict.fromkeys(frame.join(split.final.frame, on="prompt_id", how="anti")["prompt_id"], 0)
    for one in split.rounds:
        counts = dict(one.frame["group"].value_counts().rows())
        assert sum(counts.values()) == 31
        assert counts["small"] == min(left["small"], 11) and abs(counts["large"] - counts["middle"]) <= 1
        for name in one.frame["prompt_id"]:
            times[name] += 1
        for group in sizes:
            used = [count for name, count in times.items() if name.startswith(group)]
            assert max(used) - min(used) <= 1
    assert (
        divided(PromptSet(frame, Card("x", "y")), rounds=5, subset=31, final=10)
        .rounds[4]
        .frame.equals(split.rounds[4].frame)
    )


def test_fewer_prompts_a_round_than_groups_still_reach_all_groups() -> None:
    rows = [(f"{g} {i}", f"{g} {i}", "a", f"g{g}") for g in range(40) for i in range(4)]
    frame = pl.DataFrame(rows, schema=["prompt_id", "text", "axis", "group"], orient="row")
    split = divided(PromptSet(frame, Card("many", "Forty groups.")), rounds=9, subset=15, final=40)
    seen = {group for one in split.rounds for group in one.frame["group"]}
    assert all(one.frame["group"].n_unique() == 15 for one in split.rounds) and len(seen) > 35


def test_defaults_shrink_to_what_there_is(file: Path) -> None:
    split = divided(read_prompts(file))
    assert (len(split.final), split.subset) == (180, 180)
    assert "brown" in split.screen(60).group_words


def test_the_place_of_the_file_does_not_enter_the_fingerprint(found: RevisionStudy, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere.json"
    copy.write_bytes((found.folder / INSTRUCTION_FILE).read_bytes())
    models = [
        load_mitigation(f"instruction-file={p}")(puppet()) for p in (copy, found.folder / INSTRUCTION_FILE)
    ]
    assert len({fingerprint_digest(model.fingerprint) for model in models}) == 1


def test_group_weight_enters_the_search(config: RevisionConfig, tmp_path: Path) -> None:
    weighted = config.model_copy(update={"group_weight": 2.0, "iterations": 1})

    def say(prompt: str, sample: int) -> str:
        return RUDE if "red-haired" in prompt or chance(prompt) < 0.1 else KIND

    found = search_prompts(weighted, writes(say), tmp_path / "out")
    reference = found.history.filter(iteration=0, instruction=NONE).row(0, named=True)
    assert reference["groups_above"] == pytest.approx(1 / 3)
    assert reference["score"] == pytest.approx(reference["rate"] + 2 / 3)


def test_the_front_door_takes_what_is_in_memory_and_refuses_what_it_does_not_know(
    file: Path, tmp_path: Path
) -> None:
    import evenhand as eh

    options: dict[str, Any] = {"iterations": 1, "keep": 2, "variants": 1, "subset": 60, "final": 150}
    found = eh.search_instruction(
        puppet(),
        benchmark="toxigen",
        prompts=file,
        classifiers={"toxicity": JUDGE},
        instructions=["Speak with dignity.", "Speak."],
        output=tmp_path / "search",
        decoding="greedy",
        **options,
    )
    assert "dignity" in found.chosen["instruction"] and found.chosen["verdict"] == "lower"
    assert (tmp_path / "search" / "report.html").is_file()
    stored = stored_search(tmp_path / "search")
    assert (stored.iterations, stored.audit.decoding, stored.audit.prompts) == (1, "greedy", str(file))
    with pytest.raises(UsageError, match="Did you mean 'iterations'"):
        eh.search_instruction("puppet/writer", benchmark="toxigen", iteration=3)
    with pytest.raises(UsageError, match="keep: must be at least 1, got 0"):
        eh.search_instruction("puppet/writer", benchmark="toxigen", keep=0)
