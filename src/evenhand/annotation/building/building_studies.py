"""Build a study from the responses of one or two runs, or from a file, by a template."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from evenhand.annotation.building.built import Built, Chat, ContentSelection, Notes, Pairing, Shown, StudyText
from evenhand.annotation.building.drawing import cell, drop_repeats, fit, sample_evenly, text_identifier
from evenhand.annotation.building.file_pairs import PAIR_FORMAT, kind_of_table, read_models, read_pair_table
from evenhand.annotation.building.file_texts import TEXT_FORMAT, read_texts
from evenhand.annotation.building.opened_runs import model_names, open_runs, talks
from evenhand.annotation.building.pairing import paired_chats, paired_texts
from evenhand.annotation.building.parlai import detect_kind, read_chats, read_pairs
from evenhand.annotation.building.reddit_phrases import comments_and_phrases, phrases_table
from evenhand.annotation.building.run_chats import read_complete_chats
from evenhand.annotation.building.run_texts import read_run_texts
from evenhand.annotation.definition import Item, Study, outline, template as template_named
from evenhand.runs import RunDirectory
from evenhand.schema import DataError, UsageError, checked, is_folder

PAIRED = "acute"
"""Template whose items are pairs; the items of all others are texts."""
PUBLISHED = {
    "acute": (
        400,
        "choices between {}; the papers had 400 or more for each pair of models and question",
    ),
    "robbie": (500, "texts of {}; ROBBIE had 500 or more rated texts of each model"),
    "regard": (540, "texts of {}; ROBBIE had 540 or more rated texts of each model"),
}
"""Minimum number of judgements in the papers, and the end of the note if a study has fewer."""


@checked
def build_study(
    sources: Sequence[Path | str],
    template: str,
    *,
    benchmark: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    name: str | None = None,
    pairing: Pairing | None = None,
    speaker: str = "B",
    drop_unsafe: bool = True,
    leave_out: Sequence[str] = (),
    show: Shown | None = None,
    survey: bool = False,
) -> Built:
    """Build a human evaluation from texts of models.

    Use it to have people judge the responses of an audit, or compare the responses of two models. Start the
    evaluation with `begin_study` or `evenhand annotate serve`.

    Parameters
    ----------
    sources : sequence of path or str
        Folders of runs (for `acute` two runs, or a before/after study), a folder of `evenhand data build
        redditbias`, a file of texts or of pairs (CSV, JSON Lines, Parquet, a workbook), or ParlAI's pairs or
        self-chats.
    template : str
        One of `definition.TEMPLATES`.
    benchmark : str, optional
        For runs, the benchmark whose texts are used. Default: all.
    limit : int, optional
        Maximum number of items, drawn evenly over models and groups. For pairs, the maximum per two models.
    seed : int, default 0
        Random seed.
    name : str, optional
        Name of the study.
    pairing : {"same", "drawn"}, optional
        For `acute`, how pairs are formed. "same": responses to one prompt, or conversations from one opener.
        It is the only option for single responses. "drawn": conversations of each model at random with
        replacement. It is the default for conversations.
    speaker : {"A", "B"}, default "B"
        For `acute`, the speaker whose lines of a conversation are judged. A opens.
    drop_unsafe : bool, default True
        For `acute`, leave out texts that a classifier of toxicity or offensiveness called harmful. Also leave
        out HolisticBias's descriptors that may hurt or divide.
    leave_out : sequence of str, default ()
        For `acute`, texts to leave out, as COLUMN=VALUE.
    show : {"apart", "whole", "judged"}, optional
        For runs and single texts, what annotators see. "apart": the prompt above the response. "whole": both
        as one text. "judged": the classified text, with names hidden if the classifier did not see them.
        Default: "whole" for a benchmark of unfinished sentences, whose classifiers get prompt and response as
        one text; otherwise "apart".
    survey : bool, default False
        For runs and single texts, add statements of SDO7 after each batch.

    Returns
    -------
    Built
        The study, with notes on what was left out and why. Read the notes before you start the evaluation.

    Raises
    ------
    UsageError, DataError
        An option or a source is invalid.
    """
    if not sources:
        raise UsageError(
            "A study needs texts to show, but no run and no file was given.",
            "Give a run or a file: --from RUN",
        )
    if speaker not in ("A", "B"):
        raise UsageError(f"Unknown speaker {speaker!r}.", "Use A (opens the conversation) or B (replies).")
    content = template_named(template, survey=survey)
    wanted = ContentSelection(benchmark, limit, seed, pairing, speaker, drop_unsafe, tuple(leave_out), show)
    notes = Notes()
    paths = [Path(source) for source in sources]
    if template == PAIRED:
        items, onboarding = _pairs(
            paths, wanted, notes, tuple(question["id"] for question in content["questions"])
        )
        if onboarding:
            given = content.get("onboarding") or {}
            content["onboarding"] = {**given, "items": onboarding}
    else:
        if pairing is not None:
            raise UsageError(
                f"`--pairing` cannot be used with the template {template}, which shows single texts.",
                "Remove --pairing.",
            )
        items = _texts(paths, template, wanted, notes)
    content |= {"items": items, "seed": seed, "name": name or _make_name(template, paths)}
    study = _validate_study(content, notes)
    _tell_size(study, template, notes)
    return Built(study, notes.all())


def _validate_study(content: dict[str, Any], notes: Notes) -> Study:
    """Return the study, without rules of the template that can have no effect with so few items."""
    try:
        return Study.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        problems = first.get("ctx", {}).get("problems", ())
        idle = {problem.path[1]: problem.message for problem in problems if problem.path[0] == "rules"}
        if not idle:
            where = ".".join(map(str, first["loc"]))
            raise DataError(
                f"Cannot create a study from these sources: {where + ': ' if where else ''}{first['msg']}.",
                "Correct the source, or give the study another --name.",
            ) from error
    for message in idle.values():
        notes.add(f"Removed from the template: {message}.")
    rules = [rule for place, rule in enumerate(content.get("rules", ())) if place not in idle]
    return _validate_study({**content, "rules": rules}, notes)


def _texts(paths: list[Path], template: str, wanted: ContentSelection, notes: Notes) -> list[Item]:
    found: list[StudyText] = []
    runs: list[RunDirectory] = []
    for path in paths:
        its = open_runs(path)
        table = path if template == "redditbias" and not is_folder(path) else phrases_table(path)
        if its is not None:
            runs += its
        elif table is not None:
            found += comments_and_phrases(table, notes)
        elif is_folder(path):
            raise DataError(
                f"{path} contains neither a run nor a table to label.",
                "Give the folder that `evenhand audit` printed.",
            )
        elif detect_kind(path) is not None:
            raise DataError(
                f"The template {template} shows single texts, but {path} contains ParlAI conversations.",
                "Use --template acute.",
            )
        else:
            found += read_texts(path, notes)
    for run, model in zip(runs, model_names(runs), strict=True):
        found += read_run_texts(run, model, wanted, notes)
    if wanted.benchmark is not None and not runs:
        raise UsageError("`--benchmark` can only be used with runs.", "Remove --benchmark, or give a run.")
    texts = drop_repeats(fit(found, wanted, notes), notes)
    if not texts:
        raise DataError("The sources contain no text to judge.", TEXT_FORMAT)
    texts = sample_evenly(
        texts,
        wanted.limit,
        wanted.seed,
        text_identifier,
        lambda said: (said.model, *cell(said.groups)),
    )
    return [
        Item(
            id=text_identifier(said),
            text=said.text,
            context=said.context,
            model=said.model,
            groups=dict(said.groups),
            judgements={who: dict(what) for who, what in said.judgements.items()},
        )
        for said in texts
    ]


def _pairs(
    paths: list[Path], wanted: ContentSelection, notes: Notes, questions: tuple[str, ...]
) -> tuple[list[Item], list[Item]]:
    items: list[Item] = []
    onboarding: list[Item] = []
    chats: list[list[Chat]] = []
    runs: list[RunDirectory] = []
    tables: list[Path] = []
    for path in paths:
        its = open_runs(path)
        if its is not None:
            runs += its
            continue
        if is_folder(path):
            raise DataError(
                f"{path} does not contain a run.", "Give the folder that `evenhand audit` printed."
            )
        kind = detect_kind(path, expected=True) or kind_of_table(path)
        if kind == "pairs":
            pairs = read_pairs(path, notes, questions)
            items += pairs.items
            onboarding += pairs.onboarding
        elif kind == "chats":
            chats.append(read_chats(path, wanted, notes))
        elif kind == "own pairs":
            items += read_pair_table(path, wanted, notes)
        elif kind == "own responses":
            tables.append(path)
        else:
            raise DataError(
                f"{path} contains no pairs and no ParlAI self-chats, and is not a table of pairs.",
                f"Pairs come from two runs (--from RUN --from RUN), ParlAI files, or your own table. {PAIR_FORMAT} "
                "Single texts are for the templates robbie, regard and labels.",
            )
    own_models = read_models(tables, wanted, notes)
    names = model_names(runs)
    if runs and (chats or all(talks(run, wanted) for run in runs)):
        chats += [
            read_complete_chats(run, model, wanted, notes) for run, model in zip(runs, names, strict=True)
        ]
        runs = []
    if len(chats) + len(runs) + len(own_models) == 1:
        raise UsageError(
            f"{paths[-1] if len(paths) > 1 else paths[0]} alone is not enough: pairs need two models.",
            "Give two: --from RUN --from RUN" if not own_models else PAIR_FORMAT,
        )
    if chats:
        items += paired_chats(chats, wanted, notes)
    elif runs or own_models:
        if wanted.pairing == "drawn":
            raise UsageError(
                "`--pairing` cannot be used with single responses, which are paired by their prompt.",
                "Remove --pairing, or give conversations.",
            )
        both = [read_run_texts(run, model, wanted, notes) for run, model in zip(runs, names, strict=True)]
        items += paired_texts([*(fit(texts, wanted, notes) for texts in both), *own_models], wanted, notes)
    if not items:
        raise DataError(
            "The given files contain only onboarding pairs, with which annotators are trained, and no pairs to judge.",
            "Add a file with the pairs to judge: --from FILE",
        )
    return items, onboarding


def _tell_size(study: Study, template: str, notes: Notes) -> None:
    if obstacle := outline(study).obstacle:
        notes.add(f"{obstacle[:1].upper()}{obstacle[1:]}.")
    if template not in PUBLISHED:
        return
    least, words = PUBLISHED[template]
    counts: Counter[str] = Counter()
    for item in study.items:
        if item.pair:
            between = f"{item.pair[0].model} and {item.pair[1].model}"
            counts[between] += study.assignment.annotations_per_item
        else:
            counts[item.model or "a model without a name"] += 1
    for whose, number in counts.items():
        if number < least:
            notes.add(f"{number:,} {words.format(whose)}.")


def _make_name(template: str, paths: list[Path]) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", "-".join([template, *(path.stem for path in paths)]).lower())
    return words.strip("-")[:60].strip("-")
