"""The application `shop`, as its customers and its administrator see it."""

import json
import subprocess

import pytest

from support.apps import APPS, BIN, HOST, psql, url_of
from support.calls import call
from support.examples import environment
from support.pgbouncer import free_port
from support.recurring import due
from support.sleepers import await_asleep, until
from support.smtp import mail_server


def run(db, *words) -> subprocess.CompletedProcess:
    where = {"cwd": APPS / "shop", "env": environment(url_of(db))}
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, **where)


@pytest.fixture
def shop(db):
    done = run(db, BIN / "python", "models.py")
    assert done.returncode == 0, done.stderr


@pytest.fixture
def mail_port():
    return free_port()


@pytest.fixture
def pool(work, mail_port):
    """Starts a worker."""
    return lambda name: work("shop", name, MAIL_HOST=f"{HOST}:{mail_port}")


@pytest.fixture
def pages(shop, web):
    return web("shop")


def order(pages, **form) -> int:
    answer = pages.post("/orders", **{"email": "ada@example.com", "item": "book"} | form)
    assert answer.status == 201, answer.text
    return json.loads(answer.text)["order"]


def state_of(conn, kind: str):
    return conn.execute("SELECT id, state FROM turnstile.jobs WHERE kind = %s", [kind]).fetchone()


def await_state(conn, kind: str, state: str) -> int:
    until(lambda: state_of(conn, kind)[1] == state, f"{kind} {state}", lambda: state_of(conn, kind))
    return state_of(conn, kind)[0]


def test_its_own_tests(conn, db, shop):
    done = run(db, BIN / "pytest", "-q", "-p", "no:cacheprovider", "--confcutdir", ".", "-c", "/dev/null", "--rootdir", ".")
    assert done.returncode == 0, done.stdout
    assert conn.execute("SELECT count(*) FROM turnstile.jobs").fetchone() == (0,)
    assert conn.execute("SELECT count(*) FROM customer_order").fetchone() == (0,)


def test_orders_send_receipts_and_are_counted(conn, pages, pool, mail_port):
    first, second = order(pages), order(pages, email="bob@example.com")
    with mail_server(mail_port) as sent:
        workers = [pool("mail"), pool("rest")]
        until(lambda: len(sent) == 2, "both receipts")
        await_state(conn, "count sales", "completed")
        for worker in workers:
            worker.leaves()
    assert sorted(message["To"] for message in sent) == ["ada@example.com", "bob@example.com"]
    assert {message["Subject"] for message in sent} == {f"Your order {first}", f"Your order {second}"}
    assert conn.execute("SELECT item, sold FROM sales").fetchall() == [("book", 2)]
    assert state_of(conn, "survey")[1] == "scheduled"


def test_where_the_mail_server_is_away_mail_waits_for_a_minute(conn, pages, pool, mail_port):
    order(pages)
    pool("mail")
    job = await_state(conn, "receipt", "retryable")
    wait = "SELECT run_at - (errors -> -1 ->> 'at')::timestamptz > '50 s' FROM turnstile.jobs WHERE id = %s"
    assert conn.execute(wait, [job]).fetchone() == (True,)
    with mail_server(mail_port) as sent:
        call(conn, "retry", job_id=job)
        await_state(conn, "receipt", "completed")
    assert len(sent) == 1


def test_a_dead_job_is_looked_at_and_retried(conn, pages, pool, mail_port):
    number = order(pages, email="nobody@example.com")
    with mail_server(mail_port) as sent:
        pool("mail")
        job = await_state(conn, "receipt", "discarded")
        page = pages.get("/dead").text
        assert "SMTPRecipientsRefused" in page and f"/dead/{job}/retry" in page
        conn.execute("UPDATE customer_order SET email = 'ada@example.com' WHERE id = %s", [number])
        assert pages.post(f"/dead/{job}/retry").status == 303
        until(lambda: len(sent) == 1, "the receipt")
        assert "None." in pages.get("/dead").text


def test_the_owner_is_told_each_morning(conn, db, shop, pool, mail_port):
    psql(db, APPS / "shop" / "recurring.sql")
    due(conn, name="daily summary")
    call(conn, "fire_recurring")
    with mail_server(mail_port) as sent:
        pool("mail")
        until(lambda: len(sent) == 1, "the summary")
    assert (sent[0]["To"], sent[0]["Subject"]) == ("owner@shop.example", "Sales")
