"""The front door of training against a bias: `debias(...)` trains, a `Debiased` shows itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from evenhand.models import LanguageModel
from evenhand.runs import Progress, resumable
from evenhand.schema import as_json, checked_kinds
from evenhand.studies.debias.conduct import debias_model
from evenhand.studies.debias.options import DebiasConfig
from evenhand.studies.debias.page import search_page, training_page
from evenhand.studies.debias.shown import trial_table
from evenhand.studies.debias.terminal import render_search, render_training
from evenhand.studies.debias.training import DebiasStudy
from evenhand.studies.debias.trials import NothingChosen
from evenhand.studies.model_options import loaded_or_none, name_of
from evenhand.studies.options import validated
from evenhand.studies.result import StudyResult

FORMAT = 1


@dataclass(frozen=True, repr=False)
class UnchosenSearch(StudyResult):
    """A search that ended without a model: its trials, ready to be shown.

    folder: in which it lies. model, method: as they were named. search: the trials, as plain data.
    """

    PAGE, NUMBERS = "report.html", "report.json"
    __repr__ = StudyResult.__repr__

    folder: Path
    model: str
    method: str
    search: Mapping[str, Any]

    @property
    def path(self) -> Path:
        """The folder of the search."""
        return self.folder

    def tables(self) -> dict[str, pl.DataFrame]:
        """`trials` (see `trial_table`)."""
        return {"trials": trial_table(self.search)}

    def to_dict(self) -> dict[str, Any]:
        """The search as plain data."""
        return {"format": FORMAT, "search": as_json(self.search)}

    def html(self) -> str:
        """The search: one document that needs no network."""
        return search_page(self.search, self.model, self.method)

    def print_to(self, console: Console, paths: Mapping[str, Path] | None = None) -> None:
        """Print the trials, and what to beware of."""
        render_search(self.search, console, paths)


@dataclass(frozen=True, repr=False)
class Debiased(DebiasStudy, StudyResult):
    """A trained model, ready to be shown; its fields are those of `DebiasStudy`. Stands wherever a folder may."""

    PAGE, NUMBERS = "report.html", "report.json"
    __repr__ = StudyResult.__repr__

    def __fspath__(self) -> str:
        return str(self.folder)

    @property
    def path(self) -> Path:
        """The model's folder."""
        return self.folder

    def tables(self) -> dict[str, pl.DataFrame]:
        """`curves` (see `read_curves`), `watched` (what, before, after), and of a search `trials` (`trial_table`)."""
        before, after = self.lineage["watched"]["before"], self.lineage["watched"]["after"]
        rows = [(name, before[name], after[name]) for name in after]
        schema = {"watched": pl.String, "before": pl.Float64, "after": pl.Float64}
        found = {"curves": self.curves, "watched": pl.DataFrame(rows, schema, orient="row")}
        return found | ({"trials": trial_table(search)} if (search := self.lineage.get("search")) else {})

    def to_dict(self) -> dict[str, Any]:
        """Lineage and curves as plain data."""
        content: dict[str, Any] = as_json(
            {"format": FORMAT, "lineage": self.lineage, "curves": self.curves.to_dicts()}
        )
        return content

    def html(self) -> str:
        """The whole training: one document that needs no network."""
        return training_page(self.lineage, self.curves, self.folder)

    def print_to(self, console: Console, paths: Mapping[str, Path] | None = None) -> None:
        """Print what was watched before and after, and what to beware of."""
        render_training(self.lineage, self.folder, console, paths)


@checked_kinds
def debias(
    model: str | LanguageModel,
    *,
    method: str,
    output: Path | str,
    bias: str | None = None,
    specification: Path | str | None = None,
    data: Path | str | None = None,
    source: Path | str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Debiased:
    """Train a model against a bias, and write a folder that every verb takes as a model; prints nothing of its own.

    model: a causal Hugging Face model, or for methods of dialogues an encoder-decoder: a name as for the command
    line, or a LanguageModel, which is changed. method: a name from `evenhand list methods`, with its options. bias:
    a published bias type, or evenhand/AXIS for our own sentences. specification, data: a TOML file and texts of the
    user's own. source: the folder of RedditBias. output: the model's folder; one that a training was begun in is
    gone on with, provided all that decides the weights is the same. options: anything else of
    `evenhand.studies.debias.DebiasConfig` (epochs, learning_rate, lora_rank, ...); with
    search="grid" or "random" and over=["weight=0.1,1,10", ...] several settings are trained, and one is chosen.
    Returns the trained model's folder with lineage and curves, its page written. Raises UsageError for wrong options,
    Unsupported for models that cannot be trained, DataError where texts or terms do not suffice, ResumeRefused,
    Interrupted (resumable), Diverged where the loss is no number any more, and of a search NothingChosen where no trial
    is within the guard, its numbers written.
    Source: RedditBias, sections 4 and 5.1.

    >>> import tempfile
    >>> texts = Path(tempfile.mkdtemp()) / "mine.txt"
    >>> _ = texts.write_text("\\n".join(f"Deaf people are my {n} friends." for n in range(40)))
    >>> terms = texts.with_name("mine.toml")
    >>> _ = terms.write_text('''
    ... bias = "hearing"
    ... minoritised = "deaf"
    ... dominant = "hearing"
    ... [retrieval]
    ... targets = [["Deaf people are", "Hearing people are"]]
    ... attributes = [["friends", ""]]
    ... [filtering]
    ... window_targets = ["Deaf"]
    ... [counterparts]
    ... target_pairs = [["Deaf", "Hearing"]]
    ... ''')
    >>> made = debias("evenhand/reference", method="cda", specification=terms, data=texts, epochs=1, device="cpu",
    ...               output=texts.with_name("made"))
    >>> made.lineage["data"]["counterfactuals"], (made.path / "model.safetensors").is_file()
    (36, True)
    """
    given = {
        "model": name_of(model),
        "method": method,
        "bias": bias,
        "specification": None if specification is None else str(specification),
        "data": None if data is None else str(data),
        "source": None if source is None else str(source),
        **options,
    }
    config = validated(DebiasConfig, given)
    return debias_with(config, output=Path(output), model=loaded_or_none(model), progress=progress)


def debias_with(
    options: DebiasConfig,
    *,
    output: Path,
    model: LanguageModel | None = None,
    progress: Progress | None = None,
) -> Debiased:
    """Train as options say, and write the page; `model` replaces what options name if it is there already."""
    try:
        made = Debiased(**vars(debias_model(options, output, model=model, progress=progress)))
    except NothingChosen as nothing:
        nothing.shown = UnchosenSearch(output, options.model, options.method, nothing.search)
        nothing.shown.report()
        raise
    with resumable(f"The model is complete in {output}; the same command writes its page."):
        made.report()
    return made
