"""What a session keeps of the tables: let go once it is not so any more, but not while it is being used."""

import pytest

from faults.witness import is_sound
from findings.behind import behind
from support import rows
from support.calls import Run, cancel, claim, claim_next, complete, discard, enqueue, enqueue_times, retry

ADD = "ALTER TABLE turnstile.{} ADD COLUMN note text DEFAULT 'a note'"
PASS = (
    "CREATE FUNCTION public.pass() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN coalesce(NEW, OLD); END $$;"
    " CREATE TRIGGER a_pass BEFORE INSERT OR UPDATE OR DELETE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.pass()"
)


@pytest.fixture
def noted(other):
    """Both tables have a column of a user that goes along from the jobs to the history."""
    for table in ("job", "job_history"):
        other.execute(ADD.format(table))


def _notes(conn, runs) -> list:
    query = "SELECT note FROM turnstile.job_history WHERE id = ANY (%s) ORDER BY id"
    return [note for (note,) in conn.execute(query, [[run.id for run in runs]])]


@pytest.mark.parametrize("has_ended_one", [False, True], ids=["the first end", "a later end"])
@pytest.mark.parametrize("change", [["job"], ["job", "job_history"]], ids=["of the jobs", "of both"])
def test_columns_that_change_after_the_history_was_waited_for(db, conn, other, noted, has_ended_one, change):
    """What was looked up while somebody held the history's lock is heard of like all else."""
    enqueue_times(conn, 3)
    runs = claim(conn, ["default"], 3)
    if has_ended_one:
        complete(conn, runs.pop())
    behind(
        db,
        conn,
        lambda: complete(conn, runs[0]),
        rewrite="LOCK TABLE turnstile.job_history IN ACCESS EXCLUSIVE MODE",
        meanwhile="CREATE FUNCTION public.one() RETURNS int LANGUAGE sql RETURN 1",
    )
    for table in change:
        other.execute(f"ALTER TABLE turnstile.{table} ALTER COLUMN note DROP DEFAULT, ALTER COLUMN note TYPE bigint USING 7")
    assert complete(conn, runs[1]) is True
    # With another type it is another column, and the history's has its own default.
    expected = {("job",): ["a note", "a note"], ("job", "job_history"): [7, 7]}
    assert _notes(other, runs[:2]) == expected[tuple(change)]
    is_sound(other)


@pytest.mark.parametrize("path", ["direct path", "usual path"])
@pytest.mark.parametrize("end", [complete, discard, lambda conn, run: cancel(conn, run.id)], ids=["complete", "fail for good", "cancel"])
def test_a_column_that_the_history_has_lost(conn, other, noted, path, end):
    if path == "usual path":
        other.execute(PASS)
    enqueue_times(conn, 2)
    runs = [Run(job_id, 0) for (job_id,) in other.execute("SELECT id FROM turnstile.job ORDER BY id")]
    if end in (complete, discard):
        runs = claim(conn, ["default"], 2)
    end(conn, runs[0])
    assert _notes(other, runs) == ["a note"]
    other.execute("ALTER TABLE turnstile.job_history DROP COLUMN note")
    end(conn, runs[1])
    assert {job_id for (job_id,) in other.execute("SELECT id FROM turnstile.job_history")} == {run.id for run in runs}
    is_sound(other)


def test_a_column_that_the_history_has_lost_before_a_retry(conn, other, noted):
    enqueue_times(other, 2)
    runs = claim(other, ["default"], 2)
    other.execute("UPDATE turnstile.job SET note = 'mine'")
    for run in runs:
        discard(other, run)
    # This session knows the history by this statement alone.
    retry(conn, runs[0].id)
    assert rows.live(other, runs[0].id).note == "mine"
    other.execute("ALTER TABLE turnstile.job_history DROP COLUMN note")
    assert retry(conn, runs[1].id) == "available"
    assert rows.live(other, runs[1].id).note == "a note"


# Makes and drops what takes the memory of plans that were freed.
ENDS_ANOTHER = """CREATE FUNCTION public.end_another() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF OLD.kind = 'outer' THEN
        CREATE FUNCTION pg_temp.one() RETURNS int LANGUAGE sql RETURN 1;
        PERFORM turnstile.cancel(id) FROM ONLY turnstile.job WHERE kind = 'inner' ORDER BY id LIMIT 1;
        FOR number IN 1 .. 200 LOOP
            EXECUTE format('PREPARE p%s AS SELECT %s AS number, repeat(''x'', %s) FROM turnstile.job WHERE id = %s', number, number, number, number);
        END LOOP;
        DEALLOCATE ALL;
        DROP FUNCTION pg_temp.one();
    END IF;
    RETURN NULL; END $$"""


@pytest.mark.parametrize("end", [complete, discard], ids=["complete", "fail for good"])
def test_a_statement_is_kept_while_a_trigger_of_it_ends_others(conn, other, end):
    """The inner call finds that the catalog has changed and makes the statement anew, which the outer call is still running."""
    other.execute(ENDS_ANOTHER)
    other.execute("CREATE TRIGGER z_end AFTER DELETE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION public.end_another()")
    times = 5
    enqueue_times(conn, times, kind="inner", queue="inner")
    for number in range(1, times + 1):
        outer = enqueue(conn, kind="outer")
        end(conn, claim_next(conn))
        assert rows.state(conn, outer) in ("completed", "discarded")
        assert conn.execute("SELECT count(*) FROM turnstile.job_history WHERE state = 'cancelled'").fetchone() == (number,)
    is_sound(other)
