"""A server that misbehaves in every way we know, and knows for each text what must come of it.

It speaks OpenAI's interface (/completions with and without echo, /chat/completions for a judge). Two things go wrong:
with a *try*, by SLIPS, drawn from the question and the number of its try, after which another try may do better; and
with a *text*, by ODDITIES, which stay however often it is asked. What it would have answered is a function of the
question alone (`said`, `log_prob`, `label`), so that a test can tell what belongs in each row.
"""

import gzip
import hashlib
import json
import random
import re
import socket
import struct
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from evenhand.schema import ResponseError

WORDS = (" kind", " rude", " old", " calm", " here", " and", " so", " it", " is", " well")
WRITTEN = 3  # tokens of each continuation
SURELY = 4  # tries of a question that may slip; the fifth does not
NAN, MANY = float("nan"), 10**6

Json = dict[str, Any]
Sent = tuple[int, Any, Mapping[str, str]]


def _draw(*parts: object) -> random.Random:
    return random.Random(hashlib.sha256(repr(parts).encode()).digest())


def log_prob(token: str) -> float:
    """Of a token wherever it stands, so that echoed and written ones agree; exact in 32 bits."""
    return -(8 + zlib.crc32(token.encode()) % 64) / 16


def tokens_of(text: str) -> list[str]:
    """A text in words with the space in front of them."""
    return re.findall(r" ?[^ ]+", text)


def said(prompt: str, seed: int | None) -> list[str]:
    """The tokens of the continuation."""
    return _draw("said", prompt, seed).choices(WORDS, k=WRITTEN)


def label(text: str) -> str:
    """What the judge says of a text, in whichever order the classes are shown."""
    return _draw("label", text).choice(["civil", "rude", "toxic"])


def question(body: Json) -> str:
    """The text that a request is about."""
    if "messages" not in body:
        return str(body["prompt"])
    last = str(body["messages"][-1]["content"])
    return str(json.loads(last)["text"]) if last.startswith("{") else last


# ---- what may be wrong with a text ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Oddity:
    """What is always answered to a text. answer: from the good answer. written, scored: the code of its row, None
    for a good one."""

    answer: Callable[[Json], Sent | None]
    written: ResponseError | None
    scored: ResponseError | None


E = ResponseError
UNREAD = E.UNPARSABLE


def _choice(written: ResponseError | None, scored: ResponseError | None = None, **fields: Any) -> Oddity:
    """The good answer, but for some fields of its choice."""

    def answer(good: Json) -> Sent:
        return 200, {**good, "choices": [{**good["choices"][0], **fields}]}, {}

    return Oddity(answer, written, scored)


def _body(written: ResponseError | None, scored: ResponseError | None, **fields: Any) -> Oddity:
    return Oddity(lambda good: (200, {**good, **fields}, {}), written, scored)


def _value(value: Any, written: ResponseError | None, scored: ResponseError | None) -> Oddity:
    """The good answer, but for the log probability of its last token."""

    def answer(good: Json) -> Sent:
        choice = dict(good["choices"][0])
        if choice.get("logprobs"):
            listed = dict(choice["logprobs"])
            choice["logprobs"] = {**listed, "token_logprobs": [*listed["token_logprobs"][:-1], value]}
        return 200, {**good, "choices": [choice]}, {}

    return Oddity(answer, written, scored)


def _wrote(text: str) -> Oddity:
    """The good answer, but for another continuation."""

    def answer(good: Json) -> Sent:
        choice = {**good["choices"][0], "text": text}
        listed = choice.get("logprobs")
        if listed and listed["token_logprobs"][0] is not None:  # not echoed
            choice["logprobs"] = {"tokens": [text], "token_logprobs": [-1.0]}
        return 200, {**good, "choices": [choice]}, {}

    return Oddity(answer, None, None)


def _status(status: int, code: ResponseError, body: Any = None, **headers: str) -> Oddity:
    return Oddity(lambda good: (status, {"error": "no"} if body is None else body, headers), code, code)


def _whole(value: Any, code: ResponseError = E.MODEL_ERROR) -> Oddity:
    return Oddity(lambda good: (200, value, {}), code, code)


def _nested(levels: int) -> bytes:
    return b'{"choices": ' + b"[" * levels + b"]" * levels + b"}"


def _coded(code: str) -> Json:
    return {"error": {"message": "This was not taken.", "code": code}}


ODDITIES: dict[str, Oddity] = {
    # good all the same
    "half a surrogate pair": _wrote("\ud83d so"),
    "null characters": _wrote("\0so\0"),
    "usage that cannot be": _body(None, None, usage={"completion_tokens": True, "prompt_tokens": 10**4000}),
    "a fingerprint that is half a character": _body(None, None, system_fingerprint="\udc00" * 999),
    "a megabyte beside the answer": _body(None, None, padding="x" * MANY),
    "-9999": _value(-9999.0, None, E.NOT_FINITE),
    "minus infinity": _value(float("-inf"), None, E.NOT_FINITE),
    # one sample is spoilt
    "finish_reason a list": _choice(UNREAD, finish_reason=["stop"]),
    "finish_reason an object": _choice(UNREAD, finish_reason={"type": "length"}),
    "finish_reason unheard of": _choice(UNREAD, finish_reason="abort"),
    "text a number": _choice(UNREAD, text=3),
    "text null": _choice(UNREAD, text=None),
    "text a list": _choice(UNREAD, text=[" so"]),
    "tokens of another text": _choice(UNREAD, text=" so"),
    "another choice": _choice(UNREAD, UNREAD, index=1),
    "a message that is a list": _choice(UNREAD, message=[" so"]),
    "a filter": _choice(E.REFUSED, finish_reason="content_filter"),
    "log probabilities a number": _choice(UNREAD, UNREAD, logprobs=7),
    "log probabilities of nothing": _choice(UNREAD, UNREAD, logprobs={"content": [1, 2]}),
    "more tokens than values": _choice(
        UNREAD, UNREAD, logprobs={"tokens": ["a", "b"], "token_logprobs": [-1]}
    ),
    "tokens that are numbers": _choice(UNREAD, UNREAD, logprobs={"tokens": [1], "token_logprobs": [-1]}),
    "a positive log probability": _value(0.5, UNREAD, UNREAD),
    "a log probability of true": _value(True, UNREAD, UNREAD),
    "a log probability in quotes": _value("-1.5", UNREAD, UNREAD),
    "not a number": _value(NAN, UNREAD, UNREAD),
    "a log probability of 400 digits": _value(10**400, UNREAD, UNREAD),
    "no choices": _body(UNREAD, UNREAD, choices=[]),
    "choices a string": _body(UNREAD, UNREAD, choices="so"),
    "a choice that is a number": _body(UNREAD, UNREAD, choices=[1]),
    "an error called good": _whole({"error": {"message": "upstream is down"}}, E.MODEL_ERROR),
    "an array": _whole([1, 2]),
    "a number": _whole(3),
    "null": _whole(b"null"),
    "two hundred levels": _whole(_nested(200)),
    "a hundred thousand levels": _whole(_nested(100_000)),
    "a number of 5,000 digits": _whole(b'{"choices": ' + b"9" * 5000 + b"}"),
    # refused
    "400": _status(400, E.REQUEST_REFUSED),
    "401 once in a while": _status(401, E.REQUEST_REFUSED),
    "402": _status(402, E.QUOTA),
    "403": _status(403, E.REQUEST_REFUSED),
    "404": _status(404, E.MODEL_ERROR),
    "413": _status(413, E.REQUEST_REFUSED, b"<html>too large</html>"),
    "422": _status(422, E.REQUEST_REFUSED, {"detail": [{"loc": ["body"], "msg": "no"}]}),
    "418 in 300 levels": _status(418, E.REQUEST_REFUSED, _nested(300)),
    "too long": _status(400, E.TOO_LONG, _coded("context_length_exceeded")),
    "against the rules": _status(400, E.REFUSED, _coded("content_policy_violation")),
    "moved": _status(302, E.MODEL_ERROR, Location="http://127.0.0.1:9/elsewhere"),
    "try again tomorrow": _status(429, E.QUOTA, None, **{"Retry-After": "86400"}),
    # failing however often it is asked
    "500 for ever": _status(500, E.MODEL_ERROR),
    "429 for ever": _status(429, E.QUOTA, None, **{"Retry-After": "0.001"}),
    "closed for ever": Oddity(lambda good: None, E.MODEL_ERROR, E.MODEL_ERROR),
}
SILENT = "silent for ever"  # costs a time-out
ENDLESS = "endless"
COSTLY: dict[str, Oddity] = {
    SILENT: Oddity(lambda good: None, E.TIMED_OUT, E.TIMED_OUT),
    ENDLESS: Oddity(lambda good: None, E.MODEL_ERROR, E.MODEL_ERROR),
}


# ---- what may be wrong with a try -----------------------------------------------------------------------------------


def _plain(status: int, content: bytes = b"", **headers: str) -> Callable[["_Handler", bytes], bool]:
    def send(handler: "_Handler", whole: bytes) -> bool:
        handler.send(status, content, {name.replace("_", "-"): value for name, value in headers.items()})
        return False

    return send


def _raw(*pieces: bytes, reset: bool = False) -> Callable[["_Handler", bytes], bool]:
    """Bytes in place of a response, and the connection closed; `WHOLE` stands for the good answer's content."""

    def send(handler: "_Handler", whole: bytes) -> bool:
        for piece in pieces:
            handler.wfile.write(whole[: len(whole) // 2] if piece is HALF else piece)
        handler.wfile.flush()
        if reset:  # the other side finds the connection reset, not closed
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.close_connection = True
        return False

    return send


def _good(*, before: bytes = b"", after: bytes = b"", zipped: bool = False, slowly: bool = False) -> Any:
    """The good answer in full, in an unusual way."""

    def send(handler: "_Handler", whole: bytes) -> bool:
        handler.wfile.write(before)
        if slowly:
            handler.server.owner.closing.wait(0.05)
        content = gzip.compress(whole) if zipped else whole
        handler.send(200, content, {"Content-Encoding": "gzip"} if zipped else {})
        if after:
            handler.wfile.write(after)
            handler.wfile.flush()
            handler.close_connection = True
        return True

    return send


HALF = b"half"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
SLIPS: dict[str, Callable[["_Handler", bytes], bool]] = {
    "429, seconds": _plain(429, b'{"error": "slow down"}', Retry_After="0.01"),
    "429, a date": _plain(429, b"{}", Retry_After="Thu, 01 Jan 2026 00:00:00 GMT"),
    "429, milliseconds": _plain(429, b"{}", Retry_After_Ms="5"),
    "429, no time at all": _plain(429, b"", Retry_After="soon"),
    "429, a date that is none": _plain(429, b"", Retry_After="Thu, 99 Jan 99999 25:61:61 +99999999999"),
    "500": _plain(500, b'{"error": "out of order"}'),
    "502": _plain(502, b"<html>bad gateway</html>"),
    "503, nothing": _plain(503),
    "504": _plain(504, b"\xff\xfe\xfd"),
    "529": _plain(529, b'{"error": {"message": "overloaded"}}', Retry_After="-7"),
    "408": _plain(408),
    "409": _plain(409, b"[]"),
    "425": _plain(425),
    "204": _plain(204),
    "200, nothing": _plain(200),
    "200, a page": _plain(200, b"<html>maintenance</html>"),
    "200, no UTF-8": _plain(200, b'{"choices": "\xff\xfe\xfa"}'),
    "200, called gzip": _plain(200, b'{"choices": 1}', Content_Encoding="gzip"),
    "200, broken off": _raw(HEAD, b"Connection: close\r\n\r\n", HALF),
    "200, shorter than announced": _raw(HEAD, b"Content-Length: 9999\r\n\r\n", HALF),
    "200, length no number": _raw(HEAD, b"Content-Length: many\r\n\r\n", HALF),
    "chunks of no size": _raw(HEAD, b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", HALF),
    "chunks that end early": _raw(HEAD, b"Transfer-Encoding: chunked\r\n\r\nfff\r\n", HALF),
    "half a head": _raw(b"HTTP/1.1 200 OK\r\nContent-Le"),
    "a head without end": _raw(HEAD, b"X-Long: " + b"x" * 200_000),
    "a status that is none": _raw(b"HTTP/1.1 abc Fine\r\n\r\n"),
    "another protocol": _raw(b"SSH-2.0-OpenSSH_9.6\r\n"),
    "closed": _raw(),
    "reset": _raw(HEAD, b"Content-Length: 9999\r\n\r\n", HALF, reset=True),
    "good, early hints first": _good(before=b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
    "good, zipped": _good(zipped=True),
    "good, slow": _good(slowly=True),
    "good, and something behind it": _good(after=b"\0 more than was announced \r\n\r\n"),
}


class MisbehavingServer:
    """`with MisbehavingServer(...) as server:` serves at `server.url`.

    oddity: what is wrong with a text, a name of ODDITIES or COSTLY, or None. slips: share of tries that slip.
    gather: the first questions about these texts wait until `at_least` of them are there.
    """

    def __init__(
        self,
        oddity: Callable[[str], str | None],
        *,
        slips: float = 0.3,
        gather: Collection[str] = (),
        at_least: int = 1,
    ):
        self.oddity, self.slips = oddity, slips
        self.gather, self.at_least, self.all_there = frozenset(gather), at_least, threading.Event()
        self.tries: Counter[str] = Counter()  # by question, which is the whole request
        self.slowed: Counter[str] = Counter()  # of these, told to slow down
        self.answered: Counter[str] = Counter()  # good answers sent in full, by question
        self.slipped: Counter[str] = Counter()
        self.odd: Counter[str] = Counter()
        self.at_once = self.now = 0
        self.lock, self.closing = threading.Lock(), threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> "MisbehavingServer":
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    def slip(self, key: str, number: int) -> str | None:
        """What is wrong with a try."""
        dice = _draw("slip", key, number)
        slips = number <= SURELY and dice.random() < self.slips
        return dice.choice(list(SLIPS)) if slips else None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256
    owner: MisbehavingServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a client that hung up


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        server = self.server.owner
        content = self.rfile.read(int(self.headers["Content-Length"]))
        body = json.loads(content)
        key = json.dumps(body, sort_keys=True)
        with server.lock:
            server.tries[key] += 1
            number = server.tries[key]
            server.now += 1
            server.at_once = max(server.at_once, server.now)
            if server.now >= server.at_least:
                server.all_there.set()
        try:
            if question(body) in server.gather:
                server.all_there.wait(5)
            self._answer(server, key, number, body)
        finally:
            with server.lock:
                server.now -= 1

    def _answer(self, server: MisbehavingServer, key: str, number: int, body: Json) -> None:
        good = judged(body) if "messages" in body else completed(body)
        slip, name = server.slip(key, number), server.oddity(question(body))
        if slip is not None and (name is None or not slip.startswith("good")):
            with server.lock:
                server.slipped[slip] += 1
                server.slowed[key] += slip.startswith("429")
                server.answered[key] += slip.startswith("good")
            SLIPS[slip](self, json.dumps(good).encode())
        elif name is not None:
            with server.lock:
                server.odd[name] += 1
                server.slowed[key] += name.startswith("429")
            self._odd(server, name, good)
        else:
            with server.lock:  # before it is sent: who has received it may look at once
                server.answered[key] += 1
            self.send(200, json.dumps(good).encode(), {})

    def _odd(self, server: MisbehavingServer, name: str, good: Json) -> None:
        if name == SILENT:
            server.closing.wait(120)
        elif name == ENDLESS:
            self.wfile.write(HEAD + b"\r\n" + b'{"choices": "')
            while not server.closing.is_set():
                self.wfile.write(b"x" * MANY)
        sent = {**ODDITIES, **COSTLY}[name].answer(good)
        if sent is None:
            self.close_connection = True
            return
        status, value, headers = sent
        self.send(status, value if isinstance(value, bytes) else json.dumps(value).encode(), headers)

    def send(self, status: int, content: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        length = {} if status == 204 else {"Content-Length": str(len(content))}
        for header, value in {"Content-Type": "application/json", **length, **headers}.items():
            self.send_header(header, value)
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()


def completed(body: Json) -> Json:
    """The good answer to a completion, echoed or not."""
    own = tokens_of(body["prompt"]) if body.get("echo") else []
    wrote = said(body["prompt"], body.get("seed"))[: body["max_tokens"]]
    shown = own + wrote
    values: list[float | None] = [log_prob(token) for token in shown]
    if own:
        values[0] = None
    choice = {"text": "".join(shown), "finish_reason": "length"}
    if body.get("logprobs") is not None:
        choice["logprobs"] = {"tokens": shown, "token_logprobs": values}
    usage = {"prompt_tokens": len(tokens_of(body["prompt"])), "completion_tokens": len(wrote)}
    return {"model": "m", "system_fingerprint": "fp", "choices": [choice], "usage": usage}


def judged(body: Json) -> Json:
    """The good answer of the judge."""
    content = json.dumps({"label": label(question(body))})
    message = {"role": "assistant", "content": content}
    return {"model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
