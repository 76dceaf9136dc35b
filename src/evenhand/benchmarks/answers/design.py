"""Infer the design of a table of responses: the independent units, the strata held fixed, and the scope of verdicts.

The number of rows about a group does not show how certain a difference is. Three properties decide that. First, rows
can belong together (codings of one response, responses of one person). Second, all groups may or may not have received
the same questions. Third, there must be enough questions for a statement about similar questions.
"""

from dataclasses import dataclass, field

import numpy as np
import polars as pl
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from evenhand.benchmarks.answers.raters import RATERS_APART, inside_raters, raters_differ
from evenhand.schema import DataError

LEAST_QUESTIONS = 8
"""If all groups share at least this many questions, the questions are treated as the sample."""
HELD = ("question", "rater", "question with its rater")
"""Names of columns that are held fixed when groups are compared."""
OWN_QUESTIONS = "Each group was asked different questions, so question and group effects cannot be separated."
EACH_ROW = "each row counted as a separate response"
EACH_ANSWER = "each response counted, because no column names who gave it"
"""Caveat for a table without a column of units, whose responses count as independent."""
_KEYS = ["axis", "group"]
_MOST = 0.5


@dataclass(frozen=True)
class AnswerDesign:
    """Design of a table of responses: which responses are compared, and how.

    Attributes
    ----------
    frame : polars.DataFrame
        The comparable responses. Rows with the same ``prompt_id`` are repeated labels of one response.
    cluster : str
        Column with the sampling unit.
    strata : sequence of str
        Columns within which groups are compared.
    scope : str
        Sentence about the population to which verdicts apply, or empty.
    obstacles : mapping of str to str
        For each axis that cannot be compared, the reason. Such axes are not in `frame`.
    """

    frame: pl.DataFrame
    cluster: str
    strata: tuple[str, ...]
    scope: str
    obstacles: dict[str, str] = field(default_factory=dict)


def build_design(answers: pl.DataFrame) -> AnswerDesign:
    """Return the design of a table of responses.

    answers: axis, group and, if available, question, unit, rater, draw, continuation; one row per response, coding and
    axis. Columns with only nulls count as absent.

    Units (column `unit`, for example the person who wrote the responses):

    - With `unit`, each unit counts once, however many questions it has. Its questions stay together. If units had
      different questions, groups are compared only among units with the same set of questions.
    - Without `unit`, and with few questions that all groups received, the questions are held fixed. Each response
      counts once, and verdicts apply to these questions only.
    - Without `unit`, and with at least LEAST_QUESTIONS questions that all groups received, groups are paired by
      question. Verdicts then apply to similar questions.
    - If groups received different questions, each question counts once, because question and group cannot be separated.

    Raters: several codings of a response are averaged. If responses have different raters, groups are compared within
    raters (`inside_raters`).

    Only strata with several groups contribute to a difference; the others are left out. An axis whose groups share no
    stratum has an obstacle.

    Raises DataError if it is unclear whether several rows of one rater are one response or several.

    >>> rows = [{"axis": "sex", "group": g, "question": q} for g in "ab" for q in "123" for _ in range(40)]
    >>> found = build_design(pl.DataFrame(rows))
    >>> found.cluster, found.strata, found.scope.split(";")[0]
    ('answer', ('question',), 'This result applies to these 3 questions')
    """
    absent = [
        name
        for name in ("question", "unit", "rater", "sample")
        if name in answers.columns and _empty(answers[name])
    ]
    frame = answers.drop(absent).with_columns(
        pl.col(name).cast(pl.String).fill_null("")
        for name in ("question", "unit", "rater")
        if name in answers.columns and name not in absent
    )
    frame = frame.with_columns(prompt_id=_answer_ids(frame)).with_columns(answer="prompt_id")
    everything = frame
    cluster, paired = "answer", False
    about: list[str] = []
    held: list[str] = []
    obstacles: dict[str, str] = {}
    if "question" in frame.columns:
        by_unit = "unit" in frame.columns
        shared = _met_by_several()
        untied = _find_unconnected_axes(frame.filter(shared), frame, "question")
        few = frame["question"].n_unique() < LEAST_QUESTIONS
        if by_unit and len(untied) < frame["axis"].n_unique():
            cluster, held = "unit", ["question"]
            obstacles |= dict.fromkeys(untied, OWN_QUESTIONS)
            frame = frame.filter(shared & ~pl.col("axis").is_in(untied))
        elif by_unit:
            cluster, frame = "question", frame.with_columns(question=_bundles(frame))
            about.append("The groups were asked different questions, so each question counts once")
        elif not _met_by_all(frame):
            cluster = "question"
            frame = frame.with_columns(question=pl.format("{} ({})", "question", "group"))
            about.append("The groups were asked different questions, so each question counts once")
        elif few:
            held = ["question"]
        else:
            cluster, paired = "question", True
    elif "unit" in frame.columns:
        cluster = "unit"
    judged_apart = "rater" in frame.columns and raters_differ(frame)
    if judged_apart:
        frame, in_strata = inside_raters(frame, cluster, paired)
        held += ["rater_set"] if in_strata else []
    if cluster == "unit" and "question" in held:
        sets = _sets(frame)
        held.remove("question")
        if sets["question_set"].n_unique() > 1:
            frame = frame.join(sets, on=[*_KEYS, "unit"], how="left", maintain_order="left")
            held.insert(0, "question_set")
    tie = "question" if paired else "axis"
    if held:
        tie, frame = "held_fixed", frame.with_columns(held_fixed=pl.concat_str(held, separator="\x1f"))
        frame = frame.filter(pl.col("group").n_unique().over("axis", tie) > 1)
    if held or judged_apart:
        rest = everything.filter(~pl.col("axis").is_in(list(obstacles)))
        untied = _find_unconnected_axes(frame, rest, tie)
        obstacles |= dict.fromkeys(untied, RATERS_APART if judged_apart else OWN_QUESTIONS)
        frame = frame.filter(~pl.col("axis").is_in(untied))
    if "question" in frame.columns and not about:
        about.append("This result applies to questions like these" if paired else _about(frame))
    if "unit" not in frame.columns and "question" in frame.columns and everything["question"].n_unique() > 1:
        about[-1] += f"; {EACH_ANSWER if 'rater' in frame.columns else EACH_ROW}"
    if judged_apart:
        about.append("This result applies to these raters: groups are compared within the same raters")
    about += _left_out(everything, frame)
    named = "question" if "rater_set" not in held else "rater" if len(held) == 1 else HELD[2]
    if held:
        frame = frame.with_columns(pl.col("held_fixed").alias(named))
    return AnswerDesign(frame, cluster, (named,) if held else (), ". ".join(about), obstacles)


def _left_out(everything: pl.DataFrame, kept: pl.DataFrame) -> list[str]:
    """Return a sentence on the responses without a counterpart, for the axis with most of them; [] if all have one."""
    counts = [frame.group_by("axis").agg(pl.col("answer").n_unique()) for frame in (everything, kept)]
    lost = counts[0].join(counts[1], on="axis").select((pl.col("answer") - pl.col("answer_right")).max())
    count = int(lost.item() or 0)
    answers = "1 response was" if count == 1 else f"{count:,} responses were"
    return [f"{answers} left out, because no other group has a comparable one"] if count else []


def _empty(values: pl.Series) -> bool:
    return values.null_count() == len(values)


def _answer_ids(frame: pl.DataFrame) -> pl.Series:
    """Return an identifier for each row that is equal for all codings of the same response, shape (rows,)."""
    rows = pl.int_range(pl.len())
    if "rater" not in frame.columns:
        return frame.select(pl.format("answer-{}", rows)).to_series()
    known = [name for name in ("question", "unit", "draw", "continuation") if name in frame.columns]
    same = [*_KEYS, *known]
    twice = frame.select(rows.alias("row"), again=pl.struct(*same, "rater").is_duplicated()).filter("again")
    if twice.height and "unit" not in known:
        row = frame.row(int(twice["row"][0]), named=True)
        raise DataError(
            f"The rater {row['rater']!r} has several rows about {row['group']!r}, and no column shows which "
            "response each row codes.",
            "Name the column that identifies the response: --column COLUMN=unit, or the column of the responses: "
            "--column COLUMN=continuation.",
        )
    return frame.select(pl.format("answer-{}", pl.struct(same).rank("dense"))).to_series()


def _met_by_several() -> pl.Expr:
    return pl.col("group").n_unique().over("axis", "question") > 1


def _met_by_all(frame: pl.DataFrame) -> bool:
    """Return whether, on every axis, most questions were asked about several groups."""
    met = frame.group_by("axis", "question").agg(several=pl.col("group").n_unique() > 1)
    return bool((met.group_by("axis").agg(pl.col("several").mean())["several"] > _MOST).all())


def _find_unconnected_axes(frame: pl.DataFrame, everybody: pl.DataFrame, by: str) -> list[str]:
    """Return the axes whose groups are not all connected by shared values of the column `by`.

    frame: the comparable responses. everybody: all responses, which determine the groups.
    """
    found = []
    for (axis,), part in everybody.sort("axis").group_by("axis", maintain_order=True):
        here = frame.filter(axis=axis)
        groups = part["group"].n_unique()
        if here["group"].n_unique() < groups or _find_components(here, "group", by).n_unique() > 1:
            found.append(str(axis))
    return found


def _bundles(frame: pl.DataFrame) -> pl.Series:
    """Return an identifier of questions for each row, shape (rows,). Questions of the same unit get the same one."""
    own = frame.select(*(pl.struct(*_KEYS, name).rank("dense").alias(name) for name in ("unit", "question")))
    return pl.select(pl.format("bundle-{}", _find_components(own, "unit", "question"))).to_series()


def _find_components(frame: pl.DataFrame, first: str, second: str) -> pl.Series:
    """Return the connected component of each row, (rows,); rows with equal values in either column are connected."""
    codes = frame.select(pl.col(name).rank("dense").cast(pl.Int64) - 1 for name in (first, second))
    left, right = (codes[name].to_numpy() for name in (first, second))
    width = int(left.max(initial=-1)) + 1
    size = width + int(right.max(initial=-1)) + 1
    graph = coo_array((np.ones(len(left)), (left, width + right)), shape=(size, size))
    return pl.Series(connected_components(graph, directed=False)[1][left])


def _sets(frame: pl.DataFrame) -> pl.DataFrame:
    """Return, for each axis, group and unit, the set of its questions as one string."""
    return frame.group_by(*_KEYS, "unit").agg(
        question_set=pl.col("question").unique().sort().str.join("\x1f")
    )


def _about(frame: pl.DataFrame) -> str:
    count = frame["question"].n_unique()
    these = "this one question" if count == 1 else f"these {count} questions"
    return f"This result applies to {these}; other questions may give a different result"
