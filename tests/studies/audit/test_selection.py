"""What an audit asks as HolisticBias did: varied sentences, persona lines, an older version; and where it refuses."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evenhand.benchmarks import load_benchmark
from evenhand.models.puppets import load_puppet, writes
from evenhand.prompts import PromptSet
from evenhand.schema import Card, DataError, ResumeRefused, Unsupported
from evenhand.studies.audit.asked.prompts import as_asked
from evenhand.studies.audit.classifiers import ClassifierShelf
from evenhand.studies.audit.conduct import told_whole
from evenhand.studies.audit.options import AuditConfig
from evenhand.studies.audit.selection import Available, RequestedBenchmarks, prepare_selection, select
from evenhand.study.trust import check_addresses, find_files

PERSONAS = "your persona: i am kind.\nyour persona: i cook.\n"
SENTENCE = "your persona: i am kind.\nyour persona: i cook.\n"


def asked(tmp_path: Path, benchmark: str, **options: Any) -> pl.DataFrame:
    """The prompts of one benchmark with our own sentences in the columns of HolisticBias."""
    file = tmp_path / "sentences.csv"
    rows = [
        ("age", "middle-aged", noun, template, template.replace("{noun_phrase}", f"a middle-aged {noun}"))
        for noun in ("man", "woman", "Dane")
        for template in ("Hi, I'm {noun_phrase}.", "I love {noun_phrase}.", "I hate {noun_phrase}.")
        for _ in range(20)
    ]
    names = ["axis", "descriptor", "noun", "template", "text"]
    pl.DataFrame(rows, schema=names, orient="row").write_csv(file)
    config = AuditConfig(model="m", benchmarks=(benchmark,), prompts=str(file), **options)
    writing = load_benchmark(benchmark).classified_by
    model = writes(lambda prompt, sample: " Fine.") if writing else load_puppet("uniform")
    judges = {"classifiers": {judge.role: "evenhand/lexicon-toxicity" for judge in writing}}
    return select(config.model_copy(update=judges), model).prompts[benchmark].frame


@pytest.mark.parametrize(
    "benchmark", ["holisticbias-likelihood", "holisticbias-styles", "holisticbias-offensiveness"]
)
def test_sentences_are_varied_with_the_probability_given(tmp_path: Path, benchmark: str) -> None:
    plain = asked(tmp_path, benchmark)
    every = asked(tmp_path, benchmark, style_variations=1.0)
    assert every["unvaried_text"].to_list() == plain["text"].to_list()
    first = every.filter(pl.col("template").str.starts_with("Hi"), noun="Dane")["text"]
    assert set(first) == {"Hi, I am a middle aged dane"}
    half = asked(tmp_path, benchmark, style_variations=0.5)
    assert half["remove_final_period"].mean() == pytest.approx(0.5, abs=0.15)
    assert half["text"].equals(asked(tmp_path, benchmark, style_variations=0.5)["text"])
    assert not half["text"].equals(asked(tmp_path, benchmark, style_variations=0.5, seed=1)["text"])


@pytest.mark.parametrize("option", ["prompts", "personas"])
def test_a_file_of_the_user_that_is_missing_is_the_error_itself(tmp_path: Path, option: str) -> None:
    """Also where the benchmark is not named, so that what cannot run would be left out."""
    file = tmp_path / "none.csv"
    with pytest.raises(DataError, match="File not found") as caught:
        select(AuditConfig(model="m", **{option: str(file)}), load_puppet("uniform"))
    assert caught.value.message == f"File not found: {file}."


def test_a_mistake_in_the_prompts_of_the_user_is_the_error_itself(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("prompt\nHello\n")
    with pytest.raises(DataError, match="has no column 'text'"):
        select(AuditConfig(model="m", prompts=str(file)), load_puppet("uniform"))


def test_personas_stand_before_what_is_continued_and_behind_no_score(tmp_path: Path) -> None:
    (tmp_path / "personas.txt").write_text(PERSONAS)
    options = {"personas": str(tmp_path / "personas.txt")}
    replies = asked(tmp_path, "holisticbias-styles", **options)
    assert replies["text"].str.starts_with(SENTENCE).all() and "context" not in replies.columns
    scored = asked(tmp_path, "holisticbias-likelihood", **options)
    assert set(scored["context"]) == {SENTENCE} and not scored["text"].str.contains("persona").any()
    with pytest.raises(DataError, match=re.escape(f"File not found: {tmp_path / 'absent.txt'}.")):
        asked(tmp_path, "holisticbias-styles", personas=str(tmp_path / "absent.txt"))


@pytest.mark.parametrize("option", [{"style_variations": 0.5}, {"personas": "FILE"}])
@pytest.mark.parametrize("benchmark", ["regard", "evenhand-pll"])
def test_where_the_texts_cannot_be_changed_so_they_are_not_asked(
    tmp_path: Path, benchmark: str, option: dict[str, Any]
) -> None:
    recipe = load_benchmark(benchmark)
    with pytest.raises(Unsupported, match=f"{benchmark}.*{next(iter(option))}"):
        as_asked(recipe.build({}), recipe, AuditConfig(model="m", **option))


def test_prompts_without_a_noun_phrase_are_not_varied() -> None:
    bare = PromptSet(pl.DataFrame({"prompt_id": ["a"], "text": ["Hi."]}), Card("bare", "made up"))
    with pytest.raises(Unsupported, match="quality does not support `style_variations`: Style variations"):
        as_asked(bare, load_benchmark("quality"), AuditConfig(model="m", style_variations=0.5))


@pytest.mark.parametrize("axes", [("age",), ()])
def test_a_benchmark_without_axes_is_asked_whole_beside_one_that_axes_narrow(axes: tuple[str, ...]) -> None:
    both = tuple(load_benchmark(name) for name in ("evenhand-likelihood", "redditbias-lmp"))
    frame = pl.DataFrame({"prompt_id": ["a", "b"], "text": ["A.", "B."], "axis": ["age", "ability"]})
    sets = [PromptSet(frame, Card("x", "y")), PromptSet(frame.drop("axis"), Card("z", "y"))]
    prompts = {benchmark.name: one for benchmark, one in zip(both, sets, strict=True)}
    config = AuditConfig(model="m", benchmarks=tuple(prompts), axes=axes)
    wanted = RequestedBenchmarks(both, frozenset(), forgiving=False, alternatives=False, limit=None)
    here = Available(wanted, both, prompts, {name: {} for name in prompts}, {})
    found = prepare_selection(here, config, config, load_puppet("uniform"), ClassifierShelf("cpu", {}))
    assert [len(one) for one in found.prompts.values()] == ([1, 2] if axes else [2, 2])
    assert told_whole(found) == (
        ["redditbias-lmp has no axes, so --axis has no effect on it."] if axes else []
    )


def test_a_folder_alone_cannot_send_a_file_as_personas_to_a_service(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text(PERSONAS)
    run = tmp_path / "run"
    run.mkdir()
    server = ["http://localhost:1/v1#model"]
    with pytest.raises(ResumeRefused, match="personas="):
        check_addresses(run, server, files={"personas": str(secret)})
    check_addresses(run, server, files=find_files({"personas": str(secret)}, named=["personas"]))
    check_addresses(run, server, files=find_files({"personas": None}))
    check_addresses(run, ["gpt2"], files={"personas": str(secret)})
