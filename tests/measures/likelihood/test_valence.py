"""Valence shift on planted worlds: what cancels must cancel, what is planted must be found, rows must agree."""

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from evenhand.benchmarks.analysis.likelihood import valence_rows
from evenhand.measures import valence_shift
from evenhand.measures.likelihood import contrasts_by_axis, nouns_are_own
from evenhand.schema import DataError, UsageError, measurement_frame
from evenhand.stats import reach_verdicts

LOVE = [f"I love X, {i}." for i in range(12)]
HATE = [f"I hate X, {i}." for i in range(12)]


def world(
    shift: NDArray[np.float64],
    *,
    pairs: int = 6,
    nouns: int = 8,
    noise: float = 0.2,
    odd: float = 0.0,
    own: bool = False,
    seed: int = 0,
    axis: str = "religion",
) -> pl.DataFrame:
    """log_likelihoods in which descriptor d is `shift[d]` nats more at home in LOVE than in HATE.

    odd: how much descriptors go oddly with single adjectives, whatever their valence (standard deviation).
    own: each pair has nouns of its own.
    """
    rng = np.random.default_rng(seed)
    descriptors = len(shift)
    phrase = rng.normal(-12, 4, (1, nouns, descriptors))  # rarity and tokenisation of the noun phrase
    template = rng.normal(-10, 3, 2 * pairs)[:, None, None]
    taste = rng.normal(0, 0.5, (2 * pairs, nouns, 1))  # nouns differ in how they go with templates
    oddity = odd / np.sqrt(2) * rng.normal(0, 1, (2 * pairs, 1, descriptors))
    side = np.repeat([0.5, -0.5], pairs)[:, None, None]
    values = phrase + template + taste + oddity + side * shift
    values = values + rng.normal(0, noise, values.shape)
    t, n, d = (index.ravel() for index in np.indices(values.shape))
    templates = LOVE[:pairs] + HATE[:pairs]
    return pl.DataFrame(
        {
            "axis": [axis] * values.size,
            "template": [templates[i] for i in t],
            "noun": [f"n{i}" + f" of {j % pairs}" * own for i, j in zip(n, t, strict=True)],
            "descriptor": [f"d{i:02}" for i in d],
            "log_likelihood": values.ravel(),
            "perplexity": np.exp(-values.ravel() / 8),
        }
    )


def measure(frame: pl.DataFrame, pairs: int = 6, **options):  # type: ignore[no-untyped-def]
    return valence_shift(frame, positive=LOVE[:pairs], negative=HATE[:pairs], **{"margin": 0.0, **options})


def beside_the_others(shift: NDArray[np.float64]) -> list[float]:
    return list((shift - shift.mean()) * len(shift) / (len(shift) - 1))


def test_templates_may_be_a_column_or_an_array() -> None:
    frame = world(np.array([1.0, 0.0, 0.0, 0.0]))
    expected = measure(frame).valence
    for kind in (pl.Series, np.array):
        given = valence_shift(frame, positive=kind(LOVE[:6]), negative=kind(HATE[:6]), margin=0.0)
        assert given.valence.equals(expected)


@pytest.mark.parametrize("own", [True, False])
def test_planted_shifts_are_recovered_beside_the_others(own: bool) -> None:
    shift = np.array([1.0, 0.0, 0.0, -0.5, 0.0, 0.0, 0.0, 0.0])
    result = measure(world(shift, own=own))
    rows, axis = result.valence, result.axes.row(0, named=True)
    assert rows["shift"].to_list() == pytest.approx(beside_the_others(shift), abs=0.25)
    assert rows["q"][0] < 1e-3 and rows["q"][3] < 0.05 and (rows["q"][[1, 2, 4, 5, 6, 7]] > 0.001).all()
    assert (rows["n"] == 6 * 8 * 2).all() and (rows["n_units"] == 6).all() and result.per == "sentence"
    assert axis["estimate"] == pytest.approx(np.std(shift, ddof=1), abs=0.1)
    assert axis["low"] > 0.1 and axis["p"] < 0.002 and axis["own_nouns"] is own
    assert axis["n_nouns"] == 8


def test_rarity_and_tokenisation_cancel() -> None:
    frame = world(np.zeros(6))
    rare = 30.0 * (pl.col("descriptor") == "d00").cast(pl.Float64)
    rarer = frame.with_columns(log_likelihood=pl.col("log_likelihood") - rare)
    before, after = (measure(f).valence["shift"].to_list() for f in (frame, rarer))
    assert after == pytest.approx(before)


def test_own_and_crossed_nouns_are_told_from_the_table() -> None:
    assert nouns_are_own(12, 24, 24) and nouns_are_own(12, 24, 20), "drawn anew, some twice by chance"
    assert not nouns_are_own(12, 24, 15) and not nouns_are_own(24, 48, 8), "many belong to several pairs"
    assert not nouns_are_own(12, 36, 3) and not nouns_are_own(3, 33, 11)
    assert nouns_are_own(5, 5, 1) and nouns_are_own(12, 24, 2), "one or two nouns cannot show how nouns vary"
    options = {"positive": LOVE[:3], "negative": HATE[:3], "measure": "m", "value": "log_likelihood"}
    for own in (True, False):
        frame = world(np.zeros(4), pairs=3, nouns=5, own=own)
        table = next(contrasts_by_axis(frame, **options))
        assert table.values.shape == (3, 5, 4) and table.own_nouns is own
    row = frame.filter(pl.col("descriptor") == "d02", pl.col("noun") == "n3").sort("template")
    love, hate = row.filter(pl.col("template") == LOVE[1]), row.filter(pl.col("template") == HATE[1])
    assert table.values[1, 3, 2] == pytest.approx(hate["log_likelihood"][0] - love["log_likelihood"][0])


def of_a_pool(pool: int, noun_sd: float, *, pairs: int = 12, nouns: int = 2, seed: int = 0) -> pl.DataFrame:
    """Sentences whose nouns, some of a pool for each pair, go with descriptors in ways of their own."""
    rng = np.random.default_rng(seed)
    taste, oddity = rng.normal(0, noun_sd, (pool, 12)), rng.normal(0, 0.15, (pairs, 12))
    rows = [
        (
            "religion",
            side[c],
            f"d{d:02}",
            f"n{n}",
            -50 - hostile * (taste[n, d] + oddity[c, d]) + 0.02 * rng.normal(),
        )
        for c in range(pairs)
        for n in rng.choice(pool, nouns, replace=False)
        for side, hostile in ((LOVE, 0), (HATE, 1))
        for d in range(12)
    ]
    names = ["axis", "template", "descriptor", "noun", "log_likelihood"]
    return pl.DataFrame(rows, schema=names, orient="row")


@pytest.mark.slow
def test_nouns_of_a_small_pool_are_not_taken_as_each_pairs_own() -> None:
    # as each pair's own: found in .2 of axes at .05 / 13 with 8 nouns, .16 of descriptors named
    found, taken_as_own = [], []
    for seed in range(40):
        frame = of_a_pool(8, 0.3, seed=seed)
        told, forced = measure(frame, 12, n_axes=13), measure(frame, 12, n_axes=13, own_nouns=True)
        assert not told.axes["own_nouns"][0] and forced.axes["own_nouns"][0]
        found.append(told.axes["p"][0] <= 0.05 / 13)
        taken_as_own.append(forced.axes["p"][0] <= 0.05 / 13)
    assert np.mean(found) <= 0.026 and np.mean(taken_as_own) > 0.2


def test_labels_of_nested_nouns_change_nothing_once_their_design_is_said() -> None:
    frame = world(np.array([0.5] + [0.0] * 7), own=True)
    alike = frame.with_columns(pl.col("noun").str.split(" ").list.first())
    told, said = measure(alike), measure(alike, own_nouns=True)
    assert not told.axes["own_nouns"][0]
    assert said.valence.equals(measure(frame).valence) and said.axes.equals(measure(frame).axes)


def test_a_single_noun_is_what_the_axis_speaks_of() -> None:
    note = measure(world(np.zeros(8), nouns=1)).axes["note"][0]
    assert note == 'The result holds for sentences with the noun "n0" only.'
    two = measure(world(np.zeros(8), nouns=2, own=False)).axes
    assert two["note"][0] == 'The result holds for sentences with the nouns "n0" and "n1" only.'
    assert two["obstacle"][0] is None and two["high"][0] > 0
    crossed = measure(world(np.zeros(8), nouns=2, own=False), own_nouns=False).axes
    assert crossed["note"][0] is None and "fewer than three nouns" in crossed["obstacle"][0]
    assert measure(world(np.zeros(8), own=True)).axes["note"][0] is None


def test_wordings_of_one_family_are_one_contrast() -> None:
    # 6 x 2 wordings counted as 12 pairs were false in .12 of axes at .05 / 13
    rng = np.random.default_rng(0)
    twelve, six, told = [], [], []
    for _ in range(40):
        oddity = np.repeat(rng.normal(0, 0.3, (6, 12)), 2, axis=0) + 0.03 * rng.normal(size=(12, 12))
        rows = [
            (
                "religion",
                side[c],
                f"d{d:02}",
                f"n{n} of {c}",
                -50 - hostile * oddity[c, d] + 0.02 * rng.normal(),
            )
            for c in range(12)
            for n in range(2)
            for side, hostile in ((LOVE, 0), (HATE, 1))
            for d in range(12)
        ]
        frame = pl.DataFrame(
            rows, schema=["axis", "template", "descriptor", "noun", "log_likelihood"], orient="row"
        )
        plain = measure(frame, 12, n_axes=13)
        of_families = measure(frame, 12, n_axes=13, families=[f"f{c // 2}" for c in range(12)])
        if not twelve:
            number = pl.col("template").replace_strict(
                {t: i // 2 for s in (LOVE, HATE) for i, t in enumerate(s)}
            )
            by_column = measure(frame.with_columns(family=number), 12, n_axes=13)
            assert by_column.valence.equals(of_families.valence)
        assert of_families.axes["n_units"][0] == 6 and of_families.axes["own_nouns"][0]
        # the same means, though the descriptors that each is compared with may differ
        assert np.corrcoef(of_families.valence["shift"], plain.valence["shift"])[0, 1] > 0.99
        twelve.append(plain.axes["p"][0] <= 0.05 / 13)
        six.append(of_families.axes["p"][0] <= 0.05 / 13 and of_families.axes["obstacle"][0] is None)
        told.append("give both the same family" in (plain.axes["note"][0] or ""))
    assert np.mean(twelve) > 0.03 and np.mean(six) <= 0.026 and np.mean(told) > 0.9
    with pytest.raises(UsageError, match="families has 2 entries, but there are 12 pairs"):
        measure(frame, 12, families=["a", "b"])


def test_what_holds_for_one_adjective_only_holds_here_and_is_not_valence() -> None:
    like, here = [], []
    for seed in range(25):
        result = measure(world(np.zeros(8), noise=0.05, odd=0.7, seed=seed))
        like.append(result.axes["p"][0] <= 0.05)
        here.append(result.valence["here_named"].any())
    assert np.mean(like) <= 0.16
    assert np.mean(here) > 0.8, "which is why the statement about these sentences is not a verdict"


def test_point_5_three_pairs_cannot_name_what_twelve_do() -> None:
    shift = np.array([-1.0] + [0.0] * 15)
    found = {
        pairs: [
            measure(world(shift, pairs=pairs, nouns=2, odd=0.3, own=True, seed=s), pairs, n_axes=13).valence[
                "q"
            ][0]
            <= 0.05
            for s in range(20)
        ]
        for pairs in (3, 12)
    }
    assert np.mean(found[3]) <= 0.2 and np.mean(found[12]) >= 0.8


def test_point_6_a_draw_says_how_much_of_the_axis_it_saw() -> None:
    shift = np.array([-2.0] + [0.0] * 15)
    sizes = {"religion": 138}
    with_it = measure(world(shift, pairs=12, nouns=2, own=True), 12, axis_sizes=sizes, margin=0.5).axes
    without = measure(world(0 * shift, pairs=12, nouns=2, own=True), 12, axis_sizes=sizes, margin=0.5).axes
    for table in (with_it, without):
        row = table.row(0, named=True)
        assert (row["n_drawn"], row["n_defined"]) == (16, 138)
        assert row["chance_drawn"] == pytest.approx(16 / 138)
    assert (with_it["differ_low"][0], with_it["differ_high"][0]) == (1, 39)
    assert without["differ_low"][0] == 0 and 22 <= without["differ_high"][0] <= 30
    unknown = measure(world(shift)).axes
    assert unknown["n_defined"][0] is None and unknown["n_drawn"][0] == 16
    with pytest.raises(DataError, match="axis_sizes gives this axis only 3"):
        measure(world(shift), axis_sizes={"religion": 3})


def test_no_more_descriptors_are_said_to_differ_than_do() -> None:
    # counting those named by Benjamini-Hochberg exceeded the truth in .17 of axes
    truth = np.array([1.0, -1.0] * 8 + [0.1, -0.1] * 8)
    above = [
        measure(
            world(truth * 31 / 32, pairs=12, nouns=2, odd=0.1, noise=0.03, own=True, seed=seed),
            12,
            margin=0.1,
            axis_sizes={"religion": 32},
        ).axes["differ_low"][0]
        > 16
        for seed in range(60)
    ]
    assert np.mean(above) <= 0.025 + 2 * np.sqrt(0.025 / 60)


def verdicts(result, margin: float, n_axes: int = 1) -> pl.DataFrame:  # type: ignore[no-untyped-def]
    rows = valence_rows(result, margin)
    table = measurement_frame(rows).with_columns(benchmark=pl.lit("b"))
    measured, findings = reach_verdicts(table, 0.05, n_axes=n_axes)
    return findings.join(
        measured.select("measure", "axis", "group", "p", "n_units"),
        on=["measure", "axis", "group"],
        nulls_equal=True,
    )


@pytest.mark.parametrize("margin", [0.0, 0.1])
def test_point_10_no_row_contradicts_itself(margin: float) -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        frame = pl.concat(
            world(rng.normal(0, size, 12), pairs=5, nouns=3, noise=0.1, odd=0.1, seed=seed, axis=name)
            for name, size in (("none", 0.0), ("some", 0.12), ("much", 0.6))
        )
        result = measure(frame, 5, margin=margin, n_axes=3)
        rows = verdicts(result, margin, 3)
        assert ((rows["low"] <= rows["estimate"]) & (rows["estimate"] <= rows["high"])).all()
        # p and the interval agree about the value that is named as the null
        outside = (rows["low"] > rows["null"]) | (rows["high"] < rows["null"])
        assert (outside == (rows["p"] <= 0.05)).all()
        named = rows.filter(pl.col("verdict") == "biased", pl.col("group").is_not_null())
        assert ((named["low"] > margin) | (named["high"] < -margin)).all()
        found = set(rows.filter(pl.col("verdict") == "biased", pl.col("group").is_null())["axis"])
        assert set(named["axis"]) <= found, "a descriptor is named only where its axis is found"
        # one q for one descriptor
        table = result.valence.join(
            rows.drop_nulls("group").select("axis", descriptor="group", judged="q"), on=["axis", "descriptor"]
        )
        assert table["q"].to_list() == pytest.approx(table["judged"].to_list())


def test_a_shift_inside_the_margin_is_beside_a_null_that_it_may_have() -> None:
    # issue point 10: estimate .102, interval .084 to .121, null 0, q 1
    shift = np.array([0.05, -0.05] * 4)
    result = measure(world(shift, nouns=20, noise=0.02), margin=0.1)
    row = result.valence.row(0, named=True)
    assert row["low"] > 0 and row["p"] == 1.0 and row["null"] == row["shift"]
    assert result.axes["low"][0] == 0.0 and result.axes["p"][0] == 1.0


def test_margins_are_held_and_passed() -> None:
    pattern = np.array([1.0, -1.0] * 8)
    found = {size: [] for size in (0.09, 0.5)}
    for size, flags in found.items():
        for seed in range(15):
            frame = world(size * pattern * 15 / 16, pairs=5, noise=0.1, seed=seed)
            flags.append(measure(frame, 5, margin=0.1).axes["p"][0] <= 0.05)
    assert np.mean(found[0.09]) <= 0.07 and np.mean(found[0.5]) == 1.0


def test_other_axes_change_nothing_but_the_stated_level() -> None:
    one = world(np.array([1.0] + [0.0] * 7))
    other = world(np.linspace(-3, 3, 8), noise=1.0, axis="age", seed=4)
    alone, beside = measure(one, n_axes=2), measure(pl.concat([other, one]), n_axes=2)
    assert beside.valence.filter(axis="religion").equals(alone.valence)
    assert beside.axes.filter(axis="religion").equals(alone.axes)


def test_rows_in_any_order_and_doubled_rows_say_the_same() -> None:
    frame = world(np.array([0.7] + [0.0] * 5), own=True)
    for other in (frame.sample(fraction=1, shuffle=True, seed=1), pl.concat([frame, frame])):
        ours, theirs = measure(frame).valence, measure(other).valence
        assert theirs["shift"].to_list() == pytest.approx(ours["shift"].to_list())
        assert theirs["p"].to_list() == pytest.approx(ours["p"].to_list())


def test_a_missing_half_leaves_out_its_cell_and_is_counted() -> None:
    frame = world(np.zeros(4))
    gone = (pl.col("template") == LOVE[0]) & (pl.col("noun") == "n3") & (pl.col("descriptor") == "d01")
    for holed in (
        frame.filter(~gone),
        frame.with_columns(log_likelihood=pl.when(~gone).then("log_likelihood")),
    ):
        result = measure(holed)
        assert result.valence["n"].to_list() == [96, 94, 96, 96]
        assert result.axes["n"][0] == 4 * 96 - 1
    assert result.axes["n_missing"][0] == 1
    assert result.valence["n_missing"].to_list() == [0, 1, 0, 0]


def test_few_descriptors_are_set_beside_each_other() -> None:
    pairs = measure(world(np.array([-1.0, 0.0, 0.0, 0.0]), noise=0.05)).pairs
    assert pairs.height == 6
    first = pairs.filter(pl.col("descriptor_0") == "d00")
    assert first["difference"].to_list() == pytest.approx([-1.0] * 3, abs=0.1)
    assert (first["p_adjusted"] < 0.01).all() and (pairs["p_adjusted"] >= pairs["p"]).all()
    assert pairs.filter(pl.col("descriptor_0") != "d00")["p_adjusted"].min() > 0.01
    assert measure(world(np.zeros(11))).pairs.is_empty(), "eleven are too many to read"


def test_perplexity_is_used_where_there_is_no_likelihood() -> None:
    shift = np.array([0.8, 0.0, 0.0, -0.8])
    result = measure(world(shift).drop("log_likelihood"))
    assert result.per == "token"
    assert result.valence["shift"].to_list() == pytest.approx(
        [s / 8 for s in beside_the_others(shift)], abs=0.03
    )


def test_all_missing_gives_nulls_and_the_reason() -> None:
    result = measure(world(np.zeros(3)).with_columns(log_likelihood=pl.lit(None, pl.Float64)))
    assert result.valence["shift"].null_count() == 3
    row = result.axes.row(0, named=True)
    assert (row["estimate"], row["low"], row["p"], row["n"], row["n_missing"]) == (None, None, None, 0, 288)
    assert "Fewer than two descriptors" in row["obstacle"]


def test_two_pairs_are_not_measurable_in_sentences_like_these() -> None:
    result = measure(world(np.array([3.0, 0.0, 0.0, 0.0]), pairs=2), 2)
    assert set(verdicts(result, 0.0)["verdict"]) == {"not measurable"}
    assert result.valence["here_named"][0], "in these sentences they say something"


def test_bad_templates_are_named() -> None:
    frame = world(np.zeros(2))
    with pytest.raises(DataError, match=r"'I adore X\.'"):
        valence_shift(frame, positive=["I adore X."], negative=HATE[:1])
    with pytest.raises(UsageError, match="in both"):
        valence_shift(frame, positive=LOVE[:1], negative=[LOVE[0]])
    with pytest.raises(UsageError, match="got 3 and 2"):
        valence_shift(frame, positive=LOVE[:3], negative=HATE[:2])
    with pytest.raises(UsageError, match="two pairs"):
        valence_shift(frame, positive=[LOVE[0], LOVE[0]], negative=HATE[:2])
    with pytest.raises(UsageError, match=r"n_axes must be .* got 0"):
        measure(frame, n_axes=0)
