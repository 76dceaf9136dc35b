"""Seed terms of AdvPromptSet: words that name one of Jigsaw's 24 identities, before their neighbours are added."""

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from evenhand.prompts.advpromptset.pieces import GROUPS, TOKEN
from evenhand.prompts.lexicon import Descriptor, Lexicon, load_lexicon
from evenhand.schema import DataError, is_file, missing_columns, missing_file, unknown_name

SEEDS: dict[str, pl.DataType] = {"seed": pl.String(), "identity": pl.String(), "keep": pl.Boolean()}
OF_COLUMNS = {
    "homosexual_gay_or_lesbian": ("homosexual", "gay", "lesbian"),
    "other_race_or_ethnicity": ("other race", "other ethnicity", "ethnic"),
    "intellectual_or_learning_disability": ("intellectual disability", "learning disability"),
    "psychiatric_or_mental_illness": ("psychiatric illness", "mental illness"),
}
"""Terms for columns that name several things at once. Other columns use their own name, with spaces."""
OF_BUCKETS = {
    ("gender_and_sex", "transgender"): "transgender",
    ("gender_and_sex", "nonbinary"): "other_gender",
    ("gender_and_sex", "intersex"): "other_gender",
    ("race_ethnicity", "black"): "black",
    ("race_ethnicity", "african_peoples"): "black",
    ("race_ethnicity", "white"): "white",
    ("race_ethnicity", "european_peoples"): "white",
    ("race_ethnicity", "asian"): "asian",
    ("race_ethnicity", "latino"): "latino",
    ("race_ethnicity", "indigenous"): "other_race_or_ethnicity",
    ("race_ethnicity", "middle_eastern"): "other_race_or_ethnicity",
    ("race_ethnicity", "pacific"): "other_race_or_ethnicity",
    ("race_ethnicity", "mixed"): "other_race_or_ethnicity",
    ("race_ethnicity", "umbrella"): "other_race_or_ethnicity",
    ("religion", "christian"): "christian",
    ("religion", "jewish"): "jewish",
    ("religion", "muslim"): "muslim",
    ("religion", "asian_religions"): "other_religion",
    ("religion", "other_faiths"): "other_religion",
    ("religion", "no_religion"): "atheist",
    ("sexual_orientation", "gay_and_lesbian"): "homosexual_gay_or_lesbian",
    ("sexual_orientation", "bisexual_and_wider"): "other_sexual_orientation",
    ("sexual_orientation", "asexual"): "other_sexual_orientation",
    ("sexual_orientation", "heterosexual"): "heterosexual",
    ("sexual_orientation", "umbrella"): "homosexual_gay_or_lesbian",
    ("ability", "general"): "other_disability",
    ("ability", "hearing"): "physical_disability",
    ("ability", "vision"): "physical_disability",
    ("ability", "mobility"): "physical_disability",
    ("ability", "speech"): "physical_disability",
    ("ability", "neurodiversity"): "intellectual_or_learning_disability",
    ("ability", "cognition"): "intellectual_or_learning_disability",
    ("ability", "mental_health"): "psychiatric_or_mental_illness",
    ("ability", "recovery"): "psychiatric_or_mental_illness",
    ("ability", "illness"): "other_disability",
}
"""Identity of each bucket of the lexicon; buckets that are not listed belong to none of the 24."""
OF_DESCRIPTORS = {
    "hindu": "hindu",
    "hare krishna": "hindu",
    "buddhist": "buddhist",
    "tibetan buddhist": "buddhist",
    "zen buddhist": "buddhist",
    "bisexual": "bisexual",
    "bi": "bisexual",
    "bicurious": "bisexual",
    "queer": "other_sexual_orientation",
    "questioning": "other_sexual_orientation",
    "sexual minority": "other_sexual_orientation",
    "romani": "other_race_or_ethnicity",
    "gypsy": "other_race_or_ethnicity",
}
"""Descriptors whose identity differs from that of their bucket."""
_EVERYDAY = """
able bodied, addicted, anglo, bi, brown, butch, closeted, colored, crazy, depressed, desi, ewe, godless, hausa, heathen,
high functioning, humanist, insane, invalid, lame, low functioning, maya, mute, neurotypical, nondisabled, normal,
oriental, paralyzed, questioning, secular, senile, sighted, sober, straight, wasp
"""
EVERYDAY = frozenset(word.strip() for word in _EVERYDAY.split(","))
"""Words that mostly have another meaning, or mean the absence of an identity: in the table, but not kept."""
GENDERS = {"female": "female", "male": "male", "nonbinary": "other_gender"}


def normalise_term(term: str) -> str:
    """Return a term in the form of the pieces: lower-case words joined by spaces.

    >>> normalise_term("Jehovah's Witness"), normalise_term("African-American")
    ('jehovah s witness', 'african american')
    """
    return " ".join(TOKEN.findall(term)).lower()


def seed_terms(lexicon: Lexicon | None = None, user_terms: Path | str | None = None) -> pl.DataFrame:
    """Return the seed terms of the 24 identities.

    lexicon: lexicon whose adjectives, phrases and gendered nouns are used; None: the built-in one. user_terms: a table
    of `read_seeds`, which is added. Returns one row per (seed, identity): seed (normalised), identity (null: none of
    the 24, such as a term of abuse), keep (false for words that mostly have another meaning). Raises DataError for an
    invalid table. Source: ROBBIE, appendix B.1.3, whose seeds are the names of the 24 columns.

    >>> seeds = seed_terms()
    >>> seeds.filter(seed="jews").rows()
    [('jews', 'jewish', True)]
    """
    lexicon = lexicon or load_lexicon()
    rows = [(word, name) for name in GROUPS for word in OF_COLUMNS.get(name, (name,))]
    rows = [(word.replace("_", " "), name) for word, name in rows]
    for noun in lexicon.nouns:
        if noun.gender in GENDERS:
            rows += [(noun.singular, GENDERS[noun.gender]), (noun.plural, GENDERS[noun.gender])]
    for descriptor in lexicon.descriptors:
        rows += _terms_of_descriptor(descriptor)
    built_in = _frame(
        (normalise_term(word), name, normalise_term(word) not in EVERYDAY) for word, name in rows
    )
    # the user's word goes
    seeds = built_in if user_terms is None else pl.concat([read_seeds(user_terms), built_in])
    return seeds.unique(["seed", "identity"], keep="first", maintain_order=True).sort(
        pl.col("identity").replace_strict(list(GROUPS), range(len(GROUPS)), return_dtype=pl.Int64),
        nulls_last=True,
        maintain_order=True,
    )


def read_seeds(path: Path | str) -> pl.DataFrame:
    """Return your own list of seeds, with the columns of `seed_terms`.

    path: a CSV with a column `term` and, optionally, `identity` (one of the 24; empty: the term counts, but implies no
    identity). Or a text file with one term per line. Raises DataError for other files and unknown identities.
    """
    path = Path(path)
    hint = (
        f"Expected a CSV with the columns term and identity, the latter one of {', '.join(GROUPS)} or empty."
    )
    if not is_file(path):
        raise missing_file(path, hint, "File of seed terms")
    try:
        if path.suffix.lower() == ".csv":
            frame = pl.read_csv(path, infer_schema=False)
        else:
            frame = pl.DataFrame({"term": path.read_text(encoding="utf-8").splitlines()})
    except (pl.exceptions.ComputeError, pl.exceptions.NoDataError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}.", hint) from error
    if lacking := missing_columns(path, ["term"], frame.columns, hint):
        raise lacking
    if "identity" not in frame.columns:
        frame = frame.with_columns(identity=pl.lit(None, pl.String))
    rows = []
    for number, (term, identity) in enumerate(frame.select("term", "identity").iter_rows(), 2):
        if identity and identity not in GROUPS:
            raise DataError(f"{path}, line {number}: {unknown_name('identity', identity, GROUPS)}")
        if word := normalise_term(term or ""):
            rows.append((word, identity or None, True))
    if not rows:
        raise DataError(f"{path} contains no term.", hint)
    return _frame(rows)


def _terms_of_descriptor(descriptor: Descriptor) -> list[tuple[str, str]]:
    if descriptor.form == "postmodifier":  # "who is blind" is found by "blind", and the whole phrase is rare
        return []
    word = normalise_term(descriptor.descriptor)
    bucket = OF_BUCKETS.get((descriptor.axis, descriptor.bucket))
    identity = OF_DESCRIPTORS.get(word, bucket) if bucket else None
    if identity is None:
        return []
    forms = [word] if descriptor.form == "adjective" else [word, normalise_term(descriptor.plural)]
    return [(form, identity) for form in forms]


def _frame(rows: Iterable[tuple[str, str | None, bool]]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=SEEDS, orient="row")
