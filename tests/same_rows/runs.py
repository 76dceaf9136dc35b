"""What both commits of tests/same_rows run: every registered benchmark, and every verb that writes rows."""

from dataclasses import dataclass

BRIEF = ("--samples", "2", "--max-new-tokens", "8")
VADER = ("--classifier", "vader")
SEARCH = (
    *("search-trigger", "inputs/causal", "--prompts", "inputs/groups.csv", *VADER, "--device", "cpu"),
    *("--tokens", "2", "--restarts", "2", "--sweeps", "2", "--candidates", "6", "--samples", "2"),
    *("--max-new-tokens", "6"),
)
BEFORE_AFTER = ("before-after", "inputs/causal", "-b", "regard", *VADER, "--mitigate", "instruction=respect")
CHECK = (
    *(
        "check-consistency",
        "instructive-debiasing",
        "--model",
        "inputs/causal",
        "--prompts",
        "inputs/wild.csv",
    ),
    *(
        "--neutral",
        "inputs/calm.csv",
        "--groups",
        "2",
        "--classifier",
        "toxicity=vader",
        "--decoding",
        "gpt2",
    ),
    *("--max-new-tokens", "8"),
)
REVISE = (
    *(
        "search-instruction",
        "inputs/causal",
        "-b",
        "regard",
        *VADER,
        "--iterations",
        "2",
        "--keep",
        "2",
        "--variants",
        "1",
    ),
    *("--subset", "12", "--final", "12", *BRIEF),
)
RUNS: tuple[tuple[str, ...], ...] = (
    ("audit", "evenhand/reference", "--suite", "quick", "--report", "quick.html", "-o", "quick"),
    (
        "audit",
        "inputs/causal",
        "-b",
        "regard",
        *VADER,
        "--samples",
        "4",
        "--max-new-tokens",
        "12",
        "-o",
        "regard",
    ),
    (
        "audit",
        "inputs/causal",
        "-b",
        "regard",
        *VADER,
        *BRIEF,
        "--mitigate",
        "self-debiasing",
        "-o",
        "steered",
    ),
    ("audit", "inputs/masked", "--suite", "quick", "--limit", "60", "-o", "masked"),
    ("audit", "inputs/encoder-decoder", "--suite", "quick", "--limit", "60", "-o", "encoder-decoder"),
    ("audit", "inputs/causal", "-b", "evenhand-likelihood", "--prompts", "inputs/own.csv", "-o", "own"),
    ("measure", "inputs/continuations.csv", "-b", "regard", *VADER, "-o", "measured"),
    ("audit", "inputs/causal", "-b", "regard", *VADER, *BRIEF, "-o", "rescored"),
    ("rescore", "rescored", "--classifier", "evenhand/lexicon-toxicity"),
    ("agreement", "rescored", "--output", "agreement"),
    ("compare", "regard", "steered", "-o", "compared"),
    (*BEFORE_AFTER, *BRIEF, "-o", "before-after"),
    (*CHECK, "--limit", "12", "-o", "check"),
    (*REVISE, "-o", "revise"),
    (*SEARCH, "-o", "trigger.json"),
)
"""What both commits run."""
OLD_FOLDERS: tuple[tuple[str, ...], ...] = (
    ("audit", "quick", "--report", "again.html"),
    ("audit", "regard"),
    ("audit", "steered"),
    ("audit", "masked"),
    ("audit", "encoder-decoder"),
    ("audit", "own"),
    ("rescore", "rescored", *VADER),
    ("rescore", "rescored", "--classifier", "evenhand/lexicon-toxicity"),
    ("agreement", "rescored", "--output", "agreement"),
    ("compare", "regard", "steered", "-o", "compared"),
    ("before-after", "before-after"),
    ("check-consistency", "check"),
    ("search-instruction", "revise"),
    (*SEARCH, "-o", "trigger.json"),
)
"""What the present commit does with folders that the earlier one made: every row must stay."""


@dataclass(frozen=True)
class Stopped:
    """A run that is killed once `files` of this pattern are there, and gone on with by `resumed`."""

    begun: tuple[str, ...]
    pattern: str
    files: int
    resumed: tuple[str, ...]


STOPPED = (
    Stopped((*RUNS[0][:4], "-o", "quick"), "quick/responses/part-*", 1, ("audit", "quick")),
    Stopped(
        ("audit", "inputs/causal", "-b", "regard", *VADER, "--samples", "40", "--max-new-tokens", "12", "-o", "long"),
        "long/responses/part-*", 1, ("audit", "long"),
    ),
    Stopped(
        (*BEFORE_AFTER, *BRIEF, "-o", "before-after"), "before-after/after/responses/part-*", 1,
        ("before-after", "before-after"),
    ),
    Stopped(
        (*CHECK, "--limit", "12", "-o", "check"),
        "check/levels/*/responses/part-*",
        3,
        ("check-consistency", "check"),
    ),
    Stopped((*REVISE, "-o", "revise"), "revise/trials/*", 3, ("search-instruction", "revise")),
    Stopped((*SEARCH, "-o", "trigger.json"), "trigger.state.json", 1, (*SEARCH, "-o", "trigger.json")),
)  # fmt: skip


BENCHMARK_INPUTS = {
    "evenhand-likelihood": ("causal", "own.csv"),
    "evenhand-pll": ("masked", "phrases.csv"),
    "holisticbias-likelihood": ("causal", "own.csv"),
    "holisticbias-pll": ("masked", "phrases.csv"),
    "holisticbias-seat": ("masked", "own.csv"),
    "crows-pairs": ("masked", "pairs.csv"),
    "stereoset": ("causal", "triples.csv"),
    "redditbias": ("causal", "pairs.csv"),
    "redditbias-valid": ("causal", "pairs.csv"),
    "redditbias-lmp": ("causal", "wild.csv"),
    "holisticbiasr": ("causal", "described.csv"),
    "bold": ("causal", "described.csv"),
    "toxigen": ("causal", "described.csv"),
    "realtoxicityprompts": ("causal", "wild.csv"),
    "advpromptset": ("causal", "mentions.csv"),
    "holisticbias-styles": ("causal", "own.csv"),
    "holisticbias-offensiveness": ("causal", "own.csv"),
    "quality": ("causal", "wild.csv"),
}
"""By benchmark: the model and the prompts of `inputs`. Published prompts need downloads; their columns do not."""
CLASSIFIED = {
    "holisticbiasr": VADER, "bold": VADER, "toxigen": VADER, "realtoxicityprompts": VADER,
    "advpromptset": ("--classifier", "toxicity=vader", "--classifier", "prompt_toxicity=vader"),
    "holisticbias-styles": ("--classifier", "style=vader", "--max-new-tokens", "24"),
    "holisticbias-offensiveness": ("--classifier", "offensiveness=vader", "--max-new-tokens", "24"),
}  # fmt: skip
"""By benchmark: the classifiers of its responses. The published ones need downloads."""
BENCHMARK_RUNS: tuple[tuple[str, ...], ...] = (
    *(
        (
            *("audit", f"inputs/{model}", "-b", name, "--prompts", f"inputs/{file}"),
            *((*BRIEF, *CLASSIFIED.get(name, ())) if name in CLASSIFIED or name == "quality" else ()),
            *("-o", f"benchmarks/{name}"),
        )
        for name, (model, file) in BENCHMARK_INPUTS.items()
    ),
    *(
        (
            *("audit", "evenhand/conversing-planted", "-b", name, "--limit", "8", "--decoding", "greedy"),
            *("--max-new-tokens", "8", "-o", f"benchmarks/{name}"),
        )
        for name in ("names", "descriptions")
    ),
    (
        *("audit", "inputs/causal", "-b", "counterfactual", "--prompts", "inputs/advice.csv", *BRIEF),
        *("--counterfactual", "religion:Christian/Muslim", "-o", "benchmarks/counterfactual"),
    ),
    (
        *("measure", "inputs/answers.csv", "-b", "answers", "--column", "pay=score"),
        *("-o", "benchmarks/answers"),
    ),
)
"""A small run of every benchmark that RUNS lacks."""
STUDY_RUNS: tuple[tuple[str, ...], ...] = (
    (
        *("debias", "inputs/causal", "--specification", "inputs/terms.toml", "--data", "inputs/texts.txt"),
        *("-m", "cda", "--batch-size", "4", "--longest", "60", "--device", "cpu", "-o", "debiased"),
    ),
    ("frequencies", "web=inputs/corpus.jsonl", "--workers", "1", "-o", "counts"),
    (
        *("study", "names", "evenhand/conversing-planted", "--row", "fair=evenhand/conversing"),
        *("--limit", "8", "--decoding", "greedy", "--max-new-tokens", "8", "-o", "names"),
    ),
    (
        *(
            "study",
            "redditbias",
            "inputs/causal",
            "--bias",
            "evenhand/religion",
            "--methods",
            "lmd",
        ),
        *("--epochs", "0.002", "--device", "cpu", "-o", "redditbias"),
    ),
    ("calibrate", "crows_pairs", "--replications", "2", "-j", "1", "-o", "calibration"),
    ("data", "build", "evenhand", "-o", "sentences.csv"),
    ("data", "counterfactuals", "inputs/groups.csv", "--axis", "gender", "--to", "male", "-o", "other.jsonl"),
    ("annotate", "export", "inputs/study.sqlite", "-o", "judgements.parquet"),
    ("annotate", "analyse", "judgements.parquet", "-o", "people"),
)
"""Small runs of the verbs that RUNS lacks."""
ALL_RUNS = (*RUNS, *BENCHMARK_RUNS, *STUDY_RUNS)
"""What both commits run. Later ones read the folders of earlier ones."""
WITHOUT_ROWS = {
    "report": "shows stored rows; tests/compatibility covers its words",
    "push": "uploads stored rows",
    "list": "prints cards",
    "show": "prints a card",
    "annotate serve": "serves pages",
    "annotate check": "checks a file",
    "annotate invite": "makes random links",
    "annotate account": "stores a password",
    "annotate backup": "copies a database",
    "data list": "prints the catalogue",
    "data fetch": "downloads",
    "data import": "copies a download",
    "data lm-eval": "writes the tasks of another tool",
}
"""Verbs that are not run, and why."""
