"""Upload finished results to a Hugging Face data set, Weights & Biases, or Trackio.

Pages, numbers and tables are uploaded. Prompts, responses, labels and tables that quote them are not, unless
you request it. Prompts may be private, and responses to published benchmarks contain texts under the licences
of these benchmarks.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl

from evenhand.runs import RunDirectory
from evenhand.schema import (
    UNREADABLE,
    DataError,
    EvenhandError,
    ServiceUnavailable,
    UsageError,
    checked,
    is_file,
    is_folder,
    parse_json,
    read_parquet,
)
from evenhand.studies.result import table_scalars

HUB, WANDB, TRACKIO = "hf", "wandb", "trackio"
PLACES = {
    HUB: "hf://OWNER/NAME, or hf://OWNER/NAME/FOLDER: a data set of the Hugging Face hub",
    WANDB: "wandb://PROJECT or wandb://TEAM/PROJECT: Weights & Biases",
    TRACKIO: "trackio://PROJECT: Trackio",
}
NUMBERS = {"measurements.json": "measurements", "compare.json": "changes"}
"""Files with the numbers of results, and the table in each file that has one number per row."""
SENT = frozenset(
    f"{page}{ending}"
    for page in ("report", "compare", "before_after", "consistency", "agreement", "calibration", "trigger")
    for ending in (".html", ".json")
) | {
    *("manifest.json", "measurements.json", "measurements.parquet", "findings.parquet", "headlines.parquet"),
    *("changes.parquet", "moved.parquet"),
}
"""Names of the files that are uploaded, at any depth, with every table of `details`. No other file is uploaded.

Files at any depth are those of runs within a study.
"""
DETAILS, AT_HOME = "details", {"responses", "prompts", "labels"}
QUOTED = {"text", "prompt", "continuation", "answer_before", "answer_after", "response", "example"}
"""Columns and keys that contain texts. Tables and numbers with any of them are uploaded only with the responses."""
MOST_LISTED = 5


@dataclass(frozen=True)
class Pushed:
    """What was uploaded, and where; the result of `push`.

    Attributes
    ----------
    address : str
        URL of the upload; "" if the destination gives none.
    files : tuple of str
        Uploaded files, relative to the folder.
    scalars : int
        Number of uploaded numbers.
    kept : tuple of str
        Files that were not uploaded because they contain prompts or responses.
    """

    address: str
    files: tuple[str, ...] = ()
    scalars: int = 0
    kept: tuple[str, ...] = ()


@checked
def push(folder: Path | str, place: str, *, public: bool = False, answers: bool = False) -> Pushed:
    """Upload a finished result to the Hugging Face hub, Weights & Biases or Trackio.

    Use it to publish a report or to track results over time. The report, numbers and tables are uploaded.
    Prompts, responses and labels are uploaded only on request.

    Parameters
    ----------
    folder : path or str
        Folder of a run or a study.
    place : str
        Destination: "hf://OWNER/NAME" or "hf://OWNER/NAME/FOLDER" (a data set), "wandb://PROJECT" or
        "wandb://TEAM/PROJECT", or "trackio://PROJECT".
    public : bool, default False
        Make the repository public if it is created. An existing repository is not changed. Hub only.
    answers : bool, default False
        Also upload prompts, responses and labels. Hub only.

    Returns
    -------
    Pushed
        URL, uploaded files and number of uploaded numbers.

    Raises
    ------
    UsageError
        The destination has another form or does not support an option, or its package is not installed.
    DataError
        The folder has no result, or contains a link.
    ServiceUnavailable
        The destination refuses or cannot be reached. You can push again; this uploads the current files.

    Notes
    -----
    Only files that evenhand writes are uploaded, never links.
    """
    folder = Path(folder)
    kind, separator, rest = place.partition("://")
    if not separator or kind not in PLACES or not rest.strip("/"):
        raise UsageError(
            f"{place!r} is not a valid destination.", "Expected one of: " + "; ".join(PLACES.values()) + "."
        )
    files, kept = _files(folder, answers)
    if kind == HUB:
        return replace(_to_hub(folder, rest.strip("/"), files, public), kept=tuple(kept))
    if public or answers:
        raise UsageError(
            f"`--public` and `--answers` work with the Hugging Face Hub only; {kind} receives only numbers and the "
            "report.",
            "Remove --public and --answers, or upload to hf://OWNER/NAME.",
        )
    return _to_tracker(kind, folder, rest.strip("/"), files)


def folder_scalars(folder: Path | str) -> dict[str, float]:
    """Return the numbers of a finished result by name, for experiment trackers.

    Parameters
    ----------
    folder : path or str
        Folder of an audit, a measured file or a comparison.

    Returns
    -------
    dict of str to float
        The numbers, with the names of `StudyResult.scalars`.

    Raises
    ------
    DataError
        The folder has no numbers, or they cannot be read.
    """
    folder = Path(folder)
    for name, part in NUMBERS.items():
        path = folder / name
        if not is_file(path):
            continue
        try:
            rows = parse_json(path.read_text(encoding="utf-8"))[part]
            return table_scalars(pl.DataFrame(rows, infer_schema_length=None))
        except (*UNREADABLE, KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"{path} cannot be read: {error}.", "Run `evenhand measure` again, with -o."
            ) from error
    raise DataError(
        f"{folder} has no numbers to upload: none of {', '.join(NUMBERS)} was found.",
        "Give the folder of an audit, of `evenhand measure -o` or of `evenhand compare -o`.",
    )


def _files(folder: Path, answers: bool) -> tuple[list[str], list[str]]:
    """Return the files that are uploaded, and those left out because they quote texts, relative to the folder."""
    if not is_folder(folder):
        raise DataError(f"Folder not found: {folder}.", "Give the folder of a finished run or study.")
    if RunDirectory.is_run(folder) and not is_file(folder / "measurements.parquet"):
        raise DataError(f"The run {folder} is not finished.", f"Finish it first: evenhand audit {folder}")
    sent: list[str] = []
    kept: list[str] = []
    links: list[str] = []
    for path in _walk_files(folder):
        parts = path.relative_to(folder).parts
        name = "/".join(parts)
        hidden = any(part.startswith(".") for part in parts)
        table = path.suffix == ".parquet"
        at_home = bool(AT_HOME & set(parts[:-1]))
        known = (at_home and table) if at_home else path.name in SENT or (DETAILS in parts[:-1] and table)
        if hidden or not known:
            continue
        if path.is_symlink():
            links.append(name)
        elif answers or not (at_home or _quotes(path)):
            sent.append(name)
        else:
            kept.append(name)
    if links:
        raise DataError(
            f"{folder}: {', '.join(links[:MOST_LISTED])} {'is a link' if len(links) == 1 else 'are links'}.",
            "Links are not uploaded. Replace each link by the file itself, or remove it.",
        )
    if not any(name.endswith((".html", ".json")) for name in sent):
        raise DataError(
            f"No finished result in {folder}: it has no report and no numbers.",
            "Give the folder of a finished run or study.",
        )
    return sorted(sent), sorted(kept)


def _quotes(path: Path) -> bool:
    """Return whether a table or a file of numbers contains prompts or responses (QUOTED).

    Pages are not checked: they may contain texts, and the documentation states this.
    """
    try:
        if path.suffix == ".parquet":
            return bool(QUOTED & set(read_parquet(path).columns))
        if path.suffix == ".json" and path.name != "manifest.json":
            return _has_key(parse_json(path.read_text(encoding="utf-8")))
    except UNREADABLE as error:
        raise DataError(f"{path} cannot be read: {error}.", "Create the result again.") from error
    return False


def _has_key(content: Any) -> bool:
    if isinstance(content, dict):
        return bool(QUOTED & content.keys()) or any(map(_has_key, content.values()))
    return isinstance(content, list) and any(map(_has_key, content))


def _walk_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            yield from _walk_files(path)
        else:
            yield path


def _to_hub(folder: Path, place: str, files: list[str], public: bool) -> Pushed:
    hub = _import_package("huggingface_hub", "hf")
    owner, _, rest = place.removeprefix("datasets/").partition("/")
    name, _, inside = rest.partition("/")
    if not name:
        raise UsageError(
            f"hf://{place} does not name a data set on the Hugging Face Hub.", f"Expected {PLACES[HUB]}."
        )
    interface = hub.HfApi()
    try:
        made = interface.create_repo(
            f"{owner}/{name}", repo_type="dataset", private=not public, exist_ok=True
        )
        operations = [
            hub.CommitOperationAdd(
                path_in_repo=f"{inside}/{file}" if inside else file, path_or_fileobj=folder / file
            )
            for file in files
        ]
        interface.create_commit(
            made.repo_id, operations, commit_message=f"Add {folder.name}", repo_type="dataset"
        )
    except Exception as error:  # the client of the hub lets classes of its transport through
        raise _upload_error(
            "The Hugging Face Hub", error, "Log in (`hf auth login`) or set HF_TOKEN, then push again."
        ) from error
    return Pushed(
        f"{interface.endpoint}/datasets/{made.repo_id}/tree/main/{inside}".rstrip("/"), tuple(files)
    )


def _to_tracker(kind: str, folder: Path, project: str, files: list[str]) -> Pushed:
    scalars = folder_scalars(folder)
    tracker = _import_package(kind, kind)
    team, _, name = project.rpartition("/")
    page = next((file for file in files if file.endswith(".html") and "/" not in file), None)
    try:
        named: dict[str, Any] = {"project": name, "name": folder.name}
        run = tracker.init(**named, **({"entity": team} if team and kind == WANDB else {}))
        logged: dict[str, Any] = dict(scalars)
        if kind == WANDB and page is not None:
            logged["report"] = tracker.Html((folder / page).read_text(encoding="utf-8"), inject=False)
        tracker.log(logged)
        tracker.finish()
    except Exception as error:  # each tracker has different classes
        raise _upload_error(
            kind, error, f"Set up {kind} as its message describes, then push again."
        ) from error
    address = getattr(run, "url", None)
    sent = (page,) if kind == WANDB and page is not None else ()
    return Pushed(str(address or ""), sent, len(scalars))


def _import_package(package: str, extra: str) -> ModuleType:
    try:
        return import_module(package)
    except ImportError as error:
        wanted = f'pip install "evenhand[{extra}]"' if extra == "hf" else f"pip install {package}"
        raise UsageError(
            f"The package {package} is not installed, or is incomplete: {error}.", wanted
        ) from error


def _upload_error(who: str, error: Exception, hint: str) -> EvenhandError:
    told = " ".join(str(error).split())
    return ServiceUnavailable(f"{who} rejected the upload: {told or type(error).__name__}", hint)
