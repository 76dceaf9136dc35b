"""The front door of the search for an instruction: `search_instruction(...)` searches, a `Revision` shows itself."""

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
from evenhand.studies.audit import asked_names, check_addresses, check_code, files_of, named_or_loaded
from evenhand.studies.model_options import load_named_model, loaded_or_none, name_of
from evenhand.studies.placing import here_only
from evenhand.studies.result import StudyResult
from evenhand.studies.search_instruction.conduct import RevisionStudy, search_prompts
from evenhand.studies.search_instruction.options import RevisionConfig, revision_config
from evenhand.studies.search_instruction.page import revision_page
from evenhand.studies.search_instruction.record import stored_search
from evenhand.studies.search_instruction.terminal import render_revision

FORMAT = 1
REPEATABLE = ("device", "batch_tokens", "trust_remote_code")
"""Options of the model that may be given again when a search goes on."""


@dataclass(frozen=True, repr=False)
class Revision(RevisionStudy, StudyResult):
    """What came of a search, ready to be shown; its fields are those of `RevisionStudy`."""

    PAGE, NUMBERS = "report.html", "report.json"
    __repr__ = StudyResult.__repr__

    @property
    def path(self) -> Path:
        """The search's folder."""
        return self.folder

    def tables(self) -> dict[str, pl.DataFrame]:
        """`finalists` and `history`."""
        return {"finalists": self.finalists, "history": self.history}

    def to_dict(self) -> dict[str, Any]:
        """Facts, the chosen instruction and both tables as plain data."""
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
        """The whole search: one document that needs no network."""
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
    """Search for the instruction behind which a model writes least that is harmful; prints nothing of its own.

    model: a name as for the command line, or a LanguageModel. benchmark: whose judged continuations are searched by.
    prompts: a file of your own prompts in place of the benchmark's. reviser: who rewords, a name or a Reviser; by
    default the rules. instructions: to begin with, in place of the library's own. classifiers: who judges, by role: a
    name or a Classifier. output: the search's folder; one that holds a search is gone on with, provided everything
    that decides the result is the same. options: anything else of
    `evenhand.studies.search_instruction.options.RevisionConfig` (iterations, keep, variants, subset, final,
    role, ...) and of `evenhand.studies.audit.options.AuditConfig` (decoding, samples, seed, device, ...).
    Returns the finished search, with its page written. Raises UsageError and DataError that say how to mend what is
    wrong, Interrupted (resumable), ResumeRefused, ModelError.
    Source: ROBBIE, section B.3.1.

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
        "model": name_of(model),
        "benchmark": benchmark,
        "prompts": None if prompts is None else str(prompts),
        "reviser": None if reviser is None else name_of(reviser),
        "instructions": (instructions,) if isinstance(instructions, str) else tuple(instructions),
        **({"classifiers": judges} if judges else {}),
        **options,
    }
    return search_with(
        revision_config(given),
        model=loaded_or_none(model),
        reviser=loaded_or_none(reviser),
        loaded=loaded,
        output=None if output is None else Path(output),
        progress=progress,
    )


def search_with(
    options: RevisionConfig,
    *,
    model: LanguageModel | None = None,
    reviser: Reviser | None = None,
    loaded: Mapping[str, Classifier] | None = None,
    output: Path | None = None,
    progress: Progress | None = None,
) -> Revision:
    """Search as options say, and write the page; `model`, `reviser` and `loaded` replace what these name if they are
    there already."""
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
    """The options of a search on disk, with those given anew (None and empty mean not given).

    Only how the model is loaded and computed may be given again: REPEATABLE. trust_addresses: ask servers that only
    the folder names (see `evenhand.studies.audit.trust`). Code that comes with the model is run only if `given` says
    so. Raises UsageError for anything else, DataError as `stored_search`, ResumeRefused where the folder alone names
    code or servers.
    """
    named = {name: value for name, value in given.items() if value is not None and value != ()}
    if others := [name for name in named if name not in REPEATABLE]:
        raise UsageError(
            f"{folder} is an existing search, so {', '.join(others)} cannot be changed.",
            "Remove these options to resume it, or start a new search.",
        )
    stored = stored_search(folder)
    audit = stored.audit
    check_code(folder, audit.trust_remote_code, bool(named.get("trust_remote_code")))
    check_addresses(
        folder,
        [*asked_names(audit), stored.reviser],
        mitigations=audit.mitigate,
        files=files_of(audit.model_dump()),
        trusted=trust_addresses,
    )
    changed = {"trust_remote_code": False, **named}
    return stored.model_copy(update={"audit": audit.model_copy(update=changed)})
