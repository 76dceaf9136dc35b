"""Groups of annotators by their answers about themselves: results for each group (`--by person.QUESTION`)."""

import json

import polars as pl

from evenhand.schema import DataError, parse_json, unknown_name

PERSON = "person."


def with_person_groups(votes: pl.DataFrame, key: str | None) -> pl.DataFrame:
    """Add each annotator's answer about themselves to the groups of the items that they judged.

    Parameters
    ----------
    votes : DataFrame
        VOTES, with the rows of surveys.
    key : str or None
        `person.QUESTION`, where QUESTION is a question of a survey block of kind `about`. Any other key changes
        nothing.

    Returns
    -------
    DataFrame
        The votes; `groups` of answers about items has `person.QUESTION`, null for annotators who did not answer.

    Raises
    ------
    DataError
        If the survey has no questions about the annotators, or no annotator answered one.
    UsageError
        For a question that is in no survey.
    """
    if key is None or not key.startswith(PERSON):
        return votes
    survey = votes.filter((pl.col("role") == "survey") & pl.col("answer").is_not_null())
    question = key.removeprefix(PERSON)
    asked = votes.filter(pl.col("role") == "survey")["question"].unique(maintain_order=True).to_list()
    if not asked:
        raise DataError(
            f"`--by {key}`: the export has no answers of annotators about themselves.",
            "Use a property of the items, such as --by groups.axis. To ask annotators about themselves in the next "
            "study, add a block `kind: about` under `survey` in the study file.",
        )
    if question not in asked:
        raise unknown_name("question about the annotators", question, asked)
    own = survey.filter(pl.col("question") == question).unique("person", keep="last", maintain_order=True)
    if own.is_empty():
        raise DataError(
            f"`--by {key}`: no annotator answered the question {question!r}.",
            "Choose another question about the annotators (--by person.QUESTION) or a property of the items "
            "(such as --by groups.axis).",
        )
    levels = votes.select("person", "groups").join(
        own.select("person", level="answer"), on="person", how="left", maintain_order="left"
    )
    pairs = levels.select("groups", "level").unique().rows()
    try:
        extended = {
            pair: json.dumps({**parse_json(pair[0] or "{}"), key: pair[1]}, sort_keys=True) for pair in pairs
        }
    except (ValueError, TypeError) as error:
        raise DataError(
            "The column `groups` of the export contains a value that is not a JSON object.",
            "Export the study again.",
        ) from error
    groups = pl.Series(
        "groups", [extended[pair] for pair in levels.select("groups", "level").iter_rows()], pl.String
    )
    return votes.with_columns(groups=pl.when(pl.col("role") == "survey").then("groups").otherwise(groups))
