"""`evenhand push`: upload a finished result to a hub or an experiment tracker."""

from pathlib import Path

import typer

from evenhand.cli.common import say


def push(
    folder: Path = typer.Argument(..., help="Folder of a finished run or study."),
    place: str = typer.Argument(
        ...,
        help="Destination: hf://OWNER/NAME (a data set on the Hugging Face Hub, optionally followed by a folder), "
        "wandb://PROJECT, wandb://TEAM/PROJECT or trackio://PROJECT.",
    ),
    public: bool = typer.Option(
        False, "--public", help="Make the repository public if it is created. Default: private."
    ),
    answers: bool = typer.Option(
        False,
        "--answers",
        help="For the Hugging Face Hub: also upload prompts, responses and labels. Default: only pages and "
        "numbers.",
    ),
) -> None:
    """Upload a finished result to the Hugging Face Hub, Weights & Biases or Trackio.

    Pages, numbers and tables are uploaded. Prompts, responses and labels are uploaded only with --answers.
    Files outside the folder are never uploaded.

    \b
    Examples:
      evenhand push runs/gpt2 hf://OWNER/NAME
      evenhand push runs/gpt2 wandb://PROJECT
    """
    from evenhand.studies import push as pushed

    sent = pushed(folder, place, public=public, answers=answers)
    what = [
        f"{len(sent.files):,} files" if sent.files else "",
        f"{sent.scalars:,} numbers" if sent.scalars else "",
    ]
    say(f"Uploaded {' and '.join(filter(None, what))} to {sent.address or place}")
    if sent.kept:
        more = f" and {len(sent.kept) - 5:,} more" if len(sent.kept) > 5 else ""
        say(
            "Not uploaded, because they contain prompts or responses (use --answers to upload them): "
            f"{', '.join(sent.kept[:5])}{more}"
        )
