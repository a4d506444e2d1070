"""How many connections there may be, and what becomes of those that say nothing."""

from __future__ import annotations

import socket
import subprocess
import sys
from contextlib import ExitStack, suppress

import h11
import httpx
import pytest
import uvicorn
from uvicorn.server import ServerState

from coupled_arena.ui.connections import BODY, HEADER, READING, Gathering, Patient, Room
from tests.patience import PATIENCE, until

FULL = "The server has too many open connections. Try again in a few seconds."
HALF = b"GET / HTTP/1.1\r\nHost: x\r\n"
WHOLE = HALF + b"\r\n"
HALF_BODY = b"POST /vote HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"


async def _nothing(_scope, _receive, _send):
    """Serve nothing."""


class Loop:
    """An event loop in which time is told, and nothing runs by itself."""

    now = 0.0

    def __init__(self):
        self.soon = []

    def time(self):
        return self.now

    def call_soon(self, what):
        self.soon.append(what)

    def turn(self):
        soon, self.soon = self.soon, []
        for what in soon:
            what()

    def call_later(self, _seconds, _what):
        return self

    def cancel(self):
        pass

    def create_task(self, coroutine):
        coroutine.close()
        return self

    def add_done_callback(self, _what):
        pass


class Transport:
    """The server's end of a connection."""

    def __init__(self, host):
        self.host, self.sent, self.closed, self.unread, self.pieces = host, b"", "", 0, 0

    def get_extra_info(self, name):
        return {"peername": (self.host, 1), "sockname": ("127.0.0.1", 2)}.get(name)

    def is_closing(self):
        return bool(self.closed)

    def write(self, data):
        self.sent += data
        self.pieces += 1

    def get_write_buffer_size(self):
        return self.unread

    def close(self):
        self.closed = self.closed or "closed"

    def abort(self):
        self.closed = "aborted"

    def pause_reading(self):
        pass

    resume_reading = pause_reading


class Peers:
    """Connections to one server."""

    def __init__(self, most=100, proxies=()):
        self.loop, self.room = Loop(), Room(proxies, most)
        self.config = uvicorn.Config(_nothing, log_config=None, interface="asgi3")
        self.all = []

    def one(self, sent=b"", host="192.0.2.1"):
        connection = Patient(self.config, ServerState(), {}, self.loop, room=self.room)
        connection.wire = Transport(host)
        connection.connection_made(connection.wire)
        if sent:
            connection.data_received(sent)
        self.all.append(connection)
        return connection

    def after(self, seconds):
        """Let time go on, with a look each second."""
        for _ in range(round(seconds)):
            self.loop.now += 1
            for each in self.all:
                each.look()


def closed(*some):
    return [each.transport.closed for each in some]


@pytest.mark.parametrize(("sent", "patience"), [(b"", HEADER), (HALF, HEADER), (HALF_BODY, BODY)])
def test_a_request_that_stays_half_is_given_up(sent, patience):
    peers = Peers()
    one = peers.one(sent)
    peers.after(patience - 2)
    assert closed(one) == [""]
    peers.after(4)
    assert closed(one) == ["closed"]
    assert one.transport.sent.startswith(b"HTTP/1.1 408 ") == bool(sent)


def test_a_slow_body_goes_on_and_one_that_drips_does_not():
    peers = Peers()
    begin = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n"
    slow, drips = peers.one(begin), peers.one(begin)
    for _ in range(50):
        slow.data_received(b"x" * 20_000)
        slow.flow.read_paused = False  # the application reads
        drips.data_received(b"x")
        peers.after(1)
    assert closed(slow, drips) == ["", "closed"]


def test_an_answer_that_goes_on_is_never_cut():
    peers = Peers()
    stream = peers.one(WHOLE)
    peers.after(1000)
    assert closed(stream) == [""]


def test_an_answer_that_nobody_reads_is_cut():
    peers = Peers()
    one, reads = peers.one(WHOLE), peers.one(WHOLE)
    one.pause_writing()
    for _ in range(3):
        reads.pause_writing()
        peers.after(READING - 2)
        reads.resume_writing()
    assert closed(one, reads) == ["aborted", ""]


def test_a_long_answer_that_is_read_slowly_is_not_cut():
    """One message of megabytes is all that is written, and its writing ends with its reading."""
    peers = Peers()
    slow, drips = peers.one(WHOLE), peers.one(WHOLE)
    for each in (slow, drips):
        each.wire.unread = 3_000_000
        each.pause_writing()
    for _ in range(5 * round(READING)):
        slow.wire.unread -= 9_000
        drips.wire.unread -= 1
        peers.after(1)
    assert closed(slow, drips) == ["", "aborted"]


def test_what_is_given_in_one_turn_of_the_event_loop_is_sent_at_once():
    loop, wire = Loop(), Transport("192.0.2.1")
    one = Gathering(wire, loop)
    for each in (b"head", b"", b"body"):
        one.write(each)
    assert (wire.sent, one.get_write_buffer_size()) == (b"", 8)
    loop.turn()
    assert (wire.sent, wire.pieces, one.get_write_buffer_size()) == (b"headbody", 1, 0)
    one.write(b"more")
    loop.turn()
    loop.turn()
    assert (wire.sent, wire.pieces) == (b"headbodymore", 2)
    one.write(b" and the end")
    one.close()
    assert (wire.sent, wire.closed) == (b"headbodymore and the end", "closed")
    loop.turn()
    assert wire.pieces == 3
    assert isinstance(Peers().one().transport, Gathering)


def test_large_answers_are_not_gathered():
    """What an application gives while the event loop stands still would fill the memory."""
    loop, wire = Loop(), Transport("192.0.2.1")
    one = Gathering(wire, loop)
    for _ in range(100):
        one.write(b"x" * 30_000)
        assert one.get_write_buffer_size() < 1 << 16
    loop.turn()
    assert (len(wire.sent), wire.pieces) == (3_000_000, 34)


def test_what_is_given_before_a_connection_is_cut_off_is_dropped():
    loop, wire = Loop(), Transport("192.0.2.1")
    one = Gathering(wire, loop)
    one.write(b"words")
    one.abort()
    loop.turn()
    assert (wire.sent, wire.closed) == (b"", "aborted")


def test_what_is_closed_and_not_read_is_cut():
    peers = Peers()
    one = peers.one()
    one.transport.close()
    peers.after(READING + 2)
    assert closed(one) == ["aborted"]


def test_when_it_is_full_the_oldest_that_has_not_asked_goes():
    peers = Peers(most=4)
    asked, half, later, body = (
        peers.one(sent, host)
        for sent, host in ((WHOLE, "a"), (HALF, "b"), (b"", "c"), (HALF_BODY, "d"))
    )
    one = peers.one(WHOLE, "e")
    assert closed(asked, half, later, body, one) == ["", "closed", "", "", ""]
    assert FULL.encode() in half.transport.sent
    half.connection_lost(None)
    peers.one(WHOLE, "f")
    assert closed(later, body) == ["closed", ""]
    later.connection_lost(None)
    peers.one(WHOLE, "g")
    assert closed(body) == ["closed"]


def test_a_kept_connection_ends_without_a_word_that_would_pass_for_an_answer():
    peers = Peers(most=2)
    kept = peers.one(WHOLE, "a")
    kept.conn.send(h11.Response(status_code=200, headers=[("Content-Length", "0")]))
    kept.conn.send(h11.EndOfMessage())
    kept.cycle.response_complete = True
    kept.on_response_complete()
    for host in "bc":
        peers.one(WHOLE, host)
    assert closed(kept) == ["closed"]
    assert not kept.transport.sent


def test_among_answers_that_go_on_the_newcomer_is_told():
    peers = Peers(most=4)
    asked = [peers.one(WHOLE, host) for host in "abcd"]
    late = peers.one(b"", "e")
    assert closed(*asked) == [""] * 4
    assert late.transport.sent.startswith(b"HTTP/1.1 503 ")
    assert FULL.encode() in late.transport.sent
    assert closed(late) == ["closed"]


@pytest.mark.parametrize("proxies", [(), ("192.0.2.0/24",)])
def test_one_address_has_half_unless_it_is_a_proxy(proxies):
    peers = Peers(most=10, proxies=proxies)
    asked = [peers.one(WHOLE) for _ in range(5)]
    half, one_more = peers.one(HALF, "198.51.100.1"), peers.one(WHOLE)
    assert closed(*asked, half) == [""] * 6
    assert closed(one_more) == ["" if proxies else "closed"]


def test_a_connection_that_is_over_is_forgotten():
    peers = Peers()
    for sent in (b"", HALF, HALF_BODY, WHOLE):
        peers.one(sent).connection_lost(None)
    room = peers.room
    assert [len(each) for each in (room._open, room._asking, room._of_address)] == [0, 0, 0]


SERVER = """
import logging, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))
import duckdb, uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from coupled_arena.core.settings import Settings
from coupled_arena.ui.server import configured
from coupled_arena.ui.waiting import listen

logging.basicConfig(format="%(name)s: %(message)s")
database = duckdb.connect(sys.argv[1])
database.execute("create table votes (n int)")

async def vote(request):
    await request.body()
    with database.cursor() as cursor:
        cursor.execute("insert into votes values (1)")
        cursor.execute("checkpoint")
    return PlainTextResponse("counted")

with listen(Settings(port=0)) as listening:
    print(listening.getsockname()[1], flush=True)
    application = Starlette(routes=[Route("/vote", vote, methods=["POST"])])
    uvicorn.Server(configured(application, ())).run(sockets=[listening])
"""


def _vote(port):
    return httpx.post(f"http://127.0.0.1:{port}/vote", timeout=PATIENCE).text


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="sockets are no descriptors there")
@pytest.mark.parametrize("sent", [b"", HALF, HALF_BODY])
def test_more_connections_than_descriptors_stop_no_vote(tmp_path, sent):
    command = [sys.executable, "-c", SERVER, str(tmp_path / "votes.duckdb")]
    log = tmp_path / "log.txt"
    with (
        log.open("w") as stderr,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr) as process,
        ExitStack() as opened,
    ):
        opened.callback(process.kill)
        assert process.stdout
        port = int(process.stdout.readline())
        for _ in range(300):
            one = opened.enter_context(socket.socket())
            one.settimeout(PATIENCE)
            one.connect(("127.0.0.1", port))
            with suppress(OSError):  # it is one of those that are closed at once
                one.sendall(sent)
        until(lambda: _vote(port) == "counted")  # the first may be told that there is no room
        assert [_vote(port) for _ in range(9)] == ["counted"] * 9
        assert process.poll() is None
    lines = log.read_text().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("coupled_arena.ui.connections: There are too many connections: ")
