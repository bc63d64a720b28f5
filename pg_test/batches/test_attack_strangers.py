"""What goes wrong in one batch, or is locked there, keeps nobody else from claiming, and no other batch from going on."""

import json

import psycopg
import pytest
from test_attack_ties import claim, end, enqueue, enqueue_batch, reaches, scalar

BROKEN = """
    CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN RAISE EXCEPTION 'broken' USING ERRCODE = 'ZX001'; END$$;
    CREATE TRIGGER refuse BEFORE UPDATE ON turnstile.job FOR EACH ROW
        WHEN (OLD.kind = 'parent' AND OLD.metadata ? 'broken' AND NEW.state = 'available') EXECUTE FUNCTION public.refuse();
"""


def claims_in_spite_of_errors(conn, times):
    found = []
    for _ in range(times):
        try:
            found += claim(conn)
        except psycopg.errors.RaiseException:
            pass
        except psycopg.Error as error:
            assert error.sqlstate == "ZX001"
        conn.execute("SELECT pg_sleep(0.05)")
    return found


def test_a_batch_whose_end_fails_does_not_keep_others_from_theirs(conn):
    conn.execute(BROKEN)
    broken = enqueue_batch(conn, [{"kind": "child"}], metadata='{"broken": true}')
    good = enqueue_batch(conn, [{"kind": "child"}])
    for job, attempt, _ in claim(conn):
        with_retry = "SELECT turnstile.complete(%s, %s)"
        conn.execute(with_retry, [job, attempt])
    started = {job for job, _, _ in claims_in_spite_of_errors(conn, 100)}
    assert good in started
    assert broken not in started
    conn.execute("DROP TRIGGER refuse ON turnstile.job")
    assert reaches(conn, broken, "available")


def test_after_a_rebuild_too(conn):
    conn.execute(BROKEN)
    broken = enqueue_batch(conn, [{"kind": "child"}], metadata='{"broken": true}')
    good = enqueue_batch(conn, [{"kind": "child"}])
    for job, attempt, _ in claim(conn):
        conn.execute("SELECT turnstile.complete(%s, %s)", [job, attempt])
    conn.execute("SELECT turnstile.rebuild()")
    started = {job for job, _, _ in claims_in_spite_of_errors(conn, 100)}
    assert good in started
    assert broken not in started
    conn.execute("DROP TRIGGER refuse ON turnstile.job")
    assert reaches(conn, broken, "available")


def blocked_claim(other, *arguments):
    other.execute("SET statement_timeout = '5s'")
    found = claim(other, *arguments)
    other.execute("RESET statement_timeout")
    return found


def test_a_locked_follower_keeps_no_claim_waiting(db, conn, other):
    first = enqueue(conn)
    late = enqueue(conn, "late", after=[first])
    claim(conn, "nothing")
    holder = db.connect(autocommit=False)
    holder.execute("SELECT FROM turnstile.job WHERE id = %s FOR UPDATE", [late])
    conn.execute("SELECT turnstile.discard(%s)", [first])
    plain = enqueue(conn, "plain")
    assert [job for job, _, _ in blocked_claim(other)] == [plain]
    holder.rollback()
    assert reaches(conn, late, "discarded")


@pytest.mark.parametrize("end", ["ROLLBACK", "ROLLBACK TO SAVEPOINT s; COMMIT"])
@pytest.mark.parametrize("verb", ["cancel", "discard"])
def test_a_follower_whose_end_is_undone_follows_all_the_same(db, conn, verb, end):
    first = enqueue(conn)
    late = enqueue(conn, "late", after=[first])
    assert [job for job, _, _ in claim(conn)] == [first]
    holder = db.connect()
    holder.execute(f"BEGIN; SAVEPOINT s; SELECT turnstile.{verb}({late})")
    conn.execute("SELECT turnstile.complete(%s, 1)", [first])
    assert claim(conn) == []
    holder.execute(end)
    assert reaches(conn, late, "available")


def test_a_follower_that_is_being_ended_keeps_no_claim_waiting(db, conn, other):
    first = enqueue(conn)
    claim(conn)
    late = enqueue(conn, "late", after=[first])
    holder = db.connect()
    holder.execute(f"BEGIN; SELECT turnstile.cancel({late})")
    plain = enqueue(conn, "plain")
    assert [job for job, _, _ in blocked_claim(other)] == [plain]
    holder.execute("ROLLBACK")
    conn.execute("SELECT turnstile.complete(%s, 1)", [first])
    assert reaches(conn, late, "available")


def test_settings_of_a_batch_that_are_being_changed_keep_no_claim_waiting_for_failures(db, conn, other):
    parent = enqueue_batch(conn, [{"kind": "child"}, {"kind": "child"}], max_failed=0)
    [(child, attempt, _)] = claim(conn, most=1)
    holder = db.connect(autocommit=False)
    holder.execute("UPDATE turnstile.batch SET slots = 5 WHERE id = %s", [parent])
    conn.execute("SELECT turnstile.discard(%s, %s, NULL)", [child, attempt])
    enqueue(conn, "plain", queue="q")
    assert len(blocked_claim(other, "q")) == 1
    holder.rollback()
    assert reaches(conn, parent, "available")


def test_settings_of_a_batch_that_are_being_changed_keep_no_claim_waiting_for_its_turn(db, conn, other):
    parent = enqueue_batch(conn, [{"kind": "child"}], session="s")
    holder = db.connect(autocommit=False)
    holder.execute("UPDATE turnstile.batch SET slots = 5 WHERE id = %s", [parent])
    plain = enqueue(conn, "plain")
    assert [job for job, _, _ in blocked_claim(other)] == [plain]
    holder.rollback()
    for _ in range(100):
        found = claim(conn)
        if found:
            break
        conn.execute("SELECT pg_sleep(0.05)")
    assert [kind for _, _, kind in found] == ["child"]


def test_held_children_are_not_looked_at_for_ever(conn):
    first = enqueue(conn)
    end(conn, first, "discard")
    parent = enqueue_batch(conn, [{"kind": "first"}])
    jobs = [{"kind": "child", "parent": parent, "after": [first], "after_hold": True}] * 600
    conn.execute("SELECT count(*) FROM turnstile.enqueue_many(%s)", [json.dumps(jobs)])
    for _ in range(100):
        claim(conn, "nothing")
    conn.execute("SELECT pg_stat_force_next_flush()") if conn.info.server_version >= 150000 else None
    query = "SELECT coalesce(seq_scan + idx_scan, 0) FROM pg_stat_all_tables WHERE relid = 'turnstile.dependency'::regclass"
    before = scalar(conn, query)
    for _ in range(100):
        claim(conn, "nothing")
    conn.execute("SELECT pg_stat_force_next_flush()") if conn.info.server_version >= 150000 else None
    assert scalar(conn, query) - before < 2000


def test_callers_under_repeatable_read_look_after_batches(db):
    caller = db.connect(autocommit=True)
    caller.execute("SET default_transaction_isolation = 'repeatable read'")
    parent = enqueue_batch(caller, [{"kind": "child"}])
    end(caller, scalar(caller, "SELECT id FROM turnstile.job WHERE kind = 'child'"))
    assert reaches(caller, parent, "available")
