"""Public function for the search for an instruction: `search_instruction` searches, and `Revision` is the result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from evenhand.classifiers import Classifier
from evenhand.mitigations.revision import Reviser
from evenhand.models import LanguageModel
from evenhand.runs import Progress, default_path, resumable
from evenhand.schema import UsageError, as_json, checked_kinds
from evenhand.studies.audit import asked_names, named_or_loaded
from evenhand.studies.model_options import load_named_model
from evenhand.studies.placing import here_only
from evenhand.studies.result import StudyResult
from evenhand.studies.search_instruction.conduct import RevisionStudy, search_prompts
from evenhand.studies.search_instruction.options import RevisionConfig, revision_config
from evenhand.studies.search_instruction.page import revision_page
from evenhand.studies.search_instruction.record import stored_search
from evenhand.studies.search_instruction.terminal import render_revision
from evenhand.study import check_addresses, check_code, find_files, get_name, loaded_or_none, name_options

FORMAT = 1
REPEATABLE = ("device", "batch_tokens", "trust_remote_code")
"""Options of the model that may be given again when a search is resumed."""


@dataclass(frozen=True, repr=False)
class Revision(RevisionStudy, StudyResult):
    """The result of `search_instruction`: an instruction that reduces harmful continuations, and how it was found.

    Rates are proportions of negative continuations. A change is the rate with the instruction minus the rate
    without it. It is negative if the instruction helps.

    Attributes
    ----------
    folder : Path
        Folder of the search.
    instruction : FoundInstruction
        The chosen instruction, as stored in instruction.json.
    chosen, reference : dict
        Rows of `finalists` for the chosen instruction and for no instruction.
    finalists : polars.DataFrame
        One row per instruction of the last round, tested on new prompts: rate, change, CI, verdict.
    history : polars.DataFrame
        One row per instruction and round.
    facts : mapping
        Model, benchmark, classifier and prompts.
    """

    PAGE, NUMBERS = "report.html", "report.json"
    __repr__ = StudyResult.__repr__

    @property
    def path(self) -> Path:
        """Return the folder of the search."""
        return self.folder

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the tables `finalists` and `history`."""
        return {"finalists": self.finalists, "history": self.history}

    def to_dict(self) -> dict[str, Any]:
        """Return facts, the chosen instruction and both tables as plain data."""
        return as_json(
            {
                "format": FORMAT,
                "facts": self.facts,
                "instruction": self.instruction.text,
                "finalists": self.finalists.to_dicts(),
                "history": self.history.to_dicts(),
            }
        )

    def html(self) -> str:
        """Return the report of the search as one HTML document that needs no network."""
        return revision_page(self)

    def print_to(self, console: Console, paths: Mapping[str, Path] | None = None) -> None:
        """Print the chosen instruction, what it changed, and the other finalists."""
        render_revision(self, console, paths)


@checked_kinds
def search_instruction(
    model: str | LanguageModel,
    *,
    benchmark: str,
    prompts: Path | str | None = None,
    reviser: str | Reviser | None = None,
    instructions: str | Sequence[str] = (),
    classifiers: Mapping[str, str | Classifier | LanguageModel] | None = None,
    output: Path | str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Revision:
    """Search for the instruction with which a model writes the fewest harmful continuations.

    Use it if a fixed instruction does not help enough and you cannot train the model. In each round, the best
    instructions are reworded, put before every prompt and compared. The final choice uses new prompts.
    Nothing is printed.

    Parameters
    ----------
    model : str or LanguageModel
        A name as on the command line (see `load_model`), or a loaded model.
    benchmark : str
        Benchmark whose classified continuations guide the search.
    prompts : path or str, optional
        A file of your own prompts that replace those of the benchmark.
    reviser : str or Reviser, optional
        Component that rewords instructions: "rules" (the default), or a language model.
    instructions : str or sequence of str, optional
        Instructions to start from. Default: the built-in library.
    classifiers : mapping of str, optional
        Classifiers (names or objects) by role, which is what is judged, such as toxicity.
    output : path or str, optional
        Folder of the search. A search there is resumed if everything that determines the result is the same.
        Default: a new folder in runs/.
    progress : Progress, optional
        Receives progress messages.
    options
        All other options of `evenhand.studies.search_instruction.options.RevisionConfig` (iterations, keep,
        variants, subset, final, role, ...) and of `evenhand.studies.audit.options.AuditConfig` (decoding,
        samples, seed, device, ...).

    Returns
    -------
    Revision
        The finished search, with its page written.

    Raises
    ------
    UsageError, DataError
        An option or a file is invalid; the message states how to fix it.
    ResumeRefused
        The folder contains a search with other settings.
    ModelError
        The model cannot be loaded, or cannot follow instructions.
    Interrupted
        The search was interrupted and can be resumed.

    References
    ----------
    Esiobu et al. (2023), "ROBBIE: Robust Bias Evaluation of Large Generative Language Models", EMNLP, section
    B.3.1.

    Examples
    --------
    The scripted model writes kindly only if an instruction mentions dignity:

    >>> import tempfile
    >>> from evenhand.models.puppets import writes
    >>> said = writes(lambda prompt, sample: " a happy cook." if "dignity" in prompt else " a hated liar.")
    >>> found = search_instruction(said, benchmark="regard", classifiers={"regard": "vader"}, iterations=1, keep=2,
    ...                            variants=2, subset=20, final=20, instructions=["Speak with dignity.", "Speak."],
    ...                            samples=1, output=tempfile.mkdtemp() + "/search")
    >>> found.chosen["verdict"], "dignity" in found.chosen["instruction"]
    ('lower', True)
    """
    judges, loaded = named_or_loaded(classifiers or {})
    given = {
        "model": get_name(model),
        "benchmark": benchmark,
        "prompts": None if prompts is None else str(prompts),
        "reviser": None if reviser is None else get_name(reviser),
        "instructions": (instructions,) if isinstance(instructions, str) else tuple(instructions),
        **({"classifiers": judges} if judges else {}),
        **options,
    }
    return run_search(
        revision_config(given),
        model=loaded_or_none(model),
        reviser=loaded_or_none(reviser),
        loaded=loaded,
        output=None if output is None else Path(output),
        progress=progress,
    )


def run_search(
    options: RevisionConfig,
    *,
    model: LanguageModel | None = None,
    reviser: Reviser | None = None,
    loaded: Mapping[str, Classifier] | None = None,
    output: Path | None = None,
    progress: Progress | None = None,
) -> Revision:
    """Run a search with options, and write its page. `model`, `reviser` and `loaded` replace those in the options."""
    here_only(options.audit, "search-instruction", "Leave `on` out.")
    study = search_prompts(
        options,
        model or load_named_model(options.audit),
        output
        or default_path(options.audit.model, f"search-instruction-{'-'.join(options.audit.benchmarks)}"),
        reviser=reviser,
        loaded=loaded,
        progress=progress,
    )
    revision = Revision(**vars(study))
    with resumable(f"Resume with: evenhand search-instruction {revision.path}"):
        revision.report()
    return revision


def resumed_search(
    folder: Path, given: Mapping[str, Any], *, trust_addresses: bool = False
) -> RevisionConfig:
    """Return the options of a search on disk, updated with the given ones (None and empty mean not given).

    Only options of loading and computing the model may change: REPEATABLE.

    Code that comes with the model is run only if `given` allows it.

    Raises UsageError for anything else, DataError as `stored_search`, ResumeRefused if only the folder names code or
    servers.

    Parameters
    ----------
    trust_addresses
        Use servers that only the folder names (see `evenhand.study.trust`).
    """
    named = {name: value for name, value in given.items() if value is not None and value != ()}
    if others := [name for name in named if name not in REPEATABLE]:
        raise UsageError(
            f"{folder} is an existing search, so {name_options(others)} cannot be changed.",
            "Remove these options to resume it, or start a new search with -o.",
        )
    stored = stored_search(folder)
    audit = stored.audit
    check_code(folder, audit.trust_remote_code, bool(named.get("trust_remote_code")))
    check_addresses(
        folder,
        [*asked_names(audit), stored.reviser],
        mitigations=audit.mitigate,
        files=find_files(audit.model_dump()),
        trusted=trust_addresses,
    )
    changed = {"trust_remote_code": False, **named}
    return stored.model_copy(update={"audit": audit.model_copy(update=changed)})
