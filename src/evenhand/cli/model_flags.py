"""The flags about a model, once for all verbs that load one; each is a field of `ModelOptions`."""

from typing import Annotated

import typer

Dtype = Annotated[str | None, typer.Option(help="auto, float32, bfloat16 or float16. Default: auto.")]
Device = Annotated[str | None, typer.Option(help="auto, cpu, cuda, cuda:1, mps. Default: auto.")]
Revision = Annotated[str | None, typer.Option(help="Branch, tag or commit of a hub model.")]
TrustRemoteCode = Annotated[
    bool | None, typer.Option("--trust-remote-code", help="Run Python code that comes with the model.")
]
BatchTokens = Annotated[
    int | None,
    typer.Option(min=1, help="Tokens a batch; changes no number. Default: chosen by device."),
]
Chat = Annotated[
    bool | None,
    typer.Option(
        "--chat", help="Put prompts as a user's message into the chat template; the assistant writes."
    ),
]
System = Annotated[str | None, typer.Option(help="With --chat: the system message.")]
AllowLonger = Annotated[
    str | None,
    typer.Option(
        "--allow-longer",
        help="Accept responses of a served model beyond the limit on tokens, which many products ignore: cut (shorten "
        "them to it) or whole (keep them). Default: each is a row without a number.",
    ),
]
On = Annotated[
    str | None,
    typer.Option(
        "--on",
        help="A Ray cluster whose workers load and ask: ray (one of this machine's own, for the time), auto (the one "
        "it belongs to) or ray://HOST:PORT. Changes no number beyond rounding. Default: this process.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="With --on: workers, each with a copy of the model. Default: one for each accelerator of the cluster, or "
        "for each processor where there is none.",
    ),
]
TrustAddresses = Annotated[
    bool,
    typer.Option(
        "--trust-addresses",
        help="On going on, use what only the folder names: servers, with your keys, and files outside it.",
    ),
]
