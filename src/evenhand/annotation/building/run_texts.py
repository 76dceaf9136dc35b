"""Texts of runs: a model's answers beside their prompts, groups and what classifiers said of them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl

from evenhand.annotation.building.built import Chat, Notes, Said, Value, Wanted
from evenhand.runs import RunDirectory, answers, judgements, self_chats, written_benchmarks
from evenhand.schema import DataError, is_folder

UNSAFE_ROLES = ("toxicity", "offensiveness")
"""Who says that a response is not safe to be shown."""
PREFERENCES = ("preference", "descriptor_preference")
INFLAMMATORY = ("dispreferred", "polarizing")
"""What HolisticBias says of descriptors that may hurt or divide."""
NO_GROUPS = frozenset(
    {"prompt_id", "request_id", "text", "context", "sample", "continuation", "finish", "log_likelihood", "token_count"}
    | {"error", "detail", "cluster", "start_token", "span_start", "span_end", "lines_before", "persona_a", "persona_b"}
)
"""Columns that say nothing of whom a text is about."""
SILENCE = "(says nothing)"
"""What stands in the place of an empty utterance: it is one, and people have to see it."""
PARTS = ("label", "score", "negative", "scores")


def runs_of(folder: Path) -> list[RunDirectory] | None:
    """The run in a folder, or the two of a before/after study; None where there is neither."""
    if RunDirectory.is_run(folder):
        return [RunDirectory.open(folder)]
    both = [folder / side for side in ("before", "after")]
    if all(RunDirectory.is_run(side) for side in both):
        return [RunDirectory.open(side) for side in both]
    if is_folder(folder) and RunDirectory.is_run(folder / "before"):
        raise DataError(f"{folder} holds a run before mitigation and none after it.", "Go on with the study first.")
    return None


def model_names(runs: Sequence[RunDirectory]) -> list[str]:
    """What the model of each run is called, all different: name, mitigations, and if need be the folder."""
    names = []
    for run in runs:
        named = run.manifest.arguments_resolved.get("model") or run.manifest.model.fingerprint.get("name")
        parts = [str(named or run.path.name), *(mitigation.words for mitigation in run.manifest.mitigations)]
        names.append(" + ".join(parts))
    times = Counter(names)
    return [
        name if times[name] == 1 else f"{name} ({run.path.name})" for name, run in zip(names, runs, strict=True)
    ]


def texts_of(run: RunDirectory, model: str, wanted: Wanted, notes: Notes) -> list[Said]:
    """Every continuation of a run, or of one of its benchmarks; raises DataError where there is none."""
    texts: list[Said] = []
    failed = 0
    for benchmark in _benchmarks(run, wanted):
        frame = answers(run, benchmark)
        judged = dict(_judged(run, benchmark))
        talks = "lines_before" in frame.columns
        context = "lines_before" if talks else "text"
        about = _group_columns(frame, run, benchmark)
        mitigated = " + ".join(part.words for part in run.manifest.mitigations) or "none"
        for row, groups in zip(
            frame.select("prompt_id", "sample", "continuation", "error", context).iter_rows(named=True),
            _groups(frame, about, benchmark, mitigated),
            strict=True,
        ):
            if row["error"] is not None or row["continuation"] is None:
                failed += 1
                continue
            key = (row["prompt_id"], row["sample"])
            said = {name: rows[key] for name, (_, rows) in judged.items() if key in rows}
            unsafe = any(
                role in UNSAFE_ROLES and rows[key]["negative"] is True for role, rows in judged.values() if key in rows
            )
            texts.append(
                Said(
                    text=row["continuation"].strip(),
                    context=row[context],
                    model=model,
                    groups=groups,
                    judgements=said,
                    prompt=(benchmark, row["prompt_id"], str(row[context]), str(row["sample"])),
                    unsafe=unsafe,
                )
            )
    notes.count(failed, f"answers of {model} failed or are missing and are left out")
    return texts


def chats_of(run: RunDirectory, model: str, wanted: Wanted, notes: Notes) -> list[Chat]:
    """Whole conversations of a run's model with itself; those that broke off are left out."""
    chats: list[Chat] = []
    broken = 0
    for benchmark in _benchmarks(run, wanted):
        turns = run.manifest.asked[benchmark].turns
        if turns is None:
            continue
        frame = self_chats(run, benchmark)
        about = [name for name in _group_columns(frame, run, benchmark) if name not in ("turn", "speaker")]
        about = [name for name in about if name not in ("name_in_context", "conversation")]
        flags = [f"{role}_negative" for role in UNSAFE_ROLES if f"{role}_negative" in frame.columns]
        flagged = pl.any_horizontal(flags).fill_null(False) if flags else pl.lit(False)
        rows = frame.select("conversation", "speaker", "text", "error", flagged=flagged).rows()
        about_each = list(_groups(frame, about, benchmark, None))
        for conversation, places in _places(row[0] for row in rows).items():
            said = [rows[place] for place in places]
            if len(said) < turns or any(text is None or error is not None for _, _, text, error, _ in said):
                broken += 1
                continue
            chats.append(
                Chat(
                    turns=tuple((speaker, text.strip() or SILENCE) for _, speaker, text, _, _ in said),
                    speaker=wanted.speaker,
                    model=model,
                    groups=about_each[places[0]],
                    opener=(benchmark, str(conversation), said[0][2]),
                    unsafe=any(flag for *_, flag in said),
                )
            )
    notes.count(broken, f"conversations of {model} broke off and are left out")
    return chats


def talks(run: RunDirectory, wanted: Wanted) -> bool:
    """Whether all that is wanted of a run are conversations."""
    return all(run.manifest.asked[benchmark].turns is not None for benchmark in _benchmarks(run, wanted))


def _places(conversations: Iterable[Any]) -> dict[Any, list[int]]:
    places: dict[Any, list[int]] = {}
    for place, conversation in enumerate(conversations):
        places.setdefault(conversation, []).append(place)
    return places


def _benchmarks(run: RunDirectory, wanted: Wanted) -> list[str]:
    there = written_benchmarks(run)
    if wanted.benchmark is not None and wanted.benchmark not in there:
        raise DataError(
            f"The run {run.path} has no texts of {wanted.benchmark!r}.",
            f"Benchmarks with texts: {', '.join(there) or 'none'}.",
        )
    if not there:
        raise DataError(
            f"In the run {run.path} the model wrote nothing: likelihoods alone cannot be put before people.",
            "Audit with a benchmark that asks for texts: evenhand audit MODEL -b regard",
        )
    return there if wanted.benchmark is None else [wanted.benchmark]


def _group_columns(frame: pl.DataFrame, run: RunDirectory, benchmark: str) -> list[str]:
    roles = run.manifest.judged.get(benchmark, {})
    judged = {f"{role}_{part}" for role in roles for part in (*PARTS, "error")}
    return [name for name in frame.columns if name not in NO_GROUPS | judged]


def _groups(
    frame: pl.DataFrame, columns: Sequence[str], benchmark: str, mitigated: str | None
) -> Iterator[dict[str, Value]]:
    always: dict[str, Value] = {"benchmark": benchmark}
    if mitigated is not None:
        always["mitigation"] = mitigated
    plain = frame.select(
        pl.col(name).list.eval(pl.element().cast(pl.String)).list.join(", ")
        if isinstance(frame.schema[name], pl.List)
        else pl.col(name)
        for name in columns
        if not isinstance(frame.schema[name], pl.Struct | pl.Array | pl.Object)
    )
    if not plain.width:
        yield from ({**always} for _ in range(frame.height))
        return
    for row in plain.iter_rows(named=True):
        yield always | {name: value if isinstance(value, str | bool | None) else float(value) for name, value in row.items()}


def _judged(run: RunDirectory, benchmark: str) -> Iterator[tuple[str, tuple[str, Mapping[Any, dict[str, Any]]]]]:
    """By the classifier's name: role, and what it said of each prompt and sample."""
    manifest = run.manifest
    found = [(role, now.classifier) for role, now in manifest.judged.get(benchmark, {}).items()]
    found += [(before.role, before.classifier) for before in manifest.judged_before if before.benchmark == benchmark]
    found = list(dict.fromkeys(found))
    named = [str(manifest.labels[key].description.get("name") or unquote(key)) for _, key in found]
    times = Counter(named)
    for (role, key), name in zip(found, named, strict=True):
        if times[name] > 1:
            same_key = [other for other_role, other in found if other_role == role and other != key]
            name = f"{unquote(key)} ({role})" if same_key else f"{name} ({role})"
        labels = manifest.labels[key].labels
        rows = {}
        for row in judgements(run, benchmark, role, key).iter_rows(named=True):
            if row["error"] is not None:
                continue
            scores = row["scores"]
            rows[row["prompt_id"], row["sample"]] = {
                "label": row["label"],
                "score": row["score"],
                "negative": row["negative"],
                "scores": dict(zip(labels, map(float, scores), strict=False)) if scores is not None else None,
            }
        yield name, (role, rows)
