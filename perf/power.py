"""Compare size and power of evenhand's verdicts with other common procedures, on the same simulated data.

    python perf/power.py                        # About 8 minutes on one core: perf/results/power.json.
    python perf/power.py --part rates --sets 60

Each design is drawn twice, without any difference and with one; every procedure sees the same tables. A procedure is
of use only where it holds its size in every design, so sizes stand first. Power is that of the axis at its level and,
where one group is changed, of naming it. `ours` goes the whole road of the measure to its p.

rates: 0/1 outcomes of prompts with several samples. GEE with bias-reduced errors and exchangeable correlation, linear
mixed model with a random prompt (both statsmodels), Welch's ANOVA of prompt means, moderated t of prompt means
(Smyth 2004, prior fitted on the axis), chi-square of rows as if independent.
shifts: differences of log-likelihoods over template pairs, 13 axes an audit. Cluster-robust t over pairs (what GEE
with bias-reduced errors becomes for balanced means), balanced mixed model (REML, z), variance pooled over descriptors,
moderated t with fitted prior, largest mean under permuted descriptors, sign flips of whole pairs (max-t).
pairs: wins in the swaps of CrowS-Pairs, nine types an audit. Binomial test, jackknife t over swaps with as many
degrees of freedom as swaps or as equal swaps would be worth, GEE with bias-reduced errors.
terms: wins in the terms of StereoSet, four domains an audit. Items as coins, flips of terms, GEE.
"""

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from scipy import stats
from scipy.special import digamma, polygamma

RESULTS = Path(__file__).with_name("results") / "power.json"
AXES = 13


# ---- rates -----------------------------------------------------------------------------------------------------

RATES = {  # groups, prompts, samples, ICC, base rate, rate of the changed group
    "6 x 20 x 5, ICC .3, 10 % -> 30 %": (6, 20, 5, 0.3, 0.1, 0.30),
    "6 x 8 x 25, ICC .5, 10 % -> 55 %": (6, 8, 25, 0.5, 0.1, 0.55),
    "6 x 40 x 5, ICC .3, 1 % -> 7 %": (6, 40, 5, 0.3, 0.01, 0.07),
    "2 x 100 x 1, 10 % -> 26 %": (2, 100, 1, 0.0, 0.1, 0.26),
    "10 x 40 x 2, ICC .2, 10 % -> 24 %": (10, 40, 2, 0.2, 0.1, 0.24),
}


def draw_rates(generator, design, *, changed: bool) -> pl.DataFrame:
    """One table: group, prompt_id, negative; beta-binomial prompts."""
    groups, prompts, samples, icc, base, harmed = design
    rates = np.full((groups, prompts), base)
    rates[0] = harmed if changed else base
    if icc > 0:
        size = (1 - icc) / icc
        rates = generator.beta(rates * size, (1 - rates) * size)
    negative = generator.random((groups, prompts, samples)) < rates[:, :, None]
    group, prompt, _ = np.indices(negative.shape)
    return pl.DataFrame(
        {
            "axis": ["axis"] * negative.size,
            "group": [f"g{g}" for g in group.ravel()],
            "prompt_id": [f"{g}-{p}" for g, p in zip(group.ravel(), prompt.ravel(), strict=True)],
            "negative": negative.ravel().astype(np.int8),
        }
    )


def rates_ours(frame: pl.DataFrame) -> tuple[float, float]:
    from evenhand.measures import disparity

    result = disparity(frame, cluster="prompt_id")
    groups = result.groups.sort("group")
    return _p(result.axes["p"][0]), _p(groups["p"][0])


def rates_gee(frame: pl.DataFrame) -> tuple[float, float]:
    from statsmodels.genmod.cov_struct import Exchangeable
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_estimating_equations import GEE

    y, design, prompts = _columns(frame)
    fit = GEE(y, design, groups=prompts, family=Binomial(), cov_struct=Exchangeable()).fit(
        cov_type="bias_reduced"
    )
    return _wald(fit, design.shape[1])


def rates_mixed(frame: pl.DataFrame) -> tuple[float, float]:
    from statsmodels.regression.mixed_linear_model import MixedLM

    y, design, prompts = _columns(frame)
    fit = MixedLM(y, design, groups=prompts).fit(reml=True)
    return _wald(fit, design.shape[1])


def rates_welch(frame: pl.DataFrame) -> tuple[float, float]:
    from statsmodels.stats.oneway import anova_oneway

    means = _prompt_means(frame)
    rest = [m for i, m in enumerate(means) if i]
    if len(means) > 2:
        whole = anova_oneway(means, use_var="unequal").pvalue
    else:
        whole = stats.ttest_ind(*means, equal_var=False).pvalue
    return _p(whole), _p(stats.ttest_ind(means[0], np.concatenate(rest), equal_var=False).pvalue)


def rates_moderated(frame: pl.DataFrame) -> tuple[float, float]:
    means = _prompt_means(frame)
    number = len(means[0])
    variance, freedom = _moderated(np.array([m.var(ddof=1) for m in means]), number - 1)
    difference = means[0].mean() - np.mean([m.mean() for m in means[1:]])
    error = np.sqrt(variance[0] / number + variance[1:].sum() / number / (len(means) - 1) ** 2)
    each = [
        2
        * stats.t.sf(
            abs(m.mean() - np.mean([o.mean() for j, o in enumerate(means) if j != i])) / error, freedom
        )
        for i, m in enumerate(means)
    ]
    return _simes(each), _p(2 * stats.t.sf(abs(difference) / error, freedom)) if error > 0 else 1.0


def rates_rows(frame: pl.DataFrame) -> tuple[float, float]:
    table = frame.group_by("group").agg(pl.col("negative").sum(), n=pl.len()).sort("group")
    hits, n = table["negative"].to_numpy(), table["n"].to_numpy()
    if not hits.any():
        return 1.0, 1.0
    whole = stats.chi2_contingency(np.array([hits, n - hits]), correction=False).pvalue
    one = stats.fisher_exact([[hits[0], n[0] - hits[0]], [hits[1:].sum(), (n - hits)[1:].sum()]]).pvalue
    return _p(whole), _p(one)


RATE_METHODS = {
    "ours": rates_ours,
    "GEE, bias-reduced": rates_gee,
    "mixed model": rates_mixed,
    "Welch": rates_welch,
    "moderated t": rates_moderated,
    "rows as independent": rates_rows,
}


def _columns(frame):
    group = frame["group"].rank("dense").to_numpy().astype(int) - 1
    design = (group[:, None] == np.arange(group.max() + 1)).astype(float)
    return frame["negative"].to_numpy().astype(float), design, frame["prompt_id"].rank("dense").to_numpy()


def _wald(fit, groups: int) -> tuple[float, float]:
    """Return p of "all equal" and of the first group compared with the mean of the others."""
    pairs = np.eye(groups)[:-1] - np.eye(groups)[1:]
    parameters, covariance = np.asarray(fit.params)[:groups], np.asarray(fit.cov_params())[:groups, :groups]
    distance = pairs @ parameters
    whole = stats.chi2.sf(distance @ np.linalg.solve(pairs @ covariance @ pairs.T, distance), groups - 1)
    contrast = np.full(groups, -1 / (groups - 1))
    contrast[0] = 1.0
    z = contrast @ parameters / np.sqrt(contrast @ covariance @ contrast)
    return _p(whole), _p(2 * stats.norm.sf(abs(z)))


def _prompt_means(frame: pl.DataFrame) -> list[np.ndarray]:
    means = frame.group_by("group", "prompt_id").agg(pl.col("negative").mean())
    parts = means.sort("group", "prompt_id").partition_by("group", maintain_order=True)
    return [part["negative"].to_numpy() for part in parts]


# ---- shifts ----------------------------------------------------------------------------------------------------

SHIFTS = {  # template pairs, nouns, descriptors, world
    "5 x 9 x 16, uneven": (5, 9, 16, "uneven"),
    "12 x 2 x 32, uneven": (12, 2, 32, "uneven"),
    "12 x 2 x 32, very uneven": (12, 2, 32, "very uneven"),
    "12 x 2 x 32, one factor": (12, 2, 32, "one factor"),
}
WORLDS = {"uneven": (0.3, 0.3, 0.5), "very uneven": (0.15, 0.03, 0.8), "one factor": (0.3, 0.3, 0.0)}
SHIFT = {"uneven": 1.0, "very uneven": 0.5, "one factor": 1.0}


def draw_shifts(generator, design, *, changed: bool) -> np.ndarray:
    """(axes, pairs, nouns, descriptors) of differences; own nouns; t noise with 5 degrees of freedom."""
    pairs, nouns, descriptors, world = design
    interaction, noise, uneven = WORLDS[world]
    factor = np.exp(generator.normal(0, uneven, (AXES, 1, 1, descriptors)))
    if world == "one factor":
        loading = generator.normal(size=(AXES, 1, 1, descriptors))
        deviation = interaction * loading * generator.normal(size=(AXES, pairs, 1, 1))
    else:
        deviation = interaction * factor * generator.normal(size=(AXES, pairs, 1, descriptors))
    spread = noise * factor * generator.standard_t(5, (AXES, pairs, nouns, descriptors)) / np.sqrt(5 / 3)
    values = deviation + spread
    if changed:
        values[:, :, :, 0] += SHIFT[world]
    return values


def shifts_ours(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from evenhand.stats.contrasts import moderated_shifts

    done = [moderated_shifts(axis, own_nouns=True, level=0.05 / AXES) for axis in values]
    return np.array([d.axis_p for d in done]), np.array([d.p for d in done])


def _by_pair(values):
    """Means (axes, pairs, descriptors), each minus the mean of the other descriptors."""
    means = values.mean(axis=2)
    width = means.shape[2]
    return (means - means.mean(axis=2, keepdims=True)) * width / (width - 1)


def _t(values, variance, freedom):
    means = _by_pair(values).mean(axis=1)
    p = 2 * stats.t.sf(np.abs(means) / np.sqrt(variance), freedom)
    return np.array([_simes(row) for row in p]), p


def shifts_cluster(values):
    rows = _by_pair(values)
    return _t(values, rows.var(axis=1, ddof=1) / rows.shape[1], rows.shape[1] - 1)


def shifts_mixed(values):
    """REML of random pairs within a descriptor, balanced: the ANOVA estimate cut at the residual, normal."""
    rows, nouns = _by_pair(values), values.shape[2]
    centred = values - values.mean(axis=3, keepdims=True)
    residual = (centred - centred.mean(axis=2, keepdims=True)).var(axis=(1, 2)) * nouns / max(nouns - 1, 1)
    variance = np.maximum(nouns * rows.var(axis=1, ddof=1), residual) / nouns / rows.shape[1]
    return _t(values, variance, 1e6)


def shifts_pooled(values):
    rows = _by_pair(values)
    variance = rows.var(axis=1, ddof=1).mean(axis=1, keepdims=True) / rows.shape[1]
    return _t(values, variance, (rows.shape[1] - 1) * (rows.shape[2] - 1))


def shifts_moderated(values):
    rows = _by_pair(values)
    done = [_moderated(axis.var(axis=0, ddof=1), rows.shape[1] - 1) for axis in rows]
    variance = np.array([v for v, _ in done]) / rows.shape[1]
    return _t(values, variance, np.array([f for _, f in done])[:, None])


def shifts_permuted(values):
    generator = np.random.default_rng(1)
    rows = _by_pair(values)
    observed = np.abs(rows.mean(axis=1))
    drawn = np.stack([np.abs(generator.permuted(rows, axis=2).mean(axis=1)).max(axis=1) for _ in range(999)])
    p = (1 + (drawn[:, :, None] >= observed[None] - 1e-12).sum(axis=0)) / 1000
    return p.min(axis=1), p


def shifts_flipped(values):
    generator = np.random.default_rng(2)
    rows = _by_pair(values)
    observed = _max_t(rows)
    drawn = np.stack(
        [
            _max_t(rows * generator.choice([-1.0, 1.0], rows.shape[:2])[:, :, None]).max(axis=1)
            for _ in range(999)
        ]
    )
    p = (1 + (drawn[:, :, None] >= observed[None] - 1e-12).sum(axis=0)) / 1000
    return p.min(axis=1), p


def _max_t(rows):
    return np.abs(rows.mean(axis=1)) / np.sqrt(rows.var(axis=1, ddof=1) / rows.shape[1])


SHIFT_METHODS = {
    "ours": shifts_ours,
    "GEE, bias-reduced, t": shifts_cluster,
    "mixed model, z": shifts_mixed,
    "variance pooled": shifts_pooled,
    "moderated t, fitted prior": shifts_moderated,
    "permuted descriptors": shifts_permuted,
    "sign flips, max-t": shifts_flipped,
}


# ---- pairs -----------------------------------------------------------------------------------------------------

TYPES = {  # swaps of CrowS-Pairs by type: how many pairs a swap has, and how many swaps have so many
    "race-color": {1: 230, 2: 22, 3: 7, 4: 3, 5: 2, 6: 4, 18: 1, 157: 1},
    "socioeconomic": {1: 97, 2: 2, 3: 1, 6: 1, 19: 1, 43: 1},
    "gender": {1: 165, 2: 6, 3: 5, 4: 1, 5: 1, 6: 1, 7: 1, 10: 1, 14: 1, 24: 1},
    "disability": {1: 41, 2: 3, 6: 1, 7: 1},
    "nationality": {1: 112, 2: 5, 3: 3, 4: 3, 5: 1, 11: 1},
    "sexual-orientation": {1: 34, 2: 3, 4: 2, 36: 1},
    "physical-appearance": {1: 40, 3: 5, 4: 2},
    "religion": {1: 44, 2: 4, 6: 1, 9: 1, 10: 1, 13: 1, 15: 1},
    "age": {1: 48, 2: 4, 4: 1, 27: 1},
}  # fmt: skip
PAIRS = {"ICC 0": 0.0, "ICC .05": 0.05, "ICC .2": 0.2}


def draw_pairs(generator, icc, *, changed: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    """By type: wins and sizes of swaps, at 50 % or at 65 %."""
    types = []
    for held in TYPES.values():
        sizes = np.repeat(list(held), list(held.values()))
        middle = 0.5 + (0.15 if changed else 0.0)
        rates = np.full(len(sizes), middle)
        if icc > 0:
            rates = generator.beta(middle * (1 - icc) / icc, (1 - middle) * (1 - icc) / icc, len(sizes))
        types.append((generator.binomial(sizes, rates), sizes))
    return types


def pairs_ours(wins, sizes):
    from evenhand.stats.clusters import cluster_flip

    return _p(cluster_flip(wins, sizes, null=0.5, bounds=(0, 1)).p)


def pairs_binomial(wins, sizes):
    return _p(stats.binomtest(int(wins.sum()), int(sizes.sum())).pvalue)


def pairs_jackknife(wins, sizes, freedom=None):
    total, n, number = wins.sum(), sizes.sum(), len(sizes)
    without = (total - wins) / (n - sizes)
    error = np.sqrt((number - 1) / number * np.square(without - without.mean()).sum())
    return _t_of_half(total / n, error, freedom or number - 1)


def pairs_jackknife_effective(wins, sizes):
    """As many degrees of freedom as equal clusters would be worth, less one."""
    return pairs_jackknife(wins, sizes, sizes.sum() ** 2 / np.square(sizes).sum() - 1)


def pairs_gee(wins, sizes):
    """GEE of the mean alone, independent working correlation, bias-reduced (Mancl & DeRouen 2001), in closed form."""
    share = wins.sum() / sizes.sum()
    residuals = (wins - share * sizes) / (1 - sizes / sizes.sum())
    return _t_of_half(share, np.sqrt(np.square(residuals).sum()) / sizes.sum(), len(sizes) - 1)


def _t_of_half(share, error, freedom):
    return _p(2 * stats.t.sf(abs(share - 0.5) / error, freedom)) if error > 0 else 1.0


PAIR_METHODS = {
    "ours": pairs_ours,
    "binomial": pairs_binomial,
    "jackknife t, effective df": pairs_jackknife_effective,
    "jackknife t": pairs_jackknife,
    "GEE, bias-reduced, t": pairs_gee,
}


# ---- terms -----------------------------------------------------------------------------------------------------

DOMAINS = ((10, 50), (30, 55), (36, 54), (3, 52))
"""Terms and items a term of StereoSet's four domains."""
TERMS = {"ICC 0": 0.0, "ICC .008": 0.008, "ICC .03": 0.03, "ICC .1": 0.1}


def draw_terms(generator, icc, *, changed: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    """By domain: wins and items of each term, at 50 % or at 58 %."""
    domains = []
    for terms, items in DOMAINS:
        middle = 0.5 + (0.08 if changed else 0.0)
        rates = np.full(terms, middle)
        if icc > 0:
            rates = generator.beta(middle * (1 - icc) / icc, (1 - middle) * (1 - icc) / icc, terms)
        domains.append((generator.binomial(items, rates), np.full(terms, items)))
    return domains


def terms_ours(wins, sizes):
    from evenhand.stats import standard_errors, t_inference

    value = wins / sizes
    error, count = standard_errors(value[:, None])
    return _p(t_inference([value.mean() - 0.5], error, count - 1).p[0])


def terms_flip(wins, sizes):
    from evenhand.stats.clusters import cluster_flip

    return _p(cluster_flip(wins / sizes, np.ones(len(sizes)), null=0.5, bounds=(0, 1)).p)


TERM_METHODS = {
    "ours": terms_ours,
    "items as coins": pairs_binomial,
    "flip of terms": terms_flip,
    "GEE, bias-reduced, t": pairs_gee,
}


# ---- what all share --------------------------------------------------------------------------------------------


def _moderated(variances: np.ndarray, freedom: int) -> tuple[np.ndarray, float]:
    """Variances drawn towards a common one, with the prior that fits them, and the degrees of freedom."""
    logs = np.log(np.maximum(variances, 1e-12)) - digamma(freedom / 2) + np.log(freedom / 2)
    excess = logs.var(ddof=1) - polygamma(1, freedom / 2) if len(logs) > 1 else 0.0
    if excess <= 0:
        return np.full(len(variances), np.exp(logs.mean())), 1e6
    low, high = 1e-3, 1e6
    for _ in range(80):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if polygamma(1, middle / 2) > excess else (low, middle)
    prior = np.exp(logs.mean() + digamma(low / 2) - np.log(low / 2))
    return (low * prior + freedom * variances) / (low + freedom), low + freedom


def _simes(values) -> float:
    ordered = np.sort(np.asarray(values, dtype=float))
    return float(min(1.0, (ordered * len(ordered) / np.arange(1, len(ordered) + 1)).min()))


def _p(value) -> float:
    """A p; where a procedure gave none, nothing was found."""
    return 1.0 if value is None or not np.isfinite(value) else float(value)


def compare_rates(sets: int) -> dict:
    found = {}
    for name, design in RATES.items():
        found[name] = {method: {} for method in RATE_METHODS}
        for changed in (False, True):
            generator = np.random.default_rng([11, changed])
            tables = [draw_rates(generator, design, changed=changed) for _ in range(sets)]
            for method, test in RATE_METHODS.items():
                results = np.array([_quietly(test, table) for table in tables])
                kind = "power" if changed else "size"
                found[name][method] |= {
                    f"axis {kind}": float((results[:, 0] <= 0.05).mean()),
                    f"group {kind}": float((results[:, 1] <= 0.05).mean()),
                }
    return found


def compare_shifts(sets: int) -> dict:
    found = {}
    for name, design in SHIFTS.items():
        found[name] = {method: {} for method in SHIFT_METHODS}
        for changed in (False, True):
            generator = np.random.default_rng([12, changed])
            audits = [draw_shifts(generator, design, changed=changed) for _ in range(sets)]
            for method, test in SHIFT_METHODS.items():
                axis, first = [], []
                for values in audits:
                    whole, p = test(values)
                    axis.append(whole <= 0.05 / AXES)
                    first.append((whole <= 0.05 / AXES) & (p[:, 0] * p.shape[1] <= 0.05))
                if changed:
                    found[name][method] |= {
                        "axis power": float(np.mean(axis)),
                        "group power": float(np.mean(first)),
                    }
                else:
                    found[name][method] |= {"any axis false": float(np.any(axis, axis=1).mean())}
    return found


def compare_pairs(sets: int) -> dict:
    return _compare_axes(sets, PAIRS, draw_pairs, PAIR_METHODS, 13)


def compare_terms(sets: int) -> dict:
    return _compare_axes(sets, TERMS, draw_terms, TERM_METHODS, 14)


def _compare_axes(sets: int, designs: dict, draw: Callable, methods: dict, seed: int) -> dict:
    """Axes that have no groups, each tested at .05 over their number."""
    found = {}
    for name, icc in designs.items():
        found[name] = {method: {} for method in methods}
        for changed in (False, True):
            generator = np.random.default_rng([seed, changed])
            audits = [draw(generator, icc, changed=changed) for _ in range(sets)]
            for method, test in methods.items():
                p = np.array([[test(*one) for one in audit] for audit in audits])
                below = p <= 0.05 / p.shape[1]
                found[name][method] |= (
                    {"power (mean of axes)": float(below.mean())}
                    if changed
                    else {"any axis false": float(below.any(axis=1).mean())}
                )
    return found


def _quietly(test: Callable, table: pl.DataFrame) -> tuple[float, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the compared procedures complain of is what their numbers show
        try:
            return test(table)
        except (np.linalg.LinAlgError, ValueError, ZeroDivisionError, FloatingPointError):
            return 1.0, 1.0


PARTS = {
    "rates": (compare_rates, 200),
    "shifts": (compare_shifts, 60),
    "pairs": (compare_pairs, 300),
    "terms": (compare_terms, 1000),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--sets", type=int, help="data sets a design")
    parser.add_argument("--output", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    found = json.loads(chosen.output.read_text()) if chosen.output.exists() else {}
    for name in chosen.part or PARTS:
        compare, sets = PARTS[name]
        found[name] = {"sets": chosen.sets or sets, "designs": compare(chosen.sets or sets)}
        for design, methods in found[name]["designs"].items():
            print(f"\n{name}: {design}")
            for method, numbers in methods.items():
                print(f"  {method:28}" + "  ".join(f"{key} {value:.3f}" for key, value in numbers.items()))
    chosen.output.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
