"""Who may call everything in the schema gets no further than the verbs: helpers have the rights of who calls them."""

import pathlib

import psycopg
import pytest

from support import rows
from support.calls import call, claim_next, complete, enqueue
from support.errors import NO_PRIVILEGE, WRONG_STATE

REVIEWED = pathlib.Path(__file__).with_name("owner_rights.txt")

IN_THE_CATALOG = """
    SELECT CASE WHEN prosecdef THEN 'definer' ELSE 'C' END, proname::text
    FROM pg_proc JOIN pg_language ON pg_language.oid = prolang
    WHERE pronamespace IN ('turnstile'::regnamespace, 'turnstile_internal'::regnamespace) AND (prosecdef OR lanname = 'c')
"""


def _reviewed() -> list[tuple[str, str]]:
    listed = []
    for line in REVIEWED.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            rights, name, reason = line.split(maxsplit=2)
            assert rights in ("definer", "inside", "caller"), line
            assert reason, line
            listed.append(("definer" if rights == "definer" else "C", name))
    return listed


def test_each_function_with_the_owners_rights_is_on_the_reviewed_list(conn):
    """One more, one less, or a second one of the same name: somebody has to look at it."""
    assert sorted(conn.execute(IN_THE_CATALOG).fetchall()) == sorted(_reviewed())


def test_what_has_the_owners_rights_has_a_pinned_search_path(conn):
    query = "SELECT proname::text FROM pg_proc WHERE pronamespace IN ('turnstile'::regnamespace, 'turnstile_internal'::regnamespace) AND prosecdef" \
        " AND NOT 'search_path=pg_catalog, pg_temp' = ANY (coalesce(proconfig, '{}'))"  # fmt: skip
    assert conn.execute(query).fetchall() == []


def test_views_show_nothing_with_rights_of_functions(conn):
    """A view has its owner's rights on tables; a function in it must not be one that changes something."""
    query = """
        SELECT DISTINCT proname::text FROM pg_rewrite
        JOIN pg_class ON pg_class.oid = ev_class
        JOIN pg_depend ON classid = 'pg_rewrite'::regclass AND objid = pg_rewrite.oid AND refclassid = 'pg_proc'::regclass
        JOIN pg_proc ON pg_proc.oid = refobjid
        WHERE relnamespace = 'turnstile'::regnamespace AND provolatile = 'v' AND pronamespace IN ('turnstile'::regnamespace, 'turnstile_internal'::regnamespace)
    """
    assert conn.execute(query).fetchall() == []


@pytest.fixture
def victim(conn, intruder):
    """A table of the owner's with a trigger, which the intruder may only read; one of the extension's, too."""
    conn.execute("CREATE TABLE public.victim AS SELECT n AS id, 'completed' AS state, 'default' AS queue,"
                 " timestamptz '2001-01-01' AS finished_at, NULL::bigint AS parent FROM generate_series(1, 10) n")  # fmt: skip
    intruder.grant(conn, "SELECT ON public.victim")
    conn.execute("UPDATE turnstile.queue SET keep_completed = '0'")
    enqueue(conn)
    complete(conn, claim_next(conn))
    return "public.victim"


REFUSED = {
    "read_history deletes": "SELECT turnstile_internal.read_history('public.victim', 0, 100, false)",
    "read_history looks": "SELECT turnstile_internal.read_history('turnstile.job_history_default', 0, 100, true)",
    "lock_history": "SELECT turnstile_internal.lock_history()",
    "lock_history of a table": "SELECT turnstile_internal.lock_history('public.victim')",
    "thin_history": "SELECT turnstile_internal.thin_history()",
    "drop_history": "SELECT turnstile_internal.drop_history()",
    "history_policy": "SELECT turnstile_internal.history_policy(now())",
    "run_task": "SELECT turnstile_internal.run_task('thin history')",
    "enqueue_firing": "SELECT turnstile_internal.enqueue_firing('nightly', now())",
    "fire_once": "SELECT turnstile_internal.fire_once('nightly', now(), now())",
    "set_recurring_pause": "SELECT turnstile_internal.set_recurring_pause('nightly', now(), 'postgres', true)",
}


@pytest.mark.parametrize("statement", REFUSED.values(), ids=REFUSED.keys())
def test_a_helper_has_no_rights_but_its_callers(conn, intruder, victim, statement):
    session = intruder.connect()
    before = (conn.execute("TABLE public.victim").fetchall(), rows.everything(conn))
    with pytest.raises(psycopg.Error) as caught:
        session.execute(statement)
    assert caught.value.sqlstate == NO_PRIVILEGE, caught.value
    assert (conn.execute("TABLE public.victim").fetchall(), rows.everything(conn)) == before


def test_locks_that_a_helper_was_refused_are_not_held(conn, intruder, neighbour):
    """In a block that catches the refusal the transaction lives on."""
    session = intruder.connect(autocommit=False)
    session.execute("DO $$ BEGIN PERFORM turnstile_internal.lock_history(); EXCEPTION WHEN insufficient_privilege THEN NULL; END $$")
    neighbour.works()
    assert {task for task, affected in call(conn, "maintain") if affected is None} == set()


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT turnstile_internal.set_cron_entry('turnstile maintain', '* * * * *', 'DROP TABLE public.victim')",
        "SELECT turnstile_internal.remove_cron_entry('nightly backup')",
        "SELECT turnstile.clean_cron_log('0')",
    ],
)
def test_without_pg_cron_its_helpers_do_nothing(conn, intruder, victim, statement):
    """With pg_cron: pg_test/cron."""
    with pytest.raises(psycopg.Error) as caught:
        intruder.connect().execute(statement)
    assert caught.value.sqlstate in (NO_PRIVILEGE, WRONG_STATE), caught.value


def test_the_verbs_still_reach_their_helpers(conn, intruder, victim):
    """What a helper does for a verb it does with the owner's rights."""
    session = intruder.connect()
    done = dict(call(session, "maintain"))
    assert None not in done.values(), done
    assert set(done) == {"rescue", "promote", "fire recurring", "thin history", "prune unique keys", "prune batches", "make partitions", "drop partitions"}
    assert call(session, "make_history_partitions", days_ahead=9)[0][0] == 2


def test_a_wrapper_of_ones_own_changes_nothing(conn, make_user, intruder, victim):
    """SECURITY DEFINER gives the rights of the wrapper's owner: not those of the extension's."""
    session = intruder.connect()
    conn.execute("GRANT CREATE ON SCHEMA public TO PUBLIC")
    session.execute("CREATE FUNCTION public.wrap() RETURNS bigint LANGUAGE sql SECURITY DEFINER"
                    " AS $$ SELECT turnstile_internal.read_history('public.victim', 0, 100, false) $$")  # fmt: skip
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        make_user().connect().execute("SELECT public.wrap()")
    assert conn.execute("SELECT count(*) FROM public.victim").fetchone()[0] == 10
