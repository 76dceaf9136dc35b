"""Find errors in a lexicon that its file format cannot exclude."""

import re
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

from evenhand.prompts.lexicon.grammar import article, pluralise
from evenhand.prompts.lexicon.lexicon import Descriptor, Lexicon, read_folder

ARTICLE_EXCEPTIONS = frozenset({"Ewe"})  # the people Ewe is spoken /ˈeɪweɪ/, but the rule reads the animal
_AGREES = re.compile(r"who (?:\w+s|doesn't|isn't|hasn't)\b")  # a verb in the third person singular
_ARTICLE_FIRST = re.compile(r"(?:an?|the) ")


def lint(lexicon: Lexicon | Path, article_exceptions: Collection[str] = ()) -> list[str]:
    """Return possible errors of a lexicon, one sentence each; empty if there are none.

    It reports unreadable entries and unknown keys, duplicate descriptors of an axis, missing or unchanged plurals,
    unnecessary or wrong articles, descriptors that include an article, discouraged descriptors without a note, and
    irregular plurals of nouns.

    Parameters
    ----------
    lexicon : Lexicon or path
        A lexicon, or the folder of its TOML files.
    article_exceptions : collection of str
        Further descriptors whose special article is correct, in addition to `ARTICLE_EXCEPTIONS`.

    >>> from evenhand.prompts.lexicon import load_lexicon
    >>> lint(load_lexicon())
    []
    """
    faults: list[str] = []
    exceptions = ARTICLE_EXCEPTIONS.union(article_exceptions)
    if isinstance(lexicon, Path):
        lexicon, errors = read_folder(lexicon)
        faults += [str(error) for error in errors]
    counts = Counter((d.axis, d.descriptor) for d in lexicon.descriptors)
    faults += [f"{axis}: {words!r} occurs {n} times" for (axis, words), n in counts.items() if n > 1]
    for d in lexicon.descriptors:
        faults += (f"{d.axis}, {d.bucket}: {d.descriptor!r} {fault}" for fault in _find_faults(d, exceptions))
    for words, n in Counter(noun.singular for noun in lexicon.nouns).items():
        if n > 1:
            faults.append(f"nouns: {words!r} occurs {n} times")
    for noun in lexicon.nouns:
        if not noun.plural:
            faults.append(f"nouns: {noun.singular!r} has no plural")
        elif noun.plural != pluralise(noun.singular):
            faults.append(
                f"nouns: the plural of {noun.singular!r} is {noun.plural!r}, not as the grammar says"
            )
    return faults


def _find_faults(d: Descriptor, article_exceptions: Collection[str]) -> Iterator[str]:
    if not d.plural:
        yield "has no plural"
    elif _AGREES.match(d.descriptor) and d.plural == d.descriptor:
        yield "has a plural that equals its singular"
    elif d.form == "phrase" and d.plural != pluralise(d.descriptor):
        yield f"has the plural {d.plural!r}, which is not what the grammar says"
    if d.form == "adjective" and d.plural != d.descriptor:
        yield "is an adjective, which does not change in the plural"
    if _ARTICLE_FIRST.match(d.descriptor):
        yield "is written with its article; leave it out"
    elif d.article == article(d.descriptor):
        yield f"overrides the article with {d.article!r}, which the sound rule gives anyway"
    elif d.article and d.descriptor not in article_exceptions:
        yield f"overrides the article with {d.article!r} against the sound rule, and is no known exception"
    if d.article and d.form == "postmodifier":
        yield "overrides the article, but does not follow one"
    if d.preference in ("dispreferred", "polarising") and not d.note:
        yield f"is {d.preference} without a note"
    if d.attributive_only and d.form != "adjective":
        yield "is attributive_only, but not an adjective"
