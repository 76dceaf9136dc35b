"""Protection against stored folders and options files that name code to run or servers to send the user's keys to.

Both may come from another person. The user must therefore confirm these actions in the present call: running a model's
code, using a server, opening a file of responses, and sending the text of a file elsewhere to a service.
"""

import ipaddress
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.classifiers import file_kind
from evenhand.models.served import OPENAI_KEY, api_key, is_address, split_address
from evenhand.schema import ResumeRefused, is_file, split_options, split_value
from evenhand.services import address_parts

MODEL_ROLE = "perplexity"
"""Role of classifiers that are language models (perplexity). They are named like models."""
OPENAI, GOOGLE = "api.openai.com", "commentanalyzer.googleapis.com"
SERVICES: dict[str, tuple[str, str, str]] = {
    "perspective": (f"https://{GOOGLE}", GOOGLE, "PERSPECTIVE_API_KEY"),
    "moderation": (f"https://{OPENAI}", OPENAI, OPENAI_KEY),
    "llm-judge": ("", OPENAI, OPENAI_KEY),
}
"""For each classifier that is a service: its default URL, its official host, and the variable with the host's key.

The URL is "" if an environment variable of the user states it.
"""
HTTPS_PORT = 443
MEND = (
    "If you trust it, add --trust-addresses. Or name it again: the classifier (--classifier ROLE=NAME), the mitigation "
    "(--mitigate ...), the file (--prompts ...), or the model with all its options and the folder (-o)."
)
FILES = ("prompts", "neutral", "personas", "classifier_error")
"""Options that name a file."""
TEXTS = ("prefix", "instruction")
"""Mitigations whose value is a text or one of evenhand's names, even if a file has that name."""


@dataclass(frozen=True)
class Server:
    """The server that a model or classifier with a certain name uses.

    ``host`` is the host of its URL. ``variable`` is the environment variable with the key that would be sent to it (""
    if none is set). ``safe`` is True for an official service that gets its own key, and for this machine if no key is
    sent.
    """

    host: str
    variable: str
    safe: bool


def check_code(where: Path, stored: bool, given: bool) -> None:
    """Raise ResumeRefused if only a folder, not the user, allows the code of its model to run.

    `where` is the folder or options file, `stored` its `trust_remote_code`, and `given` the user's present value.
    """
    if stored and not given:
        raise ResumeRefused(
            f"The model of {where} contains Python code. {_kind(where).capitalize()} alone is not permission to "
            "run it.",
            "Read the code. If you trust it, add --trust-remote-code.",
        )


def check_addresses(
    where: Path,
    stored: Iterable[str],
    *,
    mitigations: Iterable[str] = (),
    files: Mapping[str, str] | None = None,
    named: Iterable[str] = (),
    trusted: bool = False,
) -> None:
    """Raise ResumeRefused if resuming a folder would use a server or private file that only the folder names.

    Official services with their own key, servers on this machine without a key, and files in the folder are always
    allowed. So are files that no service would read.

    Parameters
    ----------
    where
        The folder, or an options file.
    stored
        Names of stored models and classifiers that would be loaded.
    mitigations
        Stored mitigations, as in `--mitigate`.
    files
        Stored files that would be read, by option (`find_files`).
    named
        Models and classifiers that the user gave in the present call, as NAME or ROLE=NAME.
    trusted
        True if the user trusts every URL and file in the folder.
    """
    if trusted:
        return
    stored = list(stored)
    given = {part for value in named for part in (value, value.partition("=")[2])}
    anew = [name for name in stored if name not in given]
    for name in anew:
        _check_server(where, name)
    for name in anew:
        if store := _find_store(name):
            raise ResumeRefused(
                f"Resuming {where} would open {store} as a store of responses and write to it. This path is stored "
                f"in the {_kind(where).split()[-1]}, and you did not give it yourself.",
                MEND,
            )
    if all(find_server(name) is None for name in stored):
        return
    classifiers = [
        name
        for name in anew
        if not is_address(name) and not file_kind(name) and not name.startswith(f"{MODEL_ROLE}:")
    ]
    texts = [(name, list(split_options(name, blank=False)[1].values())) for name in classifiers]
    for words in mitigations:
        name, value, options = split_value(words)
        if words not in given and name not in TEXTS:
            texts.append((words, [value or "", *options.values()]))
    private = [(file, words) for words, values in texts for file in values if _is_private(file, where)]
    private += [
        (file, f"{name}={file}")
        for name, file in (files or {}).items()
        if _is_private(file, where, folders=True)
    ]
    for file, words in private:
        raise ResumeRefused(
            f"Resuming {where} would read {file}, and its text might be sent to a service. This path is stored in "
            f"the {_kind(where).split()[-1]} as {words}, is outside of it, and you did not give it yourself.",
            MEND,
        )


def find_files(options: Mapping[str, Any], named: Collection[str] = ()) -> dict[str, str]:
    """Return the files and folders in options whose text might be sent to a service, by option.

    Parameters
    ----------
    options
        All options.
    named
        Options that the user gave in the present call, which are left out.

    Examples
    --------
    >>> find_files({"prompts": "a.csv", "neutral": "none", "data": {"bold": "b"}}, named=["prompts"])
    {'data.bold': 'b'}
    """
    kept = {name: value for name, value in options.items() if name not in named and value}
    files = {name: kept[name] for name in FILES if name in kept}
    files |= {f"data.{name}": folder for name, folder in dict(kept.get("data", {})).items()}
    return {name: file for name, file in files.items() if file != "none"}


def _kind(where: Path) -> str:
    return "a file" if is_file(where) else "a folder"


def _check_server(where: Path, name: str) -> None:
    asked = find_server(name)
    if asked is None or asked.safe:
        return
    key = f" with your key from {asked.variable}" if asked.variable else ""
    raise ResumeRefused(
        f"Resuming {where} would send requests to {asked.host}{key}. This URL is stored in the "
        f"{_kind(where).split()[-1]}, and you did not give it yourself.",
        MEND,
    )


def _find_store(name: str) -> str:
    """Return the file of stored responses that the name of a model or classifier contains.

    Returns "" if it contains none, or if `name` is itself a file.
    """
    bare = name.removeprefix(f"{MODEL_ROLE}:")
    if is_address(bare):
        return split_address(bare)[2].store or ""
    if file_kind(bare):
        return ""
    store = split_options(bare, blank=False)[1].get("store", "")
    return "" if store.lower() == "none" else store


def _is_private(value: str, where: Path, *, folders: bool = False) -> bool:
    """Return True if a text is the path of an existing file outside a folder, after resolving links.

    where: the folder, or a file in it. folders: also check folders, which are outside if a link in them leads outside.
    """
    folder = where.parent if is_file(where) else where
    try:
        candidates = {Path(value), Path(value).expanduser()} if value else set()
        files = [path.resolve() for path in candidates if path.exists() and (folders or not path.is_dir())]
        files += [
            file.resolve() for path in files if path.is_dir() for file in path.rglob("*") if file.is_symlink()
        ]
    except (OSError, RuntimeError, ValueError):  # not a path: too long, an unknown user or a NUL character
        return False
    return any(not file.is_relative_to(folder.resolve()) for file in files)


def find_server(name: str, environment: Mapping[str, str] = os.environ) -> Server | None:
    """Return the server that a model or classifier of this name uses; None without one.

    `name` is as in `load_model` or `load_classifier`, including "perplexity:" before the name of a model. Raises
    UsageError for options that cannot be read.

    >>> find_server("gpt2"), find_server("http://localhost:8000/v1#gpt2", {})
    (None, Server(host='localhost:8000', variable='', safe=True))
    >>> find_server("https://example.org/v1#m?key=HOME", {"HOME": "/home/me"})
    Server(host='example.org', variable='HOME', safe=False)
    """
    name = name.removeprefix(f"{MODEL_ROLE}:")
    if is_address(name):
        base, _, options = split_address(name)
        variable = options.key
        if not variable:
            key, default = api_key(base, options, environment)
            variable = default if key else ""
        return _make_server(base, variable, OPENAI, OPENAI_KEY)
    if file_kind(name):
        return None
    bare, given = split_options(name, blank=False)
    if bare in SERVICES:
        usual, host, own = SERVICES[bare]
        address, named = given.get("url", usual), given.get("key_variable", "")
        variable = named or (own if environment.get(own) else "")
        if not address:  # the user's own $OPENAI_BASE_URL, with the key that goes with it
            return Server("$OPENAI_BASE_URL", variable, safe=named in ("", own))
        return _make_server(address, variable, host, own)
    for value in given.values():  # options of another package's classifier, whose keys are unknown
        if is_address(value.lower()):
            return Server(address_parts(value).netloc, "", safe=False)
    return None


def _make_server(address: str, variable: str, official: str, its_own: str) -> Server:
    parts = address_parts(address)
    if (
        parts.scheme == "https"
        and parts.hostname == official
        and variable in ("", its_own)
        and parts.port in (None, HTTPS_PORT)
    ):
        return Server(parts.netloc, variable, safe=True)
    return Server(parts.netloc, variable, safe=not variable and _is_this_machine(parts.hostname or ""))


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
