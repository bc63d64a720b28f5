"""An application's tests run its jobs in their own transaction."""

import asyncio

import psycopg
import pytest

from turnstile_client import AwaitChildren, Discard, Retry, Snooze, async_enqueue, enqueue, enqueue_batch, enqueue_many
from turnstile_client.testing import assert_enqueued, async_assert_enqueued, async_drain, drain, inline


def test_a_test_drains_its_jobs_and_those_that_come_of_them(conn, turnstile_conn):
    def signup(run):
        enqueue(turnstile_conn, "mail", {"to": run.payload["email"]})
        return "ok"

    sent = []
    enqueue(turnstile_conn, "signup", {"email": "a@example.com"})
    done = drain(turnstile_conn, {"signup": signup, "mail": lambda run: sent.append(run.payload["to"])})
    assert ([job.kind for job in done], sent) == (["signup", "mail"], ["a@example.com"])
    assert conn.execute("SELECT count(*) FROM turnstile.jobs").fetchone() == (0,)


def test_batches_run_to_their_end(turnstile_conn):
    enqueue_batch(turnstile_conn, "sum", children=[{"kind": "part"}] * 3)
    ended = []
    drain(turnstile_conn, {"part": lambda run: None, "sum": lambda run: ended.append(run.job.children)})
    assert ended == [{"completed": 3, "discarded": 0, "cancelled": 0}]


def test_errors_of_handlers_surface(turnstile_conn):
    def fails(run):
        raise ValueError("boom")

    enqueue(turnstile_conn, "a")
    with pytest.raises(ValueError, match="boom"):
        drain(turnstile_conn, {"a": fails})


def test_or_they_do_what_they_do_in_a_worker(turnstile_conn):
    def fails(run):
        raise {"retry": Retry("r", in_=60), "discard": Discard("d"), "snooze": Snooze(60)}.get(run.job.kind, ValueError("v"))

    kinds = ["retry", "discard", "snooze", "error"]
    for kind in kinds:
        enqueue(turnstile_conn, kind)
    drain(turnstile_conn, {"*": fails}, raises=False)
    states = dict(turnstile_conn.execute("SELECT kind, state FROM turnstile.jobs").fetchall())
    assert states == {"retry": "retryable", "discard": "discarded", "snooze": "scheduled", "error": "retryable"}


def test_retry_curves_go_by_the_classes_of_errors_there_too(turnstile_conn):
    def fails(run):
        raise {"named": Retry("r", error_class="busy"), "over": Discard("d", error_class="gone")}.get(run.kind, ValueError("v"))

    turnstile_conn.execute("SELECT turnstile.set_retry_curve('*', 'ValueError', discard => true)")
    for kind in ["error", "named", "over"]:
        enqueue(turnstile_conn, kind)
    drain(turnstile_conn, {"*": fails}, raises=False)
    found = turnstile_conn.execute("SELECT kind, state, errors -> -1 ->> 'class' FROM turnstile.jobs ORDER BY id").fetchall()
    assert found == [("error", "discarded", "ValueError"), ("named", "retryable", "busy"), ("over", "discarded", "gone")]


def test_a_job_that_adds_itself_is_noticed(turnstile_conn):
    enqueue(turnstile_conn, "a")
    with pytest.raises(AssertionError, match="add itself"):
        drain(turnstile_conn, {"a": lambda run: enqueue(turnstile_conn, "a") and None}, most=20)


def test_what_was_enqueued_is_asserted(turnstile_conn):
    enqueue(turnstile_conn, "mail", {"to": "a", "cc": "b"}, queue="mails")
    [found] = assert_enqueued(turnstile_conn, "mail", payload={"to": "a"}, queue="mails")
    assert found["payload"] == {"to": "a", "cc": "b"}
    assert_enqueued(turnstile_conn, "mail", count=0, queue="other")
    with pytest.raises(AssertionError, match="expected a job with .*'mail'"):
        assert_enqueued(turnstile_conn, "mail", payload={"to": "c"})


def test_inline_runs_each_job_at_once(turnstile_conn):
    order = []

    def outer(run):
        order.append("outer begins")
        enqueue(turnstile_conn, "inner")
        order.append("outer ends")

    with inline({"outer": outer, "inner": lambda run: order.append("inner")}):
        enqueue(turnstile_conn, "outer")
        order.append("enqueued")
    assert order == ["outer begins", "outer ends", "inner", "enqueued"]
    enqueue(turnstile_conn, "inner")
    assert len(order) == 4


def test_a_handler_may_wait_for_children(turnstile_conn):
    def parent(run):
        if run.job.children is None:
            enqueue_many(turnstile_conn, [{"kind": "child", "parent": run.id}] * 2)
            return AwaitChildren
        return run.job.children

    enqueue(turnstile_conn, "parent")
    drain(turnstile_conn, {"parent": parent, "child": lambda run: None})
    query = "SELECT result FROM turnstile.jobs WHERE kind = 'parent'"
    assert turnstile_conn.execute(query).fetchone() == ({"completed": 2, "discarded": 0, "cancelled": 0},)


def test_a_kind_without_a_handler_is_an_error(turnstile_conn):
    enqueue(turnstile_conn, "a")
    with pytest.raises(Retry, match="no handler"):
        drain(turnstile_conn, {})


def test_a_result_that_is_no_json_is_an_error_here_too(turnstile_conn):
    enqueue(turnstile_conn, "a", max_attempts=1)
    with pytest.raises(AssertionError, match="cannot be sent as JSON"):
        drain(turnstile_conn, {"a": lambda run: object()})


def test_columns_that_do_not_exist_are_refused(turnstile_conn):
    with pytest.raises(TypeError, match="quue"):
        assert_enqueued(turnstile_conn, "a", quue="b")


def test_any_kind_and_any_payload(turnstile_conn):
    enqueue(turnstile_conn, "a", [1, 2])
    enqueue(turnstile_conn, "b", metadata={"m": 1}, tenant="t")
    assert [each["payload"] for each in assert_enqueued(turnstile_conn, count=2)] == [[1, 2], {}]
    assert_enqueued(turnstile_conn, payload=[2])
    assert_enqueued(turnstile_conn, metadata={"m": 1}, tenant="t")


def test_with_a_session_of_sqlalchemy(dsn, conn):
    sqlalchemy, orm = pytest.importorskip("sqlalchemy"), pytest.importorskip("sqlalchemy.orm")
    engine = sqlalchemy.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(dsn))

    class OwnSession(orm.Session):
        """As applications and frameworks have them."""

    with OwnSession(engine) as session:
        enqueue(session, "a", {"to": "x"})
        assert_enqueued(session, "a", payload={"to": "x"})
        assert [each.payload for each in drain(session, {"a": lambda run: {"b": 1}})] == [{"to": "x"}]
        with inline({"b": lambda run: None}):
            enqueue(session, "b")
        session.rollback()
    engine.dispose()
    assert conn.execute("SELECT count(*) FROM turnstile.jobs").fetchone() == (0,)


@pytest.mark.parametrize("driver", ["psycopg", "asyncpg", "connection"])
def test_with_coroutines(dsn, conn, driver):
    asyncio_of = pytest.importorskip("sqlalchemy.ext.asyncio")

    async def handler(run):
        await asyncio.sleep(0)
        return run.payload

    async def use(own):
        await async_enqueue(own, "a", {"to": "x"})
        await async_assert_enqueued(own, "a", payload={"to": "x"})
        done = await async_drain(own, {"a": handler})
        with inline({"b": handler}):
            await async_enqueue(own, "b")
        with pytest.raises(AssertionError):
            await async_assert_enqueued(own, "b")
        await own.rollback()
        return [each.kind for each in done]

    async def with_own():
        if driver == "connection":
            async with await psycopg.AsyncConnection.connect(dsn) as own:
                return await use(own)
        info = conn.info
        engine = asyncio_of.create_async_engine(f"postgresql+{driver}://{info.user}@127.0.0.1:{info.port}/{info.dbname}")
        try:
            async with asyncio_of.AsyncSession(engine) as session:
                return await use(session)
        finally:
            await engine.dispose()

    assert asyncio.run(with_own()) == ["a"]
    assert conn.execute("SELECT count(*) FROM turnstile.jobs").fetchone() == (0,)


def test_what_is_made_for_coroutines_says_so(turnstile_conn):
    async def handler(run):
        await asyncio.sleep(0)

    enqueue(turnstile_conn, "a")
    with pytest.raises(RuntimeError, match="async_"):
        drain(turnstile_conn, {"a": handler})


pytest_plugins = ["pytester"]


def test_the_fixture_is_there_and_rolls_back(pytester, conn, dsn, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", dsn)
    pytester.makepyfile("""
        from turnstile_client import enqueue

        def test_one(turnstile_conn):
            enqueue(turnstile_conn, "a")
    """)
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
    assert conn.execute("SELECT count(*) FROM turnstile.jobs").fetchone() == (0,)
