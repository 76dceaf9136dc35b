"""Benchmarks and suites by name.

Packages add theirs under the entry-point groups "evenhand.benchmarks" and "evenhand.suites".
"""

from collections.abc import Mapping

from evenhand.benchmarks.contract import Analysis, Benchmark, Suite
from evenhand.schema import Card, Measurement, Registry


def _pooled_published(analyses: Mapping[str, Analysis]) -> list[Measurement]:
    """Return ROBBIE's overall BiasScore, which pools the groups of all data sets."""
    from evenhand.benchmarks.analysis import pooled_rows

    groups = {name: analysis.details.get("published_groups") for name, analysis in analyses.items()}
    return pooled_rows({name: table for name, table in groups.items() if table is not None})


BENCHMARKS = {
    "evenhand-likelihood": "evenhand.benchmarks.evenhand_likelihood:BENCHMARK",
    "evenhand-pll": "evenhand.benchmarks.evenhand_pll:BENCHMARK",
    "holisticbias-likelihood": "evenhand.benchmarks.holisticbias.likelihood:BENCHMARK",
    "holisticbias-pll": "evenhand.benchmarks.holisticbias.pll:BENCHMARK",
    "holisticbias-seat": "evenhand.benchmarks.holisticbias.seat:BENCHMARK",
    "crows-pairs": "evenhand.benchmarks.crows_pairs:BENCHMARK",
    "stereoset": "evenhand.benchmarks.stereoset:BENCHMARK",
    "redditbias": "evenhand.benchmarks.redditbias:BENCHMARK",
    "redditbias-valid": "evenhand.benchmarks.redditbias:VALID",
    "redditbias-lmp": "evenhand.benchmarks.redditbias_lmp:BENCHMARK",
    "regard": "evenhand.benchmarks.regard:BENCHMARK",
    "holisticbiasr": "evenhand.benchmarks.holisticbias.regard:BENCHMARK",
    "bold": "evenhand.benchmarks.bold:BENCHMARK",
    "toxigen": "evenhand.benchmarks.toxigen:BENCHMARK",
    "realtoxicityprompts": "evenhand.benchmarks.realtoxicityprompts:BENCHMARK",
    "advpromptset": "evenhand.benchmarks.advpromptset:BENCHMARK",
    "holisticbias-styles": "evenhand.benchmarks.holisticbias.styles:BENCHMARK",
    "holisticbias-offensiveness": "evenhand.benchmarks.holisticbias.offensiveness:BENCHMARK",
    "names": "evenhand.benchmarks.names.recipes:NAMES",
    "descriptions": "evenhand.benchmarks.names.recipes:DESCRIPTIONS",
    "quality": "evenhand.benchmarks.quality:BENCHMARK",
    "counterfactual": "evenhand.benchmarks.counterfactual.recipe:BENCHMARK",
    "answers": "evenhand.benchmarks.answers.recipe:BENCHMARK",
}

SUITES = {
    "quick": Suite(
        "quick",
        Card(
            "quick",
            "A first look at any model in a minute or two: at most 20,000 built-in sentences.",
            details="Needs no download. It uses all matched pairs of sentences, each pair with two nouns of its "
            "own, for up to 32 descriptors of each axis. Left-to-right and encoder-decoder models get "
            "evenhand-likelihood; masked models get evenhand-pll.",
        ),
        ("evenhand-likelihood", "evenhand-pll"),
        limit=20_000,
        one_for_each_kind=True,
    ),
    "likelihood": Suite(
        "likelihood",
        Card(
            "likelihood",
            "Every likelihood benchmark in full: HolisticBias, the built-in set, CrowS-Pairs, StereoSet.",
            details="Benchmarks without local data are left out; the report lists them.",
        ),
        (
            "holisticbias-likelihood",
            "evenhand-likelihood",
            "holisticbias-pll",
            "holisticbias-seat",
            "evenhand-pll",
            "crows-pairs",
            "stereoset",
        ),
    ),
    "robbie": Suite(
        "robbie",
        Card(
            "robbie",
            "ROBBIE: continuations of six prompt sets, classified for toxicity and regard, and their quality.",
            construct="Whether a model writes more toxic or demeaning text about some groups than about others.",
            harm="People read more abuse of, and less respect for, people like themselves.",
            groups="843 groups: 25 of bold, 14 of toxigen, 24 of advpromptset, 6 of regard, 774 of holisticbiasr.",
            ideal="0% of groups treated worse than the others of their axis",
            direction="Higher is worse.",
            null="Groups do not differ: outcomes are permuted between the groups at random.",
            critique="The published overall BiasScore pools all groups, of which 92% are holisticbiasr's. It "
            "counts groups that are not shown to have a lower rate than all responses of their data set. A model "
            "without bias scores nearly 100. The score is therefore reported without a verdict; verdicts are those "
            "of the corrected scores.",
            citation="Esiobu et al. 2023, ROBBIE: Robust Bias Evaluation of Large Generative Language Models, "
            "EMNLP 2023.",
            licence="The licence of each prompt set.",
            source="ROBBIE §2.3 and §3.1.",
            details="The full suite has more than half a million prompts: use --limit. Prompt sets without local "
            "data are left out, and the report lists them. advpromptset has to be built from your own Kaggle "
            "downloads.",
        ),
        (
            "regard",
            "bold",
            "toxigen",
            "realtoxicityprompts",
            "advpromptset",
            "holisticbiasr",
            "quality",
        ),
        summarise=_pooled_published,
    ),
    "holisticbias": Suite(
        "holisticbias",
        Card(
            "holisticbias",
            "HolisticBias in full: likelihoods of its sentences, and style and offensiveness of the replies to "
            "them.",
            details="Style and offensiveness are classified in the same replies. The full suite has 240,000 "
            "replies: use --limit.",
        ),
        (
            "holisticbias-likelihood",
            "holisticbias-pll",
            "holisticbias-seat",
            "holisticbias-styles",
            "holisticbias-offensiveness",
        ),
    ),
    "names": Suite(
        "names",
        Card(
            "names",
            "Self-chats of a model, opened with a name or a description: do words, occupations, gender and offence "
            "depend on it?",
            construct="Whether conversations between two copies of a model depend on how the first speaker "
            "introduces itself. The introduction is a name that suggests a gender and a race, or a description "
            "with a gendered noun.",
            harm="People are addressed and described by the gender and race that their name or description "
            "suggests.",
            groups="Women's and men's names, also by race if the list of names states it; women and men by the "
            "noun of the description.",
            citation='Smith & Williams 2021, "Hi, my name is Martha", arXiv:2109.03300.',
            details="2,000 conversations of 12 utterances are opened with built-in names, and one with each pair "
            "of adjective and noun. --limit uses fewer. Needs no download. Word lists classify the texts unless "
            "you name other classifiers.",
        ),
        ("names", "descriptions"),
    ),
}


RECIPES: Registry[Benchmark] = Registry(
    "benchmark",
    "evenhand.benchmarks",
    BENCHMARKS,
    "an evenhand.benchmarks.Benchmark with a card",
    lambda entry: isinstance(entry, Benchmark) and isinstance(entry.card, Card),
)
COLLECTIONS: Registry[Suite] = Registry(
    "suite",
    "evenhand.suites",
    SUITES,
    "an evenhand.benchmarks.Suite with a card",
    lambda entry: isinstance(entry, Suite) and isinstance(entry.card, Card),
)


def benchmark_names() -> list[str]:
    """Return the names of all benchmarks.

    Pass a name to `load_benchmark`, or to `evenhand.audit` in `benchmarks`.

    Returns
    -------
    list of str
        The names. Built-in benchmarks come first, then those of other packages.

    Examples
    --------
    >>> "regard" in benchmark_names()
    True
    """
    return RECIPES.names()


def suite_names() -> list[str]:
    """Return the names of all suites (sets of benchmarks).

    Returns
    -------
    list of str
        The names. Built-in suites come first, then those of other packages.

    Examples
    --------
    >>> "quick" in suite_names()
    True
    """
    return COLLECTIONS.names()


def load_benchmark(name: str) -> Benchmark:
    """Return a benchmark by name.

    Parameters
    ----------
    name : str
        A name from `benchmark_names`.

    Returns
    -------
    Benchmark
        The benchmark.

    Raises
    ------
    UsageError
        The name is unknown. The message lists similar names.
    ExtensionError
        The benchmark comes from another package and cannot be used.

    Examples
    --------
    >>> load_benchmark("regard").name
    'regard'
    """
    return RECIPES.load(name)


def load_suite(name: str) -> Suite:
    """Return a suite (a set of benchmarks) by name.

    Use it to see which benchmarks a suite contains. To run a suite, pass its name to `evenhand.audit`.

    Parameters
    ----------
    name : str
        A name from `suite_names`.

    Returns
    -------
    Suite
        The suite.

    Raises
    ------
    UsageError
        The name is unknown. The message lists similar names.
    ExtensionError
        The suite comes from another package and cannot be used.

    Examples
    --------
    >>> load_suite("quick").name
    'quick'
    """
    return COLLECTIONS.load(name)
