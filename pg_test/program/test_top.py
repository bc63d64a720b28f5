"""`turnstile top` in a terminal: its keys, a window of another size, a lost server; and once, as text and as JSON."""

import json

import pytest

from support import program
from support.calls import claim_next, enqueue, enqueue_times
from support.terminal import terminal

KEYS = "q quit"


def _top(db, *arguments, **size):
    return terminal(program.PROGRAM, "-d", db.name, "top", "--every", "250ms", *arguments, **size)


def _shown(lines: list[str], names: list[str]) -> list[str]:
    """Those of the names that begin a row of the table, from the top."""
    first = [line.lstrip("│▶> ").split()[:1] for line in lines]
    return [word for words in first for word in words if word in names]


@pytest.fixture
def queues(conn):
    """Three queues with 3, 2 and 1 jobs that wait, of two tenants, and a run."""
    enqueue_times(conn, 3, queue="alpha", tenant="acme")
    enqueue_times(conn, 3, queue="beta", tenant="acme")
    enqueue(conn, queue="gamma", tenant="zenith")
    assert claim_next(conn, "beta", worker="worker-7").queue == "beta"


def _paused(conn, name: str) -> bool:
    return conn.execute("SELECT paused FROM turnstile.queues WHERE name = %s", [name]).fetchone() == (True,)


def test_keys_lead_from_one_table_to_the_next(db, conn, queues):
    with _top(db) as top:
        lines = top.await_screen("connected", "alpha", "beta", "gamma", KEYS)
        assert db.name in lines[0]
        top.press("Tab")
        top.await_screen("acme", "zenith", without=("gamma",))
        top.press("4")
        top.await_screen("worker-7", without=("zenith",))
        top.press("BTab")
        top.await_screen(without=("worker-7",))
        top.press("1")
        top.await_screen("alpha", "beta", "gamma")
        top.press("?")
        top.await_screen("Control-C", "any key closes")
        top.press("x")
        top.await_screen("alpha", without=("any key closes",))
        top.press("q")
        assert top.await_end() == 0


def test_it_shows_what_changes(db, conn, queues):
    with _top(db) as top:
        top.await_screen("alpha", without=("delta",))
        enqueue(conn, queue="delta")
        top.await_screen("alpha", "delta")
        top.press("C-c")
        assert top.await_end() == 0


def test_a_filter_shows_names_with_a_text(db, conn, queues):
    with _top(db) as top:
        top.await_screen("alpha", "beta", "gamma")
        top.press("/")
        top.await_screen("Enter keeps it")
        top.press("M", "M", "BSpace")
        top.await_screen("gamma", without=("alpha", "beta"))
        top.press("Enter")
        top.await_screen("gamma", KEYS, without=("alpha", "beta"))
        top.press("Escape")
        top.await_screen("alpha", "beta", "gamma")
        # In the filter q is a letter.
        top.press("/", "q")
        top.await_screen("filter: q", without=("alpha",))
        top.press("Escape")
        top.await_screen("alpha", KEYS)


def test_rows_are_sorted_by_a_column(db, conn, queues):
    names = ["alpha", "beta", "gamma"]
    with _top(db, "--filter", "a") as top:
        top.await_screen(*names)
        seen = set()
        for _ in range(20):
            top.press("s")
            seen.add(tuple(_shown(top.await_screen(*names), names)))
            top.press("i")
            seen.add(tuple(_shown(top.await_screen(*names), names)))
        assert {("alpha", "beta", "gamma"), ("gamma", "beta", "alpha")} <= seen


def test_a_pause_is_asked_for_and_confirmed(db, conn, queues):
    with _top(db, "--filter", "lph") as top:
        top.await_screen("alpha", KEYS)
        top.press("p")
        top.await_screen("Pause the queue alpha?", "y/n")
        top.press("n")
        top.await_screen("nothing was done")
        assert not _paused(conn, "alpha")
        top.press("p")
        top.await_screen("Pause the queue alpha?")
        top.press("y")
        top.await_screen("the queue alpha is paused")
        assert _paused(conn, "alpha") and not _paused(conn, "beta")
        top.press("r")
        top.await_screen("Resume the queue alpha?")
        top.press("y")
        top.await_screen("the queue alpha goes on")
        assert not _paused(conn, "alpha")


def test_a_batch_is_paused_and_resumed(db, conn):
    batch = conn.execute("SELECT turnstile.enqueue_batch('rollout', children => '[{\"kind\": \"a\"}]')").fetchone()[0]
    with _top(db, "batches") as top:
        top.await_screen("rollout", "open")
        top.press("p")
        top.await_screen(f"Pause the batch {batch}?")
        top.press("y")
        top.await_screen("rollout", "paused", without=("open",))
        assert conn.execute("SELECT paused FROM turnstile.batches WHERE id = %s", [batch]).fetchone() == (True,)
        top.press("r")
        top.await_screen(f"Resume the batch {batch}?")
        top.press("y")
        top.await_screen("rollout", "open")


def test_who_may_only_look_is_told(db, conn, queues, role, monkeypatch):
    conn.execute(f"SELECT turnstile.allow_monitor('{role}')")
    monkeypatch.setenv("PGOPTIONS", f"-c role={role}")
    with _top(db, "--filter", "lph") as top:
        top.await_screen("alpha", KEYS)
        top.press("p")
        top.await_screen("y/n")
        top.press("y")
        top.await_screen("42501")
        top.await_screen("connected")
    assert not _paused(conn, "alpha")


@pytest.mark.parametrize("size", [(40, 10), (20, 3), (200, 60), (1, 1)], ids=str)
def test_a_window_of_any_size_is_drawn(db, conn, queues, size):
    with _top(db) as top:
        top.await_screen("connected", "alpha", "gamma")
        top.resize(*size)
        if size[0] >= 40:
            top.await_screen("turnstile top", "alpha")
        top.press("?", "x", "Tab", "Down", "PageDown", "/", "a", "Enter", "Escape", "1")
        top.resize(100, 20)
        lines = top.await_screen("connected", "alpha", "gamma", KEYS)
        assert max(map(len, lines)) <= 100 and len(lines) <= 20
        top.press("q")
        assert top.await_end() == 0


def test_a_lost_server_is_told_and_found_again(db, conn, queues, relay):
    place = f"host=127.0.0.1 port={relay.port} dbname={db.name} user=postgres"
    with terminal(program.PROGRAM, "-d", place, "top", "--every", "250ms") as top:
        top.await_screen("connected", "alpha")
        relay.cut()
        top.await_screen("NO SERVER", "alpha", without=("connected",))
        top.press("p")
        top.await_screen("there is no server")
        assert not _paused(conn, "alpha")
        relay.open()
        top.await_screen("connected", "alpha", without=("NO SERVER",))
        enqueue(conn, queue="later")
        top.await_screen("later")
        relay.cut()
        top.await_screen("NO SERVER")
        top.press("q")
        assert top.await_end() == 0


def test_it_waits_for_a_server_that_is_not_there_yet(db, queues, relay):
    relay.cut()
    place = f"host=127.0.0.1 port={relay.port} dbname={db.name} user=postgres"
    with terminal(program.PROGRAM, "-d", place, "top") as top:
        top.await_screen("NO SERVER", f"127.0.0.1:{relay.port}")
        relay.open()
        top.await_screen("connected", "alpha")


def test_once_prints_each_table(turnstile, conn, queues):
    text = turnstile("top", "--once")
    for part in ("queues", "tenants", "batches", "workers", "alpha", "zenith", "worker-7"):
        assert part in text.lower()
    assert "\x1b" not in text
    everything = json.loads(turnstile("top", "--once", "--json"))
    assert {"queues", "tenants", "batches", "workers", "totals", "memory", "database", "at"} <= set(everything)
    waiting = {queue["name"]: (queue["waiting"], queue["running"], queue["slots"]) for queue in everything["queues"]}
    assert waiting == {"alpha": (3, 0, None), "beta": (2, 1, None), "gamma": (1, 0, None)}
    assert [worker["worker"] for worker in everything["workers"]] == ["worker-7"]
    alone = json.loads(turnstile("top", "tenants", "--once", "--json", "--filter", "ZEN"))
    assert [tenant["name"] for tenant in alone["tenants"]] == ["zenith"] and "queues" not in alone


def test_names_move_no_cursor(db, conn, turnstile):
    name = "wipe\x1b[2J\rout"
    conn.execute("SELECT turnstile.enqueue('work', queue => %s)", [name])
    assert "wipe [2J out" in turnstile("top", "queues", "--once")
    assert json.loads(turnstile("top", "queues", "--once", "--json"))["queues"][0]["name"] == name
    with _top(db) as top:
        top.await_screen("turnstile top", "wipe", "NAME")


def test_once_shows_batches(turnstile, conn):
    batch = conn.execute("SELECT turnstile.enqueue_batch('rollout', children => '[{\"kind\": \"a\"}, {\"kind\": \"b\"}]')").fetchone()[0]
    (shown,) = json.loads(turnstile("top", "batches", "--once", "--json"))["batches"]
    named = [shown[name] for name in ("id", "kind", "total", "tenant", "paused", "paused_until")]
    assert named == [batch, "rollout", 2, None, False, None]
    assert "open" in turnstile("top", "batches", "--once")
    conn.execute("SELECT turnstile.set_batch(%s, paused => true)", [batch])
    assert json.loads(turnstile("top", "batches", "--once", "--json"))["batches"][0]["paused"] is True
    assert "paused" in turnstile("top", "batches", "--once")
    assert "rollout" in turnstile("top", "batches", "--once", "--filter", "rollout")
    assert "rollout" not in turnstile("top", "batches", "--once", "--filter", "other")
