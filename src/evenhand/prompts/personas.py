"""Persona lines before each prompt: who a dialogue model is told it is, as dialogue models are trained with them."""

from dataclasses import replace
from pathlib import Path

import polars as pl

from evenhand.prompts.prompt_set import PromptSet
from evenhand.prompts.sampling import uniforms
from evenhand.schema import DataError, is_file

LINES = 2
TOLD = "your persona: "
FORMAT = (
    f"Expected UTF-8 text: {LINES} lines for each persona as the model shall read them (such as 'your persona: i "
    "like tea.'), and an empty line between personas."
)


def read_personas(file: Path | str) -> tuple[str, ...]:
    """The personas of a text file, each of two lines that belong together, joined by a line feed.

    file: UTF-8; personas are set apart by empty lines. Raises DataError for a file that cannot be read, holds none, or
    holds one of another number of lines.
    Source: Smith et al. 2022, appendix A.4 (there from BlendedSkillTalk and ConvAI2).
    """
    path = Path(file).expanduser()
    if path.exists() and not is_file(path):
        raise DataError(f"{path} is not a file that contains personas.", FORMAT)
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise DataError(
            f"The file of personas {path} cannot be read: {error.strerror or error}.", FORMAT
        ) from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"The file of personas {path} is not UTF-8 text: {error.reason} at byte {error.start}.", FORMAT
        ) from error
    personas: list[list[str]] = [[]]
    for number, line in enumerate([*lines, ""], start=1):
        if line.strip():
            personas[-1].append(line.strip())
        elif personas[-1]:
            if len(personas[-1]) != LINES:
                raise DataError(
                    f"{path}, the persona that ends before line {number} has {len(personas[-1])} lines.",
                    FORMAT,
                )
            personas.append([])
    if not personas[0]:
        raise DataError(f"{path} contains no persona.", FORMAT)
    return tuple("\n".join(persona) for persona in personas[:-1])


def behind_personas(prompts: PromptSet, personas: tuple[str, ...], seed: int, *, written: bool) -> PromptSet:
    """Each prompt behind a persona drawn for it, with a line feed between.

    prompts: without contexts of their own. personas: as `read_personas` gives them. seed: any integer; the draw depends
    on it and the prompt_id only. written: whether the prompts are continued; the persona then begins the text. Else it
    is the context, which is read and not scored. Returns the prompts with a column `persona`. Raises DataError where
    some have a context.

    >>> from evenhand.schema import Card
    >>> one = PromptSet(pl.DataFrame({"prompt_id": ["a"], "text": ["Hi."]}), Card("x", "y"))
    >>> behind_personas(one, ("i am kind.\\ni cook.",), 0, written=True).frame["text"].to_list()
    ['i am kind.\\ni cook.\\nHi.']
    """
    frame = prompts.frame
    if "context" in frame.columns and frame["context"].null_count() < frame.height:
        raise DataError(
            f"The prompts of {prompts.card.name} have contexts of their own, and personas cannot stand in front too.",
            "Remove the personas, or write them into the column context.",
        )
    place = (uniforms(frame["prompt_id"], seed, "persona") * len(personas)).astype("int64")
    frame = frame.with_columns(persona=pl.Series(personas)[place])
    before = pl.concat_str("persona", pl.lit("\n"))
    frame = (
        frame.with_columns(text=pl.concat_str(before, "text"))
        if written
        else frame.with_columns(context=before)
    )
    told = f"{LINES} persona lines stand before each prompt, drawn from {len(personas):,} personas."
    details = f"{prompts.card.details}\n\n{told}" if prompts.card.details else told
    return PromptSet(frame, replace(prompts.card, details=details))


def between_personas(prompts: PromptSet, personas: tuple[str, ...], seed: int) -> PromptSet:
    """Openers of conversations with a persona for each speaker: `persona_a` and `persona_b`, lists of sentences.

    prompts: openers; personas they have are replaced. personas: as `read_personas` gives them, two at least, so that
    the speakers differ; "your persona: " in front of a line is the way of some models to be told and left out. seed:
    any integer; the draw depends on it and the prompt_id only. Raises DataError for a single persona.
    Source: Smith & Williams 2021, section 2.1.

    >>> from evenhand.schema import Card
    >>> one = PromptSet(pl.DataFrame({"prompt_id": ["a"], "text": ["Hi."]}), Card("x", "y"))
    >>> told = between_personas(one, ("your persona: i am kind.\\ni cook.", "i fly.\\ni sing."), 0).frame
    >>> sorted(told.row(0)[2:])
    [['i am kind.', 'i cook.'], ['i fly.', 'i sing.']]
    """
    n = len(personas)
    if n < 2:
        raise DataError("Two speakers are to differ, and there is one persona.", FORMAT)
    frame = prompts.frame
    first = (uniforms(frame["prompt_id"], seed, "persona a") * n).astype("int64")
    second = (first + 1 + (uniforms(frame["prompt_id"], seed, "persona b") * (n - 1)).astype("int64")) % n
    lines = pl.Series([[line.removeprefix(TOLD) for line in one.split("\n")] for one in personas])
    told = f"Each speaker is told one of {n:,} personas of {LINES} lines, another than the other's."
    details = f"{prompts.card.details}\n\n{told}" if prompts.card.details else told
    return PromptSet(
        frame.with_columns(persona_a=lines[first], persona_b=lines[second]),
        replace(prompts.card, details=details),
    )
