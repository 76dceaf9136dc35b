"""Models on an OpenAI-compatible server: vLLM, llama.cpp, SGLang, Ollama, hosted services.

The name contains all options: `http://localhost:8000/v1#model`. Options follow a question mark; they are the fields of
`HttpOptions`. Example:

    evenhand audit 'http://localhost:8000/v1#meta-llama/Llama-3.2-1B?extended=1' --benchmark regard

The API key is read from EVENHAND_API_KEY (for api.openai.com also from OPENAI_API_KEY; `key=NAME` names another
variable).
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.models.contract import Architecture, Generations, Likelihoods, Texts
from evenhand.models.decoding import Decoding
from evenhand.models.served.options import HttpOptions, api_key, split_address
from evenhand.models.served.requests import ServedModel
from evenhand.models.served.scoring import READABLE, ScoredText, check_echo, echo_body, read_scored
from evenhand.models.served.writing import (
    Messages,
    ServedText,
    decoding_body,
    is_written,
    read_written,
    sample_body,
    token_number,
)
from evenhand.schema import (
    AnsweredBefore,
    EvenhandError,
    ModelError,
    ResponseError,
    ServiceUnavailable,
    Unsupported,
    UsageError,
    without_surrogates,
)
from evenhand.services import (
    WHEN_BACK,
    Answer,
    AnswerStore,
    ServiceClient,
    answer_key,
    answer_store_path,
    first_choice,
)

UNKNOWN_TOKEN = -1  # placeholder for a token that the server counted but did not list
GREETING_TOKENS = 16  # reasoning models refuse smaller limits
GREETINGS = 3  # maximum number of further attempts if a response cannot be read


class HttpModel:
    """A model on a server.

    It generates continuations, with one request per sample. It also scores texts if the server echoes correct log
    probabilities (`check_echo`). Valid responses are stored (`HttpOptions.store`), so that no request is paid for
    twice.

    base_url: without /completions. model: its name on the server; "" if the server has only one. options: conventions
    and limits. Raises UsageError for an invalid URL or option.
    """

    architecture: Architecture = "causal"

    def __init__(self, base_url: str, model: str = "", options: HttpOptions | None = None):
        self.options = options = options or HttpOptions()
        key, variable = api_key(base_url, options)
        self.client = ServiceClient(
            base_url,
            headers={"Authorization": f"Bearer {key}"} if key else {},
            concurrency=options.concurrency,
            attempts=options.attempts,
            pause=options.pause,
            longest_pause=options.longest_pause,
            timeout=options.timeout,
            per_minute=options.per_minute,
            key_variable=variable,
        )
        store = None if options.store is None else AnswerStore(options.store or answer_store_path("models"))
        self.served = ServedModel(self.client, model, store)
        self.path = "/chat/completions" if options.chat else "/completions"

    @property
    def served_model(self) -> str:
        """Return the name of the model according to the server, which may differ from the requested name.

        Raises ModelError, with the models that the server has, if it does not respond to a test message as a model
        does, and ServiceUnavailable if it does not respond.
        """
        name = self._greeting.get("model")
        return without_surrogates(name) if isinstance(name, str) and name else self.served.model

    @cached_property
    def _greeting(self) -> dict[str, Any]:
        """Return the server's response to a test message, sent once per process and never stored."""
        if not self.served.model:
            self.served.model = self._only_name()
        greeting = Decoding(max_new_tokens=GREETING_TOKENS)
        fields = {self.options.limit: GREETING_TOKENS}
        try:
            answer = self._send_greeting(sample_body("Hello", 0, greeting, fields, self.options), greeting)
        except ModelError as error:
            names = self.served.names()
            known = f" Available models: {', '.join(names[:20])}." if names else ""
            raise ModelError(error.message + known, error.hint) from error
        return answer.body or {}

    def _send_greeting(self, body: dict[str, Any], greeting: Decoding) -> Answer:
        """Return a readable response to the test message. Unreadable responses say nothing
        about the model, so it is sent again.
        """
        address = self.client.base_url
        for _ in range(GREETINGS):
            answer = self.served.ask(self.path, body)
            if answer.refusal is not None:
                raise ModelError(
                    f"{address} refused a test request: {answer.detail}.",
                    "Change the options after the model name (for example http://host:port/v1#model?chat=1).",
                )
            if answer.error is not None and (answer.status is None or answer.status >= 300):
                raise ServiceUnavailable(
                    f"{address} did not answer a test request: {answer.detail}.", WHEN_BACK
                )
            written = read_written(answer, greeting, self.options.allow_longer)
            if written.error in (None, ResponseError.REFUSED):
                return answer
        told = f"{address} did not give a valid response to {GREETINGS} test requests: {written.detail}."
        if answer.body is None:
            hint = (
                "Check that the URL ends as the server's does (usually in /v1). A proxy or a login page may "
                "answer instead of the server. Responses received so far are saved."
            )
        else:
            hint = (
                f"Check its response to POST {address}{self.path}: one choice with a text is expected. Responses "
                "received so far are saved. When the server is fixed, run the same command again."
            )
        raise ModelError(told, hint)

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Return URL, requested name, the server's name of the model, and the conventions of requests.

        The server's `system_fingerprint` may change between two requests and is therefore in `describe`.
        """
        served = self.served_model
        return self._fingerprint_fields(served_model=served)

    def describe(self) -> dict[str, Any]:
        """Return facts for the manifest and the report: calls, retries, tokens, latency, and the location of stored
        responses.

        It sends no request. The server's name of the model is included only if it is already known.
        """
        checked = "echo_written" in self.__dict__
        return {
            **(self.fingerprint if "_greeting" in self.__dict__ else self._fingerprint_fields()),
            "device": "server",
            "scoring": "echoed log probabilities, checked" if checked else "not asked for",
            "service": self.served.describe(),
        }

    def generate(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        """Continue each prompt `decoding.samples` times (see TextGenerator.generate).

        Each sample is a request with a separate seed, which some servers ignore. Without the option `logprobs`,
        log-likelihoods are NaN, and token ids are `UNKNOWN_TOKEN`, repeated as often as the server counts tokens.
        Raises Unsupported for decoding options that the server does not support, and ModelError if it refuses such
        requests.
        """
        return self.generate_keyed(prompts, prompts, decoding)

    def generate_keyed(self, prompts: Sequence[str], keys: Sequence[str], decoding: Decoding) -> Generations:
        """Do the same as `generate`, with seeds that depend on keys instead of the prompts (see KeyedGenerator)."""
        if len(keys) != len(prompts):
            raise UsageError(
                f"keys must contain one key for each prompt, got {len(keys)} keys for {len(prompts)} prompts.",
                "Give one text per prompt: its random numbers depend on it.",
            )
        return self._request_texts(prompts, [None] * len(prompts), keys, decoding)

    def generate_messages(
        self, prompts: Sequence[Messages], keys: Sequence[str], decoding: Decoding
    ) -> Generations:
        """Continue chats of several messages, otherwise as `generate`.

        prompts: messages with their roles; no system message is added. keys: for each prompt, the text on which its
        seeds depend. Raises Unsupported without the option `chat`.
        """
        if not self.options.chat:
            raise Unsupported(
                f"{self.served.model} is used in completions mode, which accepts a single text only.",
                "Use chat mode: add chat=1 after the model name (http://host:port/v1#model?chat=1).",
            )
        return self._request_texts(keys, prompts, keys, decoding)

    def refuses_messages(self, messages: Messages) -> str | None:
        """Return why the server refuses such a chat, or None. The request is sent once and never stored.

        Raises ModelError or ServiceUnavailable for a server that does not respond to a test message either.
        """
        name, greeting = self.served_model, Decoding(max_new_tokens=GREETING_TOKENS)
        fields = {self.options.limit: GREETING_TOKENS}
        body = sample_body("Hello", 0, greeting, fields, self.options, messages)
        answer = self.served.ask(self.path, body)
        if answer.error is None:
            return None
        # some servers respond with status 500 if the template refuses a chat
        if answer.refusal is None and answer.status != 500:
            raise ServiceUnavailable(
                f"{name} answers a single message, but not a conversation: {answer.detail}.", WHEN_BACK
            )
        return answer.detail or answer.error.value

    def log_likelihoods(self, texts: Texts | Sequence[str]) -> Likelihoods:
        """Return the log probability of each token given all tokens before it (see LanguageModel.log_likelihoods).

        Token ids are hashes of the tokens' texts. Raises Unsupported in chat mode, with `masking`, for
        start_token="first", and if the server's echoed log probabilities fail `check_echo`, which runs before the first
        text.
        """
        batch = (
            Texts.of(texts)
            .refuse_masking(f"{self.served.model} is asked from left to right and has no mask token.")
            .refuse_first(self.served.model)
        )
        start = "" if batch.start_token == "tokenizer" else self.options.start
        placed = [(start + text, len(start) + first) for text, first in zip(*batch.joined(), strict=True)]
        spans = batch.all_spans
        sent = [i for i, text in enumerate(batch.texts) if text.strip()]
        bodies = [echo_body(placed[i][0], self.echo_written) for i in sent]
        keys = [self._key(body) for body in bodies]

        def read(i: int, answer: Answer) -> ScoredText:
            return read_scored(answer, *placed[i], spans[i])

        def good(number: int, answer: Answer) -> bool:
            return read(sent[number], answer).error in READABLE

        settled: dict[str, Answer] = {}
        try:
            answers = self.served.ask_all(self.path, bodies, keys, good, settled)
        except EvenhandError as error:
            known = {i: settled[key] for i, key in zip(sent, keys, strict=True) if key in settled}
            before = _likelihoods([read(i, answer) for i, answer in known.items()], batch.want_starts)
            error.before = AnsweredBefore(self, list(known), before)
            raise
        nothing = ScoredText(error=ResponseError.EMPTY_TEXT, detail="the text is empty or white space")
        scored = [nothing] * len(batch.texts)
        for i, answer in zip(sent, answers, strict=True):
            scored[i] = read(i, answer)
        return _likelihoods(scored, batch.want_starts)

    @cached_property
    def echo_written(self) -> int:
        """Return the number of tokens that must be generated after an echoed text. The first call checks the server."""
        if self.options.chat:
            raise Unsupported(
                f"{self.served.model} is used in chat mode, which gives no likelihoods of texts.",
                "Remove chat=1 if the server offers completions, or choose a benchmark of generated text.",
            )
        name = self.fingerprint["name"]
        return check_echo(lambda body: self.served.ask(self.path, body), name)

    def _request_texts(
        self,
        prompts: Sequence[str],
        chats: Sequence[Messages | None],
        keys: Sequence[str],
        decoding: Decoding,
    ) -> Generations:
        fields = decoding_body(decoding, self.options)
        rows = [(i, sample) for i in range(len(keys)) for sample in range(decoding.samples)]
        sent = [(i, sample) for i, sample in rows if prompts[i].strip()]
        bodies = [
            sample_body(prompts[i], sample, decoding, fields, self.options, chats[i], keys[i])
            for i, sample in sent
        ]
        stored_as = [
            self._key(body, *(() if decoding.is_greedy else (decoding.seed, sample)))
            for body, (_, sample) in zip(bodies, sent, strict=True)
        ]
        nothing = ServedText(error=ResponseError.EMPTY_TEXT, detail="the prompt is empty or white space")
        settled: dict[str, Answer] = {}
        longer = self.options.allow_longer

        def good(_: int, answer: Answer) -> bool:
            return is_written(answer, decoding, longer)

        try:
            answers = self.served.ask_all(self.path, bodies, stored_as, good, settled)
        except EvenhandError as error:
            known = {row: settled[key] for row, key in zip(sent, stored_as, strict=True) if key in settled}
            places = sorted({i for i, _ in known} - {i for i, _ in set(sent) - known.keys()})
            read = {row: read_written(answer, decoding, longer) for row, answer in known.items()}
            whole = [(new, i, sample) for new, i in enumerate(places) for sample in range(decoding.samples)]
            written = [read[i, sample] for _, i, sample in whole]
            before = _generations([(new, sample) for new, _, sample in whole], written)
            error.before = AnsweredBefore(self, places, before)
            raise
        read = {
            row: read_written(answer, decoding, longer) for row, answer in zip(sent, answers, strict=True)
        }
        return _generations(rows, [read.get(row, nothing) for row in rows])

    def _fingerprint_fields(self, **known: Any) -> dict[str, Any]:
        address = {"name": self.served.model, "server": self.client.base_url.split("://", 1)[1]}
        return {**address, **known, "architecture": "causal", **self.options.conventions()}

    def _key(self, body: dict[str, Any], *drawn: int) -> str:
        # the server may later have another model under this name; its response to the test message then differs, and
        # stored responses of the old model are not used for the new one
        choice = first_choice(self._greeting) or {}
        message = choice.get("message")
        greeted = choice.get("text") or (message.get("content") if isinstance(message, dict) else None)
        return answer_key(
            self.client.base_url, self.path, self.served_model, self.served.model, greeted, body, drawn
        )

    def _only_name(self) -> str:
        names = self.served.names()
        if len(names) != 1:
            known = ", ".join(names[:20]) if names else "the server does not list them"
            raise UsageError(
                f"The URL {self.client.base_url} names no model. Available models: {known}.",
                f"Add the name after a #: {self.client.base_url}#NAME",
            )
        return names[0]


def load_http_model(name: str, options: HttpOptions | None = None) -> HttpModel:
    """Return a served model by its URL, such as `http://localhost:8000/v1#gpt2?chat=1`.

    `options` replace those in the URL. Raises a UsageError for options that are invalid or given twice.

    >>> load_http_model("http://localhost:8000/v1#gpt2?chat=1").options.chat
    True
    """
    base_url, model, named = split_address(name)
    if "?" in base_url:
        bare = base_url.partition("?")[0]
        raise UsageError(
            f"The URL {bare} contains a query before the model name.",
            f"Put options after the model name: {bare}#{model or 'NAME'}?option=value. For example, ?key=VARIABLE "
            "names the environment variable of the API key.",
        )
    if options is not None:
        if named != HttpOptions():
            raise UsageError(
                f"The URL {name!r} contains options, and the argument `options` was given, too.",
                "Give all options in the URL, or all of them in `options`.",
            )
        if not isinstance(options, HttpOptions):
            raise UsageError(
                f"The argument `options` of the served model {name!r} must be of type HttpOptions, got "
                f"{type(options).__name__}.",
                "Pass options=evenhand.models.served.model.HttpOptions(...), or write the options into the URL "
                "(http://host:port/v1#NAME?chat=1) and remove `options`.",
            )
    return HttpModel(base_url, model, options or named)


def _likelihoods(scored: Sequence[ScoredText], want_starts: bool) -> Likelihoods:
    starts = [start for row in scored for start in row.starts] if want_starts else []
    return Likelihoods(
        offsets=np.cumsum([0, *(len(row.log_probs) for row in scored)], dtype=np.int64),
        log_probs=np.array([value for row in scored for value in row.log_probs], dtype=np.float32),
        token_ids=np.array([number for row in scored for number in row.numbers], dtype=np.int32),
        starts=np.array(starts, dtype=np.uint32),
        errors=[row.error for row in scored],
        details=[row.detail for row in scored],
    )


def _generations(rows: Sequence[tuple[int, int]], written: Sequence[ServedText]) -> Generations:
    ids = [[token_number(token) for token, _ in row.tokens] or [UNKNOWN_TOKEN] * row.count for row in written]
    return Generations(
        prompt=np.array([i for i, _ in rows], dtype=np.int64),
        sample=np.array([sample for _, sample in rows], dtype=np.uint16),
        texts=[row.text for row in written],
        offsets=np.cumsum([0, *map(len, ids)], dtype=np.int64),
        token_ids=np.array([number for row in ids for number in row], dtype=np.int32),
        finish=[row.finish for row in written],
        log_likelihood=np.array(
            [sum(value for _, value in row.tokens) if row.tokens else np.nan for row in written],
            dtype=np.float64,
        ),
        errors=[row.error for row in written],
        details=[row.detail for row in written],
    )
