"""`evenhand push`: a finished result, taken to where a team keeps such things."""

from pathlib import Path

import typer

from evenhand.cli.common import say


def push(
    folder: Path = typer.Argument(..., help="Folder of a finished run or study."),
    place: str = typer.Argument(
        ...,
        help="hf://OWNER/NAME, or with a folder behind it (a data set of the hub), wandb://PROJECT, "
        "wandb://TEAM/PROJECT or trackio://PROJECT.",
    ),
    public: bool = typer.Option(
        False, "--public", help="A repository that is made anew may be seen by everybody. Default: private."
    ),
    answers: bool = typer.Option(
        False,
        "--answers",
        help="To the hub: prompts, answers and labels as well, not only pages and numbers.",
    ),
) -> None:
    """Take a finished result to the Hugging Face hub, Weights & Biases or Trackio.

    Pages, numbers and tables go there; prompts, answers and labels stay at home unless --answers is given. Nothing
    outside the folder is sent.
    """
    from evenhand.studies import push as pushed

    sent = pushed(folder, place, public=public, answers=answers)
    what = [
        f"{len(sent.files):,} files" if sent.files else "",
        f"{sent.scalars:,} numbers" if sent.scalars else "",
    ]
    say(f"{' and '.join(filter(None, what))} went to {sent.address or place}")
    if sent.kept:
        more = f" and {len(sent.kept) - 5:,} more" if len(sent.kept) > 5 else ""
        say(f"At home, because they hold prompts or answers (--answers): {', '.join(sent.kept[:5])}{more}")
