"""What the library knows by number stays right for every later build: keys of lanes, groups and gates, columns, arguments."""

import json
import re
from pathlib import Path

import pytest

from support.calls import enqueue

ROOT = Path(__file__).resolve().parents[2]

# Made by the first build that stores them. Never change one: rows that have it would be in no lane.
STORED = json.loads(Path(__file__).with_name("stored_keys.json").read_text())


@pytest.mark.parametrize("stored", STORED["gates"], ids=str)
def test_the_key_of_a_gate_is_what_it_was(module_conn, stored):
    *names, key = stored
    function = "session_gate" if names[0] == "session" else "gate_key"
    arguments = names[1:] if names[0] == "session" else names
    found = module_conn.execute(f"SELECT turnstile_internal.{function}({', '.join(['%s'] * len(arguments))})", arguments).fetchone()[0]
    assert found == key


def _add(conn, job: dict) -> int:
    """Rows of 0.1.0 may have an account without a tenant, which `enqueue` refuses."""
    if "account" in job and "tenant" not in job:
        added = "INSERT INTO turnstile.job (kind, account) VALUES ('test', %(account)s) RETURNING id"
        return conn.execute(added, job).fetchone()[0]
    return enqueue(conn, **job)


@pytest.mark.parametrize("stored", STORED["lanes"], ids=lambda stored: ",".join(map(str, stored["job"].values())) or "plain")
def test_the_key_of_a_lane_is_what_it_was(conn, stored):
    job_id = _add(conn, stored["job"])
    found = conn.execute("SELECT lane, lane_group FROM turnstile.job WHERE id = %s", [job_id]).fetchone()
    assert found == (stored["lane"], stored["group"])


def test_a_group_is_of_the_halves_of_its_queues_key_and_its_tenants():
    """So lanes of a queue that has a negative key, or of another tenant, are where searches look for them."""
    gates = {tuple(names): key for *names, key in STORED["gates"]}
    for stored in STORED["lanes"]:
        job = stored["job"]
        queue = gates["queue", None, job.get("queue", "default")]
        tenant = gates["tenant", None, job["tenant"]] if "tenant" in job else 0
        assert (stored["group"] >> 32, stored["group"] % 2**32) == (queue >> 32, tenant % 2**32)


def test_columns_have_the_numbers_that_the_library_knows(conn):
    """An upgrade adds columns behind those that are there."""
    source = (ROOT / "src/job/column.rs").read_text()
    known = {name.lower(): int(number) for name, number in re.findall(r"pub const ([A-Z_]+): usize = (\d+);", source)}
    numbers = dict(conn.execute("SELECT attname, attnum FROM pg_attribute WHERE attrelid = 'turnstile.job'::regclass AND attnum > 0"))
    assert len(known) > 20
    assert known == {name: numbers.get(name) for name in known}


def test_arguments_have_the_places_that_the_library_knows(conn):
    declared = dict(
        conn.execute(
            "SELECT proname, proargnames[1:pronargs] FROM pg_proc WHERE pronamespace IN ('turnstile'::regnamespace, 'turnstile_internal'::regnamespace) AND prolang ="
            " (SELECT oid FROM pg_language WHERE lanname = 'c')"
        )
    )
    known = {}
    for source in (ROOT / "src").rglob("*.rs"):
        for function, names in re.findall(r"arguments!\(\s*(\w+):([^)]*)\)", source.read_text()):
            known[function] = [name.strip().lower() for name in names.split(",") if name.strip()]
    of_claimers = known.pop("last_of_claims")
    assert len(known) > 20
    assert known == {function: declared.get(function) for function in known}
    for function in ("claim_next", "claim", "complete_and_claim_next", "complete_and_claim"):
        others = [name for name in declared[function] if name != "results"]
        assert others[-len(of_claimers) :] == of_claimers
