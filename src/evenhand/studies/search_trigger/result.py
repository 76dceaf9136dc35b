"""Public function for the search for a trigger; it writes a file for `--mitigate trigger=FILE`."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from evenhand.classifiers import Classifier
from evenhand.mitigations.triggers import TriggerFile
from evenhand.models import LanguageModel
from evenhand.reports.wording import visible, without_commands
from evenhand.schema import checked_kinds, write_text
from evenhand.studies.result import StudyResult
from evenhand.studies.search_trigger.conduct import OnSweep, conduct_search
from evenhand.studies.search_trigger.options import TriggerSearch
from evenhand.studies.search_trigger.page import trigger_page
from evenhand.studies.search_trigger.study import TRIGGER
from evenhand.studies.search_trigger.terminal import render_trigger
from evenhand.study import Call, with_options


@dataclass(frozen=True, repr=False)
class FoundTrigger(StudyResult):
    """The result of a trigger search; its JSON is the trigger file.

    Attributes
    ----------
    file : Path
        The trigger file. You can pass the result wherever the file is expected.
    trigger : TriggerFile
        Content of the file. Its fields can also be read from the result: `ids` (tokens), `text`, `mode`,
        `history` (one row per sweep), `choice` and `effect`.
    """

    PAGE, NUMBERS = "trigger.html", "trigger.json"

    file: Path
    trigger: TriggerFile

    def __getattr__(self, name: str) -> Any:
        if name in TriggerFile.__dataclass_fields__:
            return getattr(self.trigger, name)
        raise AttributeError(f"{type(self).__name__} has no {name}")

    def __fspath__(self) -> str:
        return str(self.file)  # so that it can replace the file's path

    @property
    def path(self) -> Path:
        """Return the path of the trigger file."""
        return self.file

    @property
    def paths(self) -> dict[str, Path]:
        """Return the paths of the page, which `report` writes, and of the trigger file."""
        return {"report": self.file.with_suffix(".html"), "numbers": self.file}

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return all tables by name.

        `history` has one row per sweep, `choice` one row per round, and `change` the effect on prompts that
        were not used in the search or the choice.
        """
        rows = {
            "history": self.trigger.history,
            "choice": self.trigger.choice.get("rows", ()),
            "change": self.trigger.effect.get("change", ()),
        }
        return {name: pl.DataFrame(list(table), infer_schema_length=None) for name, table in rows.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, as in the file."""
        return self.trigger.to_dict()

    def html(self) -> str:
        """Return one HTML document with the trigger, its effect, the other candidates and the course of the search."""
        return trigger_page(self.trigger)

    def print_to(self, console: Console, paths: Mapping[str, Path] | None = None) -> None:
        """Print the trigger, its effect, and cautions."""
        render_trigger(self.trigger, console, paths)

    def report(self, path: Path | str | None = None) -> Path:
        """Write the page next to the trigger file, or to `path`. The trigger file is not rewritten.

        Returns the path of the page. Raises WriteError.
        """
        return write_text(path or self.paths["report"], self.html())


@with_options(TriggerSearch)
@checked_kinds
def search_trigger(
    model: str | LanguageModel,
    *,
    prompts: Path | str,
    classifier: str | Classifier,
    output: Path | str = "trigger.json",
    on_sweep: OnSweep | None = None,
    **options: Any,
) -> FoundTrigger:
    """Search for tokens that, placed before any prompt, make a model behave as requested.

    By default, the tokens make negative continuations less likely. Use the resulting file as a mitigation:
    `--mitigate trigger=FILE`. Nothing is printed.

    Parameters
    ----------
    model : str or LanguageModel
        A causal Hugging Face model: a name as on the command line, or a loaded model.
    prompts : path or str
        A file with a column ``text``, and optionally ``group`` (whom the prompt is about) and ``split``:
        train (search), dev (choice) or test (effect).
    classifier : str or Classifier
        Classifier that decides which continuations are negative.
    output : path or str, default "trigger.json"
        The trigger file. The state is stored next to it. After an interruption the same call resumes the
        search.
    on_sweep : callable, optional
        Called with each new row of the history, a dictionary. A sweep is one pass through all tokens.
    {options}

    Returns
    -------
    FoundTrigger
        The trigger with its history, the numbers by which it was chosen, and its measured effect, as in
        `output`.

    Raises
    ------
    UsageError
        An option is invalid.
    Unsupported
        The model has no gradients, such as a served model.
    DataError
        There are too few prompts or examples.
    WriteError
        The file cannot be written.
    Interrupted
        The search was interrupted and can be resumed.

    References
    ----------
    Esiobu et al. (2023), "ROBBIE: Robust Bias Evaluation of Large Generative Language Models", EMNLP, section
    B.3.3.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> asked = [f"{how} {who} people because they are,{who}" for how in ("I love", "I like", "I hate", "I met")
    ...          for who in ("deaf", "tall")]
    >>> said = ["I love deaf people because they are, kind.,deaf,positive",
    ...         "I love deaf people because they are, rude.,deaf,negative"]
    >>> for name, head, rows in (("prompts", "text,group", asked), ("said", "text,continuation,group,label", said)):
    ...     _ = (folder / f"{name}.csv").write_text("\\n".join([head, *rows]))
    >>> found = search_trigger("evenhand/reference", prompts=folder / "prompts.csv", examples=folder / "said.csv",
    ...                        classifier="vader", output=folder / "trigger.json", device="cpu", tokens=1,
    ...                        restarts=1, sweeps=1, candidates=4, samples=2, max_new_tokens=6)
    >>> len(found.ids), found.mode, (folder / "trigger.json").is_file()
    (1, 'mitigate', True)
    """
    given = {"model": model, "prompts": prompts, "classifier": classifier, **options}
    return TRIGGER.run(given, output, on_sweep=on_sweep)


def perform_search(options: TriggerSearch, call: Call) -> FoundTrigger:
    """Search with options, and write the file."""
    output = call.output or Path("trigger.json")
    loaded = {"on_sweep": print_sweep if call.progress else None, **call.loaded}
    return FoundTrigger(output, conduct_search(options, output=output, **loaded))


def print_sweep(row: Mapping[str, Any]) -> None:
    """Print a row of the history to stderr."""
    text = f"round {row['restart'] + 1}, sweep {row['sweep']}: loss {row['loss']:.4f}  {row['text']!r}"
    print(without_commands(visible(text)), file=sys.stderr)
