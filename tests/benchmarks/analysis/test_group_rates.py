"""BOLD, ToxiGen, AdvPromptSet and HolisticBiasR: whose rates are compared, whose groups are counted as published."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import polars as pl
import pytest

from evenhand.benchmarks import AnalysisOptions, load_benchmark
from evenhand.benchmarks.advpromptset import by_identity
from evenhand.benchmarks.analysis.group_rates import analyse_group_rates, harmed_examples
from evenhand.classifiers.classified_text import classified_texts
from evenhand.measures import published_bias_score
from evenhand.prompts.advpromptset.pieces import IDENTITIES
from evenhand.prompts.prompt_set import PromptSet
from evenhand.schema import Card, DataError, DatasetMissing
from tests.helpers.growth import assert_grows_linearly
from tests.helpers.judged_frames import biased, failed, judged, verdicts

BOLD, TOXIGEN, ADVERSARIAL, HOLISTIC = map(
    load_benchmark, ("bold", "toxigen", "advpromptset", "holisticbiasr")
)
DATA = {
    "bold": ("bold", "bold"),
    "toxigen": ("toxigen-v2", "toxigen_v2"),
    "holisticbiasr": ("holisticbias", "holisticbias"),
}


def prompts(groups: dict[str, tuple[str, ...]], each: int) -> pl.DataFrame:
    rows = [
        {
            "prompt_id": f"{group}/{i}",
            "text": f"Of {group}, {i},",
            "axis": axis,
            "group": group,
            "cluster": f"{group}/{i // 2}",
        }
        for axis, names in groups.items()
        for group in names
        for i in range(each)
    ]
    return pl.DataFrame(rows)


@cache
def built(shared: Path, name: str) -> PromptSet:
    dataset, folder = DATA[name]
    return load_benchmark(name).build({dataset: shared / "data" / folder})


def test_bold_judges_all_groups_and_counts_the_published_ones_as_published() -> None:
    asked = prompts({"religion": ("islam", "judaism"), "profession": ("nursing", "computing", "dance")}, 60)
    frame = judged(asked, "toxicity", lambda f: 0.1 + 0.5 * (pl.col("group") == "nursing"))
    analysis, measured, findings = verdicts(BOLD, frame)
    assert ("profession", "nursing") in biased(findings, "group_difference")
    assert biased(findings, "disparity") == [("profession", None)]
    assert analysis.details["published_groups"]["group"].to_list() == ["islam", "judaism"]
    # the background is the rate of all responses, those about occupations, too
    rate = 100 * frame["toxicity_negative"].mean()
    islam = frame.filter(pl.col("axis") == "religion").with_columns(negative="toxicity_negative")
    row = measured.filter((pl.col("measure") == "bias_score_published") & pl.col("axis").is_null())
    assert row["estimate"][0] == published_bias_score(islam, rate).estimate
    assert findings.filter(pl.col("measure") == "bias_score_published").is_empty()


def test_toxigen_counts_lgbtq_on_two_axes_as_published_and_once_in_the_verdicts() -> None:
    asked = prompts(
        {"sexual_orientation": ("lgbtq",), "gender_and_sex": ("women",), "religion": ("jewish",)}, 40
    )
    analysis, _, _ = verdicts(TOXIGEN, judged(asked, "toxicity", 0.2, 3))
    twice = analysis.details["published_groups"].select("axis", "group").rows()
    assert [row for row in twice if row[1] == "lgbtq"] == [
        ("gender_and_sex", "lgbtq"),
        ("sexual_orientation", "lgbtq"),
    ]
    assert analysis.details["groups"].height == 3 and len(twice) == 4


MENTIONED = [("female",), ("male",), ("asian",), ("white",), ("female", "asian"), ("male", "white"), ()]


def comments(each: int = 60, there: Sequence[tuple[str, ...]] = MENTIONED) -> pl.DataFrame:
    """Comments that mention one identity, or two of two axes, as the loader gives them."""
    groups = [group for names in IDENTITIES.values() for group in names]
    rows = [
        {
            "prompt_id": f"{'-'.join(names)}/{i}",
            "text": f"comment {i}",
            "toxicity": i % 2,
            "cluster": f"{names}{i}",
        }
        | {group: int(group in names) for group in groups}
        for names in there
        for i in range(each)
    ]
    return pl.DataFrame(rows)


def test_a_comment_counts_for_every_identity_it_mentions() -> None:
    asked = comments(4).with_columns(pl.when(pl.col("male") == 0).then("male").alias("male"))
    about = by_identity(asked)
    sizes = dict(about.group_by("group").len().rows())
    assert sizes == {"female": 8, "asian": 8, "white": 8}  # male is null where not marked, and 1 nowhere else
    assert dict(about.select("group", "axis").unique().rows())["asian"] == "race_ethnicity"
    with pytest.raises(DataError, match="have no columns that state which groups"):
        by_identity(pl.DataFrame({"prompt_id": ["a"]}))


def test_an_intersection_worse_than_both_its_groups_is_found() -> None:
    # with two groups on each axis one cannot tell whose intersection it is
    pairs = [
        (one, other) for one in ("female", "male", "transgender") for other in ("asian", "white", "black")
    ]
    both = (pl.col("female") == 1) & (pl.col("asian") == 1)
    asked = comments(80, [*pairs, ("female",), ()])
    frame = judged(asked, "toxicity", lambda f: 0.1 + 0.3 * pl.col("toxicity") + 0.5 * both, 3)
    analysis, measured, findings = verdicts(ADVERSARIAL, frame)
    found = biased(findings, "intersection_rate")
    assert found.count(("gender_and_sex × race_ethnicity", "female | asian")) >= 1
    largest = analysis.details["intersections"].sort("estimate", descending=True)
    assert largest["group"].head(2).to_list() == ["female | asian"] * 2
    assert not {group for _, group in found} & {"female | white", "female | black", "male | asian"}
    strata = dict(
        measured.filter((pl.col("measure") == "negative_rate") & pl.col("stratum").is_not_null())
        .select("stratum", "estimate")
        .rows()
    )
    assert strata["toxic"] > strata["benign"] + 20
    # eleven sorts of comments, one about nobody: each response once in the rate, and in each of its groups
    whole = measured.filter(
        (pl.col("measure") == "negative_rate") & pl.all_horizontal(pl.col("axis", "stratum").is_null())
    )
    assert whole["n"].to_list() == [11 * 80 * 3]
    assert analysis.details["groups"].select(pl.col("n").sum()).item() == 19 * 80 * 3


def test_advpromptset_says_what_it_needs() -> None:
    with pytest.raises(DatasetMissing, match="Kaggle"):
        ADVERSARIAL.build({})


@pytest.mark.parity
def test_advpromptset_from_jigsaw_files(shared: Path) -> None:
    asked = ADVERSARIAL.build({"advpromptset": shared / "parity/advpromptset_mini/jigsaw_data"})
    analysis, _, _ = verdicts(ADVERSARIAL, judged(asked.frame, "toxicity", 0.5))
    assert set(analysis.details["groups"]["group"]) <= {g for names in IDENTITIES.values() for g in names}
    assert len(ADVERSARIAL.sample(asked, 9, 0)) == 9


def test_limit_keeps_rare_identities_and_both_kinds_of_prompts() -> None:
    asked = PromptSet(comments(50), Card("comments", "made up"))
    part = ADVERSARIAL.sample(asked, 40, seed=2).frame
    assert part.height == 40 and part.columns == asked.frame.columns
    counts = dict(by_identity(part).group_by("group").len().rows())
    assert set(counts) == {"female", "male", "asian", "white"} and min(counts.values()) >= 5
    assert part["toxicity"].mean() == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("name", ["bold", "toxigen", "advpromptset", "holisticbiasr"])
def test_a_model_that_refuses_everything_is_counted(name: str) -> None:
    asked = (
        comments(5) if name == "advpromptset" else prompts({"age": ("old", "young"), "class": ("poor",)}, 12)
    )
    frame = failed(
        judged(asked, load_benchmark(name).classified_by[0].role),
        load_benchmark(name).classified_by[0].role,
        pl.lit(True),
    )
    _, measured, findings = verdicts(load_benchmark(name), frame)
    assert findings.height and set(findings["verdict"]) == {"not measurable"}
    whole = measured.filter((pl.col("measure") == "negative_rate") & pl.col("axis").is_null())
    assert whole.select("estimate", "n", "n_missing").rows() == [(None, 0, asked.height)]


@pytest.mark.parity
def test_published_numbers_of_prompts_and_groups(shared: Path) -> None:
    sizes = {}
    for name in DATA:
        frame = built(shared, name).frame
        about = frame.filter(pl.col("group").is_not_null())
        sizes[name] = frame.height, about.select("axis", "group").n_unique()
    assert sizes == {"bold": (23_679, 43), "toxigen": (520, 13), "holisticbiasr": (214_460, 774)}


@pytest.mark.parity
def test_holisticbiasr_on_its_774_groups(shared: Path) -> None:
    asked = built(shared, "holisticbiasr").frame
    worse = (pl.col("axis") == "religion") & (pl.col("group") == "Muslim")
    frame = judged(asked, "regard", lambda f: 0.2 + 0.2 * worse + 0.05 * (pl.col("gender") == "male"))
    analysis, measured, findings = verdicts(HOLISTIC, frame)
    assert ("religion", "Muslim") in biased(findings, "group_difference")
    assert len(biased(findings, "group_difference")) <= 3
    groups = analysis.details["groups"]
    assert groups.height == 774 and dict(groups["n"].value_counts().rows()) == {
        320: 660,
        10: 96,
        120: 9,
        110: 8,
        20: 1,
    }
    contrast = measured.filter((pl.col("measure") == "noun_contrast") & pl.col("axis").is_null())
    assert contrast["estimate"][0] == pytest.approx(5.0, abs=1.0)
    assert (None, None) in biased(findings, "noun_contrast")
    hidden = classified_texts(frame.head(2000), HOLISTIC.classified_by[0].text)
    assert all(text.startswith("XYZ ") for text in hidden)


@pytest.mark.parity
@pytest.mark.parametrize("name", ["bold", "toxigen", "holisticbiasr"])
def test_a_limited_audit_keeps_groups_comparable(shared: Path, name: str) -> None:
    benchmark, asked = load_benchmark(name), built(shared, name)
    part = benchmark.sample(asked, 2000, seed=0).frame
    about = part.filter(pl.col("group").is_not_null())
    sizes = about.group_by("axis", "group").len()
    assert about["axis"].n_unique() == asked.frame.filter(pl.col("group").is_not_null())["axis"].n_unique()
    if name == "holisticbiasr":
        # ten prompts a group or none: a group with fewer could not be judged
        nouns = about.filter(pl.col("noun_phrase_type") == "descriptor_noun").filter(
            pl.col("descriptor_gender") == "(none)"
        )
        assert nouns.group_by("axis", "group").len()["len"].min() >= 9
        cells = nouns.group_by("axis", "group").agg(
            pl.struct("template", "noun").sort().implode().alias("cells")
        )
        assert cells["cells"].n_unique() == 1
    else:
        assert sizes.height == asked.frame.select("axis", "group").n_unique()
    assert benchmark.minimum_detectable is not None
    plans = [benchmark.minimum_detectable(frame, AnalysisOptions()) for frame in (part, asked.frame)]
    reach = [plan["minimum_detectable"].mean() for plan in plans]
    assert reach[0] >= reach[1] > 0


def test_a_group_of_ten_needs_far_more_than_one_of_a_thousand() -> None:
    assert HOLISTIC.minimum_detectable is not None
    plan = HOLISTIC.minimum_detectable(
        pl.concat([prompts({"few": ("a", "b")}, 10), prompts({"many": ("c", "d")}, 1000)]), AnalysisOptions()
    )
    few, many = plan.filter(pl.col("unit").str.contains("from the others"))["minimum_detectable"]
    assert few > 30 and many < 6


def test_an_axis_spoken_of_worse_is_found_where_its_groups_are_too_small() -> None:
    asked = prompts({"age": tuple("abcdefghij"), "class": tuple("klmnopqrst"), "origin": tuple("uvwxyz")}, 11)
    frame = judged(asked, "regard", lambda f: 0.15 + 0.25 * (pl.col("axis") == "class"))
    _, measured, findings = verdicts(HOLISTIC, frame)
    assert biased(findings, "axis_rate") == [("class", None)]
    assert len(biased(findings, "group_difference")) <= 1
    row = measured.filter((pl.col("measure") == "axis_rate") & (pl.col("axis") == "class"))
    means = {axis: 100 * part["regard_negative"].mean() for (axis,), part in frame.group_by("axis")}
    assert row["estimate"][0] == pytest.approx(means["class"] - (means["age"] + means["origin"]) / 2)
    # sentences of BOLD differ from axis to axis, so that its axes are described and not judged
    assert (
        "axis_rate"
        not in verdicts(BOLD, frame.rename(lambda c: c.replace("regard", "toxicity")))[1]["measure"]
    )


def test_the_time_is_linear_in_the_columns_that_nothing_needs():
    """Their number once entered squared: 20,000 in a file of three rows took minutes."""
    named = {
        "axis": "age",
        "group": "old",
        "prompt_id": ["a", "b"],
        "text": "Of old",
        "continuation": " it is",
    }
    frame = pl.DataFrame(named).with_columns(negative=pl.lit(True), score=pl.lit(0.5))
    groups = pl.DataFrame({"axis": ["age"], "group": ["old"], "harmed": [True]})
    expected = harmed_examples(frame, groups)

    def wide(columns):
        return frame.with_columns(pl.lit("1").alias(f"c{i}") for i in range(columns))

    def read(table):
        assert harmed_examples(table, groups).equals(expected)

    assert_grows_linearly(read, wide, 4000)


def test_rates_of_groups_are_by_prompt_and_of_axes_by_response_and_say_so() -> None:
    # ten prompts a group; the first, always negative, is answered ten times, all others once and kindly
    rows = [
        {"prompt_id": f"{group}{i}", "cluster": f"{group}{i}", "text": "", "continuation": "x", "axis": "a",
         "group": group, "negative": int(i == 0)}
        for group in ("x", "y") for i in range(10) for _ in range(10 if i == 0 else 1)
    ]  # fmt: skip
    frame = pl.DataFrame(rows).with_columns(toxicity_negative="negative")
    done = analyse_group_rates(frame, AnalysisOptions(), role="toxicity")
    rates = {row.group: row for row in done.measurements if row.measure == "negative_rate" and row.axis}
    assert rates[None].estimate == pytest.approx(100 * 10 / 19) and rates[None].unit == "% of responses"
    assert rates["x"].estimate == rates["y"].estimate == pytest.approx(10)
    assert rates["x"].unit == "% of responses, averaged by prompt"
