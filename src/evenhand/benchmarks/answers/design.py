"""How somebody's answers were gathered, read from the table: what counts once, what is held fixed, what it speaks of.

Who knows only that 120 rows are about women cannot say how sure a difference is. Three things decide it: whether rows
belong together (codings of one answer, answers of one person), whether all groups met the same questions, and whether
there are enough questions for a statement about questions like these.
"""

from dataclasses import dataclass

import polars as pl

from evenhand.schema import DataError

LEAST_QUESTIONS = 8
"""From so many questions on that all groups met, questions themselves are what was sampled."""
HELD = ("question", "rater", "question with its rater")
"""What groups may be compared inside of; columns of a designed table."""
_KEYS = ["axis", "group"]
_MOST = 0.5


@dataclass(frozen=True)
class Design:
    """frame: the answers, with `prompt_id` (rows of one are codings of one answer), the column `cluster` of what counts
    once and the columns `strata` of what is held fixed. scope: what a verdict speaks of, a sentence, or empty.
    obstacle: why nothing can be said, or None."""

    frame: pl.DataFrame
    cluster: str
    strata: tuple[str, ...]
    scope: str
    obstacle: str | None = None


def designed(answers: pl.DataFrame) -> Design:
    """The design of a table of answers.

    answers: axis, group and, as far as there are any, question, unit, rater, draw, continuation; one row for each
    answer, coding of it and axis. Columns that are all null count as absent.
    - Codings of one answer are averaged. Where answers have different raters, groups are compared inside the same ones.
    - With `unit` each unit counts once, whatever it was asked; questions that units did not share are held fixed.
    - Without, questions that all groups met are held fixed and each answer counts, so that verdicts speak of these very
      questions; from LEAST_QUESTIONS on groups are paired in them, and verdicts speak of questions like these.
    - Questions that only one group met count once each: they cannot be told from the group otherwise.
    Raises DataError where several rows of one rater might be one answer or several.

    >>> rows = [{"axis": "sex", "group": g, "question": q} for g in "ab" for q in "123" for _ in range(40)]
    >>> found = designed(pl.DataFrame(rows))
    >>> found.cluster, found.strata, found.scope
    ('answer', ('question',), 'It speaks of these 3 questions; others may come out otherwise')
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
    cluster, held, scope, obstacle = "answer", [], "", None
    shared = "question" in frame.columns and _met_by_all(frame)
    if "unit" in frame.columns:
        cluster = "unit"
        if shared:
            sets = _sets(frame, "unit", "question")
            frame, differ = (
                frame.join(sets, on=[*_KEYS, "unit"], how="left", maintain_order="left"),
                _vary(sets),
            )
            held += ["question_set"] if differ else []
            scope = _about(frame)
    elif shared:
        count = frame["question"].n_unique()
        if count >= LEAST_QUESTIONS:
            cluster = "question"
            scope = "It speaks of questions like these"
        else:
            held.append("question")
            scope = _about(frame)
    elif "question" in frame.columns:
        cluster = "question"
        frame = frame.with_columns(question=pl.format("{} ({})", "question", "group"))
        scope = "Groups were asked different questions, so each question counts once"
    if "rater" in frame.columns:
        sets = _sets(frame, cluster, "rater")
        if _vary(sets):
            scope = f"{scope}. It is as these raters judge" if scope else "It is as these raters judge"
            if not _met_by_raters(sets):
                obstacle = "Each group has raters of its own: raters and groups cannot be told apart."
            elif cluster != "question" and _shared_sets(sets):
                frame = frame.join(sets, on=[*_KEYS, cluster], how="left", maintain_order="left")
                held.append("rater_set")
    if held:
        named = "question" if "rater_set" not in held else "rater" if len(held) == 1 else HELD[2]
        if cluster != named:
            frame = frame.with_columns(pl.concat_str(held, separator="\x1f").alias(named))
        return Design(frame, cluster, (named,), scope, obstacle)
    return Design(frame, cluster, (), scope, obstacle)


def _empty(values: pl.Series) -> bool:
    return values.null_count() == len(values)


def _answer_ids(frame: pl.DataFrame) -> pl.Series:
    """Which rows are codings of one answer (rows,)."""
    rows = pl.int_range(pl.len())
    if "rater" not in frame.columns:
        return frame.select(pl.format("answer-{}", rows)).to_series()
    known = [name for name in ("question", "unit", "draw", "continuation") if name in frame.columns]
    same = [*_KEYS, *known]
    twice = frame.select(rows.alias("row"), again=pl.struct(*same, "rater").is_duplicated()).filter("again")
    if twice.height and "unit" not in known:
        row = frame.row(int(twice["row"][0]), named=True)
        raise DataError(
            f"The rater {row['rater']!r} coded several answers about {row['group']!r}, and nothing says which rows "
            "are codings of the same answer.",
            "Name the column that tells answers apart: --column COLUMN=unit (or the answers: COLUMN=continuation).",
        )
    return frame.select(pl.format("answer-{}", pl.struct(same).rank("dense"))).to_series()


def _met_by_all(frame: pl.DataFrame) -> bool:
    """Whether most questions were asked about several groups, in every axis."""
    met = frame.group_by("axis", "question").agg(several=pl.col("group").n_unique() > 1)
    return bool((met.group_by("axis").agg(pl.col("several").mean())["several"] > _MOST).all())


def _sets(frame: pl.DataFrame, cluster: str, of: str) -> pl.DataFrame:
    """By axis, group and unit: all of its questions, or raters, in one text."""
    name = f"{of}_set"
    return frame.group_by(*_KEYS, cluster).agg(pl.col(of).unique().sort().str.join("\x1f").alias(name))


def _vary(sets: pl.DataFrame) -> bool:
    return sets[sets.columns[-1]].n_unique() > 1


def _shared_sets(sets: pl.DataFrame) -> bool:
    """Whether most units share their raters with a unit of another group, so that holding them fixed loses little."""
    name = sets.columns[-1]
    return bool(sets.select((pl.col("group").n_unique().over("axis", name) > 1).mean()).item() > _MOST)


def _met_by_raters(sets: pl.DataFrame) -> bool:
    """Whether any rater judged several groups of an axis."""
    raters = sets.with_columns(pl.col(sets.columns[-1]).str.split("\x1f")).explode(sets.columns[-1])
    return bool(raters.select((pl.col("group").n_unique().over("axis", sets.columns[-1]) > 1).any()).item())


def _about(frame: pl.DataFrame) -> str:
    count = frame["question"].n_unique()
    these = "this one question" if count == 1 else f"these {count} questions"
    return f"It speaks of {these}; others may come out otherwise"
