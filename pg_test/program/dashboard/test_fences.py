"""What one viewer leaves to others, what comes to an end, and what is said where something is missing."""

import contextlib
import secrets
import socket
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from support.batches import enqueue_batch
from support.calls import claim_next, complete, enqueue
from support.dashboard import PASSWORD, ROLE, basic, main, pages
from support.database import fresh_database
from support.pgbouncer import CONFIGURATION, pgbouncer
from support.sleepers import until

# Far less than a statement that waits takes.
AT_ONCE = 1.0
MOST_CHANGES = 8
BY_PASSWORD = "auth_type = scram-sha-256\nauth_file = {}"


@pytest.fixture(scope="module")
def trusting(dashboard, viewers):
    return dashboard("--role-header", ROLE, "--allow-writes", place=viewers.place(viewers.gate))


@pytest.fixture(scope="module")
def opened(dashboard):
    return dashboard("--allow-writes")


@contextlib.contextmanager
def locked(database, table: str):
    """Whoever reads it waits."""
    with psycopg.connect(dbname=database.name) as conn:
        conn.execute(f"LOCK {table} IN ACCESS EXCLUSIVE MODE")
        yield


def ended(viewed, place: str, headers: dict | None = None) -> str:
    """The page of a change, once it is over."""
    text = ""

    def is_over() -> bool:
        nonlocal text
        text = main(viewed.get(place, headers=headers).text)
        return "goes on" not in text

    until(is_over, "the change ends", viewed.stderr)
    return text


# ---- Passwords ------------------------------------------------------------------------------------


def test_a_server_that_asks_for_no_password_lets_nobody_in(dashboard, module_db, viewers):
    """By the socket anybody comes in as anybody, whatever the password."""
    viewed = dashboard("--basic", "--allow-writes", place=f"dbname={module_db.name}")
    logins = (basic("postgres", "anything"), basic("postgres", ""), basic(viewers.name("superuser")))
    asked = [(method, path, who) for who in logins for method, path in (("GET", "/"), ("GET", "/metrics"), ("POST", "/queue/pause"))]
    # Each is let to wait.
    with ThreadPoolExecutor(4) as several:
        answers = several.map(lambda each: viewed.ask(*each[:2], headers=each[2] | {"Sec-Fetch-Site": "same-origin"}), asked)
    for answer in answers:
        assert (answer.status, "asks for no password" in answer.text) == (403, True), answer.text
    assert viewed.ask("GET", "/").status == 401
    assert "pg_hba.conf" in viewed.stderr()


def test_a_role_that_may_not_connect_is_told_as_a_wrong_password_is(dashboard, module_db, viewers):
    """Whether the password was right is not said."""
    viewed = dashboard("--basic", place=viewers.nowhere)
    conn = module_db.connect()
    name = viewers.name("monitor")
    conn.execute(f"REVOKE CONNECT ON DATABASE {module_db.name} FROM PUBLIC")
    try:
        answers = [viewed.get("/", headers=who) for who in (basic(name), basic(name, "wrong"))]
    finally:
        conn.execute(f"GRANT CONNECT ON DATABASE {module_db.name} TO PUBLIC")
    assert [answer.status for answer in answers] == [401, 401]
    assert answers[0].text == answers[1].text


@pytest.fixture
def pooler(module_db, monkeypatch):
    """Starts a PgBouncer that lets in whom it asks for what `login` says."""
    with contextlib.ExitStack() as stack:

        def start(login: str) -> str:
            monkeypatch.setattr("support.pgbouncer.CONFIGURATION", CONFIGURATION.replace("auth_type = any", login))
            port = stack.enter_context(pgbouncer(module_db.name)).port
            return f"host=127.0.0.1 port={port} dbname={module_db.name} user=nobody_at_all"

        yield start


def test_a_pooler_decides_on_the_password(dashboard, viewers, pooler):
    name = viewers.name("monitor")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        users = Path(folder, "users")
        users.write_text(f'"{name}" "{PASSWORD}"\n')
        viewed = dashboard("--basic", place=pooler(BY_PASSWORD.format(users)))
    assert viewed.get("/", headers=basic(name)).status == 200
    for who in (basic(name, "wrong"), basic("no_such_role")):
        began = time.monotonic()
        assert viewed.get("/", headers=who).status == 401
        # As long as it takes where the server itself says so.
        assert time.monotonic() - began > AT_ONCE


def test_a_pooler_that_asks_for_no_password_lets_nobody_in(dashboard, viewers, pooler):
    viewed = dashboard("--basic", place=pooler("auth_type = any"))
    assert viewed.get("/", headers=basic(viewers.name("superuser"))).status == 403


# ---- One viewer and the others --------------------------------------------------------------------


def test_a_role_leaves_connections_to_others(trusting, module_db, viewers):
    """Requests of one that all wait for the server do not keep another from its pages."""
    operator, monitor = ({ROLE: viewers.name(kind)} for kind in ("operator", "monitor"))
    with locked(module_db, "turnstile.job"):
        ask = [threading.Thread(target=trusting.get, args=("/jobs", {"kind": f"none {number}"}, operator)) for number in range(12)]
        for thread in ask:
            thread.start()
        time.sleep(0.5)
        began = time.monotonic()
        assert trusting.get("/queues", headers=monitor).status == 200
        assert time.monotonic() - began < AT_ONCE
    for thread in ask:
        thread.join()


def test_changes_leave_connections_to_pages_and_places_to_others(trusting, module_db, viewers):
    operator, superuser = ({ROLE: viewers.name(kind)} for kind in ("operator", "superuser"))
    fields = {"kind": "none of this kind"}
    begun = []
    with locked(module_db, "turnstile.job"):
        for _ in range(MOST_CHANGES):
            answer = trusting.post("/jobs/cancel", fields, operator)
            assert answer.status == 303, answer.text
            begun.append((answer.headers["Location"], operator))
        refused = trusting.post("/jobs/cancel", fields, operator)
        assert (refused.status, "Too many changes" in refused.text) == (503, True)
        answer = trusting.post("/jobs/cancel", fields, superuser)
        assert answer.status == 303
        begun.append((answer.headers["Location"], superuser))
        began = time.monotonic()
        assert trusting.get("/queues", headers=operator).status == 200
        assert time.monotonic() - began < AT_ONCE
    for place, who in begun:
        assert "done" in ended(trusting, place, who)


def test_a_form_comes_to_its_end(opened):
    with contextlib.closing(socket.create_connection(("127.0.0.1", opened.port), timeout=30)) as client:
        head = f"POST /queue/pause HTTP/1.1\r\nHost: 127.0.0.1:{opened.port}\r\nSec-Fetch-Site: same-origin\r\nContent-Length: 100\r\n\r\nname="
        client.sendall(head.encode())
        assert client.recv(64).startswith(b"HTTP/1.1 408 ")


# ---- Changes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("deed", ["cancel", "discard"])
def test_a_parent_that_waits_for_its_children_is_no_change_without_end(opened, module_db, deed):
    """It was told to end, and each further call finds it again, until its last child has ended."""
    conn = module_db.connect()
    queue = f"batches {secrets.token_hex(4)}"
    parent = enqueue_batch(conn, f"parent of {queue}", children=[{"kind": "child"}] * 2, queue=queue)
    child = claim_next(conn, queue)
    place = opened.post(f"/jobs/{deed}", {"kind": f"parent of {queue}"}).headers["Location"]
    assert "done" in ended(opened, place)
    complete(conn, child)
    state = {"cancel": "cancelled", "discard": "discarded"}[deed]
    query = "SELECT state FROM turnstile.job_status WHERE id = %s ORDER BY finished_at DESC NULLS FIRST LIMIT 1"
    until(lambda: conn.execute(query, [parent]).fetchone() == (state,), "it ends")


@pytest.mark.parametrize("expected", ["-1", str(-(2**63)), str(2**63), "x"])
def test_how_many_were_counted_is_a_number(opened, expected):
    answer = opened.post("/jobs/cancel", {"kind": "none of this kind", "expected": expected})
    assert (answer.status, "expected" in main(answer.text)) == (400, True)


def test_however_many_were_counted_the_page_is_there(opened):
    place = opened.post("/jobs/cancel", {"kind": "none of this kind", "expected": 2**63 - 1}).headers["Location"]
    assert "done" in ended(opened, place)


# ---- What is missing ------------------------------------------------------------------------------


def test_a_database_without_the_extension_says_so(dashboard):
    """And not that the role may not see it, nor that the server has failed."""
    with fresh_database(extension=False) as empty:
        viewed = dashboard("--allow-writes", place=f"dbname={empty.name}")
        for path, needs in pages().items():
            answer = viewed.get(path)
            assert answer.status == (200 if needs == "nothing" else 503), path
            # It comes by itself when the outage is over.
            assert answer.headers["Refresh"] == (None if needs == "nothing" else "5"), path
        for answer in (viewed.get("/queues"), viewed.get("/metrics"), viewed.post("/queue/pause", {"name": "mail"})):
            assert (answer.status, "does not have the extension" in answer.text) == (503, True), answer.text
        viewed.close()


def test_a_wrong_parameter_is_told_in_a_sentence(opened):
    for path, told in (("/queue", "The parameter name is missing."), ("/queue?name=a&name=b", "The parameter name is there twice.")):
        answer = opened.get(path)
        assert (answer.status, told in answer.text) == (400, True), answer.text


def test_another_version_is_told_as_one(opened, module_db):
    conn = module_db.connect()
    conn.execute("ALTER VIEW turnstile.queues RENAME COLUMN waiting TO waits")
    try:
        answer = opened.get("/queues")
    finally:
        conn.execute("ALTER VIEW turnstile.queues RENAME COLUMN waits TO waiting")
    assert (answer.status, "of another version" in answer.text, "ALTER EXTENSION" in answer.text) == (500, True, True), answer.text
    until(lambda: opened.get("/queues").status == 200, "it is there again")


def test_a_lock_is_told(opened, module_db):
    """A page and a lever that wait for others are given up, and nothing was changed."""
    conn = module_db.connect()
    job = enqueue(conn, "locked")
    with locked(module_db, "turnstile.job"):
        page, lever = opened.get("/job", {"id": job}), opened.post("/job/cancel", {"id": job})
    for answer in (page, lever):
        assert (answer.status, "57014" in answer.text, "undone" in answer.text) == (503, True, True), answer.text
    assert conn.execute("SELECT state FROM turnstile.job WHERE id = %s", [job]).fetchone() == ("available",)
