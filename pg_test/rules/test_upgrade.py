"""An upgrade that adds a column: its script is all there is to it, and afterwards all calls carry the column.

Sessions that have used the extension before the upgrade go on, with the plans and descriptions of tables that they kept.
"""

import pytest

from findings.verbs import VERBS, finished, warm
from support import rows
from support.calls import call, cancel, claim, claim_next, complete, discard, enqueue, enqueue_many, fail, retry
from support.scripts import CURRENT, made_up, placed

# What a release would ship. The history has the column by the same name and type; that is all by which it is found.
SCRIPT = """
ALTER TABLE turnstile.job ADD COLUMN region text NOT NULL DEFAULT 'unknown';
ALTER TABLE turnstile.job_history ADD COLUMN region text NOT NULL DEFAULT 'unknown';
COMMENT ON COLUMN turnstile.job.region IS 'Where the job belongs.';
COMMENT ON COLUMN turnstile.job_history.region IS 'Where the job belongs.';
"""
DEFAULT, OWN = "unknown", "north"


@pytest.fixture(scope="module")
def version():
    """A version to which the installed one can be upgraded."""
    after = made_up()
    with placed(f"{CURRENT}--{after}", SCRIPT):
        yield after


@pytest.fixture(params=["direct path", "usual path"])
def path(request, conn):
    """A trigger of a user has every change made by a statement."""
    if request.param == "usual path":
        conn.execute("CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN coalesce(NEW, OLD); END $$")
        conn.execute("CREATE TRIGGER a_pass BEFORE INSERT OR UPDATE OR DELETE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION pass()")
        conn.execute("CREATE TRIGGER a_pass BEFORE INSERT ON turnstile.job_history FOR EACH ROW EXECUTE FUNCTION pass()")


def _upgrade(conn, version: str) -> None:
    conn.execute(f"ALTER EXTENSION turnstile UPDATE TO '{version}'")
    assert conn.execute("SELECT extversion FROM pg_extension WHERE extname = 'turnstile'").fetchone() == (version,)


def _regions(conn) -> list[tuple[int, str]]:
    """By job, live or finished."""
    both = "SELECT id, region FROM turnstile.job UNION ALL SELECT id, region FROM turnstile.job_history"
    return conn.execute(both).fetchall()


def _mark(conn) -> None:
    for table in ("job", "job_history"):
        conn.execute(f"UPDATE turnstile.{table} SET region = %s", [OWN])


def _whole(conn, table: str) -> list[dict]:
    return [row for (row,) in conn.execute(f"SELECT to_jsonb(j) FROM turnstile.{table} AS j ORDER BY id").fetchall()]


def _some_in_every_state(conn) -> dict[str, int]:
    """By state, those of the history too."""
    made = {"completed": enqueue(conn)}
    complete(conn, claim_next(conn), result=None)
    made["discarded"] = enqueue(conn)
    discard(conn, claim_next(conn))
    made["cancelled"] = enqueue(conn)
    cancel(conn, made["cancelled"])
    made["retryable"] = enqueue(conn, session="s", tenant="acme")
    fail(conn, claim_next(conn), retry_in="1 hour")
    made["running"] = enqueue(conn, unique_key="k", unique_mode="until_executed")
    claim_next(conn)
    made["scheduled"] = enqueue(conn, run_at="2100-01-01")
    made["available"] = enqueue(conn, account="a", tenant="acme", concurrency_key="c", priority=3)
    assert {state: rows.state(conn, job) for state, job in made.items()} == {state: state for state in made}
    return made


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS.keys())
def test_each_call_carries_the_column(conn, other, path, version, verb):
    """Made ready before the upgrade, called after it, by a session that has made each call before."""
    warm(conn)
    subject = verb.prepare(conn)
    _upgrade(other, version)
    _mark(other)
    known = {job for job, _ in _regions(other)}
    assert verb.call(conn, subject) == verb.answer
    assert rows.counts(conn) == verb.counts
    assert call(conn, "check") == []
    found = _regions(conn)
    assert found == [(job, OWN if job in known else DEFAULT) for job, _ in found]


def test_jobs_and_history_are_what_they_were_and_have_the_default(conn, other, path, version):
    made = _some_in_every_state(conn)
    before = {table: _whole(conn, table) for table in ("job", "job_history")}
    _upgrade(other, version)
    for table, old in before.items():
        assert _whole(conn, table) == [{**row, "region": DEFAULT} for row in old]
    assert {state: rows.state(conn, job) for state, job in made.items()} == {state: state for state in made}
    assert call(conn, "check") == []


def test_jobs_of_every_state_go_on_and_end_with_their_value(conn, other, path, version):
    made = _some_in_every_state(conn)
    _upgrade(other, version)
    _mark(other)
    # The key is still held, the duplicate refused.
    assert enqueue(conn, unique_key="k", unique_mode="until_executed") == made["running"]
    for state in ("completed", "discarded", "cancelled", "retryable", "scheduled"):
        retry(conn, made[state])
    run = rows.live(conn, made["running"])
    complete(conn, run)
    live = {made[state] for state in made} - {made["running"]}
    while runs := claim(conn, ["default"], 2):
        assert [rows.live(conn, run.id).region for run in runs] == [OWN] * len(runs)
        for run in runs:
            live.remove(run.id)
            assert complete(conn, run) is True
    assert live == set()
    assert {region for _, region in _regions(conn)} == {OWN}


@pytest.mark.parametrize("end", ["complete", "discard", "cancel"])
def test_a_value_comes_back_from_history(conn, other, path, version, end):
    warm(conn)
    _upgrade(other, version)
    made = enqueue(conn)
    other.execute("UPDATE turnstile.job SET region = %s", [OWN])
    run = claim_next(conn) if end != "cancel" else None
    {"complete": lambda: complete(conn, run), "discard": lambda: discard(conn, run), "cancel": lambda: cancel(conn, made)}[end]()
    assert rows.finished(conn, made).region == OWN
    assert retry(conn, made) == "available"
    assert rows.live(conn, made).region == OWN
    assert complete(conn, claim_next(conn)) is True
    assert {region for _, region in _regions(conn)} == {OWN}


def test_producers_may_name_the_column(conn, other, path, version):
    warm(conn)
    _upgrade(other, version)
    conn.execute("INSERT INTO turnstile.job (kind, lane, region) VALUES ('work', 0, %s)", [OWN])
    with conn.cursor().copy("COPY turnstile.job (kind, lane, region) FROM STDIN") as copy:
        copy.write_row(["work", 0, OWN])
    assert [row.created for row in enqueue_many(conn, [{"kind": "work"}, {"kind": "work", "unique_key": "k"}])] == [True, True]
    runs = claim(conn, ["default"], 10)
    assert [rows.live(conn, run.id).region for run in runs] == [OWN, OWN, DEFAULT, DEFAULT]
    for run in runs:
        assert complete(conn, run) is True
    assert sorted(region for _, region in _regions(conn)) == [OWN, OWN, DEFAULT, DEFAULT]


def test_partitions_made_later_have_the_column(conn, other, path, version):
    run = finished(conn)
    _upgrade(other, version)
    call(conn, "maintain")
    conn.execute("UPDATE turnstile.job_history SET finished_at = finished_at + interval '1 day', region = %s", [OWN])
    assert rows.finished(conn, run.id).region == OWN
    assert retry(conn, run.id) == "available"
    assert _regions(conn).count((run.id, OWN)) == 2
