"""The end of a study's page: citations, and the origin of its numbers."""

from collections.abc import Iterable, Mapping

from evenhand.schema import VERSION

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
    return [(name, [(key, _plain(value)) for key, value in facts.items()]) for name, facts in blocks.items()]


def _plain(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_plain, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_plain(inner)}" for key, inner in value.items()) or "none"
    return "none" if value is None else str(value)
