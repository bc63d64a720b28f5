"""Jobs are added on the application's own connection, whatever it is, and in its transaction."""

import asyncio
import threading
from datetime import date, datetime, timedelta, timezone

import psycopg
import pytest
from psycopg.rows import dict_row

from turnstile_client import (
    Added,
    JobFailed,
    async_await_result,
    async_enqueue,
    async_enqueue_batch,
    async_enqueue_many,
    await_result,
    enqueue,
    enqueue_batch,
    enqueue_many,
)

OPTIONS = {"queue": "q", "tenant": "t", "unique_for": timedelta(minutes=1), "unique_key": "k", "run_at": datetime(2100, 1, 1, tzinfo=timezone.utc),
           "metadata": {"a": 1}}  # fmt: skip


def _count(conn):
    return conn.execute("SELECT count(*) FROM turnstile.job").fetchone()[0]


def test_a_duplicate_is_told(conn):
    first = enqueue(conn, "report", {"user": 7}, **OPTIONS)
    assert enqueue(conn, "report", {"user": 8}, **OPTIONS) == (first.id, False)
    assert first.created
    query = "SELECT kind, payload, queue, tenant, metadata, run_at FROM turnstile.job"
    assert conn.execute(query).fetchone() == ("report", {"user": 7}, "q", "t", {"a": 1}, OPTIONS["run_at"])


def test_the_states_in_which_a_key_is_held_arrive(conn):
    states = ["available", "running"]
    enqueue(conn, "a", unique_key="1", unique_states=states)
    enqueue_many(conn, [{"kind": "a", "unique_key": "2", "unique_states": states}])
    enqueue_batch(conn, "a", children=[{"kind": "b", "unique_key": "4", "unique_states": states}], unique_key="3", unique_states=tuple(states))
    assert conn.execute("SELECT DISTINCT states::text[], count(*) FROM turnstile.unique_key GROUP BY 1").fetchall() == [(states, 4)]


def test_a_key_that_is_not_held_when_discarded_is_free_again(conn):
    options = {"unique_key": "order 5", "unique_for": timedelta(days=1), "unique_states": ["available", "running", "completed"]}
    first = enqueue(conn, "invoice", **options)
    assert not enqueue(conn, "invoice", **options).created
    conn.execute("SELECT turnstile.discard(%s)", [first.id])
    assert enqueue(conn, "invoice", **options).created


def test_a_rollback_takes_the_job(dsn, conn):
    with psycopg.connect(dsn, row_factory=dict_row) as own:
        assert isinstance(enqueue(own, "a"), Added)
        own.rollback()
        enqueue_many(own, [{"kind": "b", **OPTIONS}, {"kind": "c"}])
        own.commit()
    assert _count(conn) == 2


def test_a_batch_has_children(conn):
    job_id = enqueue_batch(conn, "sum", {"of": 2}, [{"kind": "part"}, {"kind": "part", "payload": {"n": 1}}], slots=1)
    assert conn.execute("SELECT count(*) FROM turnstile.job WHERE parent = %s", [job_id]).fetchone() == (2,)


def test_an_argument_that_is_not_known_is_refused(conn):
    with pytest.raises(TypeError, match="prioritty"):
        enqueue(conn, "a", prioritty=1)


@pytest.mark.parametrize("kind", [None, 5, b"a"])
def test_a_job_needs_a_kind_that_is_a_text(conn, kind):
    for call in [
        lambda: enqueue(conn, kind), lambda: enqueue_batch(conn, kind), lambda: enqueue_many(conn, [{"kind": "a"}, {"kind": kind}]),
        lambda: enqueue_many(conn, [{}]), lambda: enqueue_batch(conn, "a", children=[{"kind": kind}]),
    ]:  # fmt: skip
        with pytest.raises(TypeError, match="a job needs a kind"):
            call()
    assert _count(conn) == 0


@pytest.mark.parametrize("span", [90, 90.0, timedelta(seconds=90), "1.5 minutes"])
def test_a_number_is_seconds_wherever_a_span_of_time_is_passed(conn, span):
    unique = {"unique_for": span, "unique_mode": "until_expired"}
    enqueue(conn, "a", unique_key="1", **unique)
    enqueue_many(conn, [{"kind": "a", "unique_key": "2", **unique}])
    children = [{"kind": "b", "unique_key": "4", **unique}]
    job_id = enqueue_batch(conn, "a", children=children, unique_key="3", rate=2, rate_per=span, **unique)
    assert conn.execute("SELECT rate_per FROM turnstile.batch WHERE id = %s", [job_id]).fetchone() == (timedelta(seconds=90),)
    expires = "SELECT DISTINCT expires_at - now() BETWEEN '80 s' AND '90 s', count(*) FROM turnstile.unique_key GROUP BY 1"
    assert conn.execute(expires).fetchall() == [(True, 4)]


@pytest.mark.parametrize("run_at", [datetime(2100, 1, 1), date(2100, 1, 1)])
def test_a_time_without_a_zone_is_refused_wherever_it_is_passed(dsn, conn, run_at):
    naive = {"kind": "a", "run_at": run_at}

    async def use(add, *arguments, **options):
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as own:
            await add(own, *arguments, **options)

    for call in [
        lambda: enqueue(conn, "a", run_at=run_at), lambda: enqueue_many(conn, [{"kind": "b"}, naive]),
        lambda: enqueue_batch(conn, "a", run_at=run_at), lambda: enqueue_batch(conn, "a", children=[naive]),
        lambda: asyncio.run(use(async_enqueue, "a", run_at=run_at)), lambda: asyncio.run(use(async_enqueue_many, [naive])),
        lambda: asyncio.run(use(async_enqueue_batch, "a", children=[naive])),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match="run_at needs a time zone"):
            call()
    assert _count(conn) == 0


def test_sqlalchemy(dsn, conn):
    sqlalchemy = pytest.importorskip("sqlalchemy")
    orm = pytest.importorskip("sqlalchemy.orm")
    engine = sqlalchemy.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(dsn))
    with orm.Session(engine) as session:
        enqueue(session, "a", {"x": ":y"}, **OPTIONS)
        session.rollback()
        enqueue(session, "b")
        session.commit()
    with engine.begin() as connection:
        assert len(enqueue_many(connection, [{"kind": "c"}])) == 1
    engine.dispose()
    assert _count(conn) == 2


def test_sqlalchemy_async(dsn, conn):
    asyncio_of = pytest.importorskip("sqlalchemy.ext.asyncio")

    async def use():
        engine = asyncio_of.create_async_engine("postgresql+psycopg://", async_creator=lambda: psycopg.AsyncConnection.connect(dsn))
        async with asyncio_of.AsyncSession(engine) as session:
            await async_enqueue(session, "a", **OPTIONS)
            await session.commit()
        await engine.dispose()

    asyncio.run(use())
    assert _count(conn) == 1


def test_django(dsn, conn):
    django_db = pytest.importorskip("django.db")
    from django.conf import settings

    parts = psycopg.conninfo.conninfo_to_dict(dsn)
    with psycopg.connect(dsn) as own:
        info = own.info
        database = {"ENGINE": "django.db.backends.postgresql", "NAME": parts["dbname"], "HOST": info.host, "PORT": info.port, "USER": info.user}
    if not settings.configured:
        settings.configure(DATABASES={"default": database})
    connection = django_db.utils.ConnectionHandler({"default": database})["default"]
    connection.set_autocommit(False)
    enqueue(connection, "a", {"percent": "%s"}, **OPTIONS)
    connection.rollback()
    enqueue(connection, "b")
    connection.commit()
    connection.close()
    assert _count(conn) == 1


def test_async(dsn, conn):
    async def use():
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as own:
            first = await async_enqueue(own, "a")
            await async_enqueue_many(own, [{"kind": "b"}])
            await async_enqueue_batch(own, "c", children=[{"kind": "d"}])
            threading.Timer(0.2, complete, [first.id]).start()
            return await async_await_result(own, first.id)

    def complete(job_id):
        conn.execute("SELECT turnstile.complete(id, attempt, '5') FROM turnstile.claim_next() WHERE id = %s", [job_id])

    assert asyncio.run(use()) == 5


def test_a_result_is_waited_for(dsn, conn):
    job_id = enqueue(conn, "a").id
    with psycopg.connect(dsn, autocommit=True) as worker:
        end = "SELECT turnstile.complete(id, attempt, '{\"b\": 1}') FROM turnstile.claim_next()"
        threading.Timer(0.2, worker.execute, [end]).start()
        assert await_result(conn, job_id) == {"b": 1}
    with pytest.raises(TimeoutError):
        await_result(conn, enqueue(conn, "a", queue="nobody").id, timeout=0.1)
    dead = enqueue(conn, "a").id
    conn.execute("SELECT turnstile.fail(id, attempt, 'no', discard => true) FROM turnstile.claim_next()")
    with pytest.raises(JobFailed) as failed:
        await_result(conn, dead)
    assert (failed.value.state, failed.value.errors[0]["error"]) == ("discarded", "no")
