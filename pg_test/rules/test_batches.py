"""Calls about many jobs write their rows together, page by page, and change rows without locking them first. Nobody can tell
from what comes of it."""

import json
import random
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from support import rows
from support.calls import Run, call, claim, claim_all, claim_next, complete, complete_many, enqueue, enqueue_many, ids
from support.modules import has_module

ALL = 10_000
def _jobs(count: int, **arguments) -> list[dict]:
    return [{"kind": "work", "payload": {"n": number}, **arguments} for number in range(count)]


def _check_indexes(conn):
    """Each row that meets an index's condition has an entry, and no other has."""
    if not has_module(conn, "amcheck"):
        return
    conn.execute(
        "SELECT bt_index_check(indexrelid, heapallindexed => true) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid"
        " JOIN pg_am ON pg_am.oid = relam WHERE amname = 'btree' AND (indrelid = 'turnstile.job'::regclass OR indrelid IN"
        " (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'turnstile.job_history'::regclass))"
    )


def _today(conn) -> str:
    return conn.execute(
        "SELECT partition::text FROM turnstile.history_partition WHERE now() >= begins AND now() < ends"
    ).fetchone()[0]


def test_more_jobs_than_are_written_at_once(both):
    """Of several lanes, some for later and some that need a table of their own for large values."""
    chance = random.Random(1)
    large = "".join(chance.choices("0123456789abcdef", k=20_000))
    jobs = _jobs(2_500)
    for job in chance.sample(jobs, 700):
        job["tenant"] = chance.choice("abc")
    for job in chance.sample(jobs, 20):
        job["payload"]["large"] = large
    for job in chance.sample(jobs, 100):
        job["run_at"] = "2100-01-01"
    made = enqueue_many(both, jobs)
    assert [row.ord for row in made] == list(range(1, 2_501))
    _check_indexes(both)
    claimed = claim(both, ["default"], ALL)
    assert [run.payload for run in claimed] == [job["payload"] for job in jobs if "run_at" not in job]
    assert all(rows.live(both, run.id).state == "running" for run in claimed[::100])
    assert complete_many(both, claimed) == 2_400
    _check_indexes(both)
    finished = both.execute("SELECT payload FROM turnstile.job_history ORDER BY position").fetchall()
    assert [payload for (payload,) in finished] == [run.payload for run in claimed]
    assert rows.counts(both) == {"scheduled": 100, "completed": 2_400}


def test_the_history_is_summarised_as_it_grows(conn):
    """A page's summary has the times of all its rows, though most rows do not touch it."""
    today = _today(conn)
    enqueue_many(conn, _jobs(600))
    assert complete_many(conn, claim(conn, ["default"], 300)) == 300
    conn.execute("SELECT brin_summarize_new_values(indexrelid) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid"
                 " JOIN pg_am ON pg_am.oid = relam WHERE amname = 'brin' AND indrelid = %s::regclass", [today])  # fmt: skip
    before = rows.clock(conn)
    for _ in range(3):
        complete_many(conn, claim(conn, ["default"], 100))
    conn.execute("SET enable_seqscan = off; SET enable_indexscan = off")
    query = f"SELECT count(*) FROM {today} WHERE finished_at >= %s"
    plan = conn.execute(f"EXPLAIN {query}", [before]).fetchall()
    assert any("Bitmap Index Scan" in line for (line,) in plan), plan
    assert conn.execute(query, [before]).fetchone() == (300,)


def test_runs_in_any_order_and_not_all_of_them_running(both):
    enqueue_many(both, _jobs(60))
    claimed = claim(both, ["default"], 50)
    again = claimed[7]
    call(both, "release", job_id=again.id, attempt=again.attempt)
    done, gone = claimed[3], claimed[4]
    complete(both, done)
    both.execute("DELETE FROM turnstile.job WHERE id = %s", [gone.id])
    strangers = [Run(0, 1), Run(-5, 1), Run(2**63 - 1, 1), Run(-(2**63), 1), Run(claimed[0].id, 2), Run(claimed[0].id, 0)]
    runs = [*claimed[:10], *claimed[20:50:3], *claimed[20:30], *strangers]
    random.Random(2).shuffle(runs)
    expected = {run.id for run in runs if run in claimed} - {again.id, done.id, gone.id}
    assert complete_many(both, runs) == len(expected)
    assert complete_many(both, runs) == 0
    finished = [number for (number,) in both.execute("SELECT id FROM turnstile.job_history ORDER BY id")]
    assert finished == sorted(expected | {done.id})


def test_a_savepoint_rolled_back_undoes_a_batch(both, other):
    enqueue_many(both, _jobs(20, tenant="acme"))
    call(both, "set_tenant", name="acme", slots=10)
    runs = claim(both, ["default"], 5)
    both.execute("BEGIN; SAVEPOINT a")
    enqueue_many(both, _jobs(5, tenant="acme"))
    assert complete_many(both, runs) == 5
    assert len(claim(both, ["default"], 20)) == 10
    both.execute("ROLLBACK TO a")
    assert len(claim(both, ["default"], 20)) == 5
    both.execute("COMMIT")
    assert claim_all(other) == []
    assert complete_many(other, runs) == 5
    assert len(claim_all(other)) == 5
    assert rows.counts(other) == {"available": 5, "running": 10, "completed": 5}


REFUSING = {
    "unique index": "CREATE UNIQUE INDEX one ON turnstile.job ((payload ->> 'n'))",
    "check": "ALTER TABLE turnstile.job ADD CHECK (payload ->> 'n' <> '15') NOT VALID",
    "not null": "ALTER TABLE turnstile.job ADD extra int; ALTER TABLE turnstile.job ALTER extra SET NOT NULL",
}


@pytest.mark.parametrize("refusal", REFUSING.values(), ids=REFUSING.keys())
def test_what_refuses_one_job_refuses_all(both, refusal):
    both.execute(refusal)
    with pytest.raises(psycopg.errors.IntegrityError):
        enqueue_many(both, [*_jobs(20), *_jobs(20)])
    assert rows.everything(both) == []
    assert claim_all(both) == []


def test_what_refuses_one_run_refuses_all(both):
    enqueue_many(both, _jobs(20))
    runs = claim(both, ["default"], 20)
    both.execute("ALTER TABLE turnstile.job_history ADD CONSTRAINT odd CHECK (payload ->> 'n' <> '15')")
    with pytest.raises(psycopg.errors.CheckViolation):
        complete_many(both, runs)
    assert rows.counts(both) == {"running": 20}
    both.execute("ALTER TABLE turnstile.job_history DROP CONSTRAINT odd")
    assert complete_many(both, runs) == 20


def test_a_trigger_of_the_history_fires_for_each_run(conn):
    conn.execute("CREATE TABLE log (id bigint)")
    conn.execute("CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS"
                 " $$ BEGIN INSERT INTO public.log VALUES (NEW.id); RETURN NEW; END $$")  # fmt: skip
    conn.execute("CREATE TRIGGER note BEFORE INSERT ON turnstile.job_history FOR EACH ROW EXECUTE FUNCTION note()")
    made = enqueue_many(conn, _jobs(30))
    complete_many(conn, claim(conn, ["default"], 30))
    assert [number for (number,) in conn.execute("SELECT id FROM log ORDER BY id")] == ids(made)
    assert rows.counts(conn) == {"completed": 30}


def test_a_day_without_a_partition(conn):
    conn.execute(f"DROP TABLE {_today(conn)}")
    enqueue_many(conn, _jobs(30))
    complete_many(conn, claim(conn, ["default"], 30))
    assert conn.execute("SELECT count(*) FROM turnstile.job_history_default").fetchone() == (30,)
    _check_indexes(conn)


def test_a_partition_with_its_columns_in_another_order(conn):
    today = _today(conn)
    begins, ends = conn.execute(
        "SELECT begins, ends FROM turnstile.history_partition WHERE partition = %s::regclass", [today]
    ).fetchone()
    conn.execute(f"DROP TABLE {today}")
    columns = [name for (name,) in conn.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = 'turnstile.job_history'::regclass AND attnum > 0 ORDER BY attnum DESC"
    )]  # fmt: skip
    conn.execute(f"CREATE TABLE odd AS SELECT {', '.join(columns)} FROM turnstile.job_history WHERE false")
    conn.execute("DO $$ DECLARE name text; BEGIN FOR name IN SELECT attname FROM pg_attribute WHERE attrelid ="
                 " 'turnstile.job_history'::regclass AND attnum > 0 AND attnotnull LOOP"
                 " EXECUTE format('ALTER TABLE odd ALTER %I SET NOT NULL', name); END LOOP; END $$")  # fmt: skip
    conn.execute(f"ALTER TABLE turnstile.job_history ATTACH PARTITION odd FOR VALUES FROM ('{begins}') TO ('{ends}')")
    enqueue_many(conn, _jobs(30))
    runs = claim(conn, ["default"], 30)
    complete_many(conn, runs)
    found = conn.execute("SELECT id, payload, state FROM odd ORDER BY id").fetchall()
    assert found == [(run.id, run.payload, "completed") for run in runs]


@pytest.mark.parametrize("strength", ["UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE"])
def test_jobs_that_another_has_locked(both, other, strength):
    """A lock that an update does not heed does not keep a job from being claimed; one that it does has it passed over."""
    made = ids(enqueue_many(both, _jobs(10)))
    other.execute("BEGIN")
    other.execute(f"SELECT FROM turnstile.job WHERE id = ANY (%s) FOR {strength}", [made[2:5]])
    is_heeded = strength != "KEY SHARE"
    expected = made[:2] + made[5:] if is_heeded else made
    assert ids(claim(both, ["default"], 10)) == expected
    other.execute("ROLLBACK")
    assert ids(claim(both, ["default"], 10)) == (made[2:5] if is_heeded else [])


def test_a_job_that_its_own_transaction_has_locked(both):
    made = ids(enqueue_many(both, _jobs(3)))
    both.execute("BEGIN; SELECT FROM turnstile.job FOR UPDATE")
    both.execute("SAVEPOINT a; SELECT FROM turnstile.job FOR KEY SHARE")
    runs = claim(both, ["default"], 3)
    assert ids(runs) == made
    both.execute("SELECT FROM turnstile.job FOR UPDATE")
    assert complete_many(both, runs) == 3
    both.execute("COMMIT")


WAITS = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'"
CHANGES = {
    "a lock": ("SELECT FROM turnstile.job WHERE id = %s FOR UPDATE", True),
    "a progress": ("""UPDATE turnstile.job SET progress = '{"done": 1}' WHERE id = %s""", True),
    "another progress of it": ("""UPDATE turnstile.job SET progress = '{"done": 1}' WHERE id = %s""", True),
    "a completion": ("SELECT turnstile.complete(%s, 1)", False),
    "a release": ("SELECT turnstile.release(%s, 1)", False),
    "a deletion": ("DELETE FROM turnstile.job WHERE id = %s", False),
}


@pytest.mark.parametrize("ending", ["COMMIT", "ROLLBACK"])
@pytest.mark.parametrize(("change", "is_still_run"), CHANGES.values(), ids=CHANGES.keys())
def test_a_run_that_another_is_changing_is_waited_for(both, other, change, is_still_run, ending):
    enqueue_many(both, _jobs(10))
    runs = claim(both, ["default"], 10)
    target = runs[4]
    other.execute("BEGIN")
    other.execute(change, [target.id])
    with ThreadPoolExecutor(1) as pool:
        completed = pool.submit(complete_many, both, runs)
        while other.execute(WAITS, [both.info.backend_pid]).fetchone() == (0,):
            pass
        other.execute(ending)
        assert completed.result() == (10 if is_still_run or ending == "ROLLBACK" else 9)
    if "progress" in change and ending == "COMMIT":
        assert rows.finished(both, target.id).progress == {"done": 1}
    assert both.execute("SELECT count(*), count(DISTINCT id) FROM turnstile.job_history").fetchone() in [(10, 10), (9, 9)]


@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
def test_batches_at_every_isolation_level(both, other, level):
    """Claims are refused at the last, so they come before it."""
    enqueue_many(other, _jobs(20))
    mine = claim(both, ["default"], 5) if level == "SERIALIZABLE" else []
    both.execute(f"BEGIN ISOLATION LEVEL {level}; SELECT count(*) FROM turnstile.job")
    theirs = claim(other, ["default"], 5)
    mine = mine or claim(both, ["default"], 5)
    assert not set(ids(theirs)) & set(ids(mine))
    complete_many(other, theirs)
    assert complete_many(both, [*mine, *theirs]) == 5
    enqueue_many(both, _jobs(5))
    both.execute("COMMIT")
    assert rows.counts(other) == {"available": 15, "completed": 10}


def test_what_an_element_may_be(conn):
    """The array is read as JSON: whole numbers in any notation, escapes, keys that come twice, any payload."""
    array = (
        '[{"kind": "a\\u00e9\\n", "priority": 1e1, "max_attempts": 3.0, "payload": "text", "metadata": null},'
        ' {"kind": "x", "kind": "b", "payload": [1, {"a": []}], "priority": -0, "metadata": 7, "run_at": "infinity"},'
        ' {"kind": "c", "payload": false, "queue": null, "tenant": null, "unique_key": null, "unique_by": null}]'
    )
    conn.execute("SELECT * FROM turnstile.enqueue_many(%s)", [array])
    found = conn.execute("SELECT kind, priority, max_attempts, payload, metadata, state, queue FROM turnstile.job ORDER BY id")
    assert found.fetchall() == [
        ("aé\n", 10, 3, "text", None, "available", "default"),
        ("b", 0, 25, [1, {"a": []}], 7, "scheduled", "default"),
        ("c", 0, 25, False, None, "available", "default"),
    ]


def test_an_array_that_was_stored(conn):
    """Compressed, and out of line."""
    jobs = [{"kind": "work", "payload": {"n": number, "text": "x" * 100}} for number in range(500)]
    conn.execute("CREATE TABLE stored (jobs jsonb)")
    conn.execute("INSERT INTO stored VALUES (%s)", [json.dumps(jobs)])
    conn.execute("SELECT enqueue_many FROM stored, turnstile.enqueue_many(jobs)")
    assert [run.payload for run in claim(conn, ["default"], ALL)] == [job["payload"] for job in jobs]


def test_one_job_after_a_batch(conn):
    """What a batch has looked up is no other call's."""
    enqueue_many(conn, _jobs(3))
    conn.execute("CREATE UNIQUE INDEX one ON turnstile.job (kind) WHERE state = 'available' AND id > 3")
    enqueue(conn)
    with pytest.raises(psycopg.errors.UniqueViolation):
        enqueue_many(conn, _jobs(1))
    assert len(claim(conn, ["default"], 10)) == 4
    assert claim_next(conn) is None


@pytest.mark.parametrize("before", [0, 30, 80])
def test_a_job_that_is_committed_late_is_the_next(both, other, before):
    """Its place is among those that a claim went through."""
    made = ids(enqueue_many(both, _jobs(before))) if before else []
    other.execute("BEGIN")
    late = enqueue(other)
    made += ids(enqueue_many(both, _jobs(200 - before)))
    assert ids(claim(both, ["default"], 100)) == made[:100]
    other.execute("COMMIT")
    assert ids(claim(both, ["default"], 101)) == [late, *made[100:]]


def test_claims_rolled_back_bring_all_back(both, other):
    made = ids(enqueue_many(both, _jobs(300)))
    for ending in ("ROLLBACK", "ROLLBACK", "COMMIT"):
        both.execute("BEGIN")
        assert ids(claim(both, ["default"], 100)) == made[:100]
        assert ids(claim(other, ["default"], 1)) == made[100:101]
        both.execute(ending)
        made = made[:100] + made[101:] if ending == "ROLLBACK" else made[101:]
    assert ids(claim(other, ["default"], ALL)) == made
