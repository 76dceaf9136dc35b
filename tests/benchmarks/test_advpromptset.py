"""advpromptset: which prompts are toxic, as Jigsaw's raters said or as a classifier says of the prompts themselves."""

from pathlib import Path

import polars as pl
import pytest

from evenhand.benchmarks import load_benchmark
from evenhand.benchmarks.advpromptset import with_judged_prompts
from evenhand.classifiers import load_classifier
from evenhand.models.puppets import writes
from evenhand.studies.audit.classifiers import named_by_role
from evenhand.studies.audit.rescoring import rescore_run
from evenhand.studies.audit.result import Run, audit, open_run
from evenhand.studies.compare.outputs import read_outputs

JUDGE = "evenhand/lexicon-toxicity"
WORDS = ("idiot", "scum", "neighbour", "cook", "friend")


def comments() -> pl.DataFrame:
    """Comments whose label by raters says nothing about their words."""
    rows = [
        {"prompt_id": f"{i}", "text": f"that {who} is a {WORDS[i % 5]} number {i}", "toxicity": i // 5 % 2}
        | {"female": int(who == "woman"), "male": int(who == "man"), "asian": i % 2, "white": 1 - i % 2}
        for i in range(200)
        for who in [("woman", "man")[i // 10 % 2]]
    ]
    return pl.DataFrame(rows)


def answer(prompt: str, sample: int) -> str:
    """Rude to one in three, whatever the prompt."""
    return " you idiot" if int(prompt.rsplit(" ", 1)[1]) % 3 == 0 else " and a friend"


@pytest.fixture
def run(tmp_path: Path):
    """run(**classifiers) -> Run over the comments."""
    file = tmp_path / "comments.parquet"
    comments().write_parquet(file)

    def made(**classifiers: str) -> Run:
        judges = {"toxicity": JUDGE, **classifiers}
        return audit(
            writes(answer),
            benchmarks=["advpromptset"],
            prompts=str(file),
            classifiers=judges,
            output=tmp_path / "run",
        )

    return made


def rates(run: Run) -> dict[str, float]:
    """Rates after benign and toxic prompts, over everything."""
    whole = pl.all_horizontal(pl.col("axis", "group").is_null()) & pl.col("stratum").is_not_null()
    rows = run.measurements.filter(whole & (pl.col("measure") == "negative_rate"))
    return dict(rows.select("stratum", "estimate").rows())


def by_hand(toxic: pl.Series) -> dict[str, float]:
    frame = comments().with_columns(toxic=toxic)
    verdict = load_classifier(JUDGE).classify([answer(text, 0) for text in frame["text"]]).negative
    table = (
        frame.with_columns(negative=pl.Series(verdict, dtype=pl.Boolean))
        .group_by("toxic")
        .agg(pl.col("negative").mean())
    )
    return {("toxic" if toxic else "benign"): 100 * rate for toxic, rate in table.rows()}


def test_the_labels_of_the_comments_hold_until_somebody_judges_the_prompts(run) -> None:
    labelled = run()
    assert rates(labelled) == pytest.approx(by_hand(comments()["toxicity"] == 1))
    (told,) = [note for note in labelled.directory.manifest.sessions[-1].notes if "prompt_toxicity" in note]
    assert "labels of the Jigsaw comments" in told and "--classifier prompt_toxicity=toxigen" in told
    # judged later, the same responses are read anew
    rescore_run(labelled.directory, {"prompt_toxicity": JUDGE})
    judged = open_run(labelled.directory.path)
    spoken = load_classifier(JUDGE).classify(comments()["text"].to_list()).negative
    assert rates(judged) == pytest.approx(by_hand(pl.Series(spoken, dtype=pl.Boolean)))


def test_a_classifier_of_prompts_decides_strata_and_intersections(run) -> None:
    judged = run(prompt_toxicity=JUDGE)
    spoken = pl.Series(
        load_classifier(JUDGE).classify(comments()["text"].to_list()).negative, dtype=pl.Boolean
    )
    assert 0.2 < spoken.mean() < 0.6 and not spoken.equals(comments()["toxicity"] == 1)
    assert rates(judged) == pytest.approx(by_hand(spoken))
    told = read_outputs(judged.path).benchmarks["advpromptset"].outcomes
    assert told == ("toxicity", "toxicity score"), "what is said of prompts is no outcome to compare"
    cells = judged.details("advpromptset")["intersections"]
    toxic = cells.filter(pl.col("stratum") == "toxic")["n"].sum()
    assert toxic == int(spoken.sum())


def test_a_name_alone_is_meant_for_the_continuations() -> None:
    benchmark = load_benchmark("advpromptset")
    assert named_by_role(["vader"], [benchmark]) == {"toxicity": "vader"}
    assert named_by_role(["prompt_toxicity=vader"], [benchmark]) == {"prompt_toxicity": "vader"}


def test_scores_count_from_a_half_on_and_prompts_nobody_could_judge_have_none() -> None:
    frame = pl.DataFrame(
        {"toxicity": [1, 1, 0, 0], "prompt_toxicity_negative": [None, True, None, None],
         "prompt_toxicity_score": [0.2, 0.1, 0.5, None]},
        schema_overrides={"prompt_toxicity_negative": pl.Boolean},
    )  # fmt: skip
    judged = with_judged_prompts(frame)
    assert judged["toxicity"].to_list() == [0.0, 1.0, 1.0, None]
    assert judged["annotated_toxicity"].to_list() == [1, 1, 0, 0]
    silent = frame.with_columns(prompt_toxicity_score=pl.lit(None, pl.Float64), prompt_toxicity_negative=None)
    assert with_judged_prompts(silent)["toxicity"].to_list() == [1, 1, 0, 0]
