"""Days of the history that are foreign tables, such as an archive: they can be read, and upkeep leaves them alone."""

import pytest

from support.calls import call, claim_next, complete, enqueue
from support.history import days_ago, drop_days, finish, kept, maintain
from support.modules import need_module
from support.tail import Tail

AGE = 30
ATTACH = "CREATE FOREIGN TABLE public.far PARTITION OF turnstile.job_history FOR VALUES FROM ('{}') TO ('{}') {}"
TAKE = "WITH gone AS (DELETE FROM turnstile.job_history RETURNING *) SELECT gone::text FROM gone"


def _in_a_file(conn) -> str:
    """The text of a row is its line of CSV, within brackets."""
    need_module(conn, "file_fdw")
    lines = [row.removeprefix("(").removesuffix(")") for (row,) in conn.execute(TAKE).fetchall()]
    assert not any("'" in line for line in lines)
    conn.execute("CREATE SERVER files FOREIGN DATA WRAPPER file_fdw")
    shown = " ".join(f"''{line}''" for line in lines)
    return rf"SERVER files OPTIONS (program 'printf ''%s\n'' {shown}', format 'csv')"


def _in_another_table(conn) -> str:
    need_module(conn, "postgres_fdw")
    conn.execute("CREATE TABLE public.remote (LIKE turnstile.job_history)")
    conn.execute("WITH gone AS (DELETE FROM turnstile.job_history RETURNING *) INSERT INTO public.remote SELECT * FROM gone")
    where = f"host '{conn.info.host}', port '{conn.info.port}', dbname '{conn.info.dbname}'"
    conn.execute(f"CREATE SERVER loopback FOREIGN DATA WRAPPER postgres_fdw OPTIONS ({where})")
    conn.execute("CREATE USER MAPPING FOR CURRENT_USER SERVER loopback OPTIONS (password_required 'false')")
    return "SERVER loopback OPTIONS (schema_name 'public', table_name 'remote')"


@pytest.fixture(params=[_in_a_file, _in_another_table], ids=["file_fdw", "postgres_fdw"])
def archive(request, conn):
    """Moves a day of the history away, and gives its jobs."""

    def move() -> list[int]:
        jobs = finish(conn, AGE, 3)
        place = request.param(conn)
        begins, ends = (f"{days_ago(conn, days)} 00:00:00+00" for days in (AGE, AGE - 1))
        conn.execute(ATTACH.format(begins, ends, place))
        return jobs

    return move


def _ended(conn) -> int:
    enqueue(conn)
    run = claim_next(conn)
    assert complete(conn, run) is True
    return run.id


def test_who_begins_with_the_oldest_job_is_given_a_foreign_day(conn, archive):
    jobs = [*archive(), _ended(conn)]
    tail = Tail(conn)
    assert tail.ids() == jobs
    jobs.append(_ended(conn))
    assert tail.ids() == jobs[-1:]
    assert Tail(conn, since=None).ids() == jobs
    assert Tail(conn, max_rows=2).to_the_end() == jobs


def test_who_follows_already_is_not_given_what_is_attached(conn, archive):
    old = archive()
    conn.execute("ALTER TABLE turnstile.job_history DETACH PARTITION public.far")
    first, tail = _ended(conn), Tail(conn)
    assert tail.ids() == [first]
    begins, ends = (f"{days_ago(conn, days)} 00:00:00+00" for days in (AGE, AGE - 1))
    conn.execute(f"ALTER TABLE turnstile.job_history ATTACH PARTITION public.far FOR VALUES FROM ('{begins}') TO ('{ends}')")
    second = _ended(conn)
    assert tail.ids() == [second]
    assert kept(conn) == {*old, first, second}


@pytest.mark.parametrize("keep", ["keep_discarded = '1 day'", "keep_discarded = '-1'"], ids=["all over", "some over"])
def test_upkeep_leaves_a_foreign_day_to_who_attached_it(conn, archive, keep):
    drop_days(conn)
    jobs = archive()
    conn.execute(f"UPDATE turnstile.queue SET keep_completed = '1 day', {keep} WHERE name = '*'")
    warnings = []
    conn.add_notice_handler(lambda notice: warnings.append(notice.message_primary))
    for _ in range(2):
        done = maintain(conn)
        assert (done["thin history"], done["drop partitions"]) == (0, 0)
    assert warnings == []
    assert kept(conn) == set(jobs)
    assert call(conn, "check") == []
