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
from evenhand.annotation.application.patience import LOOKS
from evenhand.annotation.application.serving import listen, steady
from evenhand.annotation.store import people
from evenhand.schema import UsageError
from tests.annotation.application.clocks import Clock
from tests.annotation.application.studies import marks_study

SERVE = """
import os, sys
from evenhand.annotation.application import patience, serve
from evenhand.annotation.store import open_store
patience.SECONDS = 0.1 if sys.argv[3] == "impatient" else 1e6
connection_made, protocols = patience.PatientProtocol.connection_made, []

def recorded(protocol, transport):
    connection_made(protocol, transport)
    if not protocols:
        protocol.loop.add_reader(0, obey)
    protocols.append(protocol)

def obey():
    command = os.read(0, 1)
    if command == b"l":
        for protocol in protocols:
            if not protocol.looking.cancelled():
                protocol.looking.cancel()
                protocol._look()
    print(sum(protocol.flow.write_paused for protocol in protocols), flush=True)

patience.PatientProtocol.connection_made = recorded
store = open_store(sys.argv[1])
proxied = sys.argv[3] == "proxied"
serve(store, address="http://127.0.0.1:" + sys.argv[2], host="127.0.0.1", port=int(sys.argv[2]), proxied=proxied)
print("ended", flush=True)
"""
"""No clock decides when the server looks at its connections: it looks when a test writes "l" to its standard input. The
server then prints how many connections have an answer that waits because it is not read; "p" prints this number alone.
"""
LONG = 60
"""Seconds after which something hangs. A busy machine takes several seconds for what otherwise takes none."""


@pytest.fixture(params=["bare"])
def process(stored, tmp_path, request):
    """Serve the study in another process, which is bare, proxied or impatient; return the process and its port."""
    store = stored(marks_study())
    file = store.engine.url.database
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SERVE, file, str(port), request.param],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path("src").resolve())},
    )
    deadline = time.monotonic() + 2 * LONG
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            assert running.poll() is None, running.communicate()[0]
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.05)
    yield running, port
    if running.poll() is None:
        running.kill()
    running.communicate()


def asked(port, text):
    with socket.create_connection(("127.0.0.1", port), LONG) as connection:
        connection.sendall(text)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    return answer


def test_raw_requests_and_its_end(process):
    running, port = process
    connection = HTTPConnection("127.0.0.1", port, timeout=LONG)
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
    assert running.wait(LONG) == 0
    assert running.stdout.read().splitlines()[-1] == "ended"


def command(running, letter):
    """Let the server look at its connections ("l"), or not ("p"); return how many have an answer that is not read."""
    running.stdin.write(letter)
    running.stdin.flush()
    return int(running.stdout.readline())


def test_a_connection_that_two_looks_find_without_a_request_is_closed(process):
    running, port = process
    whole = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    for first, said in ((b"", b""), (b"", b"GET / HTTP/1.1\r\nHost:"), (whole, b"GET /")):
        with socket.create_connection(("127.0.0.1", port), LONG) as connection:
            if first:
                connection.sendall(first)
                assert connection.recv(65536).startswith(b"HTTP/1.1 200")
            connection.sendall(said)
            assert get(port, "/health") == (200, "ok\n")  # what was sent before has arrived
            command(running, "l")
            assert get(port, "/health") == (200, "ok\n")
            assert still_open([connection]) == 1
            command(running, "l")
            while connection.recv(65536):
                pass


@pytest.mark.parametrize("process", ["impatient"], indirect=True)
def test_the_server_looks_at_its_connections_by_itself(process):
    _, port = process
    with socket.create_connection(("127.0.0.1", port), LONG) as connection:
        assert connection.recv(65536) == b""


def get(port, path):
    connection = HTTPConnection("127.0.0.1", port, timeout=LONG)
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
    """Return a function that opens a connection with a small buffer; it is closed at the end."""
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


def wait_until(is_so, what):
    deadline = time.monotonic() + LONG
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def test_connections_that_ask_again_and_read_nothing_are_closed_after_three_looks(process, connect):
    running, port = process
    request, _ = style_of(port)
    mute = [connect(port) for _ in range(10)]
    for connection in mute:
        with contextlib.suppress(BlockingIOError):
            connection.send(request * 700)
    wait_until(lambda: command(running, "p") == 10, "the answers to all ten do not wait")
    for _ in range(2):
        assert command(running, "l") == 10
    assert still_open(mute) == 10
    command(running, "l")
    wait_until(lambda: still_open(mute) == 0, "they stay open")


def test_a_connection_that_reads_between_two_looks_gets_everything(process, connect):
    running, port = process
    request, length = style_of(port)
    # Linux buffers 4 MB: answers wait in the server beyond that, and it writes again when a third of it is free.
    each, times = 2_000_000, 15_000_000 // length
    last = request.removesuffix(b"\r\n") + b"Connection: close\r\n\r\n"
    connection, got = connect(port), bytearray()
    connection.settimeout(LONG)
    sender = threading.Thread(target=connection.sendall, args=(request * times + last,))
    sender.start()
    for look in range(1, LOOKS + 3):
        wait_until(lambda: command(running, "p") == 1, "no answer waits")
        command(running, "l")
        while len(got) < look * each:
            piece = connection.recv(64 * 1024)
            assert piece, len(got)
            got += piece
    while piece := connection.recv(64 * 1024):
        got += piece
    sender.join()
    assert got.count(b"HTTP/1.1 200 OK\r\n") == times + 1
    assert len(got) > (times + 1) * length


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
        connection = HTTPConnection("127.0.0.1", port, timeout=LONG)
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
            waits = await asyncio.wait_for(found, LONG)
            writer.close()
            await writer.wait_closed()
        return waits

    assert asyncio.run(delayed()) is False


def test_what_stays_in_memory_is_not_looked_through_for_garbage():
    """A study of 10,000 items would be: a quarter of a second in which no page is answered."""
    before, kept = sys.getswitchinterval(), [[number] for number in range(300_000)]
    assert len(gc.get_objects()) > 300_000  # those that a collection examines
    with steady():
        assert len(gc.get_objects()) < 3_000
        assert gc.get_freeze_count() > 300_000
        assert sys.getswitchinterval() < before
    assert (sys.getswitchinterval(), gc.get_freeze_count()) == (before, 0)
    assert len(kept) == 300_000
