"""WikiText: first sentences of Wikipedia paragraphs, whose continuations show the quality of a model's text."""

import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from evenhand.prompts.datasets import dataset
from evenhand.prompts.prompt_set import PromptSet
from evenhand.schema import Card, DataError, checked, is_file

FILES = ("wiki.test.raw", "wiki.test.tokens", "test.txt")
"""Names of the file with the test part, the most complete one first."""
HEADING = re.compile(r"(?P<marks>(?:= )+)(?P<title>.*?)(?: =)+")
END = re.compile(r" [.!?](?: \"(?! ?\w))?(?= |$)")
UNFIT = ("<unk>", "<formula>", " ' ")
"""Pattern of a lone apostrophe, which may be a quotation mark or belong to a word; such sentences are skipped."""
FEWEST_WORDS, MOST_WORDS = 8, 60
CLOSING = re.compile(r" ([,.;:!?%)\]]|n't\b|'(?:s|re|ve|ll|d|m|t)\b)")
SPELT = {" @-@ ": "-", " @,@ ": ",", " @.@ ": ".", "# ": "#"}
HINT = (
    f"Expected {' or '.join(FILES)}, the test part of WikiText-103 or WikiText-2: lines of paragraphs and of "
    "headings between equals signs; `evenhand data fetch wikitext` gets that of WikiText-2."
)


@checked
def load_wikitext(folder: Path | str) -> PromptSet:
    """Return the first sentence of every paragraph of the WikiText test part, as prose.

    Parameters
    ----------
    folder : path
        Folder with wiki.test.raw, wiki.test.tokens or test.txt, of WikiText-103 or WikiText-2. The first that exists is
        used.

    Returns
    -------
    PromptSet
        Columns: prompt_id ("<article number>/<paragraph number>"), text, article (title), section (null at the
        beginning), cluster (article number).

    Raises
    ------
    DataError
        The file is missing or unreadable, or no sentence is left.

    Notes
    -----
    Only complete sentences of 8 to 60 words are used, with closed brackets and quotation marks and without <unk>.
    Repeated ones are used once. Spaces around punctuation and the marks @-@, @,@ and @.@ are normalised.

    References
    ----------
    - Esiobu et al. 2023, appendix B.1.4. It filters sentences of WikiText-103 by unstated heuristics, and has 1,612.
    """
    folder = Path(folder)
    path = next((folder / name for name in FILES if is_file(folder / name)), None)
    if path is None:
        raise DataError(f"{folder} has none of {', '.join(FILES)}.", HINT)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8: {error}.", HINT) from error
    columns = {"prompt_id": pl.String, "text": pl.String, "article": pl.String, "section": pl.String}
    frame = pl.DataFrame(_prompts(lines), schema=columns, orient="row").unique(
        "text", keep="first", maintain_order=True
    )
    if frame.is_empty():
        raise DataError(f"{path} contains no whole sentence of {FEWEST_WORDS} to {MOST_WORDS} words.", HINT)
    frame = frame.with_columns(cluster=pl.col("prompt_id").str.split("/").list.first())
    return PromptSet(frame, _card(frame, path.name))


def first_sentence(paragraph: str) -> str | None:
    """Return the first sentence of a tokenised paragraph as prose, or None if it is unsuitable as a prompt.

    >>> first_sentence("He was 52 @.@ 9 years old , little @-@ known , and the poet 's \\" sage \\" . He wrote .")
    'He was 52.9 years old, little-known, and the poet\\'s "sage".'
    >>> first_sentence("<unk> starred in two films in 2008 , both of them by him .") is None
    True
    """
    end = END.search(paragraph)
    if end is None:
        return None
    sentence = paragraph[: end.end()]
    words = sentence.split()
    whole = sentence.count("(") == sentence.count(")") and sentence.count('"') % 2 == 0
    if not (whole and FEWEST_WORDS <= len(words) <= MOST_WORDS) or any(mark in sentence for mark in UNFIT):
        return None
    return as_prose(sentence)


def as_prose(tokens: str) -> str:
    """Return tokenised WikiText as prose.

    >>> as_prose('The ( so @-@ called ) poet said , " I don \\'t know " .')
    'The (so-called) poet said, "I don\\'t know".'
    """
    text = tokens.strip()
    for marked, plain in SPELT.items():
        text = text.replace(marked, plain)
    # quotation marks alternate between opening and closing
    pieces = text.split('"')
    text = '"'.join(piece.strip() if place % 2 else piece for place, piece in enumerate(pieces))
    text = re.sub(r"([(\[]) ", r"\1", text)
    text = CLOSING.sub(r"\1", CLOSING.sub(r"\1", text))
    return re.sub(r"\s+", " ", text)


def _prompts(lines: list[str]) -> Iterator[tuple[str, str, str, str | None]]:
    article, section, articles, number = "", None, 0, 0
    for line in map(str.strip, lines):
        heading = HEADING.fullmatch(line)
        if heading and heading["marks"] == "= ":
            article, section, articles, number = as_prose(heading["title"]), None, articles + 1, 0
        elif heading:
            section = as_prose(heading["title"])
        elif line:
            number += 1
            if sentence := first_sentence(line):
                yield f"{articles}/{number}", sentence, article, section


def _card(frame: pl.DataFrame, file: str) -> Card:
    return dataset("wikitext").card(
        name="wikitext",
        summary=f"WikiText: {frame.height:,} first sentences of paragraphs of {frame['cluster'].n_unique()} articles",
        construct="Quality of the text that a model writes, to be read together with its bias.",
        harm="None by itself: a mitigation that spoils the text would look fair.",
        groups="None; sentences of one article hang together.",
        critique=(
            "Featured and good articles of the English Wikipedia, which every model has read. In WikiText-2 rare "
            "words are hidden, and sentences with one are left out: what remains speaks of common things."
        ),
        details=f"From {file}. ROBBIE has 1,612 such sentences of WikiText-103, by rules that it does not state.",
    )
