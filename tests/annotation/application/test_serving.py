"""A real process on a real port: what uvicorn and the sockets do."""

import asyncio
import contextlib
import gc
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from http.client import HTTPConnection
from pathlib import Path

import pytest

from evenhand.annotation.application import application, invite_link, serve
from evenhand.annotation.application.serving import listen, steady
from evenhand.annotation.store import people
from evenhand.schema import UsageError
from tests.annotation.application.clocks import Clock
from tests.annotation.application.studies import marks_study

SERVE = """
import sys
from evenhand.annotation.application import patience, serve
from evenhand.annotation.store import open_store
patience.SECONDS = 0.5
store = open_store(sys.argv[1])
proxied = sys.argv[3:] == ["proxied"]
serve(store, address="http://127.0.0.1:" + sys.argv[2], host="127.0.0.1", port=int(sys.argv[2]), proxied=proxied)
print("ended", flush=True)
"""


@pytest.fixture(params=["bare"])
def process(stored, tmp_path, request):
    """The study, served by a process of its own, behind a proxy where asked: the process and its port."""
    store = stored(marks_study())
    file = store.engine.url.database
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SERVE, file, str(port), request.param],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path("src").resolve())},
    )
    deadline = time.monotonic() + 60  # a busy machine takes more than a few seconds to import everything
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            assert running.poll() is None, running.communicate()[0]
            assert time.monotonic() < deadline, "the server did not start within a minute"
            time.sleep(0.05)
    yield running, port
    if running.poll() is None:
        running.kill()
    running.communicate()


def asked(port, text):
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.sendall(text)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    return answer


def test_raw_requests_and_its_end(process):
    running, port = process
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/health")
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (200, b"ok\n") and answer.getheader("server") is None
    connection.close()
    for path in (
        b"/static/../serving.py",
        b"/../../../etc/passwd",
        b"/static/..%2fserving.py",
        b"//etc/passwd",
    ):
        host = b"Host: 127.0.0.1:%d\r\nConnection: close\r\n\r\n" % port
        assert asked(port, b"GET %s HTTP/1.1\r\n%s" % (path, host)).startswith(b"HTTP/1.1 404")
    assert asked(port, b"nonsense\r\n\r\n").startswith(b"HTTP/1.1 400")
    two_lengths = b"POST /study/answer HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcde"
    assert asked(port, two_lengths).startswith(b"HTTP/1.1 400")
    upgrade = (
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: upgrade, close\r\nUpgrade: websocket\r\n\r\n"
    )
    assert b"101" not in asked(port, upgrade % port).split(b"\r\n")[0]
    running.send_signal(signal.SIGINT)
    assert running.wait(20) == 0
    assert running.stdout.read().splitlines()[-1] == "ended"


def test_who_does_not_say_what_they_want_is_let_go(process):
    _, port = process
    whole = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    for first, said in ((b"", b""), (b"", b"GET / HTTP/1.1\r\nHost:"), (whole, b"GET /")):
        begun = time.monotonic()
        with socket.create_connection(("127.0.0.1", port), 10) as connection:
            if first:
                connection.sendall(first)
                assert connection.recv(65536).startswith(b"HTTP/1.1 200")
            connection.sendall(said)
            while connection.recv(65536):
                pass
        assert time.monotonic() - begun < 8


def get(port, path):
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def style_of(port):
    """The largest file that is served, as a raw request for it, and its length."""
    path = re.search(r'href="(/static/style[^"]+)"', get(port, "/")[1]).group(1)
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode(), len(get(port, path)[1])


@pytest.fixture
def connect():
    """A connection with a small buffer, closed at the end."""
    with contextlib.ExitStack() as all_of_them:

        def connected(port):
            connection = all_of_them.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2304)
            connection.connect(("127.0.0.1", port))
            connection.setblocking(False)
            return connection

        yield connected


def still_open(connections):
    """How many the other side has not let go; nothing is read but what says so."""
    poll = select.poll()
    for connection in connections:
        poll.register(connection, select.POLLRDHUP)
    return len(connections) - len(poll.poll(0))


def test_who_asks_again_and_again_and_reads_nothing_is_let_go(process, connect):
    _, port = process
    request, _ = style_of(port)
    mute = [connect(port) for _ in range(10)]
    for connection in mute:
        with contextlib.suppress(BlockingIOError):
            connection.send(request * 700)
    assert still_open(mute) == 10
    until = time.monotonic() + 10
    while still_open(mute) and time.monotonic() < until:
        time.sleep(0.1)
    assert still_open(mute) == 0


def test_who_reads_slowly_gets_all_of_it(process):
    _, port = process
    request, length = style_of(port)
    times = 6_000_000 // length
    begun, got = time.monotonic(), 0
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        sender = threading.Thread(target=connection.sendall, args=(request * times,))
        sender.start()
        while got < times * length:  # in more than three looks of half a second
            piece = connection.recv(64 * 1024)
            assert piece, got
            got += len(piece)
            time.sleep(0.02)
        sender.join()
    assert time.monotonic() - begun > 1.6


@pytest.mark.parametrize("process", ["bare", "proxied"], indirect=True)
def test_one_address_does_not_take_all_connections(process, connect, request):
    _, port = process
    held = [connect(port) for _ in range(160)]
    for connection in held:
        with contextlib.suppress(OSError):
            connection.sendall(b"GET / HTTP/1.1\r\nHost:")
    assert get(port, "/health") == (200, "ok\n")
    assert still_open(held) == (160 if "proxied" in request.node.name else 99)


def test_a_port_that_is_taken_is_said(stored):
    store = stored(marks_study())
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port}: Address already in use") as error:
            serve(store, address=f"http://127.0.0.1:{port}", host="127.0.0.1", port=port)
        assert "--port" in error.value.hint
    with pytest.raises(UsageError, match=r"Cannot listen on 192\.0\.2\.1"):
        serve(store, address="http://127.0.0.1:1", host="192.0.2.1", port=8000)
    with pytest.raises(UsageError, match="port 70000"):
        serve(store, address="http://127.0.0.1:1", host="127.0.0.1", port=70000)
    with pytest.raises(UsageError, match="is not a valid URL of a study"):
        application(store, address="https://judge.example.org/below")


def test_links_are_made_of_the_address(stored):
    store = stored(marks_study())
    invite = people.make_invites(store, 1, Clock()())[0].id
    link = invite_link(store, "https://Judge.example.org:443/", invite)
    assert link.startswith("https://judge.example.org/i/") and invite not in link


def test_all_threads_of_many_visitors_are_answered(process):
    _, port = process
    statuses = []

    def visit():
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", "/")
        statuses.append(connection.getresponse().status)
        connection.close()

    threads = [threading.Thread(target=visit) for _ in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 60


def test_without_the_extra_it_says_how_to_get_it():
    program = (
        "import sys; sys.modules['fastapi'] = None\n"
        "from evenhand.schema import UsageError\n"
        "try:\n    from evenhand.annotation.application import serve\n"
        "except UsageError as error:\n    print(error)"
    )
    said = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path("src").resolve())},
    ).stdout
    assert "pip install 'evenhand[annotate]'" in said


def test_a_page_in_two_pieces_does_not_wait_between_them():
    """An answer's head and body are written apart: with Nagle's algorithm the body waits some 40 ms for a receipt."""

    async def delayed():
        found = asyncio.get_running_loop().create_future()

        def connected(_, writer):
            taken = writer.get_extra_info("socket")
            found.set_result(taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 0)
            writer.close()

        listening = listen("127.0.0.1", 0)
        async with await asyncio.start_server(connected, sock=listening):
            _, writer = await asyncio.open_connection(*listening.getsockname())
            waits = await asyncio.wait_for(found, 10)
            writer.close()
            await writer.wait_closed()
        return waits

    assert asyncio.run(delayed()) is False


def test_what_stays_in_memory_is_not_looked_through_for_garbage():
    """A study of 10,000 items would be: a quarter of a second in which no page is answered."""
    before, kept = sys.getswitchinterval(), [[number] for number in range(300_000)]

    def seconds():
        start = time.process_time()
        gc.collect()
        return time.process_time() - start

    gc.collect()
    usual = min(seconds() for _ in range(3))
    with steady():
        assert min(seconds() for _ in range(3)) < usual / 4
        assert sys.getswitchinterval() < before
    assert (sys.getswitchinterval(), gc.get_freeze_count()) == (before, 0)
    assert len(kept) == 300_000
