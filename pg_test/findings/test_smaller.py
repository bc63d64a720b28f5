"""Sleepers of an extension that goes, counted reads, a JSON null, and what check() says beside differences."""

import json

import psycopg
import pytest

from support.calls import call, claim, claim_next, complete, complete_many, enqueue, enqueue_many, enqueue_times
from support.database import fresh_database
from support.sleepers import put_to_sleep, woken_by_the_end

# ---- DROP EXTENSION ------------------------------------------------------------------------------------

# A claim that waits may have a lock on the jobs until its transaction ends: who drops them then waits for that, as he would
# with any transaction.
SLEEPS = {
    "wait_for_job": "CALL turnstile.wait_for_job(ARRAY['default'], '60 s')",
    "claim_next": "SELECT * FROM turnstile.claim_next(wait => '3 s')",
    "claim": "SELECT * FROM turnstile.claim(ARRAY['default', 'other'], 2, wait => '3 s')",
}
DROPS = {
    "extension": "DROP EXTENSION turnstile CASCADE",
    "and made again": "DROP EXTENSION turnstile CASCADE; CREATE EXTENSION turnstile",
    "in a transaction": "BEGIN; DROP EXTENSION turnstile CASCADE; COMMIT",
}


@pytest.mark.parametrize("drop", DROPS.values(), ids=DROPS.keys())
@pytest.mark.parametrize("sleep", SLEEPS.values(), ids=SLEEPS.keys())
def test_who_sleeps_sleeps_no_longer_when_the_extension_is_dropped(sleep, drop):
    with fresh_database() as db:
        conn = db.connect()
        with woken_by_the_end(db.connect(), put_to_sleep(db, conn, 3, sleep)) as sleepers:
            conn.execute(drop)
            for sleeper in sleepers:
                sleeper.returned()
                assert sleeper.rows == []
                assert sleeper.error is None or sleeper.error.sqlstate in {"42P01", "42883", "3F000", "55000"}


@pytest.mark.parametrize("sleep", ["wait_for_job"])
def test_who_sleeps_sleeps_on_when_the_drop_is_rolled_back(db, conn, sleep):
    with woken_by_the_end(db.connect(), put_to_sleep(db, conn, 2, SLEEPS[sleep])) as sleepers:
        conn.execute("BEGIN; DROP EXTENSION turnstile CASCADE; ROLLBACK")
        enqueue_times(conn, 2)
        for sleeper in sleepers:
            assert sleeper.returned().error is None


# ---- Statistics ----------------------------------------------------------------------------------------


def _counted(conn) -> dict[str, tuple]:
    conn.execute("SELECT pg_stat_force_next_flush()")
    found = conn.execute(
        "SELECT indexrelname, idx_scan, idx_tup_read, idx_tup_fetch FROM pg_stat_user_indexes WHERE relid = 'turnstile.job'::regclass"
    )
    return {name: tuple(numbers) for name, *numbers in found}


def _gained(conn, work) -> dict[str, tuple]:
    before = _counted(conn)
    work()
    after = _counted(conn)
    return {name: tuple(b - a for a, b in zip(before[name], after[name], strict=True)) for name in after}


@pytest.mark.parametrize("path", ["direct path", "usual path"])
def test_rows_that_calls_fetch_by_an_index_are_counted(conn, other, path):
    if path == "usual path":
        conn.execute("CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN coalesce(NEW, OLD); END $$")
        conn.execute("CREATE TRIGGER a_pass BEFORE UPDATE OR DELETE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION pass()")
    enqueue_times(conn, 20)
    runs = []
    gained = _gained(conn, lambda: runs.extend(claim_next(conn) for _ in range(5)))
    assert all(number >= 5 for number in gained["job_claim_idx"]), gained
    gained = _gained(conn, lambda: runs.extend(claim(conn, ["default"], 10)))
    assert gained["job_claim_idx"][1] >= 10 and gained["job_claim_idx"][2] >= 10, gained
    # Where a run was claimed, its end finds it without an index.
    gained = _gained(other, lambda: [complete(other, run) for run in runs[:5]])
    assert all(number >= 5 for number in gained["job_pkey"]), gained
    gained = _gained(other, lambda: complete_many(other, runs[5:]))
    assert gained["job_pkey"][1] >= 10 and gained["job_pkey"][2] >= 10, gained


def test_rows_that_calls_write_are_counted(conn):
    query = "SELECT n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_user_tables WHERE relid = 'turnstile.job'::regclass"
    before = conn.execute(query).fetchone()
    enqueue_times(conn, 3)
    enqueue_many(conn, [{"kind": "work"}] * 4)
    complete_many(conn, claim(conn, ["default"], 5))
    complete(conn, claim_next(conn))
    conn.execute("SELECT pg_stat_force_next_flush()")
    after = conn.execute(query).fetchone()
    assert tuple(b - a for a, b in zip(before, after, strict=True)) == (7, 6, 6)


# ---- A JSON null ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("element", [{"kind": "work"}, {"kind": "work", "unique_key": "k"}], ids=["plain", "with a key"])
def test_a_payload_that_is_a_json_null(conn, element):
    conn.execute("SELECT turnstile.enqueue('work', 'null')")
    (row,) = conn.execute("SELECT id FROM turnstile.enqueue_many(%s)", [json.dumps([element | {"payload": None}])]).fetchall()
    assert row[0] is not None
    found = conn.execute("SELECT payload::text, jsonb_typeof(payload) FROM turnstile.job ORDER BY id").fetchall()
    assert found == [("null", "null"), ("null", "null")]
    assert [run.payload for run in claim(conn, ["default"], 2)] == [None, None]


# ---- check() -------------------------------------------------------------------------------------------


def _problems(conn) -> str:
    return "\n".join(f"{row.problem}: {row.detail}" for row in call(conn, "check"))


def test_jobs_in_inheritance_children_are_reported(conn):
    conn.execute("CREATE TABLE public.apart () INHERITS (turnstile.job)")
    assert _problems(conn) == "", "an empty child is nobody's problem"
    enqueue(conn)
    assert _problems(conn) == ""
    conn.execute("INSERT INTO public.apart (lane, lane_group, kind) SELECT lane, lane_group, 'strange' FROM turnstile.job")
    assert "public.apart" in _problems(conn)
    conn.execute("CREATE TABLE public.deeper () INHERITS (public.apart); TRUNCATE ONLY public.apart")
    conn.execute("INSERT INTO public.deeper (lane, lane_group, kind) SELECT lane, lane_group, 'strange' FROM ONLY turnstile.job")
    assert "public.deeper" in _problems(conn)
    assert "public.apart" not in _problems(conn)
    conn.execute("DROP TABLE public.apart CASCADE")
    assert _problems(conn) == ""


def test_jobs_in_inheritance_children_are_nothing_to_calls(conn):
    made = enqueue(conn)
    conn.execute("CREATE TABLE public.apart () INHERITS (turnstile.job)")
    conn.execute("INSERT INTO public.apart (lane, lane_group, kind) SELECT lane, lane_group, 'strange' FROM turnstile.job")
    call(conn, "rebuild")
    assert [run.id for run in claim(conn, ["default"], 5)] == [made]
    assert claim_next(conn) is None
    conn.execute("DROP TABLE public.apart")
    assert _problems(conn) == ""


# What a user makes, and the name that the notice says.
LEAVES = {
    "trigger": ("CREATE TRIGGER my_own BEFORE UPDATE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.pass()", "my_own"),
    "trigger after": ("CREATE TRIGGER my_own AFTER DELETE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.pass()", "my_own"),
    "trigger of statements": ("CREATE TRIGGER my_own AFTER INSERT ON turnstile.job EXECUTE FUNCTION public.pass()", "my_own"),
    "own trigger changed": ("ALTER TABLE turnstile.job ENABLE TRIGGER place_job", "place_job"),
    "own trigger disabled": ("ALTER TABLE turnstile.job DISABLE TRIGGER publish_change", "trigger of the extension"),
}


def _notices(db) -> list[str]:
    said = []
    with psycopg.connect(dbname=db.name, autocommit=True) as conn:
        conn.add_notice_handler(lambda diag: said.append(diag.message_primary + " " + (diag.message_detail or "")))
        conn.execute("SET client_min_messages = notice; SELECT turnstile.check()")
    return said


@pytest.mark.parametrize("change", LEAVES.values(), ids=LEAVES.keys())
def test_check_says_if_the_direct_path_is_not_in_use_and_why(db, conn, change):
    make, name = change
    conn.execute("CREATE FUNCTION public.pass() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN coalesce(NEW, OLD); END $$")
    assert _notices(db) == []
    conn.execute(make)
    (notice,) = _notices(db)
    assert "direct path" in notice and name in notice
    for statement in ("DROP TRIGGER IF EXISTS my_own ON turnstile.job", "ALTER TABLE turnstile.job ENABLE ALWAYS TRIGGER place_job",
                      "ALTER TABLE turnstile.job ENABLE ALWAYS TRIGGER publish_change"):  # fmt: skip
        conn.execute(statement)
    assert _notices(db) == []


def test_check_names_a_foreign_key_that_has_the_direct_path_left(db, conn):
    conn.execute("CREATE TABLE public.note (job bigint CONSTRAINT my_key REFERENCES turnstile.job)")
    (notice,) = _notices(db)
    assert "direct path" in notice and ("my_key" in notice or "RI_ConstraintTrigger" in notice)
