"""The roles of the columns of a user's table: stated with `--column COLUMN=ROLE`, or guessed from their names.

Each guess is reported with the flag that states it. If two columns have the same possible role, neither is used.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from evenhand.schema import DataError, UsageError, list_names, unknown_column, unknown_name
from evenhand.studies.own_responses.asking import examples, flag, may_be_group, may_hold, what_each_may_be

OURS: Mapping[str, str] = {
    "group": "the group that the answer is about, or that gave it; if several columns have this role, each is a "
    "separate axis",
    "axis": "the name of the axis to which the group of a row belongs, if one table contains several axes",
    "question": "the question that was asked, in the same words for all groups",
    "unit": "the person or thing to which a row belongs, if one person or thing has several rows",
    "rater": "the person who coded the answer, if several people coded each answer",
    "sample": "the number of the answer, if a question was answered several times",
    "continuation": "the text of the answer, which --classifier labels",
    "score": "a number about the answer: a rating, a salary, a length",
    "label": "a category; --negative names the negative ones",
    "negative": "true or false: whether the answer is negative",
    "error": "the reason why the answer is missing",
}
"""The possible roles of a column, with explanations for error messages."""
OUTCOMES = ("negative", "label", "score")
_WORDS: Mapping[str, str] = {
    "group": "group groups gender sex race ethnicity religion nationality disability age_group orientation region "
    "demographic",
    "axis": "axis attribute dimension",
    "question": "question question_id item item_id scenario vignette topic task prompt",
    "unit": "unit person person_id respondent respondent_id participant participant_id subject subject_id applicant "
    "case case_id id",
    "rater": "rater coder annotator judge rater_id coder_id",
    "sample": "sample repetition iteration draw",
    "continuation": "continuation answer response output reply completion generation",
    "score": "score rating salary pay wage income points grade",
    "label": "label class category sentiment judgement code",
    "negative": "negative hostile toxic refused refusal is_negative",
    "error": "error",
}
_SEVERAL = "group"
_MODELS = frozenset(("model", "system"))
"""Names of columns that state which model wrote a response. They are neither groups nor outcomes."""
_OTHERS = "prompt_id prompt_text scenario_id question_text text verdict decision outcome result tone stance"
_NO_AXIS = _MODELS.union(
    _OTHERS.split(), *(words.split() for ours, words in _WORDS.items() if ours not in ("group", "axis"))
) - {"class", "category"}
"""Names of columns that are never suggested as groups: outcomes, questions, texts, ids and models.

"class" and "category" are not among them, because such a column may contain groups of people.
"""
_LISTED = 12


@dataclass(frozen=True)
class Columns:
    """Roles of the columns of a user's table.

    Attributes
    ----------
    theirs
        Columns of the table by role, in the order of the table. Only the role "group" may have several columns.
    told
        Sentences about guessed and unused columns.
    guessed
        Roles that were guessed and not stated.
    """

    theirs: Mapping[str, tuple[str, ...]]
    told: tuple[str, ...]
    guessed: frozenset[str] = frozenset()

    def one(self, ours: str) -> str | None:
        """Return the column with this role, or None."""
        return next(iter(self.theirs.get(ours, ())), None)


def stated_columns(given: Mapping[str, str] | Sequence[str], ours: Iterable[str] = OURS) -> dict[str, str]:
    """Return the role of each named column, from COLUMN=ROLE or a mapping.

    given: one or more of them. ours: the valid roles. Raises UsageError for a value without "=", an unknown role,
    and a column that is named twice.

    >>> stated_columns(["who=group", "the answer=continuation"])
    {'who': 'group', 'the answer': 'continuation'}
    """
    pairs = list(given.items()) if isinstance(given, Mapping) else [_pair(value) for value in given]
    known, stated = list(ours), dict[str, str]()
    for theirs, name in pairs:
        if name not in known:
            error = unknown_name("role of a column", name, known)
            meanings = "; ".join(f"{one}: {OURS[one]}" for one in known if one in OURS)
            raise UsageError(
                error.message, f"{error.hint or ''} {meanings}".strip() if meanings else error.hint
            )
        if stated.get(theirs, name) != name:
            raise UsageError(
                f"`--column` gives the column {theirs!r} two roles: {stated[theirs]} and {name}.",
                "Give each column one role.",
            )
        stated[theirs] = name
    return stated


def assign_roles(
    frame: pl.DataFrame, stated: Mapping[str, str], where: str, *, judged_now: bool, scored: bool
) -> Columns:
    """Return the roles of columns, as stated or guessed from their names.

    Raises UsageError if a stated column is missing, if two columns have the same role, or if there are two outcomes.
    Raises DataError if the names of two columns suggest the same role, or if there is no group or no outcome.

    Parameters
    ----------
    frame
        The table.
    stated
        Roles of columns that the user stated.
    where
        Name of the table in errors.
    judged_now
        Whether a classifier labels the responses, so that no column of labels is needed.
    scored
        Whether a threshold is given, so that a column of scores is needed.
    """
    _refuse_two_outcomes(stated, judged_now)
    theirs: dict[str, list[str]] = {}
    for column, ours in stated.items():
        if column not in frame.columns:
            raise unknown_column(where, column, frame.columns)
        theirs.setdefault(ours, []).append(column)
    for ours, named in theirs.items():
        if len(named) > 1 and ours != _SEVERAL:
            raise UsageError(
                f"{where}: {' and '.join(map(repr, named))} are both given as {ours}.",
                "Only one column can have this role.",
            )
    told: list[str] = []
    guessed: set[str] = set()
    wanted = [ours for ours in OURS if ours not in theirs and _is_wanted(ours, theirs, judged_now, scored)]
    outcomes: dict[str, str] = {}
    groups: list[str] = []
    for ours in wanted:
        near = _alike(frame, ours, stated)
        if not near:
            continue
        if ours in OUTCOMES:
            outcomes |= dict.fromkeys(near, ours)
            continue
        if len(near) > 1 and ours != _SEVERAL:
            raise _two(where, {column: ours for column in near})
        if ours == _SEVERAL:
            groups = near
            continue
        theirs[ours] = near
        guessed.add(ours)
        told += [_guess(column, ours) for column in near]
    if len(outcomes) > 1:
        texts = theirs.get("continuation")
        raise _missing_classifier(where, texts[0], outcomes) if texts else _two(where, outcomes)
    for column, ours in outcomes.items():
        theirs[ours] = [column]
        guessed.add(ours)
        told.append(_guess(column, ours))
    taken = {column: ours for ours, named in theirs.items() for column in named}
    lacking = [] if judged_now or any(ours in theirs for ours in OUTCOMES) else ["the outcome"]
    if _SEVERAL not in theirs:
        others = (
            []
            if groups == [_SEVERAL]
            else _rivals(frame, [*taken, *groups, *_named_otherwise(frame)], has_outcome=not lacking)
        )
        by_name = {column for column, ours in taken.items() if ours in guessed}
        if not groups:
            lacking.insert(0, "the group")
        elif len(groups) + len(others) > 1:
            raise _groups(frame, where, taken, by_name, [*groups, *others], lacking)
        else:
            theirs[_SEVERAL] = groups
            taken[groups[0]] = _SEVERAL
            guessed.add(_SEVERAL)
            told.insert(0, _guess(groups[0], _SEVERAL))
    texts = theirs.get("continuation")
    if texts and lacking == ["the outcome"]:
        raise _missing_classifier(where, texts[0], {})
    if lacking:
        by_name = {column for column, ours in taken.items() if ours in guessed}
        raise _unsaid(frame, where, taken, by_name, lacking)
    if "axis" in theirs and len(theirs[_SEVERAL]) > 1:
        raise DataError(
            f"{where}: with a column of axes ({theirs['axis'][0]!r}), only one column can contain the groups, not "
            f"{' and '.join(map(repr, theirs[_SEVERAL]))}.",
            "If each of these columns is its own axis, remove the column of axes.",
        )
    if "unit" not in theirs:
        told.append(
            "Each row counts as a separate answer. If several are about one person or thing, name the column that "
            "identifies it (--column COLUMN=unit)."
            if "rater" not in theirs
            else "Codings of the same text, or of the same question and group, count as one answer."
        )
    used = {column for named in theirs.values() for column in named}
    unused = [column for column in frame.columns if column not in used]
    if unused:
        more = f" and {len(unused) - _LISTED} more" if len(unused) > _LISTED else ""
        told.append(f"Not used: {', '.join(unused[:_LISTED])}{more}.{_further_axes(frame, used, theirs)}")
    return Columns({ours: tuple(named) for ours, named in theirs.items()}, tuple(told), frozenset(guessed))


def _pair(value: str) -> tuple[str, str]:
    theirs, equals, ours = value.rpartition("=")
    if not equals or not theirs or not ours:
        raise UsageError(
            f"`--column` expects COLUMN=ROLE, got {value!r}.",
            "For example: --column who=group --column pay=score",
        )
    return theirs, ours


def _is_wanted(ours: str, theirs: Mapping[str, list[str]], judged_now: bool, scored: bool) -> bool:
    """Return whether a column with this role is to be guessed from the names of columns."""
    if ours in OUTCOMES:
        return (
            not judged_now
            and not any(name in theirs for name in OUTCOMES)
            and (not scored or ours == "score")
        )
    if ours == "continuation":
        return judged_now
    if ours == "axis":  # with several columns of groups, each is an axis
        return len(theirs.get(_SEVERAL, ())) < 2
    return True


def _normalise_name(name: str) -> str:
    return "_".join(name.strip().lower().replace("-", " ").replace("_", " ").split())


def _alike(frame: pl.DataFrame, ours: str, stated: Mapping[str, str]) -> list[str]:
    """Return the columns whose names suggest a role. A column with the name of the role itself excludes the others."""
    free = [column for column in frame.columns if column not in stated]
    if ours in free:
        return [ours]
    words = _WORDS[ours].split()
    return [column for column in free if _normalise_name(column) in words]


def _guess(column: str, ours: str) -> str:
    if column == ours:
        return f"Column {column}: {OURS[ours].partition(';')[0]}."
    return f"Column {column} is taken as {ours} ({flag(column, ours)})."


def _missing_classifier(where: str, column: str, outcomes: Mapping[str, str]) -> UsageError:
    """Return the error that no classifier was named for the texts in a column. Its hint has the flags to add.

    outcomes: roles of other columns that could be compared instead.
    """
    from evenhand.studies.missing_classifiers import forgotten_classifier

    others = [f"--column {theirs}={ours}" for theirs, ours in outcomes.items()]
    compare = f"To compare another column: {' or '.join(others)}. " if others else ""
    return forgotten_classifier(
        f"{where}: column {column!r} contains responses (continuation), but no classifier was given for them.",
        f"{compare}To classify them: --classifier NAME (`evenhand list classifiers` shows them).",
        "tone",
    )


def _two(where: str, meant: Mapping[str, str]) -> DataError:
    columns = " and ".join(map(repr, meant))
    kinds = set(meant.values())
    what = next(iter(kinds)) if len(kinds) == 1 else "what is compared"
    return DataError(
        f"{where}: {columns} could each be {what}, but only one can be.",
        "Choose one: " + " or ".join(flag(column, ours) for column, ours in meant.items()),
    )


def _refuse_two_outcomes(stated: Mapping[str, str], judged_now: bool) -> None:
    """Raise UsageError if the user stated two outcomes, because only one can be compared."""
    named = {column: ours for column, ours in stated.items() if ours in OUTCOMES}
    if judged_now and named:
        column, ours = next(iter(named.items()))
        raise UsageError(
            f"{column!r} is given as the {ours}, but `--classifier` would label the responses again.",
            "Only one outcome can be compared: remove one of the two.",
        )
    if len(set(named.values())) > 1:
        raise UsageError(
            f"{' and '.join((f'{column!r} ({ours})' for column, ours in named.items()))} are both given as the "
            "outcome.",
            "Only one outcome can be compared: run the command twice, each time with one of them.",
        )


def _named_otherwise(frame: pl.DataFrame) -> list[str]:
    """Return the columns whose names show that they do not contain groups (_NO_AXIS)."""
    others = {word for ours, words in _WORDS.items() if ours != _SEVERAL for word in words.split()}
    return [column for column in frame.columns if _normalise_name(column) in others]


def _rivals(frame: pl.DataFrame, taken: Collection[str], *, has_outcome: bool) -> list[str]:
    """Return other columns that may contain groups.

    Columns of yes and no are included only if another column is the outcome, because they may themselves be outcomes.
    """
    return [
        name for name in _group_columns(frame, taken) if has_outcome or may_hold(frame[name])[0] == _SEVERAL
    ]


def _group_columns(frame: pl.DataFrame, taken: Collection[str]) -> list[str]:
    """Return the columns that are suggested as groups.

    They have few different texts as values, and a name that does not show another role.
    """
    return [name for name in may_be_group(frame, taken) if _normalise_name(name) not in _NO_AXIS]


def _further_axes(frame: pl.DataFrame, used: Collection[str], theirs: Mapping[str, Sequence[str]]) -> str:
    """Return a sentence on unused columns that may be further axes; "" if there are none."""
    further = [] if "axis" in theirs else _group_columns(frame, used)[:_LISTED]
    if not further:
        return ""
    has = f"{further[0]} has" if len(further) == 1 else f"{', '.join(further[:-1])} and {further[-1]} have"
    what = (
        "it describes people, it is a further axis"
        if len(further) == 1
        else ("they describe people, they are further axes")
    )
    return f" {has} few values. If {what}: {' '.join(flag(column, _SEVERAL) for column in further)}"


def _groups(
    frame: pl.DataFrame,
    where: str,
    taken: Mapping[str, str],
    by_name: Collection[str],
    groups: Sequence[str],
    lacking: Sequence[str],
) -> DataError:
    more = f", and no column has a name that means {lacking[0]}" if lacking else ""
    return DataError(
        f"{where}: {len(groups)} columns could contain the groups: {list_names(groups)}{more}.",
        "Choose one or more (each is its own axis): "
        f"{' or '.join(flag(column, _SEVERAL) for column in groups)}\nPossible roles of each "
        f"column:\n{what_each_may_be(frame, taken, by_name)}",
    )


def _unsaid(
    frame: pl.DataFrame,
    where: str,
    taken: Mapping[str, str],
    by_name: Collection[str],
    lacking: Sequence[str],
) -> DataError:
    named = _group_columns(frame, taken)[:_LISTED] if "the group" in lacking else []
    people = " or ".join(flag(name, _SEVERAL) for name in named)
    people += " (each column is an axis)" if len(named) > 1 else ""
    models = [name for name in frame.columns if _normalise_name(name) in _MODELS]
    known = dict(taken) | dict.fromkeys([*named[:1], *models], _SEVERAL)
    outcome = (
        examples(frame, known, ["score", "negative", "label", "continuation"])
        if "the outcome" in lacking
        else ""
    )
    flags = " and ".join(part for part in (people, outcome) if part)
    return DataError(
        f"{where}: cannot tell which column contains {' and '.join(lacking)}.",
        f"{f'Name it, for example: {flags}' if flags else 'Name it: --column COLUMN=ROLE'}\n"
        f"Possible roles of each column:\n{what_each_may_be(frame, taken, by_name)}",
    )
