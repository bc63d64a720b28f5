"""Calls of everything with nonsense as each role: refused or done, with no crash, no internal error, and nothing of what the role
may not see in any result or error message. TURNSTILE_CALLS tells how many calls of each role."""

import os
import random
from collections import Counter

import pytest
from faults.test_bad_input import Turns
from rights.world import ALL, PERMISSIONS, SECRET, TARGETS, allowed, beyond_status, world

from support import nonsense
from support.database import disagreements

CALLS = int(os.environ.get("TURNSTILE_CALLS", "3000"))
BATCH = 500

# Each statement behind a savepoint of its own: its SQLSTATE, all that it gave or said, and its time.
TRY = """
CREATE FUNCTION public.try_all(statements text[]) RETURNS TABLE (state text, told text, seconds float8) LANGUAGE plpgsql AS $$
DECLARE statement text; began timestamptz; found record; detail text; hint text;
BEGIN
    FOREACH statement IN ARRAY statements LOOP
        began := clock_timestamp();
        told := '';
        BEGIN
            FOR found IN EXECUTE statement LOOP
                told := told || found::text;
            END LOOP;
            state := '00000';
        EXCEPTION WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
            state := SQLSTATE;
            told := concat(told, SQLERRM, detail, hint);
        END;
        seconds := extract(epoch FROM clock_timestamp() - began);
        RETURN NEXT;
    END LOOP;
END $$
"""
ROLES = [role for role in PERMISSIONS if role != "everything"]


def _is_secret(role: str):
    """An operator may know whose jobs there are, and nothing of what is in them; the others are told apart by queue and tenant."""

    def is_secret(queue, tenant):
        return not (allowed(role, "work", queue, ALL) or allowed(role, "see", queue, tenant))

    return is_secret


def _about_jobs(chance: random.Random, statement: str, ids: list[int]) -> str:
    """A role cannot look for ids by itself, so it is given some."""
    for wish in nonsense.VALUES["bigint"] + nonsense.VALUES["bigint[]"]:
        if "SELECT" in wish:
            some = str(chance.choice(ids))
            statement = statement.replace(wish, f"'{{{some}}}'" if "array_agg" in wish else some)
    names = {"'x'": ["'mail'", "'sms'", "'acme'", "'globex'"], "'{default}'": ["'{mail}'", "'{*}'", "'{sms,mail}'"]}
    for plain, others in names.items():
        while plain in statement and chance.random() < 0.7:
            statement = statement.replace(plain, chance.choice(others), 1)
    return statement


@pytest.mark.parametrize("role", ROLES)
def test_nonsense_by_a_role_is_refused_or_done_and_tells_nothing(role, seed):
    chance = random.Random(seed)
    with world(with_tables=False, is_secret=_is_secret(role)) as given:
        conn = given.database.connect()
        conn.execute(TRY)
        conn.execute("SET client_min_messages = error")
        functions = [function for function in conn.execute(nonsense.FUNCTIONS).fetchall() if not function[1]]
        turns = Turns(chance, functions)
        seen = Counter()
        strangers = [job for (target, _), job in given.jobs.items() if _is_secret(role)(*TARGETS[target])]
        for _ in range(-(-CALLS // BATCH)):
            batch = [(name, _about_jobs(chance, text, [*given.jobs.values()])) for name, text in turns.batch()]
            conn.execute("BEGIN")
            conn.execute(f'SET LOCAL ROLE "{given.name(role)}"')
            answers = conn.execute("SELECT * FROM public.try_all(%s)", [[text for _, text in batch]]).fetchall()
            nonsense.end(conn, chance, undone=0.5)
            for (name, text), (state, told, seconds) in zip(batch, answers, strict=True):
                seen[name, state] += 1
                turns.took(name, seconds)
                assert not state.startswith("XX"), f"{state}: {told}: {text}"
                assert SECRET not in beyond_status(role, told), f"{text}: {told}"
        # Nothing has become of what the role may not touch.
        if role != "operator":
            touched = conn.execute(
                "SELECT id FROM turnstile.jobs WHERE id = ANY (%s)"
                " AND (state IN ('cancelled', 'completed') OR cancel_requested_at IS NOT NULL)",
                [strangers],
            )
            assert touched.fetchall() == []
        assert {state for _, state in seen} >= {"42501"}
        assert disagreements(given.database) == []
