"""Computes every published number that needs no weights, and writes the tables of docs/evidence/reproducing.md.

    python docs/reproduce.py [--downloads DIR] [--outputs DIR] [--check]

DIR holds a folder for each data set (holisticbias/v1.0, holisticbias/v1.1, bold, crows_pairs, toxigen_v2, redditbias,
stereoset with dev.csv or dev.json and predictions/MODEL.csv or .json); without it the cache of `evenhand data fetch` is
read. What the papers print stands in published_numbers.toml. Rows whose files are not here stay as they are in the
page, and are named. --check writes nothing, shows the rows that differ, and ends with 1 where there are any, or where
none could be checked.
"""

import argparse
import difflib
import gzip
import hashlib
import json
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from evenhand.benchmarks.analysis.robbie_axes import AXIS_GROUPS, DATASETS
from evenhand.benchmarks.bold import load_bold
from evenhand.benchmarks.crows_pairs import load_crows_pairs
from evenhand.benchmarks.holisticbias import load_holisticbiasr
from evenhand.benchmarks.regard import load_regard
from evenhand.benchmarks.toxigen import load_toxigen
from evenhand.measures import (
    frame_from_parlai_lines,
    pooled_bias_score,
    published_bias_score,
    published_likelihood_bias,
    redditbias_lmb_published,
    stereoset_published,
)
from evenhand.measures.changes.consistency import ATTRIBUTES, relative_change
from evenhand.prompts.advpromptset.pieces import IDENTITIES
from evenhand.prompts.datasets import dataset_folder
from evenhand.prompts.holisticbias import HolisticBias
from evenhand.prompts.published import load_realtoxicityprompts, load_stereoset, load_wikitext
from evenhand.prompts.redditbias import load_redditbias
from evenhand.schema import DatasetMissing, EvenhandError

AXES = Path(__file__).with_name("robbie_axes.csv")
PAGE = Path(__file__).parent / "evidence" / "reproducing.md"
PRINTED = tomllib.loads(Path(__file__).with_name("published_numbers.toml").read_text(encoding="utf-8"))
START, END = "<!-- {}: written by docs/reproduce.py -->", "<!-- end -->"
PROMPTS = 1199
"""Prompts behind each rate of Morabito et al."""
FIGURE = (
    "The figure has no numbers; t = {t:.4f}, p = {p:.3g} (one more pass of its rule: t = {t_without:.2f})."
)
ROUNDED = "Counts are read back from rates of one decimal: one prompt more or less."


class Row(NamedTuple):
    """A published number, ours, and why they differ; texts are compared as they are."""

    what: str
    paper: float | str
    ours: float | str
    why: str = ""
    places: int = 0

    def cells(self) -> list[str]:
        """The row as the page has it."""
        if isinstance(self.paper, str) or isinstance(self.ours, str):
            return [
                self.what,
                str(self.paper),
                str(self.ours),
                "0" if self.paper == self.ours else "",
                self.why,
            ]
        difference = self.ours - self.paper
        shown = f"{difference:+,.{self.places}f}" if round(difference, self.places) else "0"
        return [
            self.what,
            *(f"{value:,.{self.places}f}" for value in (self.paper, self.ours)),
            shown,
            self.why,
        ]


class Downloads(NamedTuple):
    """Where the published files are: below a folder, or in the cache; and what the published programs wrote."""

    folder: Path | None
    outputs: Path | None = None

    def __call__(self, name: str, version: str | None = None, below: str = "") -> Path:
        """The verified folder of a data set."""
        return dataset_folder(name, version, None if self.folder is None else self.folder / below)


def holisticbias(files: Downloads) -> Iterator[Row]:
    """The sentences, the descriptors, and what follows from their numbers alone."""
    said = PRINTED["holisticbias"]
    sets = {
        version: HolisticBias.load(
            files("holisticbias", version, f"holisticbias/{version}"), version, as_published=True
        )
        for version in ("v1.0", "v1.1")
    }
    old, new = sets["v1.0"], sets["v1.1"]
    axes = {phrase.axis for phrase in old.phrases} - {"null"}
    yield Row("axes", said["axes"], len(axes))
    yield Row("nouns, v1.0", said["nouns_v10"], len({p.noun for p in old.phrases} - {"(none)"}))
    yield Row("templates", said["templates"], len(old.templates))
    yield Row(
        "unique sentences of the paper", said["sentences_unique_about"], old.texts().n_unique(),
        "The paper says about 460,000 and released v1.0 later, which holds more.",
    )  # fmt: skip
    for version, key in (("v1.0", "descriptors_v10"), ("v1.1", "descriptors_v11")):
        names = {phrase.descriptor for phrase in sets[version].phrases}
        why = (
            "The page counts 769; the files hold 770 and '(none)'."
            if version == "v1.1"
            else "'(none)' counted."
        )
        yield Row(f"descriptors, {version} (the data set's page)", said[key], len(names), why)
    yield Row("rows of sentences.csv, v1.1", said["rows_v11"], len(new))
    with tempfile.TemporaryDirectory() as folder:
        new.write_sentences(Path(folder) / "sentences.csv")
        digest = hashlib.sha256((Path(folder) / "sentences.csv").read_bytes()).hexdigest()
    yield Row("SHA-256 of sentences.csv, v1.1", said["sha256_v11"][:16] + "…", digest[:16] + "…")
    frame = old.likelihood_subset().prompt_set().frame
    sizes = frame.group_by("axis").agg(pl.col("descriptor").n_unique().cast(pl.Int64))["descriptor"]
    tests = int((sizes * (sizes - 1) // 2).sum()) * len(old.templates)
    card = dict(PRINTED["blenderbot3_card"])
    yield Row(
        "tests of the Likelihood Bias, v1.0 (thousands)", card.pop("tests_thousand"), tests / 1000, "Rounded."
    )
    for model, values in card.items():
        *axes_of, average = values
        yield Row(
            f"Likelihood Bias of {model}, average of 13 axes (model card of BlenderBot 3)", average,
            sum(axes_of) / len(axes_of), "The axes are printed as integers; the average is over axes, not pairs.", 1,
        )  # fmt: skip


def robbie(files: Downloads) -> Iterator[Row]:
    """Sizes of the prompt sets, the overall BiasScore of every model, and the intervals of Table 14."""
    said = PRINTED["robbie_prompts"]
    bold = load_bold(files("bold", None, "bold")).frame.filter(pl.col("text") != "")
    holistic = load_holisticbiasr(files("holisticbias", "v1.1", "holisticbias/v1.1")).frame
    toxigen = load_toxigen(files("toxigen-v2", None, "toxigen_v2")).frame
    yield Row("prompts of Regard (Table 2)", said["Regard"], load_regard().frame.height)
    yield Row("prompts of HolisticBiasR (Table 2)", said["HolisticBiasR"], holistic.height)
    yield Row("prompts of BOLD (Table 2)", said["BOLD"], bold.height, "Without its five empty prompts.")
    yield Row(
        "prompts of ToxiGen v2 (Table 2)", said["ToxiGen v2"], toxigen["id"].n_unique(),
        "Another selection: the paper prints 431, the list inside its program has 413 prompts; here 40 sentences a "
        "group are drawn from the same file.",
    )  # fmt: skip
    for domain, n in PRINTED["bold"].items():
        whole = load_bold(files("bold", None, "bold")).frame
        yield Row(
            f"prompts of BOLD, {domain} (Dhamala et al., Table 2)", n, whole.filter(domain=domain).height
        )
    wikitext = load_wikitext(files("wikitext", None, "wikitext2")).frame.height
    yield Row(
        "sentences of WikiText-103 (appendix B.1.4)", said["WikiText-103"], wikitext,
        "The extract of WikiText-2 is taken, which hides rare words; the published filter is not released.",
    )  # fmt: skip
    yield Row("identities of AdvPromptSet", said["identities"], sum(map(len, IDENTITIES.values())))
    totals = [25, 14, 24, 6, holistic.drop_nulls("group").select("axis", "group").unique().height]
    for model, values in PRINTED["robbie_table3"].items():
        *percents, overall = values
        fails = [round(percent / 100 * total) for percent, total in zip(percents, totals, strict=True)]
        ours = pooled_bias_score(fails, totals)
        yield Row(f"overall BiasScore of {model} (Table 3)", overall, ours, "", 2)
    yield from _axes()
    sizes = {
        "BOLD": dict(bold.group_by("group").len().rows()),
        "HolisticBiasR": dict(holistic.group_by("group").len().rows()),
    }
    for what, (name, group, low, high) in PRINTED["robbie_table14"].items():
        n = sizes[name][group]
        negatives, limits = _nearest(n, low, high)
        printed, found = f"{low:.1f} to {high:.1f}", f"{limits[0]:.1f} to {limits[1]:.1f}"
        told = f"{negatives} negative of {n:,}, the count that comes nearest."
        if printed != found:
            told += f" The resampling depends on the order of the rows: one response is {100 / n:.1f} points."
        yield Row(f"interval, {what} ({name}, Table 14)", printed, found, told)


def _axes() -> Iterator[Row]:
    """The overall column of Tables 29 to 65, axis by axis: groups that fail, pooled over the data sets."""
    printed = pl.read_csv(AXES, comment_prefix="#")
    for (axis,), rows in printed.group_by("axis", maintain_order=True):
        totals = AXIS_GROUPS[str(axis)]
        worst, same = (0.0, 0.0), 0
        for values in rows.select(*DATASETS, "overall").iter_rows():
            fails = [round((value or 0.0) / 100 * n) for value, n in zip(values[:5], totals, strict=True)]
            ours = pooled_bias_score(fails, totals)
            same += round(ours, 2) == values[5]
            worst = max(worst, (values[5], ours), key=lambda pair: abs(pair[1] - pair[0]))
        told = f"{same} of {rows.height} models agree to the printed digits; this one is furthest off."
        yield Row(f"overall BiasScore, {str(axis).replace('_', ' ')} (Tables 29 to 65)", *worst, told, 2)


def _nearest(n: int, low: float, high: float) -> tuple[int, tuple[float, float]]:
    """The count whose interval by the published resampling, seed and all, is nearest to a printed one."""
    middle, reach = n * (low + high) / 200, max(2, n // 60)
    found: dict[int, tuple[float, float]] = {}
    for negatives in range(max(0, round(middle) - reach), min(n, round(middle) + reach) + 1):
        frame = pl.DataFrame({"group": ["g"] * n, "negative": [1] * negatives + [0] * (n - negatives)})
        row = published_bias_score(frame, exact_seed=True).groups.row(0, named=True)
        found[negatives] = (row["low"], row["high"])
    best = min(found, key=lambda k: abs(found[k][0] - low) + abs(found[k][1] - high))
    return best, found[best]


def pairs(files: Downloads) -> Iterator[Row]:
    """Sizes of CrowS-Pairs, and StereoSet's scores from the published scores of its sentences."""
    crows = load_crows_pairs(files("crows-pairs", None, "crows_pairs")).frame.filter(role="more")
    for kind, n in PRINTED["crows_pairs"].items():
        yield Row(f"pairs about {kind} (Nangia et al., Table 2)", n, crows.filter(axis=kind).height)
    if files.folder is None or not (files.folder / "stereoset/predictions").is_dir():
        raise DatasetMissing("StereoSet's scores need --downloads DIR with DIR/stereoset/predictions/.")
    items = load_stereoset(files("stereoset", None, "stereoset")).frame
    for model, values in PRINTED["stereoset"].items():
        scores = sentence_scores(files.folder / "stereoset/predictions", model)
        named = "sentence_id" if "sentence_id" in items.columns else "prompt_id"
        joined = items.join(scores.rename({"sentence_id": named}, strict=False), on=named, how="left")
        row = stereoset_published(joined).filter(dataset_type="overall").row(0, named=True)
        for column, printed in zip(("lms", "ss", "icat"), values, strict=True):
            yield Row(f"StereoSet, {model}: {column} (the published program)", printed, row[column], "", 4)


def redditbias(files: Downloads) -> Iterator[Row]:
    """Sizes of RedditBias' parts, and its measure from the perplexities that were published with the pairs."""
    folder = None if files.folder is None else files.folder / "redditbias"
    for bias, told in PRINTED["redditbias_lmb"].items():
        for split, printed in zip(("valid", "test"), PRINTED["redditbias_phrases"][bias], strict=True):
            rows = load_redditbias(folder, split=split, bias_types=[bias]).frame
            yield Row(f"{split} pairs on {bias} (Barikeri et al., Table 3)", printed, rows.height // 2)
            pairs = rows.pivot(
                on="role", index=["bias_type", "pair_id", "phrase"], values="dialogpt_perplexity"
            )
            pairs = pairs.rename({"more": "perplexity_more", "less": "perplexity_less"})
            row = redditbias_lmb_published(pairs).row(0, named=True)
            if split == "test":
                found = f"{_side(row['t'])}, {'' if row['p'] < 0.05 else 'not '}significant"
                yield Row(f"DialoGPT's bias on {bias} (section 6)", told, found, FIGURE.format(**row))


def _side(t: float) -> str:
    return "stereotypical" if t < 0 else "opposite"


def sentence_scores(folder: Path, model: str) -> pl.DataFrame:
    """sentence_id and score, from MODEL.csv or the owners' JSON renamed MODEL.json."""
    if (table_of := folder / f"{model}.csv").is_file():
        return pl.read_csv(table_of).select("sentence_id", "score")
    content = json.loads((folder / f"{model}.json").read_text(encoding="utf-8"))
    rows = [
        (item["id"], item["score"]) for kind in ("intrasentence", "intersentence") for item in content[kind]
    ]
    return pl.DataFrame(rows, schema=["sentence_id", "score"], orient="row")


def programs(files: Downloads) -> Iterator[Row]:
    """Outputs of the published programs on the same inputs, where they are here: largest differences."""
    if files.outputs is None:
        raise DatasetMissing("Outputs of the published programs need --outputs DIR.")
    folder = files.outputs / "likelihood_bias_small"
    with gzip.open(folder / "logs.jsonl.gz", "rt") as lines:
        result = published_likelihood_bias(frame_from_parlai_lines(lines))
    for name in ("by_axis", "by_axis_and_template", "by_axis_and_descriptor_pair", "by_template"):
        theirs = pl.read_csv(folder / f"significances__{name}.csv").sort(pl.col(pl.String))
        mine: pl.DataFrame = getattr(result, name).sort(pl.col(pl.String))
        value = "significant_difference"
        far = float((mine[value] - theirs[value]).abs().max())  # type: ignore[arg-type]
        yield Row(f"Likelihood Bias, {name}: largest of {theirs.height} differences", 0.0, far, "", 12)
    for name in ("hbr", "regard"):
        folder = files.outputs / "robbie_bootstrap"
        lines_of = [
            json.loads(line)["pred_meta"] for line in (folder / f"{name}.jsonl").read_text().splitlines()
        ]
        frame = pl.DataFrame(
            {
                "axis": [row.get("axis", "") for row in lines_of],
                "group": [row["descriptor"].replace("_", " ") for row in lines_of],
                "negative": [row["label"] == "neg" for row in lines_of],
            }
        )
        official = json.loads((folder / f"{name}_regard_bootsrap.jsonl").read_text())
        groups = published_bias_score(frame, exact_seed=True).groups
        mine_of = {(row["axis"], row["group"]): (row["low"], row["high"]) for row in groups.to_dicts()}
        found = [mine_of[row.get("axis", ""), row["descriptor"]] for row in official]
        pairs_of = zip(official, found, strict=True)
        far = max(max(abs(low - r["C_lower"]), abs(high - r["C_upper"])) for r, (low, high) in pairs_of)
        yield Row(
            f"bootstrap of ROBBIE, {name}: largest difference of {len(official)} intervals", 0.0, far, "", 12
        )


def consistency(files: Downloads) -> Iterator[Row]:
    """The averages and relative changes of self-debiasing, from the printed rates as counts of 1,199 prompts."""
    levels = {
        level: [round(rate / 100 * PROMPTS) for rate in values[:-1]]
        for level, values in PRINTED["morabito_table"].items()
    }
    prompts = load_realtoxicityprompts(files("realtoxicityprompts", None, "realtoxicityprompts")).frame
    for kind, n in PRINTED["morabito_prompts"].items():
        there = prompts.filter(pl.col("challenging") == (kind == "challenging")).height
        yield Row(f"{kind} prompts (Morabito et al.)", n, there)
    where = "(Morabito et al., adversarial prompts, self-debiasing)"
    for level, values in PRINTED["morabito_table"].items():
        mean = 100 * sum(levels[level]) / len(levels[level]) / PROMPTS
        yield Row(
            f"average rate, {level} {where}",
            values[-1],
            mean,
            ROUNDED if round(mean, 1) != values[-1] else "",
            1,
        )
    for level, values in PRINTED["morabito_changes"].items():
        whole = zip(
            [*levels["default"], sum(levels["default"])], [*levels[level], sum(levels[level])], strict=True
        )
        ours = [float(relative_change(before, after)) for before, after in whole]
        largest = max(range(7), key=lambda i: abs(round(ours[i], 1) - values[i]))
        name = (*ATTRIBUTES, "average")[largest].replace("_", " ")
        told = f"The one of seven that differs most ({name})."
        if round(ours[largest], 1) != values[largest]:
            told += f" {ROUNDED}"
        yield Row(f"relative change, {level} {where}", values[largest], ours[largest], told, 1)


TABLES: dict[str, Callable[[Downloads], Iterator[Row]]] = {
    "holisticbias": holisticbias,
    "robbie": robbie,
    "pairs": pairs,
    "redditbias": redditbias,
    "consistency": consistency,
    "programs": programs,
}


HEADING = ("| what | paper | ours | difference | why |", "| --- | --: | --: | --: | --- |")


class Kept(NamedTuple):
    """Rows of a table that could not be computed here, and why."""

    rows: list[str]
    why: str


def table(rows: Iterator[Row], written: list[str]) -> tuple[list[str], Kept | None]:
    """Rows as lines of a table in Markdown, and which could not be computed.

    written: the lines that the page has. Where a file is missing, those that were not computed stay.
    """
    lines: list[str] = []
    try:
        for row in rows:
            lines.append(f"| {' | '.join(row.cells())} |")  # noqa: PERF401  # what was computed before an error counts
    except (EvenhandError, OSError) as error:
        computed = {_what(line): line for line in lines}
        kept = [_what(line) for line in written if _what(line) not in computed]
        merged = [computed.pop(_what(line), line) for line in written]
        return [*merged, *computed.values()], Kept(kept, str(error).splitlines()[0])
    return lines, None


def _what(line: str) -> str:
    return line.split(" | ")[0].removeprefix("| ")


def _rows_of(page: str, name: str) -> list[str]:
    """The lines of a table of the page, without its heading."""
    written = page.partition(START.format(name))[2].partition(END)[0]
    return written.strip().splitlines()[len(HEADING) :]


def with_tables(page: str, files: Downloads) -> tuple[str, dict[str, Kept]]:
    """The page with every table computed anew, and what stays as it is because its files are not here."""
    left: dict[str, Kept] = {}
    for name, rows in TABLES.items():
        start = START.format(name)
        before, _, behind = page.partition(start)
        lines, kept = table(rows(files), _rows_of(page, name))
        if kept is not None:
            left[name] = kept
        page = "\n".join([before + start, *HEADING, *lines, END]) + behind.partition(END)[2]
    return page, left


def main() -> int:
    """Write the page, or say whether it is true."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--downloads", type=Path)
    parser.add_argument("--outputs", type=Path, help="what the published programs wrote (see the page)")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    made, left = with_tables(page, Downloads(given.downloads, given.outputs))
    for name, (rows, why) in left.items():
        print(
            f"{name}: {len(rows)} rows not {'checked' if given.check else 'computed'}, kept as they are. {why}"
        )
        for row in rows:
            print(f"  {row}")
    if not given.check:
        PAGE.write_text(made, encoding="utf-8")
        return 0
    print(
        "\n".join(
            difflib.unified_diff(page.splitlines(), made.splitlines(), "the page", "computed", "", "", 0, "")
        )
    )
    if all(name in left and len(left[name].rows) == len(_rows_of(page, name)) for name in TABLES):
        print(
            "Nothing was checked: get the files as the page says, or name them by --downloads and --outputs."
        )
        return 1
    return int(made != page)


if __name__ == "__main__":
    sys.exit(main())
