"""The end of a study's page: citations, and the origin of its numbers."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from evenhand.reports import ReportView, wording
from evenhand.schema import VERSION

CARDS = ("card", "cards", "benchmark_cards")
"""Keys of records that reports show in a separate section."""
OWN = (
    "evenhand",
    f"Version {VERSION}. Measures, explains and mitigates social bias in language models.",
    "Apache-2.0",
)


def citations(cited: Iterable[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Return what a report should cite, each citation once.

    Parameters
    ----------
    cited : iterable of (str, str, str)
        Name, citation and licence of each source.

    Returns
    -------
    list of (str, str, str)
        The same, with evenhand first. Sources without a citation are left out.

    Examples
    --------
    >>> [what for what, _, _ in citations([("a", "Smith 2020", ""), ("b", "Smith 2020", ""), ("c", "", "")])]
    ['evenhand', 'a']
    """
    by_citation: dict[str, tuple[str, str, str]] = {}
    for one in (OWN, *cited):
        if one[1]:
            by_citation.setdefault(one[1], one)
    return list(by_citation.values())


def provenance(blocks: Mapping[str, Mapping[str, object]]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return named blocks of facts as texts, for a report.

    Examples
    --------
    >>> provenance({"options": {"axes": ("age", "body"), "limit": None}})
    [('options', [('axes', 'age, body'), ('limit', 'none')])]
    """
    return [
        (name, [(key, _format_fact(value)) for key, value in facts.items()]) for name, facts in blocks.items()
    ]


def _format_fact(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_format_fact, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_format_fact(inner)}" for key, inner in value.items()) or "none"
    return "none" if value is None else str(value)


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (dotted name, text) for each value in nested data, without cards, which are shown elsewhere."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key not in CARDS:
                yield from _flat(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, (list, tuple)) and any(isinstance(item, (Mapping, list, tuple)) for item in value):
        for i, inner in enumerate(value, 1):
            yield from _flat(inner, f"{path}.{i}")
    elif isinstance(value, (list, tuple)):
        yield path, ", ".join(map(str, value)) if value else "none"
    else:
        yield path, "none" if value is None else str(value)


def _decode_names(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest in which the encoded names of classifiers' folders are replaced by the classifiers' names."""
    text = json.dumps(manifest)
    for key in manifest.get("labels") or {}:
        text = text.replace(json.dumps(key), json.dumps(unquote(key)))
    found: dict[str, Any] = json.loads(text)
    return found


def describe_run(view: ReportView) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """Return (name, column headings, rows) of each block: given and resolved arguments, the model, then the rest."""
    manifest = _decode_names({k: v for k, v in view.manifest.items() if k not in CARDS})
    given, resolved = (dict(_flat(manifest.pop(f"arguments_{k}", None) or {})) for k in ("given", "resolved"))
    arguments = [
        (key, given.get(key, ""), resolved.get(key, "")) for key in dict.fromkeys([*given, *resolved])
    ]
    if isinstance(record := manifest.get("model"), Mapping) and view.model:
        manifest["model"] = {
            k: v for k, v in record.items() if k != "description"
        }  # shown from view.model instead
    single = {k: v for k, v in manifest.items() if not isinstance(v, (Mapping, list, tuple))}
    blocks: list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]] = [
        ("arguments", ("argument", "given", "resolved"), [*arguments]),
        ("model", (), [*_flat(view.model)]),
        ("run", (), [*_flat(single)]),
    ]
    for key, value in manifest.items():
        if key not in single:
            blocks.append(("model record" if key == "model" else wording.label(key), (), [*_flat(value)]))
    return [block for block in blocks if block[2]]
