"""Flags about a model, shared by all commands that load one; each is a field of `ModelOptions`."""

from typing import Annotated

import typer

Dtype = Annotated[
    str | None, typer.Option(help="Precision: auto, float32, bfloat16 or float16. Default: auto.")
]
Device = Annotated[str | None, typer.Option(help="Device: auto, cpu, cuda, cuda:1 or mps. Default: auto.")]
ClassifierDevice = Annotated[
    str, typer.Option(help="Device for classifiers with weights: auto, cpu, cuda, cuda:1 or mps.")
]
Revision = Annotated[str | None, typer.Option(help="Branch, tag or commit of a Hugging Face model.")]
TrustRemoteCode = Annotated[
    bool | None,
    typer.Option(
        "--trust-remote-code",
        help="Run Python code from the model's repository. Use only with models that you trust.",
    ),
]
BatchTokens = Annotated[
    int | None,
    typer.Option(
        min=1, help="Tokens per batch. Affects speed and memory, not results. Default: chosen for the device."
    ),
]
Chat = Annotated[
    bool | None,
    typer.Option("--chat", help="Send each prompt as a user message in the model's chat template."),
]
System = Annotated[str | None, typer.Option(help="System message. Requires --chat.")]
AllowLonger = Annotated[
    str | None,
    typer.Option(
        "--allow-longer",
        help="For served models that ignore the token limit, as many products do: accept longer responses and "
        "shorten them (cut) or keep them (whole). Default: such a response counts as failed.",
    ),
]
On = Annotated[
    str | None,
    typer.Option(
        "--on",
        help="Run models and classifiers on a Ray cluster: ray (a temporary one on this machine), auto (the cluster "
        "that this machine belongs to) or ray://HOST:PORT. Results agree up to rounding. Default: this process.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of worker processes, each with its own copy of the model and classifiers. Requires --on. "
        "Default: one per accelerator of the cluster, or one per processor if it has none.",
    ),
]
TrustAddresses = Annotated[
    bool,
    typer.Option(
        "--trust-addresses",
        help="When resuming, trust server URLs and file paths stored in the run folder (your API keys are sent to "
        "those servers).",
    ),
]
