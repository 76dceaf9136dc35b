"""The rule about annotators who always choose the same: one side of every pair, or one option of every rating."""

from math import comb

import polars as pl

from evenhand.annotation.definition import ConstantSide

TIE = "tie"
RATINGS = ("nominal", "ordinal", "interval")


def constant_side(votes: pl.DataFrame, rule: ConstantSide) -> dict[str, str]:
    """Return annotators who always chose the same side or option, if this has a probability below `p` by chance.

    votes: VOTES; real and gold items count. Each question with at least `least` answers is tested separately, and its
    p-value is multiplied by the number of the annotator's questions.

    Pairs (ties excluded): all answers are on one side. The answers of an attentive annotator do not depend on the
    sides, so the sides are permuted among the annotator's pairs. If a was on the left in m of n pairs, all answers are
    on one side with probability 1 / C(n, m), or twice that if m = n / 2. This is valid for independent and for balanced
    sides. It is never smaller than 2 * 0.5^n, the probability with an independent fair side for every pair.

    Ratings (and ties of pairs): all answers are the same option. The probability is the option's share among the
    answers of all other annotators (plus one answer of each option), to the power n. This assumes that items are
    exchangeable: annotators who got only mild texts answer "no" every time more often. It cannot be computed from
    one annotator's rows.
    """
    answers = votes.filter(
        pl.col("role").is_in(["real", "gold"])
        & pl.col("answer").is_not_null()
        & pl.col("question").is_not_null()
    )
    chances = pl.concat([_one_side(answers), _one_option(answers)])
    tests = chances.group_by("person").agg(tests=pl.col("question").n_unique())
    low = (
        chances.filter(pl.col("constant") & (pl.col("n") >= rule.least))
        .join(tests, on="person")
        .with_columns(p=pl.col("p") * pl.col("tests"))
        .filter(pl.col("p") < rule.p)
        .sort("p")
    )
    # the least probable question of an annotator decides
    return {
        row[
            "person"
        ]: f"{row['question']}: always {row['what']} in {row['n']} answers, by chance p = {row['p']:.1g}"
        for row in reversed(low.to_dicts())
    }


def _one_side(answers: pl.DataFrame) -> pl.DataFrame:
    chosen = answers.filter((pl.col("measurement") == "preference") & (pl.col("answer") != TIE))
    counts = chosen.group_by("person", "question").agg(
        n=pl.len(),
        left=(pl.col("answer") == pl.col("shown_left")).sum(),
        a_left=(pl.col("shown_left") == "a").sum(),
    )
    constant = (pl.col("left") == 0) | (pl.col("left") == pl.col("n"))
    chances = [_chance_of_one_side(n, a_left) for n, a_left in counts.select("n", "a_left").iter_rows()]
    return counts.select(
        "person",
        "question",
        pl.col("n").cast(pl.Int64),
        constant=constant,
        what=pl.when(pl.col("left") > 0).then(pl.lit("the left one")).otherwise(pl.lit("the right one")),
        p=pl.Series(chances, dtype=pl.Float64),
    )


def _chance_of_one_side(n: int, a_left: int) -> float:
    return (2 if 2 * a_left == n else 1) / comb(n, a_left)


def _one_option(answers: pl.DataFrame) -> pl.DataFrame:
    rated = answers.filter(pl.col("measurement").is_in([*RATINGS, "preference"]))
    of_person = rated.group_by("person", "question").agg(
        n=pl.len(),
        options=pl.col("answer").n_unique(),
        answer=pl.col("answer").first(),
        pair=(pl.col("measurement") == "preference").first(),
    )
    totals = rated.group_by("question").agg(total=pl.len(), known=pl.col("answer").n_unique())
    shares = rated.group_by("question", "answer").agg(chosen=pl.len())
    own, total = pl.col("n").cast(pl.Float64), pl.col("total").cast(pl.Float64)
    share = (pl.col("chosen") - own + 1) / (total - own + pl.col("known"))
    return (
        of_person.join(totals, on="question")
        .join(shares, on=["question", "answer"])
        .select(
            "person",
            "question",
            pl.col("n").cast(pl.Int64),
            constant=(pl.col("options") == 1) & (~pl.col("pair") | (pl.col("answer") == TIE)),
            what=pl.lit("'") + pl.col("answer") + pl.lit("'"),
            p=share.pow(own),
        )
    )
