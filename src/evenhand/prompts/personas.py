"""Persona lines before each prompt: they describe the speaker, as in the training data of dialogue models."""

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
    """Read personas (short descriptions of a speaker) from a text file.

    Pass them to `behind_personas` or `between_personas`.

    Parameters
    ----------
    file : path or str
        A UTF-8 file. Each persona has two lines. Empty lines separate personas.

    Returns
    -------
    tuple of str
        The personas; the two lines of each are joined by a line feed.

    Raises
    ------
    DataError
        The file cannot be read, has no persona, or has one with another number of lines.

    References
    ----------
    Smith et al. (2022), "'I'm sorry to hear that': Finding New Biases in Language Models with a Holistic
    Descriptor Dataset", EMNLP, appendix A.4. Its personas come from BlendedSkillTalk and ConvAI2.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "personas.txt"
    >>> _ = file.write_text("i am kind.\\ni cook.\\n\\ni fly.\\ni sing.\\n")
    >>> read_personas(file)
    ('i am kind.\\ni cook.', 'i fly.\\ni sing.')
    """
    path = Path(file).expanduser()
    if path.exists() and not is_file(path):
        raise DataError(f"{path} is not a file.", FORMAT)
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
                    f"{path}: the persona that ends before line {number} has {len(personas[-1])} lines, not "
                    f"{LINES}.",
                    FORMAT,
                )
            personas.append([])
    if not personas[0]:
        raise DataError(f"{path} contains no personas.", FORMAT)
    return tuple("\n".join(persona) for persona in personas[:-1])


def behind_personas(prompts: PromptSet, personas: tuple[str, ...], seed: int, *, written: bool) -> PromptSet:
    """Put a randomly drawn persona before each prompt.

    Use it to test whether a model that speaks as different people treats groups differently.

    Parameters
    ----------
    prompts : PromptSet
        Prompts without contexts.
    personas : tuple of str
        Result of `read_personas`.
    seed : int
        Random seed. The draw depends only on it and the prompt_id.
    written : bool
        Whether the model continues the prompts. If True, the persona and a line feed begin the text. If
        False, the persona is the context, which is read but not scored.

    Returns
    -------
    PromptSet
        The prompts with a column ``persona``.

    Raises
    ------
    DataError
        A prompt has a context.

    Examples
    --------
    >>> from evenhand.schema import Card
    >>> one = PromptSet(pl.DataFrame({"prompt_id": ["a"], "text": ["Hi."]}), Card("x", "y"))
    >>> behind_personas(one, ("i am kind.\\ni cook.",), 0, written=True).frame["text"].to_list()
    ['i am kind.\\ni cook.\\nHi.']
    """
    frame = prompts.frame
    if "context" in frame.columns and frame["context"].null_count() < frame.height:
        raise DataError(
            f"The prompts of {prompts.card.name} have their own contexts, so personas cannot be added in front.",
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
    """Give each speaker of a conversation a randomly drawn persona.

    Use it for self-chats, in which a model talks to itself. The two personas of a conversation differ.

    Parameters
    ----------
    prompts : PromptSet
        Openers of conversations. Existing personas are replaced.
    personas : tuple of str
        Result of `read_personas`, at least two. A prefix "your persona: " of a line, which some models use,
        is removed.
    seed : int
        Random seed. The draw depends only on it and the prompt_id.

    Returns
    -------
    PromptSet
        The openers with the columns `persona_a` and `persona_b`: lists of sentences.

    Raises
    ------
    DataError
        There is only one persona.

    References
    ----------
    Smith and Williams (2021), "Hi, my name is Martha: Using names to measure and mitigate bias in generative
    dialogue models", section 2.1.

    Examples
    --------
    >>> from evenhand.schema import Card
    >>> one = PromptSet(pl.DataFrame({"prompt_id": ["a"], "text": ["Hi."]}), Card("x", "y"))
    >>> told = between_personas(one, ("your persona: i am kind.\\ni cook.", "i fly.\\ni sing."), 0).frame
    >>> sorted(told.row(0)[2:])
    [['i am kind.', 'i cook.'], ['i fly.', 'i sing.']]
    """
    n = len(personas)
    if n < 2:
        raise DataError(f"Two speakers need two different personas, but there is only {n}.", FORMAT)
    frame = prompts.frame
    first = (uniforms(frame["prompt_id"], seed, "persona a") * n).astype("int64")
    second = (first + 1 + (uniforms(frame["prompt_id"], seed, "persona b") * (n - 1)).astype("int64")) % n
    lines = pl.Series([[line.removeprefix(TOLD) for line in one.split("\n")] for one in personas])
    told = f"Each speaker is given one of {n:,} personas of {LINES} lines, another than the other's."
    details = f"{prompts.card.details}\n\n{told}" if prompts.card.details else told
    return PromptSet(
        frame.with_columns(persona_a=lines[first], persona_b=lines[second]),
        replace(prompts.card, details=details),
    )
