"""Every question to a service is answered or accounted for, whatever the service does."""

import itertools
import json
import logging
import signal
import socket
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from evenhand.schema import EvenhandError, ResponseError, UsageError
from evenhand.services.answers import DEEPEST, read_response
from evenhand.services.client import FORGIVEN, ServiceClient
from evenhand.services.pace import Pace, pause_after, seconds_asked_for


def doubled(asked):
    return 200, {"value": asked.body["value"] * 2}


def client(server, **options):
    return ServiceClient(server.url, **{"pause": 0.001, "longest_pause": 0.05, "timeout": 120, **options})


@pytest.mark.parametrize("kind", ["busy", "busy-date", "broken", "truncated", "cut", "garbage", "close"])
def test_what_passes_is_tried_again(loopback, kind):
    with loopback.LoopbackServer(doubled, loopback.in_turn(kind, kind)) as server, client(server) as service:
        answer = service.post("/double", {"value": 21})
        assert (answer.status, answer.body, answer.error) == (200, {"value": 42}, None)
        assert answer.attempts == 3
        assert list(server.answered.values()) == [1]
        assert sum(service.describe()["asked_again"].values()) == 2


def test_a_hang_costs_the_time_out_and_is_tried_again(loopback):
    with (
        loopback.LoopbackServer(doubled, loopback.in_turn("hang")) as server,
        client(server, timeout=0.5, attempts=60) as service,
    ):
        answer = service.post("/double", {"value": 1})
        assert answer.body == {"value": 2}
        # on a busy machine a good answer may come too late, too
        assert service.describe()["asked_again"] == {"timed out": answer.attempts - 1}
        assert answer.attempts >= 2


@pytest.mark.parametrize(
    ("kind", "error", "said"),
    [
        ("busy", ResponseError.QUOTA, "status 429: slow down"),
        ("broken", ResponseError.MODEL_ERROR, "status 500: out of order"),
        ("truncated", ResponseError.MODEL_ERROR, "not a JSON object"),
        ("hang", ResponseError.TIMED_OUT, "no answer within 0.3 s"),
        ("close", ResponseError.MODEL_ERROR, "RemoteProtocolError"),
    ],
)
def test_what_does_not_pass_is_an_error_with_its_reason(loopback, kind, error, said):
    with (
        loopback.LoopbackServer(doubled, lambda asked: kind) as server,
        client(server, attempts=3, timeout=0.3 if kind == "hang" else 120) as service,
    ):
        answer = service.post("/double", {"value": 1})
        assert (answer.error, answer.body if answer.status is None else None) == (error, None)
        assert said in answer.detail
        assert answer.attempts == 3
        assert sum(service.describe()["failed"].values()) == 1


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\x85", "\u2028", "\v"])
def test_the_services_words_are_put_on_one_line(loopback, line_break):
    words = f"no{line_break}::error::planted{line_break}12:00 INFO all is well"
    for body in ({"error": {"message": words}}, words.encode()):
        content = json.dumps(body).encode() if isinstance(body, dict) else body
        detail = read_response(400, {}, content, 1, 0.1).answer.detail
        assert detail == "status 400: no ::error::planted 12:00 INFO all is well"


@pytest.mark.parametrize("status", [400, 404, 413, 422])
def test_other_refusals_are_final_and_keep_the_services_words(loopback, status):
    bodies = {
        400: {"error": {"message": "too long", "code": "context_length_exceeded"}},
        404: {"error": "no such model"},
        413: {"detail": "too large"},
        422: {"message": "wrong field"},
    }
    with (
        loopback.LoopbackServer(lambda asked: (status, bodies[status])) as server,
        client(server) as service,
    ):
        answer = service.post("/", {})
    assert (answer.status, answer.error, answer.attempts) == (status, ResponseError.MODEL_ERROR, 1)
    words = {400: "too long", 404: "no such model", 413: "too large", 422: "wrong field"}[status]
    assert answer.detail == f"status {status}: {words}"
    assert answer.code == ("context_length_exceeded" if status == 400 else None)


def test_an_empty_account_is_not_asked_again(loopback):
    refusal = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    with loopback.LoopbackServer(lambda asked: (429, refusal)) as server, client(server) as service:
        answer = service.post("/", {})
    assert (answer.error, answer.attempts) == (ResponseError.QUOTA, 1)


def test_a_rest_longer_than_the_longest_pause_is_a_quota(loopback):
    day_over = (429, {"error": "daily limit"}, {"Retry-After": "3600"})
    with loopback.LoopbackServer(lambda asked: day_over) as server, client(server) as service:
        answer = service.post("/", {})
    assert (answer.error, answer.attempts) == (ResponseError.QUOTA, 1)


def wait_for_another_answer(service):
    before = service.describe()["answered"]
    while service.describe()["answered"] == before:
        time.sleep(0.001)


def test_being_slowed_down_while_others_are_answered_does_not_use_up_attempts(loopback):
    """One question is refused more often than `attempts`, each time after another one was answered."""
    done = threading.Event()

    def narrow(asked):
        if asked.body["value"] == 0 and asked.number <= 6:
            wait_for_another_answer(service)
            return 429, {"error": "one at a time"}
        return doubled(asked)

    def others():
        while not done.is_set():
            service.post("/", {"value": 1})

    with loopback.LoopbackServer(narrow) as server, client(server, attempts=4) as service:
        beside = threading.Thread(target=others)
        beside.start()
        answer = service.post("/", {"value": 0})
        done.set()
        beside.join()
    assert (answer.body, answer.attempts) == ({"value": 0}, 7)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_ends_everything_and_is_not_shown(loopback, status, caplog):
    key = "sk-very-secret-0123456789"
    with (
        caplog.at_level(logging.DEBUG),
        loopback.LoopbackServer(
            lambda asked: (status, {"error": {"message": f"Incorrect API key provided: {key}"}})
        ) as server,
        client(
            server, headers={"Authorization": f"Bearer {key}"}, key_variable="EXAMPLE_KEY", concurrency=2
        ) as service,
    ):
        with pytest.raises(EvenhandError, match="rejects the API key") as caught:
            service.post_all("/", [{"value": i} for i in range(500)])
        assert server.asked[0].headers["authorization"] == f"Bearer {key}"
        assert len(server.asked) <= 2
    assert "EXAMPLE_KEY" in caught.value.hint
    assert key not in str(caught.value) + repr(caught.value) + caplog.text + json.dumps(service.describe())


def test_a_service_that_is_not_there_raises():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with (
        ServiceClient(address, attempts=2, pause=0.001) as service,
        pytest.raises(
            EvenhandError, match=r"ConnectError: \[Errno 111\] Connection refused\.\nCheck the URL and"
        ),
    ):
        service.post_all("/", [{}] * 5)


@pytest.mark.parametrize(
    "address",
    [
        "localhost:8000",
        "ftp://x/y",
        "http://",
        "http://me:word@host/",
        "http://@host/",
        "https://api.openai.com\\@host/",
        "https://host\\.api.openai.com/v1",
        "http://h/?key=1",
        "http://[::1/",
        "http://h:x/",
    ],
)
def test_addresses_that_cannot_be(address):
    with pytest.raises(UsageError):
        ServiceClient(address)


NAN = float("nan")


@pytest.mark.parametrize(
    "option",
    [
        {"concurrency": 0},
        {"attempts": 0},
        {"timeout": 0},
        {"per_minute": 0},
        {"timeout": float("nan")},
        {"pause": float("nan")},
    ],
)
def test_options_that_cannot_be(option):
    with pytest.raises(UsageError, match=next(iter(option))):
        ServiceClient("http://localhost", **option)


def test_being_slowed_down_for_ever_ends_while_others_are_answered(loopback):
    """Forgiven as long as somebody is answered, but not without end."""
    done = threading.Event()

    def unlucky(asked):
        if asked.body["value"] == 0:
            wait_for_another_answer(service)
            return 429, {}
        return doubled(asked)

    def others():
        while not done.is_set():
            service.post("/", {"value": 1})

    with loopback.LoopbackServer(unlucky) as server, client(server, attempts=2, pause=0.005) as service:
        beside = threading.Thread(target=others)
        beside.start()
        answer = service.post("/", {"value": 0})
        done.set()
        beside.join()
    assert answer.error is ResponseError.QUOTA
    assert answer.attempts == 2 * FORGIVEN


@pytest.mark.parametrize(
    ("levels", "good"), [(DEEPEST - 2, True), (DEEPEST + 1, False), (1000, False)], ids=str
)
def test_an_answer_nested_too_deeply_to_be_kept_or_shown_is_none(levels, good):
    content = b'{"a": ' + b"[" * levels + b"]" * levels + b"}"
    attempt = read_response(200, {}, content, 1, 0.1)
    assert (attempt.answer.error is None, attempt.answer.body is not None) == (good, good)
    if good:
        assert json.dumps(attempt.answer.body) and str(attempt.answer.body)
    assert read_response(400, {}, content, 1, 0.1).answer.refusal is ResponseError.REQUEST_REFUSED


def test_an_answer_without_end_is_not_read_to_its_end(loopback):
    huge = (200, {"x": "y" * 5000})
    with loopback.LoopbackServer(lambda asked: huge) as server, client(server, largest=1000) as service:
        answer = service.post("/", {})
    assert (answer.error, answer.attempts) == (ResponseError.MODEL_ERROR, 1)
    assert "larger than" in answer.detail


def test_order_is_kept_and_each_arrival_is_told_in_the_callers_thread(loopback):
    told, threads = {}, set()

    def on_answer(i, answer):
        told[i] = answer
        threads.add(threading.current_thread())

    with (
        loopback.LoopbackServer(doubled, loopback.at_random(1, 0.3, ("slow", "busy", "close"))) as server,
        client(server, concurrency=8) as service,
    ):
        answers = service.post_all("/", [{"value": i} for i in range(100)], on_answer)
        assert [answer.body["value"] for answer in answers] == [2 * i for i in range(100)]
        assert list(told) != sorted(told), "nothing overtook anything, so order was not tested"
        assert [told[i] for i in range(100)] == answers
        assert threads == {threading.main_thread()}
        assert 1 < server.at_once <= 8
        assert service.post_all("/", []) == []


@pytest.mark.parametrize("count", [300, pytest.param(3000, marks=pytest.mark.slow)])
def test_sixty_four_at_once_lose_nothing_and_are_charged_for_nothing_twice(loopback, count):
    arrived, all_there = itertools.count(1), threading.Event()

    def together(asked):
        if next(arrived) == 64:
            all_there.set()
        assert all_there.wait(60), "fewer than 64 were at work side by side"
        return doubled(asked)

    kinds = ("busy", "busy-date", "broken", "truncated", "cut", "garbage", "close", "slow")
    with (
        loopback.LoopbackServer(together, loopback.at_random(2, 0.3, kinds)) as server,
        client(server, concurrency=64, attempts=20) as service,
    ):
        answers = service.post_all("/double", [{"value": i} for i in range(count)])
        assert [answer.body for answer in answers] == [{"value": 2 * i} for i in range(count)]
        # A question is one Idempotency-Key, and each was answered in full exactly once.
        assert len(server.answered) == count
        assert set(server.answered.values()) == {1}
        assert server.at_once == 64
        assert len(server.suffered) == 8
        assert sum(server.tries.values()) == count + sum(server.suffered.values()) - server.suffered["slow"]
        told = service.describe()
        assert told["answered"] == count
        assert told["failed"] == {}
        assert told["seconds"]["median"] <= told["seconds"]["p99"] <= told["seconds"]["longest"]


def test_an_error_of_the_caller_ends_the_work(loopback):
    def full_disk(i, answer):
        raise OSError("no space")

    with loopback.LoopbackServer(doubled) as server, client(server, concurrency=2) as service:
        with pytest.raises(OSError, match="no space"):
            service.post_all("/", [{"value": i} for i in range(1000)], full_disk)
        assert len(server.asked) <= 2


def test_an_interrupt_tells_of_everything_that_had_arrived(loopback):
    told = []

    def on_answer(i, answer):
        told.append(i)
        if len(told) == 5:
            while service.describe()["answered"] < 8:  # four were told and given back, four are on their way
                time.sleep(0.001)
            time.sleep(0.01)
            raise KeyboardInterrupt

    with loopback.LoopbackServer(doubled) as server, client(server, concurrency=4) as service:
        with pytest.raises(KeyboardInterrupt):
            service.post_all("/", [{"value": i} for i in range(10_000)], on_answer)
        assert len(set(told)) > 5
        assert len(told) - len(set(told)) <= 1
        # at most what was in flight is unheard of
        assert sum(server.answered.values()) - len(set(told)) <= 4


def test_control_c_ends_a_process_whose_service_hangs(loopback):
    script = """
import signal, sys
from evenhand.services.client import ServiceClient
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by processes of a shell's background
print("ready", flush=True)
ServiceClient(sys.argv[1], timeout=600, concurrency=16).post_all("/", [{}] * 100)
"""
    with loopback.LoopbackServer(doubled, lambda asked: "hang") as server:
        command = [sys.executable, "-c", script, server.url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "ready\n"
            while server.at_once < 16:
                assert process.poll() is None
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            try:
                _, told = process.communicate(timeout=60)  # far below the time-out of the requests
            finally:
                process.kill()
    assert process.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in told


class Clock:
    """Stands for the module `time` and for the event a thread waits on: waiting moves the clock."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now

    def wait(self, seconds):
        self.now += seconds
        return False

    def is_set(self):
        return False


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("evenhand.services.pace.time", clock)
    return clock


def test_turns_keep_to_the_rate(clock):
    pace, turns = Pace(per_minute=120), []
    for _ in range(5):
        pace.wait_turn(clock)
        turns.append(clock.now - 1000)
    assert turns == pytest.approx([0, 0.5, 1, 1.5, 2])
    clock.now += 60  # turns that nobody took are not saved up
    for _ in range(3):
        pace.wait_turn(clock)
        turns.append(clock.now - 1000)
    assert turns[5:] == pytest.approx([62, 62.5, 63])


def test_a_rest_asked_for_holds_all_also_those_that_wait_already(clock):
    pace = Pace(per_minute=60)
    pace.wait_turn(clock)

    class AskedToRestMeanwhile(Clock):
        def wait(self, seconds):
            if clock.now == 1000:
                pace.hold(10)
            return clock.wait(seconds)

    pace.wait_turn(AskedToRestMeanwhile())
    assert clock.now == pytest.approx(1010)
    assert clock.now > 1001


def test_retry_after_is_read_in_every_form():
    def asked_for(value):
        return seconds_asked_for({"retry-after": value})

    assert asked_for("1.5") == 1.5
    assert asked_for("-1") is None
    assert asked_for("inf") is None
    assert asked_for("") is None
    huge = "9" * 20
    for date in (
        f"Thu, 01 Jan {huge} 00:00:00 GMT",
        f"Thu, {huge} Jan 2020 00:00:00 GMT",
        f"1 Jan 2020 00:00 +{huge}",
    ):
        assert asked_for(date) is None
    soon = datetime.now(UTC) + timedelta(hours=1)
    assert 3500 < asked_for(format_datetime(soon, usegmt=True)) <= 3600
    assert seconds_asked_for({"retry-after-ms": "20", "retry-after": "1"}) == 0.02


def test_pauses_double_and_differ():
    assert all(2 <= pause_after(3, 1.0, 60.0) <= 4 for _ in range(100))
    assert len({pause_after(3, 1.0, 60.0) for _ in range(100)}) > 90
    assert pause_after(500, 1.0, 7.0) <= 7


def test_half_a_character_reaches_the_service(loopback):
    with (
        loopback.LoopbackServer(lambda asked: (200, {"got": asked.body["text"]})) as server,
        client(server) as service,
    ):
        assert service.post("/", {"text": "a\ud83d"}).body == {"got": "a\ud83d"}
