"""Triggers of a user on the jobs and on their history work with calls as they do with plain SQL."""

import psycopg
import pytest

from faults.witness import is_sound
from findings.verbs import CLAIMS, ENDS, OTHERS, PRODUCERS
from support import rows
from support.calls import (
    cancel, claim, claim_next, complete, complete_and_claim_next, complete_many, discard, enqueue, enqueue_many, enqueue_times,
    fail,
)  # fmt: skip
from support.errors import refused

# ---- Transition tables ---------------------------------------------------------------------------------

COUNTED = """
    CREATE TABLE public.seen (what text, rows int, kinds text);
    CREATE FUNCTION public.count_new() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO public.seen SELECT TG_TABLE_NAME || ' ' || TG_OP, count(*), min(kind) FROM fresh; RETURN NULL; END $$;
    CREATE FUNCTION public.count_old() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO public.seen SELECT TG_TABLE_NAME || ' ' || TG_OP, count(*), min(kind) FROM stale; RETURN NULL; END $$;
    CREATE FUNCTION public.count_both() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO public.seen SELECT TG_TABLE_NAME || ' ' || TG_OP, count(*), min(kind)
        FROM fresh JOIN stale USING (id, kind); RETURN NULL; END $$;
"""
ON_JOB = """
    CREATE TRIGGER added AFTER INSERT ON turnstile.job REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION public.count_new();
    CREATE TRIGGER changed AFTER UPDATE ON turnstile.job REFERENCING NEW TABLE AS fresh OLD TABLE AS stale
        FOR EACH STATEMENT EXECUTE FUNCTION public.count_both();
    CREATE TRIGGER gone AFTER DELETE ON turnstile.job REFERENCING OLD TABLE AS stale FOR EACH STATEMENT EXECUTE FUNCTION public.count_old();
"""
ON_HISTORY = """
    CREATE TRIGGER kept AFTER INSERT ON turnstile.job_history REFERENCING NEW TABLE AS fresh
        FOR EACH STATEMENT EXECUTE FUNCTION public.count_new();
"""
FOR_EACH_ROW = ON_JOB.replace("FOR EACH STATEMENT", "FOR EACH ROW")

# What the triggers of the jobs see, and what that of the history sees: (what, rows).
SEEN = {
    "enqueue": ([("job INSERT", 1)], []),
    "enqueue_many": ([("job INSERT", 2)], []),
    "claim_next": ([("job UPDATE", 1)], []),
    "claim": ([("job UPDATE", 2)], []),
    "complete": ([("job DELETE", 1)], [("job_history INSERT", 1)]),
    "complete_many": ([("job DELETE", 2)], [("job_history INSERT", 2)]),
    "complete_and_claim_next": ([("job DELETE", 1), ("job UPDATE", 1)], [("job_history INSERT", 1)]),
    "fail": ([("job UPDATE", 1)], []),
    "fail for good": ([("job DELETE", 1)], [("job_history INSERT", 1)]),
    "release": ([("job UPDATE", 1)], []),
    "snooze": ([("job UPDATE", 1)], []),
    "heartbeat": ([("job UPDATE", 1)], []),
    "cancel": ([("job DELETE", 1)], [("job_history INSERT", 1)]),
    "retry": ([("job INSERT", 1)], []),
    "rescue": ([("job UPDATE", 1)], []),
    "promote": ([("job UPDATE", 1)], []),
}
ALL = PRODUCERS | CLAIMS | ENDS | OTHERS


def _total(seen) -> dict[str, int]:
    total = {}
    for what, number in seen:
        total[what] = total.get(what, 0) + number
    return {what: number for what, number in total.items() if number}


@pytest.mark.parametrize("where", ["jobs", "jobs, for each row", "history"])
@pytest.mark.parametrize("verb", SEEN)
def test_transition_tables_hold_what_was_changed(conn, other, verb, where):
    expected = SEEN[verb][where == "history"]
    verb = ALL[verb]
    other.execute(COUNTED)
    subject = verb.prepare(conn)
    other.execute({"jobs": ON_JOB, "jobs, for each row": FOR_EACH_ROW, "history": ON_HISTORY}[where])
    assert verb.call(conn, subject) == verb.answer
    assert rows.counts(other) == verb.counts
    seen = other.execute("SELECT what, rows FROM public.seen").fetchall()
    if where == "jobs, for each row":
        # Each row's trigger sees the rows of the whole statement; how many statements there are is not said.
        assert {what for what, _ in seen} == {what for what, _ in expected}
    else:
        assert _total(seen) == _total(expected)
    assert {kind for (kind,) in other.execute("SELECT kinds FROM public.seen WHERE rows > 0")} <= {"work"}
    is_sound(other) if verb is not ALL["retry"] else None


def test_transition_tables_of_a_whole_life(conn, other):
    other.execute(COUNTED + ON_JOB + ON_HISTORY)
    enqueue_many(conn, [{"kind": "work"}] * 3)
    runs = claim(conn, ["default"], 2)
    assert complete_many(conn, runs) == 2
    assert complete(conn, claim_next(conn)) is True
    total = other.execute("SELECT what, sum(rows)::int FROM public.seen GROUP BY 1 ORDER BY 1").fetchall()
    assert total == [("job DELETE", 3), ("job INSERT", 3), ("job UPDATE", 3), ("job_history INSERT", 3)]


# ---- What a trigger of the history cancels -------------------------------------------------------------

CANCEL = "CREATE FUNCTION public.cancel() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$"
TODAY = "SELECT partition::text FROM turnstile.history_partition WHERE now() >= begins AND now() < ends"

FINISH = {
    "complete": lambda conn, run, other_id: complete(conn, run),
    "complete_many": lambda conn, run, other_id: complete_many(conn, [run]),
    "complete_and_claim_next": lambda conn, run, other_id: complete_and_claim_next(conn, run),
    "fail": lambda conn, run, other_id: fail(conn, run, discard=True),
    "discard a run": lambda conn, run, other_id: discard(conn, run),
    "discard": lambda conn, run, other_id: conn.execute("SELECT turnstile.discard(%s)", [other_id]),
    "cancel": lambda conn, run, other_id: cancel(conn, other_id),
    "cancel_many": lambda conn, run, other_id: conn.execute("SELECT turnstile.cancel_many(kind => 'work')"),
    "discard_many": lambda conn, run, other_id: conn.execute("SELECT turnstile.discard_many(kind => 'work')"),
}


@pytest.mark.parametrize("when", ["", " WHEN (NEW.kind = 'work')"])
@pytest.mark.parametrize("table", ["whole", "day"])
@pytest.mark.parametrize("finish", FINISH.values(), ids=FINISH.keys())
def test_a_job_that_is_not_kept_is_not_finished(conn, other, finish, table, when):
    enqueue_times(conn, 2)
    waiting = enqueue(conn)
    run = claim_next(conn)
    (today,) = other.execute(TODAY).fetchone()
    other.execute(CANCEL)
    other.execute(
        f"CREATE TRIGGER a_cancel BEFORE INSERT ON {today if table == 'day' else 'turnstile.job_history'}"
        f" FOR EACH ROW{when} EXECUTE FUNCTION public.cancel()"
    )
    before = rows.everything(other)
    with refused("09000"):
        finish(conn, run, waiting)
    assert rows.everything(other) == before
    is_sound(other)
    other.execute(f"DROP TRIGGER a_cancel ON {today if table == 'day' else 'turnstile.job_history'}")
    finish(conn, run, waiting)
    is_sound(other)


def test_of_many_that_are_not_all_kept_none_is_finished(conn, other):
    enqueue_times(conn, 3)
    runs = claim(conn, ["default"], 3)
    other.execute(CANCEL)
    other.execute(
        "CREATE TRIGGER a_cancel BEFORE INSERT ON turnstile.job_history"
        f" FOR EACH ROW WHEN (NEW.id = {runs[1].id}) EXECUTE FUNCTION public.cancel()"
    )
    with refused("09000"):
        complete_many(conn, runs)
    assert rows.counts(other) == {"running": 3}
    is_sound(other)
    assert complete_many(conn, [runs[0], runs[2]]) == 2
    is_sound(other)


# ---- Triggers that change their own row ----------------------------------------------------------------

OWN_CHANGES = {
    "changes it": "UPDATE turnstile.job SET metadata = '{{}}' WHERE id = OLD.id",
    "deletes it": "DELETE FROM turnstile.job WHERE id = OLD.id",
    "changes another": "UPDATE turnstile.job SET metadata = '{{}}' WHERE id <> OLD.id AND state = 'scheduled'",
    "changes it and catches": "BEGIN UPDATE turnstile.job SET metadata = '{{}}' WHERE id = OLD.id; RAISE division_by_zero;"
    " EXCEPTION WHEN division_by_zero THEN NULL; END",
    "locks it": "PERFORM 1 FROM turnstile.job WHERE id = OLD.id FOR UPDATE",
}
ACTS = {
    "claim_next": ("UPDATE", lambda conn, run: claim_next(conn)),
    "claim": ("UPDATE", lambda conn, run: claim(conn, ["default"], 3)),
    "complete": ("DELETE", complete),
    "complete_many": ("DELETE", lambda conn, run: complete_many(conn, [run])),
    "complete_and_claim_next, its end": ("DELETE", complete_and_claim_next),
    "complete_and_claim_next, its claim": ("UPDATE", complete_and_claim_next),
}
PLAIN = {
    "UPDATE": "UPDATE turnstile.job SET state = 'running', attempt = attempt + 1 WHERE state = 'available'",
    "DELETE": "DELETE FROM turnstile.job WHERE state = 'running'",
}


def _outcome(conn, act) -> str:
    conn.execute("BEGIN")
    try:
        act()
        return ""
    except psycopg.Error as error:
        return error.sqlstate
    finally:
        conn.execute("ROLLBACK")


@pytest.mark.parametrize("change", OWN_CHANGES.values(), ids=OWN_CHANGES.keys())
@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS.keys())
def test_a_before_trigger_that_changes_its_own_row_ends_as_with_plain_sql(conn, other, act, change):
    operation, call = act
    enqueue_times(conn, 3)
    enqueue(conn, run_at="2100-01-01")
    run = claim_next(conn)
    # Once only: the change of the trigger itself would call it again.
    other.execute(
        "CREATE FUNCTION public.meddle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" IF pg_trigger_depth() = 1 THEN {change.format()}; END IF; RETURN coalesce(NEW, OLD); END $$"
    )
    other.execute(f"CREATE TRIGGER a_meddle BEFORE {operation} ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.meddle()")
    expected = _outcome(other, lambda: other.execute(PLAIN[operation]))
    assert _outcome(conn, lambda: call(conn, run)) == expected
    is_sound(other)
    if expected:
        with pytest.raises(psycopg.errors.TriggeredDataChangeViolation):
            call(conn, run)
        assert rows.counts(other) == {"running": 1, "available": 2, "scheduled": 1}
    other.execute("DROP TRIGGER a_meddle ON turnstile.job")
    call(conn, run)
    is_sound(other)
