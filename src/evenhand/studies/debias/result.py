"""Public function for debiasing by training: `debias` trains, and `Debiased` is the result."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from evenhand.models import LanguageModel
from evenhand.runs import Progress
from evenhand.schema import as_json, checked_kinds
from evenhand.studies.debias.conduct import debias_model
from evenhand.studies.debias.options import DebiasConfig
from evenhand.studies.debias.page import search_page, training_page
from evenhand.studies.debias.shown import trial_table
from evenhand.studies.debias.study import DEBIAS
from evenhand.studies.debias.terminal import render_search, render_training
from evenhand.studies.debias.training import DebiasStudy
from evenhand.studies.debias.trials import NothingChosen
from evenhand.studies.result import StudyResult
from evenhand.study import Call, with_options

FORMAT = 1


@dataclass(frozen=True, repr=False)
class UnchosenSearch(StudyResult):
    """A search that ended without a model, with its trials.

    ``folder`` is its path. ``model`` and ``method`` are as the user named them. ``search`` has the trials as plain
    data.
    """

    PAGE, NUMBERS = "report.html", "report.json"
    __repr__ = StudyResult.__repr__

    folder: Path
    model: str
    method: str
    search: Mapping[str, Any]

    @property
    def path(self) -> Path:
        """Return the folder of the search."""
        return self.folder

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the table `trials` (see `trial_table`)."""
        return {"trials": trial_table(self.search)}

    def to_dict(self) -> dict[str, Any]:
        """Return the search as plain data."""
        return {"format": FORMAT, "search": as_json(self.search)}

    def html(self) -> str:
        """Return the search as one HTML document that needs no network."""
        return search_page(self.search, self.model, self.method)

    def print_to(self, console: Console, paths: Mapping[str, Path] | None = None) -> None:
        """Print the trials and cautions."""
        render_search(self.search, console, paths)


@dataclass(frozen=True, repr=False)
class Debiased(DebiasStudy, StudyResult):
    """A model that was trained to reduce a bias, with the record of its training; the result of `debias`.

    You can pass it to every function that expects a model or its folder.

    Attributes
    ----------
    folder : Path
        Folder of the model.
    lineage : mapping
        What the model was made from (model, method, texts) and the values monitored during training, as in
        lineage.json.
    curves : polars.DataFrame
        Training curves, with the columns step, epoch, split, name and value.
    """

    PAGE, NUMBERS = "report.html", "report.json"
    __repr__ = StudyResult.__repr__

    def __fspath__(self) -> str:
        return str(self.folder)

    @property
    def path(self) -> Path:
        """Return the folder of the model."""
        return self.folder

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the tables `curves`, `watched` and, for a search, `trials`.

        `watched` has one row per monitored value, such as the bias on validation texts, ``before`` and
        ``after`` training.
        """
        before, after = self.lineage["watched"]["before"], self.lineage["watched"]["after"]
        rows = [(name, before[name], after[name]) for name in after]
        schema = {"watched": pl.String, "before": pl.Float64, "after": pl.Float64}
        found = {"curves": self.curves, "watched": pl.DataFrame(rows, schema, orient="row")}
        return found | ({"trials": trial_table(search)} if (search := self.lineage.get("search")) else {})

    def to_dict(self) -> dict[str, Any]:
        """Return lineage and curves as plain data."""
        content: dict[str, Any] = as_json(
            {"format": FORMAT, "lineage": self.lineage, "curves": self.curves.to_dicts()}
        )
        return content

    def html(self) -> str:
        """Return the report of the training as one HTML document that needs no network."""
        return training_page(self.lineage, self.curves, self.folder)

    def print_to(self, console: Console, paths: Mapping[str, Path] | None = None) -> None:
        """Print the monitored values before and after training, and warnings."""
        render_training(self.lineage, self.folder, console, paths)


@with_options(DebiasConfig)
@checked_kinds
def debias(
    model: str | LanguageModel,
    *,
    method: str,
    output: Path | str,
    progress: Progress | None = None,
    **options: Any,
) -> Debiased:
    """Train a model to reduce a bias, and write the trained model to a folder.

    Use it if a prompt or another rule for decoding is not enough and you can change the weights. Every
    command accepts the folder as a model. Nothing is printed.

    Parameters
    ----------
    model : str or LanguageModel
        A causal Hugging Face model, or an encoder-decoder for methods that train on dialogues. A
        LanguageModel object is changed by the training.
    method : str
        A name from `evenhand list methods`, with its options.
    output : path or str
        Folder of the trained model. An interrupted training there is resumed if everything that determines
        the weights is the same.
    progress : Progress, optional
        Receives progress messages.
    {options}

    Returns
    -------
    Debiased
        The trained model, with its page written.

    Raises
    ------
    UsageError
        An option is invalid, or options contradict each other.
    Unsupported
        The model cannot be trained.
    DataError
        There are too few texts or terms.
    ResumeRefused
        The folder contains a training with other settings.
    Interrupted
        The training was interrupted and can be resumed.
    Diverged
        The loss or its gradient is no longer a finite number.
    NothingChosen
        In a search, every trial raised the perplexity of neutral texts to more than `guard` times (1.05) that
        of the original model. The numbers are written.

    References
    ----------
    Barikeri et al. (2021), "RedditBias: A Real-World Resource for Bias Evaluation and Debiasing of
    Conversational Language Models", ACL, sections 4 and 5.1.

    Examples
    --------
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
    return DEBIAS.run({"model": model, "method": method, **options}, output, progress)


def perform_debiasing(options: DebiasConfig, call: Call) -> Debiased:
    """Train with options, or resume a training."""
    output = Path(call.output or "")
    try:
        return Debiased(**vars(debias_model(options, output, progress=call.progress, **call.loaded)))
    except NothingChosen as nothing:
        nothing.shown = UnchosenSearch(output, options.model, options.method, nothing.search)
        nothing.shown.report()
        raise
