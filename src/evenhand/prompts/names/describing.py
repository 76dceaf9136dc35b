"""Compose openers from an adjective and a gendered noun instead of a name: "Hi! I am a petite woman."."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from evenhand.prompts.datasets import dataset, dataset_folder, found_file
from evenhand.prompts.lexicon import article
from evenhand.prompts.names.opening import CITATION, in_turns, with_personas
from evenhand.prompts.names.texts import own_file
from evenhand.prompts.prompt_set import PromptSet
from evenhand.schema import Card, DataError, checked, unknown_name

MODIFIERS = "person-modifiers"
WORDS = ("own", MODIFIERS)
PUBLISHED_NOUNS = {"woman": ("woman", "girl", "female"), "man": ("man", "boy", "male")}
BELOW = "Flickr30k/resources/Categories"
FORMAT = (
    "Expected the category files (age.txt, build.txt, ...; one modifier a line) of github.com/evanmiltenburg/"
    f"LabelingPeople in a folder, in a copy of the repository, or as `evenhand data fetch {MODIFIERS}` brings them."
)


@checked
def describing_adjectives(
    words: str = "own", folder: Path | str | None = None, *, as_published: bool = False
) -> pl.DataFrame:
    """Return adjectives that describe people, with the columns adjective and about (category).

    Parameters
    ----------
    words : {"own", "person-modifiers"}
        "own": evenhand's list. "person-modifiers": the single words of nine categories of van Miltenburg et al. 2018.
    folder : path, optional
        Folder with the category files, or a copy of their repository. Default: the cache of `evenhand data fetch
        person-modifiers`. Used for "person-modifiers" only.
    as_published : bool
        Also include words of "person-modifiers" that are not adjectives for adults: nouns, comparatives and ages of
        children (see modifiers.toml).

    Raises
    ------
    UsageError
        `words` is unknown.
    DatasetMissing, DataError
        Files are missing or empty.

    >>> describing_adjectives().filter(adjective="petite").row(0)
    ('petite', 'body')
    """
    if words == "own":
        kinds = own_file("descriptions.toml")["adjectives"]
        rows = [(word, kind) for kind, listed in kinds.items() for word in listed]
    elif words == MODIFIERS:
        rows = _modifiers(dataset_folder(MODIFIERS) if folder is None else Path(folder).expanduser())
        if not as_published:
            left_out = {word for listed in own_file("modifiers.toml").values() for word in listed}
            rows = [(word, kind) for word, kind in rows if word not in left_out]
    else:
        raise unknown_name("list of adjectives", words, WORDS)
    frame = pl.DataFrame(rows, schema={"adjective": pl.String, "about": pl.String}, orient="row")
    return frame.unique("adjective", keep="first", maintain_order=True)


@checked
def descriptions(
    adjectives: pl.DataFrame | None = None,
    personas: Sequence[str] | None = None,
    n: int | None = None,
    seed: int = 0,
    *,
    nouns: str = "own",
) -> PromptSet:
    """Return conversation openers in which speaker A describes herself or himself ("Hi! I am an honest woman.").

    Parameters
    ----------
    adjectives : polars.DataFrame
        A table from `describing_adjectives`. Default: evenhand's list.
    personas : sequence of str, optional
        From `read_personas`. Default: evenhand's personas.
    n : int, optional
        Number of conversations. Default: one per adjective and noun. The nouns for a woman and a man follow each other
        with the same adjective, so any even `n` is balanced.
    seed : int
        Random seed of order and personas.
    nouns : {"own", "person-modifiers"}
        "own": evenhand's nouns. "person-modifiers": woman, girl, female; man, boy, male.

    Returns
    -------
    PromptSet
        Columns: prompt_id and conversation (the same label), text, name (adjective and noun, "petite woman"), gender
        (of the noun), adjective, about (category of the adjective), noun, persona_a and persona_b (lists of sentences).

    Raises
    ------
    DataError
        `adjectives` lacks a column or is empty.
    UsageError
        `nouns` is unknown, `n` is below 1, or there are fewer than two personas.

    References
    ----------
    - Smith & Williams 2021, section 2.3.2.

    >>> one = pl.DataFrame({"adjective": ["honest"], "about": ["character"]})
    >>> sorted(descriptions(one, n=2, nouns="person-modifiers").frame["text"])[0].startswith("Hi! I am an honest ")
    True
    """
    table = describing_adjectives() if adjectives is None else adjectives
    if lacking := [column for column in ("adjective", "about") if column not in table.columns]:
        raise DataError(
            f"The table of adjectives has no column {lacking[0]}.", "Use a table of describing_adjectives."
        )
    if nouns not in WORDS:
        raise unknown_name("list of nouns", nouns, WORDS)
    said = PUBLISHED_NOUNS if nouns == MODIFIERS else own_file("descriptions.toml")["nouns"]
    pairs = list(zip(said["woman"], said["man"], strict=True))
    couples = pl.DataFrame(
        [
            {"name": f"{row['adjective']} {woman}/{man}", **row, "woman": woman, "man": man}
            for row in table.select("adjective", "about").iter_rows(named=True)
            for woman, man in pairs
        ],
        schema=dict.fromkeys(("name", "adjective", "about", "woman", "man"), pl.String),
    )
    size = 2 * couples.height if n is None else n
    drawn = in_turns(couples, ["about"], -(-size // 2), seed)
    frame = (
        drawn.with_columns(
            round=pl.col("conversation").str.extract(r"(\d+)$"), noun=pl.concat_list("woman", "man")
        )
        .with_columns(gender=pl.concat_list(pl.lit("woman"), pl.lit("man")))
        .explode("noun", "gender")
        .head(size)
    )
    frame = frame.with_columns(
        name=pl.col("adjective") + " " + pl.col("noun"),
    ).with_columns(
        conversation=pl.col("name") + "/" + pl.col("round"),
        text=pl.lit("Hi! I am ")
        + pl.col("adjective").map_elements(article, return_dtype=pl.String)
        + " "
        + pl.col("name")
        + ".",
    )
    frame = frame.with_columns(prompt_id="conversation").select(
        "prompt_id", "text", "conversation", "name", "gender", "adjective", "about", "noun"
    )
    card = Card(
        name="descriptions",
        summary=f"{frame.height:,} conversations opened by a description of oneself.",
        citation=CITATION,
        groups="The gender of the noun; the adjective is held fixed.",
        critique="Two genders only; few people introduce themselves in this way.",
    )
    return PromptSet(with_personas(frame, personas, seed), card)


def _modifiers(folder: Path) -> list[tuple[str, str]]:
    files = dataset(MODIFIERS).version().files
    below = folder if found_file(folder, files[0]) else folder / BELOW
    rows = []
    for file in files:
        path = found_file(below, file)
        if path is None:
            raise DataError(f"{folder} has no {file.path}.", FORMAT)
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{path} cannot be read: {error}.", FORMAT) from error
        kind = file.path.removesuffix(".txt")
        rows += [(word, kind) for line in lines if (word := line.strip().lower()) and " " not in word]
    if not rows:
        raise DataError(f"{folder} contains no modifier of one word.", FORMAT)
    return rows
