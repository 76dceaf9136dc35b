"""Classifier error: counted by hand, corrected against known truth, and its tolerance found by trying every error."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from evenhand.measures.classifiers.classifier_error import (
    ABOVE_ONE,
    BELOW_ZERO,
    NO_BETTER_THAN_CHANCE,
    NO_LABELLED,
    PERHAPS_CHANCE,
    classifier_error,
    corrected_rates,
    rogan_gladen,
)
from evenhand.measures.classifiers.error_tolerance import error_tolerance, explaining_error
from evenhand.schema import DataError, UsageError


def labelled(**groups):
    """Each group as (found, positives, cleared, negatives)."""
    parts = [
        pl.DataFrame(
            {
                "group": [name] * (positives + negatives),
                "truth": [1] * positives + [0] * negatives,
                "judged": [1] * found
                + [0] * (positives - found)
                + [0] * cleared
                + [1] * (negatives - cleared),
            }
        )
        for name, (found, positives, cleared, negatives) in groups.items()
    ]
    return pl.concat(parts)


def judged(**groups):
    """Each group as (negatives, total)."""
    return pl.concat(
        [
            pl.DataFrame({"group": [name] * n, "negative": [1] * k + [0] * (n - k)})
            for name, (k, n) in groups.items()
        ]
    )


class TestClassifierError:
    def test_rates_and_limits_are_those_of_the_counts(self):
        error = classifier_error(labelled(a=(18, 20, 70, 80), b=(30, 40, 59, 60)))
        row = error.groups.row(0, named=True)
        assert (row["sensitivity"], row["specificity"]) == (90.0, 87.5)
        low, high = proportion_confint(70, 80, method="wilson")
        assert (row["specificity_low"], row["specificity_high"]) == pytest.approx((100 * low, 100 * high))
        assert row["false_positive_difference"] == pytest.approx(12.5 - 100 / 60)
        limits = confint_proportions_2indep(10, 80, 1, 60, method="newcomb", compare="diff")
        found = row["false_positive_difference_low"], row["false_positive_difference_high"]
        assert found == pytest.approx(tuple(100 * x for x in limits), abs=1e-9)
        pooled = error.pooled.row(0, named=True)
        assert (pooled["sensitivity"], pooled["specificity"]) == (80.0, pytest.approx(100 * 129 / 140))
        assert pooled["false_positive_difference"] is None

    def test_failed_judgements_are_counted_and_not_taken_for_an_answer(self):
        frame = labelled(a=(5, 10, 10, 10)).with_columns(
            judged=pl.when(pl.int_range(pl.len()) < 4).then(None).otherwise("judged")
        )
        row = classifier_error(frame).groups.row(0, named=True)
        assert (row["n_positive"], row["n_negative"], row["n_missing"]) == (6, 10, 4)
        assert row["sensitivity"] == pytest.approx(100 / 6)

    def test_a_group_without_positives_has_no_sensitivity(self):
        error = classifier_error(labelled(a=(0, 0, 9, 10), b=(9, 10, 10, 10)))
        row = error.groups.row(0, named=True)
        assert row["sensitivity"] is None and row["sensitivity_low"] is None
        assert (row["n_positive"], row["specificity"]) == (0, 90.0)

    def test_texts_of_one_template_tell_less_than_independent_ones(self):
        # twenty templates of ten texts each, all ten right or all ten wrong
        right = np.repeat(np.arange(20) % 4 != 0, 10)
        frame = pl.DataFrame(
            {
                "group": ["a"] * 200,
                "truth": [0] * 200,
                "judged": 1 - right.astype(int),
                "template": np.repeat(np.arange(20), 10),
            }
        )
        alone = classifier_error(frame).groups.row(0, named=True)
        together = classifier_error(frame, cluster="template").groups.row(0, named=True)
        assert together["specificity"] == alone["specificity"] == 75.0
        assert together["negatives"] < 25 and alone["negatives"] == 200
        assert together["specificity_low"] < alone["specificity_low"]

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda f: f.drop("truth"), "truth"),
            (lambda f: f.with_columns(truth=pl.lit(None, pl.Int64)), "truth|missing"),
            (lambda f: f.with_columns(truth=pl.lit(2)), "2"),
            (lambda f: f.with_columns(judged=pl.lit("toxic")), "1"),
        ],
    )
    def test_bad_tables_are_refused(self, change, words):
        with pytest.raises(DataError, match=words):
            classifier_error(change(labelled(a=(5, 10, 9, 10))))


class TestRoganGladen:
    @given(st.floats(0, 1), st.floats(0.51, 1), st.floats(0.51, 1))
    def test_it_inverts_the_rate_that_such_a_classifier_gives(self, true, sensitivity, specificity):
        rate = true * sensitivity + (1 - true) * (1 - specificity)
        assert rogan_gladen(rate, sensitivity, specificity) == pytest.approx(true, abs=1e-9)

    def test_a_classifier_that_guesses_gives_nothing(self):
        assert np.isnan(rogan_gladen(0.3, [0.5, 0.2, 0.0], [0.5, 0.1, 1.0])).all()

    def test_impossible_values_are_not_clipped(self):
        assert rogan_gladen([0.05, 0.95], 0.9, 0.9).round(4).tolist() == [-0.0625, 1.0625]


class TestCorrectedRates:
    def test_a_group_that_only_looks_harmed_is_put_right(self):
        # the truth is 10 % in both; the classifier raises 30 % false alarms on a, 5 % on b
        error = classifier_error(labelled(a=(900, 1000, 700, 1000), b=(900, 1000, 950, 1000)))
        table = corrected_rates(judged(a=(360, 1000), b=(135, 1000)), error)
        assert table["estimate"].to_list() == pytest.approx([10.0, 10.0])
        assert table["background"].to_list() == pytest.approx([10.0, 10.0])
        assert table["harmed"].to_list() == [False, False]
        assert table["flag"].to_list() == [None, None]

    def test_a_group_that_is_harmed_stays_so(self):
        error = classifier_error(labelled(a=(900, 1000, 950, 1000), b=(900, 1000, 950, 1000)))
        for pooled in (False, True):
            table = corrected_rates(judged(a=(390, 1000), b=(135, 1000)), error, pooled=pooled)
            assert table["harmed"].to_list() == [True, False]
            assert table["difference"].to_list() == pytest.approx([30.0, -30.0])
            assert table["difference_low"][0] > 0

    def test_what_cannot_be_is_flagged(self):
        error = classifier_error(
            labelled(
                below=(95, 100, 70, 100),
                above=(60, 100, 98, 100),
                guessing=(30, 100, 60, 100),
                nearly=(55, 100, 48, 100),
                unlabelled=(0, 0, 50, 50),
                good=(95, 100, 95, 100),
            )
        )
        groups = {
            "below": (5, 100),
            "above": (90, 100),
            "guessing": (30, 100),
            "nearly": (50, 100),
            "unlabelled": (9, 100),
            "good": (20, 100),
        }
        rows = {row["group"]: row for row in corrected_rates(judged(**groups), error).to_dicts()}
        assert {name: row["flag"] for name, row in rows.items()} == {
            "below": BELOW_ZERO,
            "above": ABOVE_ONE,
            "guessing": NO_BETTER_THAN_CHANCE,
            "nearly": PERHAPS_CHANCE,
            "unlabelled": NO_LABELLED,
            "good": None,
        }
        assert rows["below"]["estimate"] < 0 and rows["above"]["estimate"] > 100
        assert rows["guessing"]["estimate"] is None and rows["unlabelled"]["estimate"] is None
        for name in ("guessing", "nearly", "unlabelled"):
            assert (rows[name]["low"], rows[name]["high"], rows[name]["p"]) == (0.0, 100.0, None)

    def test_groups_without_labels_are_named(self):
        error = classifier_error(labelled(a=(9, 10, 9, 10)))
        with pytest.raises(DataError, match="'b'"):
            corrected_rates(judged(a=(1, 10), b=(2, 10)), error)

    @pytest.mark.parametrize(
        ("true", "n", "labels", "sensitivity", "specificity"),
        [
            (0.05, 200, 40, 0.85, 0.95),
            (0.1, 1000, 100, 0.7, 0.9),
            (0.3, 150, 100, 0.9, 0.85),
            (0.6, 1000, 50, 0.8, 0.8),
        ],
    )
    def test_limits_cover_the_known_truth(self, true, n, labels, sensitivity, specificity):
        """Many groups of one truth, each with a labelled set of its own: one table is many experiments."""
        groups, rng = 1500, np.random.default_rng(5)
        rate = true * sensitivity + (1 - true) * (1 - specificity)
        error, answers = drawn(rng, groups, n, labels, rate, sensitivity, specificity)
        table = corrected_rates(answers, error)
        inside = ((table["low"] <= 100 * true) & (100 * true <= table["high"])).mean()
        assert 0.93 <= inside <= 0.99
        around = ((table["difference_low"] <= 0) & (table["difference_high"] >= 0)).mean()
        assert 0.93 <= around <= 0.99
        assert table["estimate"].mean() == pytest.approx(100 * true, abs=1.5)
        assert (table["p"] < 0.05).mean() < 0.065  # no group is above the others
        assert not table["harmed"].any()

    def test_a_shared_error_is_shared_luck(self):
        """With one small labelled set for all groups, differences are known better than rates."""
        rng = np.random.default_rng(6)
        covered, widths = [], []
        for _ in range(20):
            error, answers = drawn(rng, 6, 500, 60, 0.3 * 0.8 + 0.7 * 0.1, 0.8, 0.9, shared=True)
            table = corrected_rates(answers, error, pooled=True)
            covered.append((table["difference_low"] <= 0) & (table["difference_high"] >= 0))
            apart = corrected_rates(answers, error)
            widths.append((table["difference_high"] - table["difference_low"]).mean())
            assert widths[-1] < (apart["difference_high"] - apart["difference_low"]).mean()
        assert 0.9 <= np.mean(covered) <= 1


def drawn(rng, groups, n, labels, rate, sensitivity, specificity, shared=False):
    """A measured error and answers of many like groups, as frames, quickly."""
    names = [f"g{i:04d}" for i in range(groups)]
    size = 1 if shared else groups
    found = np.broadcast_to(rng.binomial(labels, sensitivity, size), groups)
    cleared = np.broadcast_to(rng.binomial(labels, specificity, size), groups)
    order = np.arange(labels)
    frame = pl.DataFrame(
        {
            "group": np.repeat(names, 2 * labels),
            "truth": np.tile(np.repeat([1, 0], labels), groups),
            "judged": np.concatenate(
                [order[None, :] < found[:, None], order[None, :] >= cleared[:, None]], axis=1
            ).ravel(),
        }
    )
    error = classifier_error(frame)
    if shared:  # the pooled row must be one set of that size, not six copies of it
        one = classifier_error(frame.filter(group=names[0]))
        error = type(error)(error.groups, one.pooled)
    negatives = rng.binomial(n, rate, groups)
    answers = pl.DataFrame(
        {
            "group": np.repeat(names, n),
            "negative": (np.arange(n)[None, :] < negatives[:, None]).ravel(),
        }
    )
    return error, answers


def verdict(negatives, totals, i, threshold, background):
    """Is group i harmed, by scipy's Fisher or binomial test at a fixed threshold and Wilson's lower limit?"""
    k, n = negatives[i], totals[i]
    if background is None:
        others_k, others_n = sum(negatives) - k, sum(totals) - n
        p = scipy_stats.fisher_exact([[k, n - k], [others_k, others_n - others_k]], alternative="greater")[1]
        compared = others_k / others_n
    else:
        p = scipy_stats.binomtest(k, n, background, alternative="greater").pvalue
        compared = background
    return p <= threshold * (1 + 1e-12) and proportion_confint(k, n, method="wilson")[0] > compared


class TestErrorTolerance:
    @settings(max_examples=15)
    @given(
        st.lists(st.tuples(st.integers(1, 40), st.floats(0, 1)), min_size=2, max_size=5),
        st.sampled_from([None, 0.1, 0.3]),
    )
    def test_every_smaller_error_leaves_the_verdict(self, groups, background):
        totals = [n for n, _ in groups]
        negatives = [round(n * share) for n, share in groups]
        frame = judged(**{f"g{i}": pair for i, pair in enumerate(zip(negatives, totals, strict=True))})
        table = error_tolerance(frame, background=None if background is None else 100 * background)
        p = [p_of(negatives, totals, i, background) for i in range(len(totals))]
        rejected, _, _, _ = multipletests(p, alpha=0.05, method="fdr_bh")
        threshold = 0.05 * rejected.sum() / len(totals)
        for i, row in enumerate(table.to_dicts()):
            assert row["harmed"] == verdict(negatives, totals, i, threshold, background)
            if not row["harmed"]:
                assert row["verdict_holds_below"] is None and row["texts"] is None
                continue
            fewer = [
                verdict([k - m * (j == i) for j, k in enumerate(negatives)], totals, i, threshold, background)
                for m in range(negatives[i] + 1)
            ]
            assert row["texts"] == fewer.index(False)
            assert row["verdict_holds_below"] == pytest.approx(100 * row["texts"] / totals[i])
            assert row["verdict_holds_below"] <= row["explained_by"] + 100 / totals[i]

    def test_the_gap_is_explained_by_the_error_it_says(self):
        # with equal truth and that much more false alarms the rates are what was seen
        true, sensitivity, alarms, extra = 0.2, 0.8, 0.1, 0.15
        others = true * sensitivity + (1 - true) * alarms
        group = true * sensitivity + (1 - true) * (alarms + extra)
        assert explaining_error(group, others, true) == pytest.approx(extra)
        assert explaining_error(group, others) < extra  # the smallest over all truths

    def test_a_measured_error_is_set_beside_it(self):
        answers = judged(a=(60, 100), b=(20, 100), c=(20, 100))
        even = classifier_error(labelled(a=(95, 100, 475, 500), b=(95, 100, 475, 500), c=(95, 100, 475, 500)))
        harsh = classifier_error(
            labelled(a=(95, 100, 250, 500), b=(95, 100, 475, 500), c=(95, 100, 475, 500))
        )
        few = classifier_error(labelled(a=(4, 5, 3, 5), b=(4, 5, 5, 5), c=(4, 5, 5, 5)))
        verdicts = [error_tolerance(answers, error=error)["verdict"][0] for error in (even, harsh, few)]
        assert verdicts == ["holds", "falls", "open"]
        assert error_tolerance(answers, error=even)["verdict"].to_list()[1:] == [None, None]
        blind = error_tolerance(answers)["verdict_holds_below"][0]
        assert error_tolerance(answers, error=even)["verdict_holds_below"][0] > blind

    def test_samples_of_one_prompt_tolerate_less(self):
        answers = judged(a=(60, 100), b=(20, 100)).with_columns(prompt_id=pl.int_range(pl.len()) // 10)
        apart = error_tolerance(answers.drop("prompt_id"))
        together = error_tolerance(answers)
        assert apart["harmed"][0]
        limit = together["verdict_holds_below"][0]
        assert limit is None or limit < apart["verdict_holds_below"][0]

    def test_one_group_needs_a_background(self):
        with pytest.raises(UsageError, match="background"):
            error_tolerance(judged(a=(5, 10)))
        assert error_tolerance(judged(a=(9, 10)), background=20)["harmed"].to_list() == [True]


def p_of(negatives, totals, i, background):
    k, n = negatives[i], totals[i]
    if background is not None:
        return scipy_stats.binomtest(k, n, background, alternative="greater").pvalue
    others_k, others_n = sum(negatives) - k, sum(totals) - n
    return scipy_stats.fisher_exact([[k, n - k], [others_k, others_n - others_k]], alternative="greater")[1]
