"""The prompts of a consistency check: an adversarial and a neutral domain, published or the user's own."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from evenhand.measures.changes.consistency_verdicts import DOMAINS
from evenhand.prompts.datasets.register import dataset_folder
from evenhand.prompts.own_files.prompts import read_prompts
from evenhand.prompts.prompt_set import PromptSet
from evenhand.prompts.published.realtoxicityprompts import OWNERS_FILE, load_realtoxicityprompts
from evenhand.schema import DatasetMissing, UsageError
from evenhand.schema.errors import unknown_name
from evenhand.studies.consistency_options import NOBODY, CheckOptions

DATA = "realtoxicityprompts"


def domains_of(options: CheckOptions) -> dict[str, PromptSet]:
    """The prompts by domain, "adversarial" first; without "neutral" where the user wants none.

    options: `prompts` and `neutral` name files, else RealToxicityPrompts' challenging and neutral prompts are taken:
    1,199 each in the published extract; of the owners' whole file as many neutral ones as there are challenging ones,
    drawn from the others. `limit` and `seed` take a part.
    Raises UsageError for own adversarial prompts without neutral ones, and for a data set that is not read here,
    DataError for files that cannot be read.
    Source: Morabito et al. 2023, section 5.1.
    """
    for name in options.data:
        if name != DATA:
            raise unknown_name("data set of a consistency check", name, [DATA])
    if options.prompts is not None and options.neutral is None:
        raise UsageError(
            "Own adversarial prompts were given (--prompts), and no neutral ones to see whether the result carries "
            "over.",
            f"Give them with --neutral FILE, or say --neutral {NOBODY} to test one domain.",
        )
    files: Mapping[str, str | None] = {"adversarial": options.prompts, "neutral": options.neutral}
    found = {
        domain: _published(domain, options)
        if files[domain] is None
        else read_prompts(Path(str(files[domain])))
        for domain in DOMAINS
        if files[domain] != NOBODY
    }
    if options.limit is not None:
        found = {
            domain: prompts.sample(options.limit, seed=options.seed) for domain, prompts in found.items()
        }
    return found


def shared_texts(domains: Mapping[str, PromptSet]) -> int:
    """How many texts both domains have."""
    if len(domains) < 2:
        return 0
    first, second = (set(prompts.frame["text"]) for prompts in domains.values())
    return len(first & second)


def _published(domain: str, options: CheckOptions) -> PromptSet:
    given = Path(options.data[DATA]) if DATA in options.data else None
    if given is not None and (given / OWNERS_FILE).is_file():
        challenging = load_realtoxicityprompts(given, "challenging")
        if domain == "adversarial":
            return challenging
        others = load_realtoxicityprompts(given).filter(~pl.col("challenging"), "not challenging")
        return others.sample(len(challenging), seed=options.seed)
    try:
        folder = dataset_folder(DATA, None, given)
    except DatasetMissing as error:
        raise DatasetMissing(
            f"The {domain} prompts are those of RealToxicityPrompts, which is not here: {error.message}",
            f"{error.hint}\nOr give your own: --prompts FILE --neutral FILE",
        ) from error
    return load_realtoxicityprompts(folder, "challenging" if domain == "adversarial" else "neutral")
