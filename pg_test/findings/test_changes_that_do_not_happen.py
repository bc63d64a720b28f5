"""A trigger or a rule of a user has nothing happen where a call would change a row. Each call ends, and tells what has happened."""

import psycopg
import pytest

from findings.verbs import VERBS, Verb, clear, nothing
from support import rows
from support.calls import call, enqueue, enqueue_many



def _many_with_keys(conn, _):
    return [row.created for row in enqueue_many(conn, [{"kind": "work", "unique_key": key} for key in "ab"])]


CALLS = VERBS | {
    "enqueue with a new key": Verb(nothing, lambda conn, _: enqueue(conn, unique_key="new") > 0, True, {"available": 1}),
    "enqueue_many with new keys": Verb(nothing, _many_with_keys, [True, True], {"available": 2}),
}
# They do two things, of which one may happen alone.
del CALLS["complete_and_claim_next"], CALLS["complete_and_claim"]
TABLES = ["job", "job_history", "unique_key"]
NOTHING = {
    "a trigger": "CREATE TRIGGER a_nothing BEFORE {} ON turnstile.{} FOR EACH ROW EXECUTE FUNCTION public.nothing()",
    "a rule": "CREATE RULE a_nothing AS ON {} TO turnstile.{} DO INSTEAD NOTHING",
}
NOTHING_MORE = {"a trigger": "DROP TRIGGER a_nothing ON turnstile.{}", "a rule": "DROP RULE a_nothing ON turnstile.{}"}
# Cancelled; refused by the server, as some statements cannot go by rules.
REFUSED = {"09000", "0A000"}


def _tables(conn) -> list:
    keys = conn.execute("SELECT k::text FROM turnstile.unique_key AS k ORDER BY k").fetchall()
    return rows.everything(conn) + keys


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("operation", ["INSERT", "UPDATE", "DELETE"])
@pytest.mark.parametrize("how", NOTHING)
def test_what_is_told_has_happened(db, conn, other, how, operation, table):
    other.execute("CREATE FUNCTION public.nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$")
    for name, verb in CALLS.items():
        subject = verb.prepare(conn)
        other.execute(NOTHING[how].format(operation, table))
        before = _tables(other)
        try:
            answer = verb.call(conn, subject)
        except psycopg.Error as error:
            assert error.sqlstate in REFUSED, (name, error)
            answer = error
        if answer == verb.answer:
            assert rows.counts(other) == verb.counts, (name, answer)
        else:
            assert _tables(other) == before, (name, answer)
        assert call(other, "check") == [], name
        other.execute(NOTHING_MORE[how].format(table))
        clear(conn)
