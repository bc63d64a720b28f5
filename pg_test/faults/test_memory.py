"""Memory grows with what waits, without a restart, for any number of databases; what is gone is given back; the limit holds."""

import contextlib

import pytest

from faults.cluster import own_cluster
from faults.witness import figures_agree, is_sound
from support.calls import claim, claim_next, complete_many, enqueue, enqueue_times
from support.database import fresh_database, server
from support.lapse import eventually

MEGABYTE = 1 << 20


@pytest.fixture(scope="module")
def cluster():
    with own_cluster("faults_memory", fsync="off", max_connections=50) as cluster:
        yield cluster


@pytest.fixture
def db(cluster):
    with fresh_database() as database:
        yield database


@pytest.fixture
def limited():
    """The limit that a test needs, by reload."""
    with server() as admin:

        def limit(size: str) -> None:
            admin.execute(f"ALTER SYSTEM SET turnstile.max_memory = '{size}'")
            admin.execute("SELECT pg_reload_conf()")

        yield limit
        admin.execute("ALTER SYSTEM RESET turnstile.max_memory")
        admin.execute("SELECT pg_reload_conf()")


def _sessions(conn, sessions: int, queue: str = "default", tenant: str | None = None) -> None:
    """Memory is there from the first claim on."""
    assert claim_next(conn, "none") is None
    conn.execute(
        "INSERT INTO turnstile.job (queue, kind, tenant, session)"
        " SELECT %s, 'work', %s, 's' || s FROM generate_series(1, %s) s",
        [queue, tenant, sessions],
    )


def _memory(conn) -> tuple[int, int, int]:
    """Lanes, bytes and lanes outside of this database."""
    return conn.execute(
        "SELECT lanes, bytes, lanes_outside FROM turnstile.memory WHERE database = current_database()"
    ).fetchone()


def _of_all(conn) -> int:
    return conn.execute("SELECT coalesce(sum(bytes), 0)::bigint FROM turnstile.memory").fetchone()[0]


def _drain(conn, queue: str = "default") -> int:
    finished = 0
    while runs := claim(conn, [queue], 500):
        finished += complete_many(conn, runs)
    return finished


def test_memory_grows_with_the_lanes_and_shrinks_when_they_are_gone(db):
    conn = db.connect()
    enqueue(conn)
    assert claim_next(conn, "none") is None
    _, before, _ = _memory(conn)
    _sessions(conn, 50_000)
    lanes, many, outside = _memory(conn)
    assert (lanes, outside) == (50_001, 0)
    assert before + MEGABYTE < many < before + 50_000 * 300
    is_sound(conn)
    conn.execute("TRUNCATE turnstile.job")
    assert claim_next(conn) is None
    assert _memory(conn)[1] < before + MEGABYTE


def test_what_was_claimed_while_memory_grew_is_known(db):
    """An open claim holds its slots while the arrays below it become longer."""
    conn, other = db.connect(), db.connect()
    enqueue_times(conn, 3, session="s1")
    conn.execute("BEGIN")
    assert claim_next(conn).id == 1
    _sessions(other, 20_000)
    assert claim_next(other).id > 3
    conn.execute("ROLLBACK")
    assert claim_next(other).id == 1
    is_sound(other)


def test_a_dropped_extension_gives_its_memory_back(db):
    """All of it, at once, also where other sessions have used it; the next one begins anew."""
    conn, other = db.connect(), db.connect()
    enqueue(conn)
    _sessions(conn, 20_000)
    assert claim_next(other)
    conn.execute("BEGIN; DROP EXTENSION turnstile; ROLLBACK")
    assert _memory(conn)[0] >= 20_000
    is_sound(other)
    with fresh_database() as watched:
        watching = watched.connect()
        conn.execute("DROP EXTENSION turnstile")
        assert watching.execute("SELECT count(*) FROM turnstile.memory WHERE database = %s", [db.name]).fetchone() == (0,)
    conn.execute("CREATE EXTENSION turnstile")
    assert claim_next(other) is None
    enqueue(other)
    assert claim_next(conn)
    is_sound(conn)


def test_made_again_in_one_transaction_it_begins_anew(db):
    conn, other = db.connect(), db.connect()
    _sessions(other, 2_000)
    conn.execute("BEGIN; DROP EXTENSION turnstile; CREATE EXTENSION turnstile; COMMIT")
    made = enqueue(other)
    assert claim_next(other).id == made
    assert _memory(conn)[0] < 10
    is_sound(conn)


def test_a_dropped_database_gives_its_memory_back(db):
    conn = db.connect()
    enqueue(conn)
    before = _of_all(conn)
    with fresh_database() as other:
        _sessions(other.connect(), 20_000)
        assert _of_all(conn) > before + MEGABYTE
    assert _of_all(conn) <= before


def test_any_number_of_databases(cluster):
    """Each by itself, with a client that stays connected."""
    with contextlib.ExitStack() as stack:
        conns = [stack.enter_context(fresh_database()).connect() for _ in range(30)]
        made = [enqueue_times(conn, 3, session="s") for conn in conns]
        assert [claim_next(conn).id for conn in conns] == [first for first, *_ in made]
        for conn in conns:
            assert claim_next(conn) is None
            is_sound(conn)


def test_two_hundred_databases(cluster):
    """All there at once, each used by a client that comes and goes."""
    with contextlib.ExitStack() as stack:
        databases = [stack.enter_context(fresh_database()) for _ in range(200)]
        for database in databases:
            with contextlib.closing(database.connect()) as conn:
                made = enqueue_times(conn, 2, session="s")
                assert claim_next(conn).id == made[0]
                assert claim_next(conn) is None
        for database in databases[::50]:
            with contextlib.closing(database.connect()) as conn:
                is_sound(conn)
                assert conn.execute("SELECT count(*) FROM turnstile.memory").fetchone()[0] >= 200


def test_past_the_limit_those_with_the_most_wait_outside_and_no_producer_is_refused(db, cluster, limited):
    limited("1MB")
    conn = db.connect()
    eventually(lambda: conn.execute("SHOW turnstile.max_memory").fetchone() == ("1MB",))
    _sessions(conn, 20_000, queue="flood", tenant="flood")
    made = [enqueue_times(conn, 1, queue="small", session=f"s{n}")[0] for n in range(50)]
    lanes, size, outside = _memory(conn)
    assert size <= 4 * MEGABYTE and lanes < 20_000 < lanes + outside
    assert [claim_next(conn, "small").id for _ in made] == made
    assert claim_next(conn, "small") is None
    is_sound(conn)
    eventually(lambda: "has no more memory" in cluster.log)
    finished = _drain(conn, "flood")
    assert finished == 20_000
    is_sound(conn)


def test_memory_grows_back_when_the_limit_is_raised(db, limited):
    limited("1MB")
    conn = db.connect()
    eventually(lambda: conn.execute("SHOW turnstile.max_memory").fetchone() == ("1MB",))
    _sessions(conn, 20_000)
    assert _memory(conn)[0] < 20_000
    limited("1GB")
    eventually(lambda: conn.execute("SHOW turnstile.max_memory").fetchone() == ("1GB",))
    claimed = 0

    def is_back() -> bool:
        nonlocal claimed
        claimed += len(claim(conn, ["default"], 1))
        lanes, _, outside = _memory(conn)
        return outside == 0 and lanes >= 20_000 - claimed

    eventually(is_back)
    is_sound(conn)


def test_a_limit_that_is_lowered_is_kept_to(db, limited):
    conn = db.connect()
    _sessions(conn, 50_000)
    _, before, _ = _memory(conn)
    limited("2MB")
    eventually(lambda: conn.execute("SHOW turnstile.max_memory").fetchone() == ("2MB",))

    def is_smaller() -> bool:
        assert claim_next(conn)
        return _memory(conn)[1] < before / 2

    eventually(is_smaller)
    is_sound(conn)


def test_figures_are_those_of_all_names_whatever_the_limit(db, limited):
    limited("256kB")
    conn = db.connect()
    eventually(lambda: conn.execute("SHOW turnstile.max_memory").fetchone() == ("256kB",))
    conn.execute("TABLE turnstile.queues")
    conn.execute("INSERT INTO turnstile.job (kind, tenant) SELECT 'work', 't' || n FROM generate_series(1, 5000) AS n")
    waiting = "SELECT count(*) FILTER (WHERE waiting = 1), count(*) FILTER (WHERE oldest_waiting IS NULL) FROM turnstile.tenants"
    for limit in ("256kB", "1GB", "256kB"):
        limited(limit)
        eventually(lambda limit=limit: conn.execute("SHOW turnstile.max_memory").fetchone() == (limit,))
        figures_agree(conn)
        assert conn.execute(waiting).fetchone() == (5000, 0)
        assert conn.execute("SELECT enqueued FROM turnstile.stat_queue").fetchone() == (5000,)
    conn.execute("DELETE FROM turnstile.job WHERE tenant <> 't7'")
    figures_agree(conn)
    conn.execute("UPDATE turnstile.job SET tenant = 'other'")
    is_sound(conn)
