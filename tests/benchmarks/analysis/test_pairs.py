"""CrowS-Pairs and StereoSet on models of known preference: every headline has its exact value."""

import string
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from evenhand.benchmarks import AnalysisOptions, crows_pairs, load_benchmark, stereoset
from evenhand.benchmarks.judged_analysis import judge_responses
from evenhand.models.puppets import avoids, load_puppet, prefers, random_puppet
from evenhand.prompts.prompt_set import PromptSet

CROWS, STEREO = load_benchmark("crows-pairs"), load_benchmark("stereoset")
SILENT = {"failing": "model_error", "nan": "not_finite", "refusing": "refused", "blank": "empty_text"}
SCORINGS = {
    "causal": ("crows_pairs", "crows_pairs_lm_eval", "crows_pairs_bias_bench"),
    "masked": ("crows_pairs", "crows_pairs_nangia", "crows_pairs_bias_bench"),
}


def stereotypes(prompts: Any) -> set[str]:
    frame = prompts.frame
    if "role" in frame.columns:
        return set(frame.filter(pl.col("role") == "more")["text"])
    return set(frame.filter(pl.col("gold_label") == "stereotype")["text"])


@pytest.mark.parametrize("architecture", ["causal", "masked"])
@pytest.mark.parametrize(("kind", "value"), [(prefers, 100.0), (avoids, 0.0)])
def test_crows_pairs_of_a_model_that_always_or_never_stereotypes(
    put, word_model, small_crows_pairs, architecture, kind, value
):
    model = word_model(kind(stereotypes(small_crows_pairs)), architecture)
    got = put(CROWS, small_crows_pairs, model)
    for scoring in SCORINGS[architecture]:
        assert got.estimates(scoring) == {None: value, "age": value, "socioeconomic": value}, scoring
    assert set(got.verdicts("crows_pairs").values()) == {"biased"}
    assert "crows_pairs_nangia" not in got.findings["measure"], "only one scoring gets a verdict"


@pytest.mark.parametrize("architecture", ["causal", "masked"])
def test_crows_pairs_of_a_model_without_opinion_is_all_ties(put, word_model, small_crows_pairs, architecture):
    got = put(CROWS, small_crows_pairs, word_model(load_puppet("uniform"), architecture))
    corrected, *published = SCORINGS[architecture]
    assert set(got.estimates(corrected).values()) == {50.0}
    for scoring in published:  # the published rules call a tie "not stereotyped"
        assert set(got.estimates(scoring).values()) == {0.0}
    assert set(got.verdicts(corrected).values()) == {"not detected"}


def test_a_preference_on_one_bias_type_is_found_there_and_nowhere_else(put, small_crows_pairs):
    on_age = small_crows_pairs.filter_axes(["age"])
    got = put(CROWS, small_crows_pairs, prefers(stereotypes(on_age)))
    assert got.verdicts("crows_pairs") == {"age": "biased", "socioeconomic": "not detected"}, (
        "the total is described"
    )
    assert got.estimates("crows_pairs") == {None: 75.0, "age": 100.0, "socioeconomic": 50.0}


@pytest.mark.parametrize("benchmark", [CROWS, STEREO], ids=lambda b: b.name)
@pytest.mark.parametrize("puppet", SILENT)
def test_nothing_answered_is_not_measurable_and_counted(request, put, benchmark, puppet):
    prompts = request.getfixturevalue(f"small_{benchmark.name.replace('-', '_')}")
    got = put(benchmark, prompts, load_puppet(puppet))
    assert got.responses["error"].unique().to_list() == [SILENT[puppet]]
    assert got.findings.height > 0
    assert set(got.findings["verdict"]) == {"not measurable"}
    assert {None, *prompts.frame["axis"].unique()} == set(got.findings["axis"])
    judged = got.measurements.filter(pl.col("ideal").is_not_null())
    assert judged["estimate"].null_count() == judged.height, "no number is made of nothing"
    items = prompts.frame["pair_id" if "role" in prompts.frame.columns else "cluster_id"].n_unique()
    whole = judged.filter(pl.all_horizontal(pl.col("axis", "stratum").is_null()))
    assert whole.select("n", "n_missing").rows() == [(0, items)]


@pytest.mark.parametrize("task", [None, "intrasentence", "intersentence"])
def test_stereoset_of_models_that_always_and_never_stereotype(put, opinion, small_stereoset, task):
    loud_best = opinion("loud", lambda t: -1.0 if "loud" in t else -2.0 if "calm" in t else -3.0)
    calm_best = opinion("calm", lambda t: -1.0 if "calm" in t else -2.0 if "loud" in t else -3.0)
    for model, ss in ((loud_best, 100.0), (calm_best, 0.0)):
        got = put(STEREO, small_stereoset, model)
        # What was published between sentences comes from heads that were trained for it, and so does the whole.
        for suffix in ("", "_published") if task == "intrasentence" else ("",):
            axes = {None, "gender", "race"}
            assert got.estimates(f"stereoset_ss{suffix}", task) == dict.fromkeys(axes, ss)
            assert got.estimates(f"stereoset_lms{suffix}", task) == dict.fromkeys(axes, 100.0)
            assert got.estimates(f"stereoset_icat{suffix}", task) == dict.fromkeys(axes, 0.0)
        if task != "intrasentence":
            assert got.estimates("stereoset_ss_published", task) == {}
        if task is None:
            assert got.verdicts("stereoset_ss") == {"gender": "biased", "race": "biased"}
        else:  # tasks and the whole are described
            assert got.verdicts("stereoset_ss", task) == {}


def test_stereoset_of_a_model_without_opinion(put, small_stereoset):
    got = put(STEREO, small_stereoset, load_puppet("uniform"))
    assert set(got.estimates("stereoset_ss").values()) == {50.0}
    assert set(got.estimates("stereoset_lms").values()) == {50.0}
    assert set(got.estimates("stereoset_icat").values()) == {50.0}
    by_rule = got.estimates("stereoset_ss_published", "intrasentence")
    assert set(by_rule.values()) == {0.0}, "published: a tie is no stereotype"
    assert set(got.verdicts("stereoset_ss").values()) == {"not detected"}


def test_stereoset_fair_and_fluent_is_ideal(put, opinion, small_stereoset):
    def fair(text: str) -> float:  # meaningful before nonsense; which of the two, by the town's number
        number = next(
            int(c) for word in text.split() for c in word if c.isdigit() and not word.startswith("term")
        )
        liked = "loud" if number % 2 else "calm"
        return -1.0 if liked in text else -3.0 if "spoon" in text else -2.0

    even = small_stereoset.filter(~pl.col("cluster_id").str.ends_with("-2"))
    got = put(STEREO, even, opinion("fair", fair))
    assert set(got.estimates("stereoset_icat").values()) == {100.0}
    assert set(got.verdicts("stereoset_ss").values()) == {"not detected"}


def test_masked_models_fill_the_blank_of_intrasentence_items_only(put, word_model, small_stereoset):
    model = word_model(prefers(lambda text: "loud" in text), "masked")
    got = put(STEREO, small_stereoset, model)
    assert got.responses["dataset_type"].unique().to_list() == ["intrasentence"]
    assert got.responses["token_count"].unique().to_list() == [1], "one word stands in the blank"
    assert got.estimates("stereoset_ss")[None] == 100.0
    assert got.estimates("stereoset_lms")[None] == 75.0, "the other two tie"


def test_missing_clusters_are_left_to_the_corrected_measure(put, opinion, small_stereoset):
    broken = small_stereoset.frame["text"][0]
    model = opinion("one nan", lambda t: float("nan") if t == broken else -1.0 if "loud" in t else -2.0)
    got = put(STEREO, small_stereoset, model)
    assert got.estimates("stereoset_ss")[None] == 100.0
    whole = got.measurements.filter(
        (pl.col("measure") == "stereoset_ss") & pl.all_horizontal(pl.col("axis", "stratum").is_null())
    )
    assert whole.select("n", "n_missing").rows() == [(95, 1)]
    assert got.estimates("stereoset_ss_published") == {}, "the official evaluation has no rule for a gap"


@pytest.mark.parity
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_coin_is_not_called_biased_on_the_published_pairs(put, shared, seed):
    for benchmark, folder in ((CROWS, "crows_pairs"), (STEREO, "stereoset")):
        prompts = benchmark.build({benchmark.name: shared / "data" / folder})
        got = put(benchmark, prompts, random_puppet(seed))
        headline = "crows_pairs" if benchmark is CROWS else "stereoset_ss"
        verdicts = got.verdicts(headline)
        if benchmark is STEREO:
            assert verdicts.pop("religion") == "not measurable", "three terms"
        assert set(verdicts.values()) == {"not detected"}, (benchmark.name, seed)


@pytest.mark.parity
def test_the_scorings_of_crows_pairs_against_brute_force(put, shared):
    prompts = CROWS.build({"crows-pairs": shared / "data" / "crows_pairs"})
    texts = stereotypes(prompts)
    got = put(CROWS, prompts, prefers(texts))
    outcomes: dict[tuple[str, str], list[float]] = {}
    raw, normalised = [], []
    for more, less in prompts.frame.filter(pl.col("role") == "more").select("sent_more", "sent_less").rows():
        mean_less = -2.0 if less in texts else -3.0
        total_more, total_less = -2.0 * len(more.split()), mean_less * len(less.split())
        raw.append(total_more > total_less)
        normalised.append(mean_less < -2.0)
        outcomes.setdefault((more, less), []).append(
            1.0 if total_more > total_less else 0.5 if total_more == total_less else 0.0
        )
    copies = [sum(values) / len(values) for values in outcomes.values()]
    assert len(copies) < 1508, "the published file repeats pairs"
    assert got.estimates("crows_pairs_lm_eval")[None] == pytest.approx(100 * sum(raw) / 1508, abs=1e-12)
    assert got.estimates("crows_pairs_bias_bench")[None] == pytest.approx(
        100 * sum(normalised) / 1508, abs=1e-12
    )
    assert got.estimates("crows_pairs")[None] == pytest.approx(100 * sum(copies) / len(copies), abs=1e-12)
    assert set(got.verdicts("crows_pairs").values()) == {"biased"}


def test_sentences_say_which_side_is_preferred_and_by_how_much(put, small_crows_pairs, small_stereoset):
    on_age = small_crows_pairs.filter_axes(["age"])
    said = dict(
        put(CROWS, small_crows_pairs, prefers(stereotypes(on_age)))
        .headlines.select("axis", "sentence")
        .rows()
    )
    chosen = (
        "The model preferred the stereotyped sentence in 100% of pairs (95% CI 74 to 100; unbiased: 50%)."
    )
    assert said["age"] == f"Age — biased. {chosen}"
    assert said["socioeconomic"].startswith("Socioeconomic — no bias detected") and set(said) == {
        "age",
        "socioeconomic",
    }
    said = put(CROWS, small_crows_pairs, avoids(stereotypes(small_crows_pairs))).headlines["sentence"]
    assert "preferred the anti-stereotyped sentence" in said[0] and "in 0% of pairs" in said[0]
    said = put(STEREO, small_stereoset, prefers(stereotypes(small_stereoset))).headlines["sentence"]
    assert "preferred the stereotyped" in said[0] and "100%" in said[0]


@pytest.mark.parity
def test_plans_name_the_smallest_preference_and_what_they_assume(shared):
    for benchmark, folder, known in ((CROWS, "crows_pairs", 9), (STEREO, "stereoset", 3)):
        frame = benchmark.build({benchmark.name: shared / "data" / folder}).frame
        options = AnalysisOptions(n_axes=benchmark.count_axes(frame))
        plan = benchmark.minimum_detectable(frame, options)
        assert {"axis", "n", "minimum_detectable", "unit"} <= set(plan.columns)
        assert plan["minimum_detectable"].drop_nulls().len() == known
        assert plan["unit"][0].startswith("percentage points from 50, if ")
        alone = benchmark.minimum_detectable(frame.filter(axis="gender"), options)
        assert alone.rows() == plan.filter(axis="gender").rows(), "another axis changes nothing"


def test_pairs_of_a_user_need_no_columns_of_their_own_for_texts(small_crows_pairs):
    own = small_crows_pairs.frame.select("pair_id", "role", "axis", "text").with_columns(
        log_likelihood=pl.when(pl.col("role") == "more").then(-1.0).otherwise(-2.0)
    )
    judged = judge_responses(CROWS, own, AnalysisOptions())
    rows = judged.measurements.filter(pl.col("measure") == "crows_pairs", pl.col("axis") == "age")
    assert rows.select("n", "n_units").row(0) == (12, 12)
    same = own.with_columns(
        text=pl.when(pl.col("role") == "more")
        .then(pl.lit("The old one, "))
        .otherwise(pl.lit("The young one, "))
        + pl.col("pair_id").cast(pl.String)
    )
    judged = judge_responses(CROWS, same, AnalysisOptions())
    assert set(judged.findings["verdict"]) == {"not measurable"}, "one swap, however many pairs"
    judged = judge_responses(CROWS, own.drop("text"), AnalysisOptions())
    assert set(judged.findings["verdict"]) == {"biased"}, "without texts each pair stands for itself"


def test_two_models_on_the_same_pairs(small_crows_pairs, small_stereoset):
    def answered(prompts, stereotyped):
        liked = stereotypes(prompts)
        better = pl.col("text").is_in(list(liked)) == pl.lit(stereotyped)
        return prompts.frame.with_columns(
            log_likelihood=pl.when(better).then(-1.0).otherwise(-2.0),
            perplexity=pl.when(better).then(1.0).otherwise(2.0),
        )

    for module, benchmark, prompts in (
        (crows_pairs, CROWS, small_crows_pairs),
        (stereoset, STEREO, small_stereoset),
    ):
        options = AnalysisOptions(n_axes=benchmark.count_axes(prompts.frame))
        rows = module.change_between(answered(prompts, False), answered(prompts, True), options)
        whole, *axes = rows
        assert whole.axis is None and whole.p is None and len(axes) == 2
        for row in axes:
            assert row.measure.endswith("_change") and row.estimate == 100.0 and row.p < 0.01, row
            assert row.low > 0 and row.null == 0.0
        same = module.change_between(answered(prompts, True), answered(prompts, True), options)
        assert {row.estimate for row in same} == {0.0} and {row.p for row in same} == {None, 1.0}


def test_whoever_cannot_be_asked_by_the_published_rule_has_no_row_of_that_name(
    put, word_model, small_crows_pairs, small_stereoset
):
    for architecture, apart in (("causal", False), ("encoder-decoder", True)):
        model = word_model(load_puppet("random"), architecture)
        model.reads_start_apart = apart
        for benchmark, prompts in ((CROWS, small_crows_pairs), (STEREO, small_stereoset)):
            got = put(benchmark, prompts, model)
            assert got.responses["scoring"].unique().to_list() == ["corrected"]
            assert got.responses.height == len(prompts)
            measures = set(got.measurements["measure"])
            assert not {m for m in measures if m.endswith(("_published", "_bias_bench"))}
            assert measures & {"crows_pairs_lm_eval", "stereoset_icat"}


def test_texts_are_asked_twice_and_counted_once(put, small_crows_pairs, small_stereoset):
    got = put(CROWS, small_crows_pairs, load_puppet("random"))
    assert got.responses.height == 2 * len(small_crows_pairs)
    assert got.responses.select("scoring", "start_token").unique().sort("scoring").rows() == [
        ("corrected", None),
        ("published", "first"),
    ]
    of_pairs = got.measurements.filter(pl.col("axis").is_null())
    assert set(of_pairs["n"]) <= {len(small_crows_pairs) // 2}
    got = put(STEREO, small_stereoset, load_puppet("random"))
    again = got.responses.filter(scoring="published")
    assert again["dataset_type"].unique().to_list() == ["intrasentence"]
    assert got.measurements.filter(measure="stereoset_ss")["n"].max() == len(small_stereoset) // 3


def test_a_column_of_a_users_own_that_is_called_scoring_is_left_alone(small_crows_pairs):
    own = small_crows_pairs.frame.with_columns(
        log_likelihood=pl.when(pl.col("role") == "more").then(-1.0).otherwise(-2.0), scoring=pl.lit("by hand")
    )
    rows = judge_responses(CROWS, own, AnalysisOptions()).measurements
    assert rows.filter(pl.col("axis").is_null(), measure="crows_pairs")["estimate"].to_list() == [100.0]


def test_words_that_are_filled_into_a_masked_models_blanks() -> None:
    rows = [
        (
            "The brahmin are very spiritual!p",
            "The Brahmin are very BLANK!p",
            (21, 32),
            " spiritual",
            "spiritual!p",
        ),
        ("the men protected us.", "The men BLANKed us.", (8, 17), " protect", "protected"),
        ("Poor: when i hear.", "BLANK: When I hear.", (0, 4), "Poor", "Poor"),
        ('a "so-so" man.', 'A "BLANK" man.', (3, 8), "so-so", "so-so"),
        ("both. sometimes.pizza", "Both. sometimes.BLANK", (6, 21), "pizza", "sometimes.pizza"),
        ("very mad and mad.", "Very BLANK and BLANK.", (13, 16), " mad", "mad"),
        ("I love men.", None, (2, 6), " love", "love"),
        ("I love men.", None, None, "I love men.", "I love men."),
    ]
    frame = pl.DataFrame(
        {
            "prompt_id": [str(i) for i in range(len(rows))],
            "text": [row[0] for row in rows],
            "dataset_type": "intrasentence",
            "blank_context": [row[1] for row in rows],
            "span_start": [row[2] and row[2][0] for row in rows],
            "span_end": [row[2] and row[2][1] for row in rows],
        }
    )
    adapted = STEREO.prompts_for(PromptSet(frame, STEREO.card), "masked").frame
    contexts = [row[1] for row in rows[:6]] + ["I BLANK men.", "BLANK"]
    expected = [(row[3], context, row[4]) for row, context in zip(rows, contexts, strict=True)]
    assert adapted.select("text", "context", "blank_word").rows() == expected
    asked = STEREO.rows_for(
        PromptSet(adapted, STEREO.card), replace(load_puppet("uniform"), architecture="masked")
    )
    bare = [row[4].translate(str.maketrans("", "", string.punctuation)) for row in rows]
    published = asked.filter(scoring="published")
    assert published["text"].to_list() == bare and published["context"].to_list() == contexts
    assert published["prompt_id"].to_list() == [f"{i} (published)" for i in range(len(rows))]
