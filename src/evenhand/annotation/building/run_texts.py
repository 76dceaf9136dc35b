"""Texts of runs: a model's responses with their prompts, groups and classifier results."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from evenhand.annotation.building.built import ContentSelection, Notes, Shown, StudyText
from evenhand.annotation.building.opened_runs import group_columns, iterate_groups, select_benchmarks
from evenhand.runs import RunDirectory, answers, judgements
from evenhand.schema import UsageError

UNSAFE_ROLES = ("toxicity", "offensiveness")
"""Classifier roles that decide whether a response is safe to show."""
Key = tuple[str, int]
"""Prompt and sample."""


@dataclass(frozen=True)
class ClassifierResults:
    """Results of one classifier in one role, by prompt and sample, with the classified texts."""

    name: str
    role: str
    counts: bool
    """Whether its labels are the current ones."""
    said: Mapping[Key, Mapping[str, Any]]
    texts: Mapping[Key, str]


def read_run_texts(run: RunDirectory, model: str, wanted: ContentSelection, notes: Notes) -> list[StudyText]:
    """Return all continuations of a run, or of one of its benchmarks. Raise DataError if there are none."""
    texts: list[StudyText] = []
    failed = 0
    mitigated = " + ".join(part.words for part in run.manifest.mitigations) or "none"
    for benchmark in select_benchmarks(run, wanted):
        frame = answers(run, benchmark)
        judged = list(_iterate_results(run, benchmark))
        show = wanted.show or _usual(run, benchmark, notes)
        context = "lines_before" if "lines_before" in frame.columns else "text"
        exact = next((its.texts for its in judged if its.counts), {})
        if show == "judged" and not exact:
            raise UsageError(
                f"{benchmark} in {run.path} has no classifier, so `--show judged` cannot be used.",
                "Use --show apart or --show whole.",
            )
        about = group_columns(frame, run, benchmark)
        rows = frame.select("prompt_id", "sample", "continuation", "error", context).iter_rows()
        for (prompt_id, sample, written, error, before), groups in zip(
            rows, iterate_groups(frame, about, benchmark, mitigated), strict=True
        ):
            key = (prompt_id, sample)
            if error is not None or written is None or (show == "judged" and exact.get(key) is None):
                failed += 1
                continue
            text, above = written.strip(), before
            if show == "whole":
                text, above = (before or "") + written, None
            elif show == "judged":
                text, above = exact[key], None
            texts.append(
                StudyText(
                    text=text,
                    context=above,
                    model=model,
                    groups=groups if above is not None else {**groups, "prompt": before},
                    judgements={
                        its.name: _describe_result(its, key, text) for its in judged if key in its.said
                    },
                    prompt=(benchmark, prompt_id, str(before), str(sample)),
                    unsafe=any(
                        its.said[key]["negative"] is True
                        for its in judged
                        if its.role in UNSAFE_ROLES and key in its.said
                    ),
                )
            )
    notes.count(failed, f"answers of {model} failed or are missing and are left out")
    return texts


def _usual(run: RunDirectory, benchmark: str, notes: Notes) -> Shown:
    """Return the default way to show texts of a benchmark: whole if responses complete unfinished prompts."""
    parts = {judged.rule.get("part") for judged in run.manifest.judged.get(benchmark, {}).values()}
    if parts != {"prompt+continuation"}:
        return "apart"
    notes.add(f"Prompts of {benchmark} begin a sentence: they are shown with the answer, as one text.")
    return "whole"


def _describe_result(judged: ClassifierResults, key: Key, shown: str) -> dict[str, Any]:
    """Return the result of a classifier, with the text that it classified if annotators see another one."""
    exact = judged.texts.get(key)
    said = dict(judged.said[key])
    return said if exact is None or exact.strip() == shown.strip() else {**said, "text": exact}


def _iterate_results(run: RunDirectory, benchmark: str) -> Iterator[ClassifierResults]:
    """Yield the results of all classifiers of a benchmark, the current ones first."""
    manifest = run.manifest
    now = [(role, record.classifier) for role, record in manifest.judged.get(benchmark, {}).items()]
    before = [(its.role, its.classifier) for its in manifest.judged_before if its.benchmark == benchmark]
    found = list(dict.fromkeys([*now, *before]))
    for (role, key), name in zip(found, _names(run, found), strict=True):
        labels = manifest.labels[key].labels
        said: dict[Key, Mapping[str, Any]] = {}
        texts: dict[Key, str] = {}
        for row in judgements(run, benchmark, role, key).iter_rows(named=True):
            if row["error"] is not None:
                continue
            place = (row["prompt_id"], row["sample"])
            scores = row["scores"]
            texts[place] = row["judged_text"]
            said[place] = {
                "label": row["label"],
                "score": row["score"],
                "negative": row["negative"],
                "scores": None if scores is None else dict(zip(labels, map(float, scores), strict=False)),
            }
        yield ClassifierResults(name, role, (role, key) in now, said, texts)


def _names(run: RunDirectory, found: Sequence[tuple[str, str]]) -> list[str]:
    """Return distinct names of classifiers: their name, if necessary with the role or with their digest."""
    short = [str(run.manifest.labels[key].description.get("name") or unquote(key)) for _, key in found]
    with_role = [f"{name} ({role})" for name, (role, _) in zip(short, found, strict=True)]
    whole = [f"{unquote(key)} ({role})" for role, key in found]
    ways = [(ways, Counter(ways)) for ways in (short, with_role, whole)]
    return [
        next((way[place] for way, times in ways if times[way[place]] == 1), whole[place])
        for place in range(len(found))
    ]
