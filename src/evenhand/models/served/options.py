"""Options of a served model, and their spelling as part of the model's name."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from evenhand.models.served.lengths import check_allow_longer
from evenhand.schema import (
    Number,
    TextOrNone,
    UsageError,
    convert_options,
    list_options,
    split_options,
)
from evenhand.services import address_parts

KEY = "EVENHAND_API_KEY"
OPENAI_KEY = "OPENAI_API_KEY"


@dataclass(frozen=True, kw_only=True)
class HttpOptions:
    """Options of a served model: conventions, which affect results and are in the fingerprint, and limits."""

    chat: bool = False
    """Send prompts as a user's message (/chat/completions) instead of as the beginning of a text."""
    system: TextOrNone = None
    """System message before the user's message; only with `chat`."""
    extended: bool = False
    """The server is vLLM, llama.cpp or SGLang and accepts more fields than OpenAI's. evenhand then sends top_k and
    min_tokens, and turns off filters that such servers may apply by default (min_p, repetition penalties)."""
    seeded: bool = True
    """Send a seed with each sample. Turn it off for servers that reject it; the texts are then not reproducible."""
    logprobs: bool = False
    """Request the log probabilities of generated tokens. Without them, continuations have no likelihood."""
    start: str = ""
    """Text before every scored text, such as "<|endoftext|>", so that the first token of a text can be scored. By
    default, that token is scored only if the server adds a start token itself.
    """
    limit: str = "max_tokens"
    """Name of the field for the maximum number of tokens; "max_completion_tokens" for OpenAI's newer chat models."""
    allow_longer: str = ""
    """What to do with responses longer than the limit, from servers that ignore it: "cut" shortens them to the limit,
    "whole" keeps them, and "" turns each into an error row."""
    concurrency: int = 8
    """Number of parallel requests."""
    attempts: int = 6
    timeout: Number = 120.0
    """Maximum seconds per attempt."""
    pause: Number = 1.0
    """Seconds before the second attempt; doubled for each further one."""
    longest_pause: Number = 60.0
    per_minute: Number | None = None
    """Maximum number of attempts per minute, for all requests together."""
    store: TextOrNone = ""
    """File in which responses are kept permanently: "" is the user's cache ($EVENHAND_CACHE), None keeps none."""
    key: str = ""
    """Environment variable that holds the key. By default EVENHAND_API_KEY. For api.openai.com also
    OPENAI_API_KEY, which is sent to no other server unless you name it here."""

    def __post_init__(self) -> None:
        if self.system is not None and not self.chat:
            raise UsageError(
                "The option system (a system message) of a served model requires chat mode.",
                "Add chat=1 after the model name (http://host:port/v1#NAME?chat=1&system=...), or remove system.",
            )
        if self.start and self.chat:
            raise UsageError(
                "The options start and chat=1 cannot be combined: start is used for likelihoods, which a served "
                "model does not compute in chat mode.",
                "Remove one of them from the URL of the model.",
            )
        check_allow_longer(self.allow_longer)

    def conventions(self) -> dict[str, Any]:
        """Return the options that affect results, for the fingerprint."""
        return {
            "mode": "chat" if self.chat else "completions",
            "prompt_format": {"role": "user", "system": self.system} if self.chat else "raw",
            "extended": self.extended,
            "seeded": self.seeded,
            "logprobs": self.logprobs,
            "start": self.start,
            "limit": self.limit,
            **({"allow_longer": self.allow_longer} if self.allow_longer else {}),
        }


def is_address(name: str) -> bool:
    """Return True if a model's name is the URL of a server.

    >>> is_address("http://localhost:8000/v1#gpt2"), is_address("openai/gpt2")
    (True, False)
    """
    return name.startswith(("http://", "https://"))


def with_option(name: str, option: str, value: str) -> str:
    """Return the URL of a served model with one more option.

    >>> with_option("http://h/v1", "chat", "1"), with_option("http://h/v1#m?chat=1", "allow_longer", "cut")
    ('http://h/v1#?chat=1', 'http://h/v1#m?chat=1&allow_longer=cut')
    """
    base, _, rest = name.partition("#")
    return f"{base}#{rest}{'&' if '?' in rest else '?'}{option}={value}"


def split_address(name: str) -> tuple[str, str, HttpOptions]:
    """Return base URL, model and options of a name such as `http://localhost:8000/v1#gpt2?chat=1&concurrency=64`.

    The model may be omitted if the server has only one. Raises a UsageError for options that do not exist or have an
    invalid value.

    >>> base, model, options = split_address("http://localhost:8000/v1#org/m?chat=1&concurrency=64")
    >>> base, model, options.chat, options.concurrency
    ('http://localhost:8000/v1', 'org/m', True, 64)
    """
    base, _, rest = name.partition("#")
    model, _, query = rest.partition("?")
    # the rest is a URL query, in which "+" means a space
    _, options = split_options(f"?{query}", plus=True)
    values = convert_options("a served model", options, list_options(HttpOptions))
    return base.rstrip("/"), unquote(model), HttpOptions(**values)


def api_key(
    base_url: str, options: HttpOptions, environment: Mapping[str, str] = os.environ
) -> tuple[str, str]:
    """Return the key for a server, and the environment variable from which it is read. The key is "" if there is none.

    Raises a UsageError if the options name a variable that is not set.
    """
    if options.key:
        if not environment.get(options.key):
            raise UsageError(
                f"The environment variable {options.key}, which the option key of the served model names, is not set.",
                f"Set it to the API key: export {options.key}=...",
            )
        return environment[options.key], options.key
    host = address_parts(base_url).hostname or ""
    openai = host == "openai.com" or host.endswith(".openai.com")
    for variable in (KEY, OPENAI_KEY) if openai else (KEY,):
        if environment.get(variable):
            return environment[variable], variable
    return "", OPENAI_KEY if openai else KEY
