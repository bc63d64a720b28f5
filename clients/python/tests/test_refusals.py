"""A server that lets nobody in: for a worker that begins that is the end, and later it is not."""

import contextlib
import socket
import struct
import threading

import psycopg
import pytest

from crew import Started, until
from turnstile_client import Hooks

WRONG = 'password authentication failed for user "app"'
STARTING = "the database system is starting up"
CLEARTEXT = struct.pack("!cii", b"R", 8, 3)


def refusal(message, sqlstate):
    fields = b"SFATAL\0VFATAL\0C" + sqlstate.encode() + b"\0M" + message.encode() + b"\0\0"
    return b"E" + struct.pack("!i", len(fields) + 4) + fields


class Doorkeeper:
    """Speaks as much of the protocol as it takes to refuse a connection."""

    def __init__(self, answer, asks_for_password):
        self.answer, self.asks_for_password, self.callers = answer, asks_for_password, 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self):
        with contextlib.suppress(OSError):
            while True:
                caller, _ = self.socket.accept()
                self.callers += 1
                with caller:
                    caller.recv(10_000)
                    if self.asks_for_password:
                        caller.sendall(CLEARTEXT)
                        if not caller.recv(10_000):
                            continue
                    caller.sendall(self.answer)

    def dsn(self, hosts="127.0.0.1", ports=None, **more):
        ports = ports or str(self.port)
        return psycopg.conninfo.make_conninfo(host=hosts, port=ports, user="app", dbname="db", sslmode="disable", gssencmode="disable", **more)


@pytest.fixture
def door():
    opened = []

    def open_(message=WRONG, sqlstate="28P01", asks_for_password=True):
        opened.append(Doorkeeper(refusal(message, sqlstate), asks_for_password))
        return opened[-1]

    yield open_
    for each in opened:
        each.socket.close()


class Pauses(Hooks):
    def __init__(self):
        self.told = []

    def disconnected(self, error, pause):
        self.told.append(error)


@pytest.mark.parametrize(
    "message, sqlstate",
    [
        (WRONG, "28P01"), ('role "app" does not exist', "28000"), ('database "db" does not exist', "3D000"),
        ('no pg_hba.conf entry for host "127.0.0.1", user "app", database "db", no encryption', "28000"),
    ],
)  # fmt: skip
def test_a_worker_that_is_refused_when_it_begins_ends(door, kind, message, sqlstate):
    worker = Started(kind, door(message, sqlstate).dsn(password="wrong"), {})
    until(lambda: not worker.thread.is_alive(), "the end of the worker")
    assert isinstance(worker.error, psycopg.OperationalError) and message in str(worker.error)


def test_a_password_that_is_missing_is_noticed_in_any_language(door, kind, monkeypatch, tmp_path):
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
    monkeypatch.delenv("PGPASSWORD", raising=False)
    worker = Started(kind, door("Passwort-Authentifizierung fehlgeschlagen").dsn(), {})
    until(lambda: not worker.thread.is_alive(), "the end of the worker")
    assert isinstance(worker.error, psycopg.OperationalError)


@pytest.mark.parametrize("message", [STARTING, "sorry, too many clients already"])
def test_what_passes_is_waited_for(door, kind, message):
    hooks, keeper = Pauses(), door(message, "57P03")
    worker = Started(kind, keeper.dsn(password="right"), {}, hooks=hooks)
    until(lambda: keeper.callers > 2)
    worker.stop(hard=True)
    assert worker.error is None and hooks.told


def test_another_host_may_let_it_in_later(door, kind):
    keeper, starting = door(), door(STARTING, "57P03")
    dsn = keeper.dsn(hosts="127.0.0.1,127.0.0.1", ports=f"{starting.port},{keeper.port}", password="wrong")
    worker = Started(kind, dsn, {})
    until(lambda: keeper.callers > 2)
    worker.stop(hard=True)
    assert worker.error is None


def test_who_was_let_in_before_comes_again(door, dsn, kind):
    """A password that is being changed, or a server that is being set up anew."""
    keeper, calls = door(), []

    def connect():
        calls.append(1)
        return psycopg.connect(dsn if len(calls) == 1 else keeper.dsn(password="wrong"))

    async def async_connect():
        calls.append(1)
        return await psycopg.AsyncConnection.connect(dsn if len(calls) == 1 else keeper.dsn(password="wrong"))

    worker = Started(kind, async_connect if kind == "async" else connect, {})
    lose = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with psycopg.connect(dsn, autocommit=True) as conn:
        until(lambda: conn.execute(lose).fetchall(), "the first connection")
    until(lambda: keeper.callers > 2)
    worker.stop(hard=True)
    assert worker.error is None
