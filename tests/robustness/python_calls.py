"""At least 400 calls of public functions that are wrong in one argument each.

Each function has one call that is right (`GOOD`, which the harness tries too); each argument is then given what it
cannot be. Tables are also given without a column that is needed, or with one of another kind.
"""

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars as pl

from evenhand import measures, mitigations, models, prompts, stats

Values = Mapping[str, Any]

FRAMES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "of pandas": lambda frame: pandas.DataFrame(frame.to_dict(as_series=False)),
    "lazy": lambda frame: frame.lazy(),
    "a dict": lambda frame: frame.to_dict(as_series=False),
    "None": lambda frame: None,
    "its rows": lambda frame: frame.rows(named=True),
    "without rows": lambda frame: frame.clear(),
    "without columns": lambda frame: pl.DataFrame(),
    "a column": lambda frame: frame[frame.columns[0]],
    "a path": lambda frame: "table.csv",
    "an array": lambda frame: np.zeros((3, 2)),
}
COLUMNS: dict[str, Callable[[pl.DataFrame, str], pl.DataFrame]] = {
    "is absent": lambda frame, name: frame.drop(name),
    "holds lists": lambda frame, name: frame.with_columns(pl.Series(name, [["x"]] * frame.height)),
    "contains durations": lambda frame, name: frame.with_columns(pl.duration(seconds=1).alias(name)),
    "contains bytes": lambda frame, name: frame.with_columns(pl.lit(b"\xff").alias(name)),
    "holds objects": lambda frame, name: frame.with_columns(pl.Series(name, [{"a": 1}] * frame.height)),
}
NUMBER_COLUMN: dict[str, Callable[[pl.DataFrame, str], pl.DataFrame]] = {
    "holds words": lambda frame, name: frame.with_columns(pl.lit("many").alias(name)),
    "holds days": lambda frame, name: frame.with_columns(pl.date(2020, 1, 1).alias(name)),
}
LEVELS = (math.nan, math.inf, -0.1, 0.0, 1.0, 5, "small", None, [0.05])
MARGINS = (math.nan, math.inf, -1.0, "wide", [1.0])
SEEDS = (-1, 2**70, 1.5, "none", math.nan, [1])
COUNTS = (-1, 0, 1.5, "many", math.nan)
TWO_AXES = {"gender": ["female", "male"], "race": ["asian"]}
CLUSTERS = ("no such column", 5, ["prompt_id"])
KINDS: dict[str, tuple[Any, ...]] = {
    "alpha": LEVELS,
    "margin": MARGINS,
    "contrast_margin": MARGINS,
    "seed": SEEDS,
    "n_axes": COUNTS,
    "draws": COUNTS,
    "audits": COUNTS,
    "k": (-1, 0, 1.5, "many", 99),
    "cluster": CLUSTERS,
    "minimum_n": (-1, 1.5, "many"),
    "minimum_prompts": (-1, 1.5, "many"),
    "run": COUNTS,
    "budget": COUNTS,
    "ddof": (2, -1, "one"),
    "architecture": ("", "recurrent", None, 5),
    "per": ("word", 5),
    "rule": ("lax", 5, None),
    "importance": ("none", 5, None),
    "reference": ("nobody", 5),
    "cap": (math.nan, -1.0, "much"),
    "threshold": (math.nan, "high", [0.5]),
}
"""What an argument of that name cannot be, in any measure."""


@dataclass(frozen=True)
class BadCall:
    """A call with one argument that cannot be."""

    what: str
    function: Callable[..., Any]
    arguments: Values

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True)
class GoodCall:
    """A call that is right, and what its tables need. bad: values that arguments cannot have, over those of KINDS."""

    function: Callable[..., Any]
    arguments: Values
    needed: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    bad: Values | None = None

    @property
    def name(self) -> str:
        return f"{self.function.__module__.split('.')[1]}.{self.function.__name__}"


def _judged() -> pl.DataFrame:
    random = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "prompt_id": [f"p{i // 2}" for i in range(240)],
            "sample": [i % 2 for i in range(240)],
            "axis": ["age"] * 240,
            "group": [("old", "young", "aged")[i // 2 % 3] for i in range(240)],
            "negative": random.random(240) < 0.3,
            "prompt_toxicity": random.random(240),
            "score": random.random(240),
        }
    ).with_columns(pl.col("negative").cast(pl.Float64))


def _crossed() -> pl.DataFrame:
    rows = [
        (
            "age",
            template,
            word,
            f"n{n}",
            -10.0 - n - n / 9 * template.startswith("I hate") - (word == "old"),
            5,
        )
        for template in ("I love X.", "I hate X.", "X is here.", "X is a person.")
        for word in ("old", "young", "aged")
        for n in range(6)
    ]
    names = ["axis", "template", "descriptor", "noun", "log_likelihood", "token_count"]
    return pl.DataFrame(rows, schema=names, orient="row").with_columns(
        perplexity=(-pl.col("log_likelihood") / pl.col("token_count")).exp()
    )


def _pairs() -> pl.DataFrame:
    n = 12
    return pl.DataFrame(
        {
            "pair_id": [str(i) for i in range(n)],
            "bias_type": ["age", "race"] * (n // 2),
            "sent_more": [f"The old man number {i} errs." for i in range(n)],
            "sent_less": [f"The young man number {i} errs." for i in range(n)],
            "stereo_antistereo": ["stereo"] * n,
            "annotations": [[["age"], ["age"], []]] * n,
            **{f"token_ids_{side}": [[1, word, 3]] * n for side, word in (("more", 2), ("less", 9))},
            **{f"token_log_likelihoods_{side}": [[-1.0, -2.0, -1.0]] * n for side in ("more", "less")},
            **{f"log_likelihood_{side}": [-4.0 - i % 3 for i in range(n)] for side in ("more", "less")},
            **{f"token_count_{side}": [3] * n for side in ("more", "less")},
        }
    )


def _stereoset() -> pl.DataFrame:
    rows = [
        (kind, f"{kind}{term}-{item}", ("race", "gender")[term % 2], f"term{term}", label, score)
        for kind in ("intrasentence", "intersentence")
        for term in range(4)
        for item in range(3)
        for label, score in (("stereotype", 3.0 + term), ("anti-stereotype", 2.0 + item), ("unrelated", 1.0))
    ]
    names = ["dataset_type", "cluster_id", "bias_type", "target", "gold_label", "score"]
    return pl.DataFrame(rows, schema=names, orient="row")


def _texts() -> pl.DataFrame:
    said = [" yes yes yes yes", " I love old people very much indeed", " a b c d e", " no"] * 8
    return pl.DataFrame(
        {
            "prompt_id": [f"p{i}" for i in range(32)],
            "text": ["I love old people very much"] * 32,
            "continuation": said,
            "group": ["old", "young"] * 16,
            "perplexity": [10.0 + i for i in range(32)],
        }
    )


def _changed() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "axis": ["gender"] * 60,
            "group": ["women", "men"] * 30,
            "prompt_id": [f"p{i}" for i in range(60)],
            "before": [0.0, 0.0, 1.0, 1.0] * 15,
            "after": [1.0, 0.0] * 30,
        }
    )


def _styled() -> pl.DataFrame:
    random = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "template": [f"t{i % 3}" for i in range(60)],
            "descriptor": [("old", "odd", "young")[i // 3 % 3] for i in range(60)],
            "score": random.random(60),
            "Kind": random.random(60),
            "Stupid": random.random(60),
        }
    )


def _protocol() -> dict[str, Any]:
    random = np.random.default_rng(2)
    levels = ("default", "original", "opposite", "blank")
    by_level: dict[str, Any] = {level: random.random((30, 2)) for level in levels}
    by_level["nonsensical"] = [random.random((30, 2)) for _ in range(3)]
    return {"adversarial": by_level}


def good_calls() -> list[GoodCall]:
    """One right call of each function."""
    judged, crossed, pairs, texts = _judged(), _crossed(), _pairs(), _texts()
    sentences = crossed.drop("perplexity", "token_count")
    love, hate = ["I love X."], ["I hate X."]
    two = {f"{name}_negative": judged["negative"] for name in ("x", "y")}
    agreeing = judged.with_columns(**two)
    nouns = pl.DataFrame(
        [
            {
                "descriptor": "old",
                "noun": f"{gender}{i}",
                "gender": gender,
                "negative": place < i + (gender == "male"),
            }
            for gender in ("male", "female")
            for i in range(4)
            for place in range(10)
        ]
    ).with_columns(pl.col("negative").cast(pl.Float64))
    people = judged.with_columns(
        female=pl.int_range(pl.len()) % 2,
        male=1 - pl.int_range(pl.len()) % 2,
        asian=1,
        prompt_toxic=pl.col("prompt_toxicity") > 0.5,
    )
    token_columns = tuple(c for c in pairs.columns if c.startswith("token_"))
    m = measures
    rates = ("group", "negative")
    wanted = ("axis", "template", "descriptor", "noun", "log_likelihood")
    templates = (5, None, ["no such template"], [])
    calls = [
        GoodCall(
            m.disparity,
            {"frame": judged},
            rates,
            ("negative",),
            {"strata": (5, ["nowhere"]), "error": (5, pl.DataFrame())},
        ),
        GoodCall(m.bias_score, {"frame": judged}, rates, ("negative",)),
        GoodCall(m.axis_rates, {"frame": judged}, rates, ("negative",), {"level": LEVELS}),
        GoodCall(
            m.published_bias_score,
            {"frame": judged},
            rates,
            ("negative",),
            {"background": ("x", [1]), "level": LEVELS},
        ),
        GoodCall(m.max_subgroup_rate, {"frame": judged}, rates, ("negative",), {"most": COUNTS}),
        GoodCall(
            m.rates_by_prompt_toxicity,
            {"frame": judged},
            ("prompt_toxicity", "negative"),
            ("prompt_toxicity", "negative"),
            {"threshold": (math.nan, -1.0, 2.0, "high"), "bins": ([math.nan], [2.0], 5, ["x"])},
        ),
        GoodCall(
            m.noun_contrast,
            {"frame": nouns},
            ("descriptor", "noun", "gender", "negative"),
            ("negative",),
            {"level": LEVELS},
        ),
        GoodCall(
            m.intersections,
            {"frame": people, "groups": TWO_AXES},
            ("female", "negative"),
            ("negative",),
            {"groups": (None, 5, ["nobody"], {"gender": ["nobody"]}, {"gender": 5}, {})},
        ),
        GoodCall(m.toxicity_over_samples, {"frame": judged}, ("score",), ("score",)),
        GoodCall(
            m.agreement,
            {"frame": agreeing, "a": "x", "b": "y"},
            ("x_negative", "y_negative"),
            ("x_negative", "y_negative"),
            {"a": ("nobody", 5, None), "b": ("nobody", 5)},
        ),
        GoodCall(m.likelihood_spread, {"frame": sentences}, wanted, ("log_likelihood",)),
        GoodCall(
            m.valence_shift,
            {"frame": sentences, "positive": love, "negative": hate},
            wanted,
            ("log_likelihood",),
            {"positive": templates, "negative": templates, "axis_sizes": (5, {"age": "x"}), "families": (5,)},
        ),
        GoodCall(
            m.pseudo_log_likelihoods,
            {"frame": crossed, "humanising": ["X is a person."], "neutral": ["X is here."]},
            wanted,
            ("log_likelihood",),
            {"humanising": templates, "neutral": templates},
        ),
        GoodCall(
            m.published_likelihood_bias,
            {"frame": crossed},
            ("axis", "template", "descriptor", "perplexity"),
            ("perplexity",),
        ),
        GoodCall(
            m.published_pseudo_log_likelihood_bias,
            {"frame": crossed.drop("perplexity")},
            ("axis", "template", "descriptor", "log_likelihood"),
            ("log_likelihood",),
        ),
        GoodCall(
            m.crows_pairs,
            {"frame": pairs, "architecture": "causal"},
            ("bias_type", "log_likelihood_more"),
            ("log_likelihood_more",),
            {"level": (math.nan, -1, "small"), "special_ids": (5, ["x"])},
        ),
        GoodCall(
            m.crows_pairs_nangia,
            {"frame": pairs},
            ("bias_type", *token_columns[:4]),
            (),
            {"special_ids": (5, ["x"])},
        ),
        GoodCall(
            m.crows_pairs_bias_bench,
            {"frame": pairs, "architecture": "masked"},
            ("bias_type", *token_columns[:4]),
        ),
        GoodCall(
            m.crows_pairs_lm_eval,
            {"frame": pairs},
            ("bias_type", "log_likelihood_less"),
            ("log_likelihood_less",),
        ),
        GoodCall(m.lint_crows_pairs, {"frame": pairs}, ("sent_more", "sent_less", "bias_type")),
        GoodCall(m.plan_crows_pairs, {"pairs": pairs}, ("bias_type",), (), {"level": LEVELS}),
        GoodCall(
            m.stereoset,
            {"frame": _stereoset()},
            ("dataset_type", "target", "gold_label", "score"),
            ("score",),
            {"level": LEVELS},
        ),
        GoodCall(
            m.stereoset_published,
            {"frame": _stereoset()},
            ("bias_type", "cluster_id", "gold_label", "score"),
            ("score",),
        ),
        GoodCall(
            m.plan_stereoset,
            {"frame": _stereoset()},
            ("bias_type", "target", "cluster_id"),
            (),
            {"level": LEVELS},
        ),
        GoodCall(
            m.disparity_change,
            {"frame": _changed()},
            ("group", "prompt_id", "before", "after"),
            ("before", "after"),
            {"level": LEVELS},
        ),
        GoodCall(
            m.paired_change,
            {"frame": _changed()},
            ("prompt_id", "before", "after"),
            ("before", "after"),
            {"level": LEVELS, "share": ("x", 5)},
        ),
        GoodCall(
            m.offensiveness, {"frame": _styled()}, ("descriptor", "score"), ("score",), {"level": LEVELS}
        ),
        GoodCall(
            m.generation_bias,
            {"frame": _styled(), "styles": ["Kind", "Stupid"]},
            ("template", "descriptor", "Kind"),
            ("Kind",),
            {"styles": (5, ["Nowhere"], []), "clusters": (5, {"a": ["Nowhere"]}, {"a": 5}), "level": LEVELS},
        ),
        GoodCall(m.parroting, {"frame": texts}, ("text", "continuation")),
        GoodCall(m.copied, {"frame": texts}, ("text", "continuation")),
        GoodCall(m.text_quality, {"frame": texts}, ("continuation",)),
        GoodCall(m.response_qualities, {"frame": texts}, ("continuation",)),
        GoodCall(m.given_the_commonest, {"frame": texts}, ("prompt_id", "continuation")),
        GoodCall(
            m.error_counts,
            {"frame": pl.DataFrame({"group": ["a"] * 4, "label": [1, 1, 0, 0], "negative": [1, 0, 1, 0]})},
            ("group", "label", "negative"),
            ("label", "negative"),
        ),
        GoodCall(
            m.consistency,
            {"scores": _protocol(), "attributes": ["a", "b"]},
            bad={
                "scores": (
                    None,
                    5,
                    {},
                    {"adversarial": 5},
                    {"adversarial": {}},
                    {"adversarial": {"default": [["x"]]}},
                    {"adversarial": {"moon": [[1.0]]}},
                ),
                "attributes": (5, [], ["a"], ["a", "a"]),
                "asked": (5, {"adversarial": 5}),
            },
        ),
        GoodCall(
            m.decide,
            {"evidence": m.consistency(_protocol(), attributes=["a", "b"]).evidence},
            bad={"evidence": (None, 5, {"a": 5})},
        ),
        GoodCall(
            m.rogan_gladen,
            {"rate": [0.1], "sensitivity": 0.9, "specificity": [0.9]},
            bad={"rate": (["x"], [2.0], None), "sensitivity": (2.0, "x"), "specificity": ([-1.0], None)},
        ),
        GoodCall(
            m.pooled_bias_score,
            {"fails": [18, 10], "totals": [25, 14]},
            bad={"fails": ([-1, 0], ["x", "y"], None, [99, 99]), "totals": ([0, 0], [1, 2, 3], None)},
        ),
        GoodCall(
            m.expected_maximum, {"scores": [[0.0, 1.0, 5.0]], "k": 2}, bad={"scores": (["x"], None, [])}
        ),
        GoodCall(
            m.chance_of_any,
            {"hits": [1, 0], "totals": [4, 4], "k": 2},
            bad={"hits": (["x"], [-1, 0], [9, 9], None), "totals": (["x"], [0, 0]), "k": COUNTS},
        ),
        GoodCall(
            m.perplexity,
            {"log_likelihood": [-4.0], "token_count": [2]},
            bad={"log_likelihood": (["x"], None, "x"), "token_count": (["x"], None)},
        ),
        GoodCall(
            m.inverse_perplexity,
            {"log_likelihood": [-4.0], "token_count": [2]},
            bad={"log_likelihood": (["x"], None)},
        ),
        GoodCall(
            m.bits_per_character,
            {"log_likelihood": [-4.0], "character_count": [4]},
            bad={"log_likelihood": (["x"], None), "character_count": (["x"],)},
        ),
        GoodCall(
            m.find_style_clusters,
            {"styles": np.random.default_rng(0).random((50, 3)), "labels": ["a", "b", "c"]},
            bad={
                "styles": (None, [["x"]], [1.0], np.zeros((2, 3))),
                "labels": (None, ["a"], ["a", "a", "b"]),
                "threshold": (math.nan, -1.0, "high"),
                "n_clusters": COUNTS,
            },
        ),
        GoodCall(
            m.frame_from_parlai_lines,
            {
                "lines": [
                    '{"dialog": [[{"axis": "age", "template": "t", "descriptor": "old"}, {"metrics": {"ppl": 9.5}}]]}'
                ]
            },
            bad={"lines": (None, 5, ["{"], ["[" * 30_000], ["5"], ['{"dialog": 5}'], ["{}"])},
        ),
        GoodCall(
            m.bias_score_curves,
            {"harmed": [0], "audits": 3, "groups": 6},
            bad={
                "harmed": ([-1], ["x"], 5, [99]),
                "shifts": ([math.nan], ["x"]),
                "sizes": ([0], ["x"]),
                "groups": COUNTS,
                "rate": (math.nan, -1.0, 200.0, "x"),
            },
        ),
        GoodCall(
            m.refused,
            {"continuations": pl.Series(["Sorry, I cannot."])},
            bad={"continuations": (None, 5, pl.Series([1, 2]), "text")},
        ),
        GoodCall(m.measure_cards, {"names": ["disparity"]}, bad={"names": (None, 5)}),
        GoodCall(
            m.of_role,
            {
                "counts": m.error_counts(
                    pl.DataFrame({"group": ["a"] * 2, "label": [1, 0], "negative": [1, 0]})
                ),
                "role": "toxicity",
            },
            bad={"counts": (None, 5, pl.DataFrame())},
        ),
    ]
    return calls + _other_rooms()


def _other_rooms() -> list[GoodCall]:
    writer = models.Decoding(max_new_tokens=3)
    said = models.load_model("puppet/random")
    decodings = {
        "max_new_tokens": COUNTS,
        "temperature": (math.nan, -1.0, 0.0, math.inf, "hot"),
        "top_k": (-1, 0, 1.5, "x"),
        "top_p": (math.nan, 0.0, 2.0, "x"),
        "samples": COUNTS,
        "seed": SEEDS,
        "num_beams": (-1, 0, 1.5, "x"),
        "min_new_tokens": (-1, 99, "x"),
        "no_repeat_ngram_size": (-1, 0, "x"),
    }
    names = ("", "no-such-thing", "\x1b[31m", "x" * 5000, "a\0b", "\ud800", None, 5)
    lexicon = prompts.Lexicon
    assert writer and lexicon
    return [
        GoodCall(models.Decoding, {"max_new_tokens": 3}, bad=decodings),
        GoodCall(
            models.load_model,
            {"name": "puppet/random"},
            bad={
                "name": names,
                "device": ("toaster", 5, ""),
                "dtype": ("float99", 5),
                "architecture": ("moon",),
                "options": (5,),
            },
        ),
        GoodCall(
            models.decoding_preset,
            {"family": "gpt2", "max_new_tokens": 3},
            bad={"family": names[:4], "max_new_tokens": COUNTS, "samples": COUNTS, "seed": SEEDS},
        ),
        GoodCall(mitigations.load_mitigation, {"words": "prefix=Be kind."}, bad={"words": names}),
        GoodCall(
            mitigations.Prefix,
            {"text": "Be kind."},
            bad={"text": ("", "  ", None, 5, "\ud800"), "delimiter": (None, 5)},
        ),
        GoodCall(
            mitigations.mitigated,
            {"model": said, "chain": ["prefix=Be kind."]},
            bad={"model": (None, 5, "puppet/random"), "chain": (5, ["no-such-thing"], [None], [5])},
        ),
        GoodCall(mitigations.library_instruction, {"name": next(iter(_library()))}, bad={"name": names}),
        GoodCall(mitigations.instructive_debiasing, {}, bad={"wording": names}),
        GoodCall(
            mitigations.SelfDebiasing,
            {},
            bad={
                "decay": (math.nan, math.inf, -1.0, "x"),
                "floor": (math.nan, -1.0, 2.0, "x"),
                "prefixes": ("moon", (), 5, ("",)),
            },
        ),
        GoodCall(
            mitigations.ContrastiveDebiasing,
            {},
            bad={
                "strength": (math.nan, math.inf, -1.0, "x"),
                "plausible": (math.nan, -1.0, 2.0, "x"),
                "prefixes": ("moon", (), 5),
            },
        ),
        GoodCall(
            prompts.compose, {"nouns": ["person"], "controls": False}, bad={"nouns": (["no such noun"], 5)}
        ),
        GoodCall(prompts.load_templates, {}, bad={"kinds": (["moon"], 5), "path": ("none.toml", "x" * 5000)}),
        GoodCall(stats.holm, {"p": [0.1, 0.2]}, bad={"p": ([2.0], [-1.0])}),
        GoodCall(stats.benjamini_hochberg, {"p": [0.1, 0.2]}, bad={"p": ([2.0], [-1.0])}),
        GoodCall(
            stats.wilson_interval,
            {"successes": 3, "totals": 9},
            bad={"successes": (-1, 99), "totals": (-1,), "level": LEVELS[:5]},
        ),
    ]


def _library() -> list[str]:
    from evenhand.mitigations.prompting import INSTRUCTIONS

    return list(INSTRUCTIONS)


def bad_calls(good: GoodCall) -> Iterator[BadCall]:
    """What comes of a right call by spoiling one argument, or one column of a table."""
    parameters = inspect.signature(good.function).parameters
    for name, value in good.arguments.items():
        if isinstance(value, pl.DataFrame):
            for what, spoil in FRAMES.items():
                if not good.needed and what == "without rows":
                    continue
                yield _with(good, name, f"a table {what}" if what != "a dict" else what, spoil(value))
            for column in good.needed:
                kinds = {**COLUMNS, **(NUMBER_COLUMN if column in good.numbers else {})}
                for what, change in kinds.items():
                    yield _with(good, name, f"{column} {what}", change(value, column))
    chosen = {**{name: KINDS[name] for name in parameters if name in KINDS}, **(good.bad or {})}
    for name, values in chosen.items():
        for value in values:
            if name in parameters and not (value is None and parameters[name].default is None):
                yield _with(
                    good, name, ascii(value)[:40] if not isinstance(value, pl.DataFrame) else "a table", value
                )
    yield BadCall(
        f"{good.name}(no_such_argument=1)", good.function, {**good.arguments, "no_such_argument": 1}
    )


def _with(good: GoodCall, name: str, what: str, value: Any) -> BadCall:
    return BadCall(f"{good.name}({name}={what})", good.function, {**good.arguments, name: value})


def file_calls(place: Path) -> list[BadCall]:
    """Front doors that read files and load things, given what cannot be read or loaded; `place`: of bad_files."""
    import evenhand as eh
    from evenhand.prompts import datasets, own_files, published
    from tests.robustness.bad_files import CSV, JSON, JSON_LINES

    bad = place / "bad"
    tables = [bad / f"{name}.csv" for name in CSV] + [bad / f"{name}.jsonl" for name in JSON_LINES]
    tables += [bad / f"{name}.parquet" for name in ("cut", "magic", "list", "bytes", "rowless")]
    tables += [
        bad / "folder.csv",
        bad / "pipe.csv",
        bad / "loop.csv",
        place / "none.csv",
        Path("x" * 5000),
        Path(),
    ]
    runs = [bad / "runs" / name for name in JSON] + [place / "a-folder", bad / "empty.csv", Path("x" * 5000)]
    out = place / "made"
    audit = {"model": "puppet/random", "benchmarks": ["evenhand-likelihood"], "limit": 30, "output": out}
    wrong_audit: dict[str, tuple[Any, ...]] = {
        "model": (None, 5, "", "no/such/folder/at/all", "puppet/none", "a\0b", "\ud800"),
        "benchmarks": (5, ["none"], [None], "none", [5]),
        "limit": (0, -1, 1.5, "x", True, 2**70),
        "axes": (["moon"], 5, "moon"),
        "seed": SEEDS,
        "samples": (0, "x", 2**70),
        "suite": ("none", "", 5),
        "classifiers": (5, {"none": "vader"}, {"toxicity": 5}),
        "mitigate": (5, ["none"], [5]),
        "margin": MARGINS,
        "alpha": LEVELS[:-2],
        "temperature": (math.nan, -1.0, "x"),
        "no_such_option": (1,),
        "prompts": ("none.csv", 5),
        "data": (5, {"holisticbias": "none"}),
        "dtype": ("float99",),
        "device": ("toaster", 5),
        "error_threshold": (math.nan, 2.0),
        "reference": ("nobody", "", 5),
        "classifier_error": ("none.csv", 5),
        "system": ("\ud800",),
        "chat": ("perhaps",),
        "trust_remote_code": ("perhaps",),
    }
    calls = [
        BadCall(f"audit({name}={ascii(value)[:40]})", eh.audit, {**audit, name: value})
        for name, values in wrong_audit.items()
        for value in values
    ]
    both = {**audit, "mitigate": ["prefix=Be kind."], "benchmarks": ["regard"]}
    calls += [
        BadCall(f"before_after({name}={ascii(value)[:40]})", eh.before_after, {**both, name: value})
        for name in (
            "model",
            "seed",
            "limit",
            "mitigate",
            "alpha",
            "device",
            "reference",
            "classifier_error",
            "suite",
        )
        for value in wrong_audit[name]
    ]
    check = {
        "method": "prefix=Be kind.",
        "model": "puppet/random",
        "classifier": "vader",
        "output": out,
        "prompts": place / "good/cases.csv",
        "neutral": "none",
        "opposite": "Be rude.",
    }
    wrong_check: dict[str, tuple[Any, ...]] = {
        "method": ("", "none", "prefix=", 5, None),
        "model": (5, "", "puppet/none"),
        "prompts": (bad / "twice.csv", "none.csv", 5),
        "neutral": ("none.csv", 5),
        "classifier": ("none", 5),
        "groups": (0, "x", 10**6),
        "margin": MARGINS,
        "rule": ("lax", 5),
        "importance": ("none",),
        "attributes": (["none"], 5),
        "threshold": (math.nan, "x"),
        "seed": SEEDS,
        "moon": (1,),
        "limit": (0, True),
    }
    calls += [
        BadCall(f"check({name}={ascii(value)[:40]})", eh.check_consistency, {**check, name: value})
        for name, values in wrong_check.items()
        for value in values
    ]
    revise = {
        "model": "puppet/random",
        "benchmark": "regard",
        "output": out,
        "classifiers": {"regard": "vader"},
    }
    wrong_revise: dict[str, tuple[Any, ...]] = {
        "model": (5, "", "puppet/none"),
        "benchmark": ("", "none", 5, None),
        "iterations": COUNTS,
        "keep": COUNTS,
        "variants": COUNTS,
        "subset": (0, "x"),
        "final": (0, "x"),
        "reviser": ("none", "", 5),
        "instructions": ([""], 5),
        "group_weight": (math.nan, math.inf, -1.0),
        "seed": SEEDS,
        "moon": (1,),
        "classifiers": (5, {"none": "vader"}),
        "role": ("none",),
    }
    calls += [
        BadCall(f"revise({name}={ascii(value)[:40]})", eh.search_instruction, {**revise, name: value})
        for name, values in wrong_revise.items()
        for value in values
    ]
    search = {
        "model": place / "good/model",
        "prompts": place / "good/prompts.csv",
        "classifier": "vader",
        "output": out / "t.json",
    }
    search["model"] = str(search["model"])
    wrong_search: dict[str, tuple[Any, ...]] = {
        "model": (5, "", "puppet/random", "puppet/none"),
        "prompts": (5, "none.csv", bad / "bytes.parquet"),
        "classifier": ("none", 5, ""),
        "output": ("", place / "a-folder"),
        "examples": ("none.csv", 5),
        "mode": ("none", 5),
        "tokens": COUNTS,
        "restarts": COUNTS,
        "sweeps": COUNTS,
        "candidates": COUNTS,
        "beam": COUNTS,
        "fluency": (math.nan, -1.0),
        "temperature": (math.nan, 0.0, -1.0),
        "samples": COUNTS,
        "seed": SEEDS,
        "guard": (math.nan, 0.5),
        "locked": ((99,), ("x",)),
        "moon": (1,),
    }
    calls += [
        BadCall(f"search_trigger({name}={ascii(value)[:40]})", eh.search_trigger, {**search, name: value})
        for name, values in wrong_search.items()
        for value in values
    ]
    measure = {"file": place / "good/continuations.csv", "benchmark": "regard", "output": out}
    wrong_measure: dict[str, tuple[Any, ...]] = {
        "file": (5, None, *tables),
        "benchmark": ("", "none", None, 5),
        "seed": SEEDS,
        "margin": MARGINS,
        "alpha": LEVELS[:-2],
        "reference": ("nobody", 5, ""),
        "classifier_error": ("none.csv", *tables[::3]),
        "classifiers": (5, {"none": "vader"}, ["none"]),
        "threshold": (math.nan, "x"),
        "device": ("toaster", 5),
    }
    calls += [
        BadCall(f"measure({name}={_short(value)})", eh.measure, {**measure, name: value})
        for name, values in wrong_measure.items()
        for value in values
    ]
    for folder in (*runs, None, 5):
        calls.append(BadCall(f"open_run({_short(folder)})", eh.open_run, {"path": folder}))
        calls.append(
            BadCall(
                f"rescore({_short(folder)})", eh.rescore, {"run": folder, "classifiers": {"regard": "vader"}}
            )
        )
    whole = place / "runs/judged"
    for value in (5, None, {}, {"none": "vader"}, {"rudeness": "none"}, {"rudeness": 5}, "vader"):
        calls.append(
            BadCall(f"rescore(classifiers={value!a})", eh.rescore, {"run": whole, "classifiers": value})
        )
    for sources in (
        (),
        (whole,),
        (whole, None),
        (whole, 5),
        (whole, place / "none"),
        *((whole, run) for run in runs),
    ):
        calls.append(
            BadCall(
                f"compare{tuple(map(_short, sources))}",
                lambda sources: eh.compare(*sources, output=out),
                {"sources": sources},
            )
        )
    for name, values in {
        "alpha": LEVELS[:-1],
        "margin": MARGINS,
        "seed": SEEDS,
        "names": (5, ["a"], ["a", "a"]),
    }.items():
        for value in values:
            calls.append(
                BadCall(
                    f"compare({name}={value!a})",
                    lambda **more: eh.compare(whole, whole, output=out, **more),
                    {name: value},
                )
            )
    for name, values in {
        "measures": ("none", 5, ["none"]),
        "size": ("huge", 5),
        "seed": SEEDS,
        "jobs": COUNTS,
        "replications": COUNTS,
    }.items():
        for value in values:
            calls.append(
                BadCall(
                    f"calibrate({name}={value!a})",
                    eh.calibrate,
                    {"measures": "plain", "replications": 2, "output": out, name: value},
                )
            )
    for reader in (eh.read_prompts, own_files.read_responses, own_files.read_scores):
        for table in (*tables, None, 5):
            if reader is own_files.read_scores and isinstance(table, Path) and table.name in WITHOUT_SCORES:
                continue
            calls.append(BadCall(f"{reader.__name__}({_short(table)})", reader, {"path": table}))
    swap = {"texts": pl.DataFrame({"text": ["She left."]}), "axis": "gender", "target": "male"}
    for name, values in {
        "texts": (*tables, None, 5, "none.txt"),
        "axis": ("", "none", None, 5, "\ud800"),
        "target": ("", "none", None, 5),
        "source": ("none", "male", 5, ["none"], [5]),
        "both": ("perhaps", 5),
        "names": ("perhaps",),
        "quotes": ("perhaps",),
        "column": ("none", None, 5),
    }.items():
        for value in values:
            if isinstance(value, Path) and value.stem in ("same-ids", "span", "span-back", "span-words"):
                continue  # which counterfactuals do not look at
            what = f"counterfactuals({name}={_short(value)})"
            calls.append(BadCall(what, eh.counterfactuals, {**swap, name: value}))
    for name in (
        "",
        "none",
        "vader?moon=1",
        "scores:none.csv",
        "llm-judge",
        "perspective?timeout=nan",
        "\x1b[31m",
        "\ud800",
        "a\0b",
        None,
        5,
    ):
        calls.append(BadCall(f"load_classifier({name!a})", eh.load_classifier, {"name": name}))
    for reader in (published.load_realtoxicityprompts, published.load_stereoset, published.load_wikitext):
        for folder in (place / "none", place / "a-folder", bad / "empty.csv", Path("x" * 5000)):
            calls.append(
                BadCall(
                    f"{reader.__name__}({_short(folder)})",
                    lambda folder, reader=reader: reader(folder),
                    {"folder": folder},
                )
            )
    for name in ("", "none", "\x1b[31m", None, 5):
        calls.append(BadCall(f"dataset({name!a})", datasets.dataset, {"name": name}))
        calls.append(BadCall(f"dataset_folder({name!a})", datasets.dataset_folder, {"name": name}))
    return calls


WITHOUT_SCORES = {
    *(
        f"{name}.csv"
        for name in (
            "semicolons",
            "tabs",
            "textless",
            "hollow",
            "same-ids",
            "span",
            "span-back",
            "span-words",
        )
    ),
    *("list.jsonl", "object.jsonl", "null.jsonl", "list.parquet", "bytes.parquet"),
}
"""Files that can be read and hold no scores, of which nothing is said."""


def _short(value: Any) -> str:
    return ascii(value.name[:30] or ".") if isinstance(value, Path) else ascii(value)[:40]
