"""The tests of the shop itself: each is one transaction, jobs included, and leaves nothing behind.

DATABASE_URL names a database of their own, which `models.py` has set up.
"""

import smtplib

import jobs
import pytest
from models import Order, Sales, Session
from turnstile_client import enqueue
from turnstile_client.testing import assert_enqueued, drain
from web import app


@pytest.fixture
def session():
    """All sessions are in one transaction, which is rolled back."""
    engine = Session.kw["bind"]
    with engine.connect() as connection:
        Session.configure(bind=connection, join_transaction_mode="create_savepoint")
        with Session() as session:
            yield session
        Session.configure(bind=engine)


@pytest.fixture
def conn(session):
    """The connection below it, which the test helpers take."""
    return session.connection().connection.driver_connection


@pytest.fixture
def outbox(monkeypatch):
    sent = []
    monkeypatch.setattr(jobs, "send", lambda to, subject, body: sent.append((to, subject, body)))
    return sent


def order(item="book", email="ada@example.com"):
    assert app.test_client().post("/orders", data={"email": email, "item": item}).status_code == 201


def test_an_order_sends_a_receipt_and_is_counted(session, conn, outbox):
    order()
    assert_enqueued(conn, "receipt", count=1, queue="mail")
    drain(conn, jobs.HANDLERS)
    assert [(to, body) for to, _, body in outbox] == [("ada@example.com", "You have bought: book.")]
    assert session.get(Sales, "book").sold == 1


def test_a_survey_follows_three_days_later(conn, outbox):
    order()
    assert "survey" not in [job.kind for job in drain(conn, jobs.HANDLERS)]
    assert_enqueued(conn, "survey", state="scheduled")


def test_many_orders_are_counted_once(session, conn, outbox):
    for _ in range(3):
        order()
    assert [job.kind for job in drain(conn, jobs.HANDLERS)].count("count sales") == 1
    assert session.get(Sales, "book").sold == 3


def test_an_order_and_its_jobs_are_there_together_or_not_at_all(session, conn):
    # Its last job is refused, as the unique key is too long.
    form = {"email": "ada@example.com", "item": "x" * 300}
    assert app.test_client().post("/orders", data=form).status_code == 500
    assert session.query(Order).count() == 0
    assert_enqueued(conn, "receipt", count=0)


def test_a_refused_address_is_not_tried_again_and_shown(conn, monkeypatch):
    def refused(*message):
        raise smtplib.SMTPRecipientsRefused({"ada@example.com": (550, b"no such user")})

    monkeypatch.setattr(jobs, "send", refused)
    order()
    drain(conn, jobs.HANDLERS, queues=("mail",), retry=jobs.RETRY, raises=False)
    page = app.test_client().get("/dead").text
    assert "1 failures, the last: SMTPRecipientsRefused" in page


def test_the_owner_gets_a_summary(session, conn, outbox):
    session.add_all([Sales(item="book", sold=1), Sales(item="lamp", sold=2)])
    session.commit()
    enqueue(session, "summary")
    drain(conn, jobs.HANDLERS)
    assert outbox == [(jobs.OWNER, "Sales", "lamp: 2\nbook: 1")]
