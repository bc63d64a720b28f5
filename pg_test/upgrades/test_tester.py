"""The tests of upgrades see what is wrong with a script: one that is right passes, each that is wrong in one thing is caught."""

from dataclasses import dataclass

import pytest

from faults.restores import plain
from support.database import fresh_database
from support.scripts import CURRENT, installed, made_up, placed
from upgrades import next as following
from upgrades.catalog import differences
from upgrades.filled import add_own
from upgrades.path import made_new, must_lose_nothing, upgraded
from upgrades.script import check_of_grants, end, upgrade_script


@pytest.fixture(scope="module")
def version():
    with following.release() as made:
        yield made


@pytest.fixture(scope="module")
def wanted(version, worker_role):
    return made_new(version, worker_role)


@dataclass(frozen=True)
class Fault:
    """The script has `after` in the place of `before`, or at its end; where that shows first."""

    shows: str
    before: str
    after: str = ""


_AT_THE_END = end()


def _added(shows: str, statement: str) -> Fault:
    return Fault(shows, _AT_THE_END, f"{_AT_THE_END}{statement};\n")


FAULTS = {
    "a comment is missing": Fault("column region of table turnstile.job_history", "COMMENT ON COLUMN turnstile.job_history.region IS 'Where the job belongs.';"),
    "a comment differs": Fault("function turnstile.region_slots(text)", "'How many may run there.'", "'How many.'"),
    "a column is missing": Fault("column turnstile.tenant", "ALTER TABLE", "ALTER TABLE turnstile.tenant DROP COLUMN weight CASCADE; ALTER TABLE"),
    "a column is too many": _added("column turnstile.region.more", "ALTER TABLE turnstile.region ADD COLUMN more int"),
    "a column's default": Fault("column turnstile.region.slots", "DEFAULT 5", "DEFAULT 6"),
    "a column's type": Fault("column turnstile.region.slots", "slots int", "slots bigint"),
    "a column without its NOT NULL": Fault("column turnstile.region.distance", "distance turnstile.distance NOT NULL", "distance turnstile.distance"),
    "a column that is no identity": Fault("column turnstile.region.number", "GENERATED ALWAYS AS IDENTITY"),
    "a column's storage": Fault("column turnstile.region.name", "SET STORAGE MAIN", "SET STORAGE EXTENDED"),
    "the order of columns": Fault("column turnstile.region", "slots int DEFAULT 5,\n    distance turnstile.distance NOT NULL,", "distance turnstile.distance NOT NULL, slots int DEFAULT 5,"),
    "an option of a table": Fault("relation turnstile.region", "fillfactor = 80", "fillfactor = 90"),
    "a constraint": Fault("constraint turnstile.region region_slots_check", "slots >= 0", "slots > 0"),
    "a constraint is missing": Fault("constraint turnstile.region region_slots_check", ",\n    CONSTRAINT region_slots_check CHECK (slots >= 0)"),
    "a constraint that is not valid": _added("constraint turnstile.region more", "ALTER TABLE turnstile.region ADD CONSTRAINT more CHECK (true) NOT VALID"),
    "an index is missing": Fault("index turnstile.region_slots", "CREATE INDEX region_slots ON turnstile.region (slots) WHERE slots > 0;"),
    "an index's condition": Fault("index turnstile.region_slots", "(slots) WHERE slots > 0", "(slots)"),
    "a function's body": Fault("function turnstile.region_slots(text)", "SELECT slots FROM", "SELECT slots + 1 FROM"),
    "a function's volatility": Fault("function turnstile.region_slots(text)", "STABLE", "VOLATILE"),
    "a function that is not strict": Fault("function turnstile.region_slots(text)", " STRICT"),
    "a function's search_path": Fault("function turnstile.region_slots(text)", "SET search_path = pg_catalog, pg_temp\n    AS $$SELECT slots", "AS $$SELECT slots"),
    "a function with its owner's rights": Fault("function turnstile.region_slots(text)", "STABLE STRICT", "STABLE STRICT SECURITY DEFINER"),
    "a function's argument": Fault("function turnstile.region_slots(text)", "region_slots(region text)", "region_slots(region text = '')"),
    "the version": Fault("function turnstile.catalog_version()", f"SELECT '{CURRENT}", "SELECT '0.0.1"),
    "a trigger is missing": Fault("trigger turnstile.region keep_region", "CREATE TRIGGER keep_region BEFORE INSERT ON turnstile.region FOR EACH ROW EXECUTE FUNCTION turnstile.keep_region();\nALTER TABLE turnstile.region ENABLE ALWAYS TRIGGER keep_region;"),
    "a trigger that replication passes over": Fault("trigger turnstile.region keep_region", "ENABLE ALWAYS TRIGGER", "ENABLE TRIGGER"),
    "a trigger's moment": Fault("trigger turnstile.region keep_region", "BEFORE INSERT ON turnstile.region", "BEFORE INSERT OR UPDATE ON turnstile.region"),
    "a trigger of the jobs that is off": _added("trigger turnstile.job place_job", "ALTER TABLE turnstile.job DISABLE TRIGGER place_job"),
    "a view": Fault("relation turnstile.regions", "SELECT name, slots FROM turnstile.region WHERE", "SELECT slots, name FROM turnstile.region WHERE"),
    "an option of a view": Fault("relation turnstile.regions", " WITH (security_barrier)"),
    "a label": Fault("type turnstile.distance", "('near', 'far')", "('far', 'near')"),
    "a sequence": Fault("sequence turnstile.region_seq", "INCREMENT 10", "INCREMENT 1"),
    "a sequence of no column": _added("sequence turnstile.region_seq", "ALTER SEQUENCE turnstile.region_seq OWNED BY turnstile.region.slots"),
    "an owner of a function": _added("function turnstile.region_slots(text)", "ALTER FUNCTION turnstile.region_slots(text) OWNER TO pg_monitor"),
    "an owner of a table": _added("table turnstile.region", "ALTER TABLE turnstile.region OWNER TO pg_monitor"),
    "a grant": _added("table turnstile.region", "GRANT SELECT ON turnstile.region TO pg_monitor"),
    "a grant to all": _added("function turnstile.region_slots(text)", "GRANT EXECUTE ON FUNCTION turnstile.region_slots(text) TO PUBLIC"),
    "a grant on a column": _added("column name of table turnstile.region", "GRANT SELECT (name) ON turnstile.region TO pg_monitor"),
    "no check of grants": Fault("function turnstile.keep_region()", check_of_grants()),
    "grants on what was made anew that are not given back": Fault("function turnstile.version(text), privilege {role}", _AT_THE_END, check_of_grants()),
    "a dump without grants on what was made anew": Fault("initial privilege {role}", "initial.objoid = lost.object;", "initial.objoid = 0;"),
    "users' grants that count as the extension's": _added("initial privilege {role}", "REVOKE ALL ON ALL ROUTINES IN SCHEMA turnstile, turnstile_internal FROM PUBLIC"),
    "users' grants that are gone": _added('function turnstile."check"(), privilege {role}', "REVOKE ALL ON FUNCTION turnstile.check() FROM {role} CASCADE"),
    "a grant of users to all that is gone": _added("view turnstile.memory", "REVOKE ALL ON turnstile.memory FROM PUBLIC"),
    "a dump without a table": Fault("dumps turnstile.region", "SELECT pg_catalog.pg_extension_config_dump('turnstile.region', $$WHERE name <> 'unknown'$$);"),
    "a dump of other rows": Fault("dumps turnstile.region", "WHERE name <> 'unknown'", ""),
    "a table that is not the extension's": _added("table turnstile.region", "ALTER EXTENSION turnstile DROP TABLE turnstile.region"),
    "a table that is left": _added("table turnstile.left_over", "CREATE TABLE turnstile.left_over ()"),
    "a function that is left": _added("function turnstile.left_over()", "CREATE FUNCTION turnstile.left_over() RETURNS int LANGUAGE sql AS 'SELECT 1'"),
    "users' index is gone": _added("index turnstile.my_regions", "DROP INDEX turnstile.my_regions"),
    "users' trigger is on": _added("trigger turnstile.tenant my_other_note", "ALTER TABLE turnstile.tenant ENABLE TRIGGER my_other_note"),
    "users' column is gone": _added("column turnstile.job.my_region", "ALTER TABLE turnstile.job DROP COLUMN my_region CASCADE"),
    "users' statistics are gone": _added("statistics my_statistics", "DROP STATISTICS public.my_statistics"),
    "users' policy is gone": _added("policy turnstile.job_history my_policy", "DROP POLICY my_policy ON turnstile.job_history"),
    "users' view is gone": _added("relation my_jobs", "DROP VIEW public.my_jobs"),
    "users' option is gone": _added("relation turnstile.job", "ALTER TABLE turnstile.job RESET (autovacuum_vacuum_cost_delay)"),
    "another replica identity": _added("relation turnstile.job", "ALTER TABLE turnstile.job REPLICA IDENTITY FULL"),
}  # fmt: skip


def test_a_right_script_passes(version, worker_role):
    with following.upgrade_to(version):
        must_lose_nothing(CURRENT, version, worker_role)


def test_a_right_script_passes_from_a_catalog_that_the_library_does_not_serve(worker_role):
    older = made_up()
    script = installed(CURRENT).replace(f"SELECT '{CURRENT}'", "SELECT '0.0.9'")
    with placed(older, script), placed(f"{older}--{CURRENT}", upgrade_script("")):
        must_lose_nothing(older, CURRENT, worker_role)


def _grants_in_dump(database) -> set[str]:
    text = plain(database, database.connect(), "--schema-only")
    return {line for line in text.splitlines() if line.startswith(("GRANT ", "REVOKE "))}


def test_a_dump_afterwards_grants_what_users_have_granted(version, worker_role):
    """A grant in a script counts as the extension's own, and is left out."""
    with following.upgrade_to(version), fresh_database(extension=False) as new, fresh_database(extension=False) as old:
        new.connect().execute(f"CREATE EXTENSION turnstile VERSION '{version}'")
        add_own(new.connect(), worker_role)
        upgraded(old.connect(), CURRENT, version, worker_role)
        wanted = _grants_in_dump(new)
        assert any("turnstile.version(more text)" in line for line in wanted)
        assert _grants_in_dump(old) == wanted


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_a_wrong_script_is_caught(version, wanted, worker_role, fault):
    right = upgrade_script(following.CHANGES)
    wrong = right.replace(fault.before, fault.after.replace("{role}", worker_role), 1)
    assert wrong != right
    with following.upgrade_to(version, wrong), fresh_database(extension=False) as database:
        found = differences(wanted, upgraded(database.connect(), CURRENT, version, worker_role))
        assert any(fault.shows.replace("{role}", worker_role) in line for line in found), found


LOSSES = {
    "a job": ("job", "DELETE FROM turnstile.job WHERE state = 'available'"),
    "a value of a job": ("job", "UPDATE turnstile.job SET priority = priority + 1 WHERE state = 'available'"),
    "a value of users": ("job", "UPDATE turnstile.job SET my_region = NULL"),
    "a finished job": ("job_history", "DELETE FROM turnstile.job_history WHERE state = 'cancelled'"),
    "a setting": ("account", "DELETE FROM turnstile.account"),
    "a unique key": ("unique_key", "DELETE FROM turnstile.unique_key"),
    "a permission": ("permission", "DELETE FROM turnstile.permission"),
    "a recurring job": ("recurring", "DELETE FROM turnstile.recurring"),
}


@pytest.mark.long
@pytest.mark.parametrize(("table", "statement"), LOSSES.values(), ids=LOSSES.keys())
def test_a_script_that_loses_rows_is_caught(version, worker_role, table, statement):
    with following.upgrade_to(version, upgrade_script(f"{following.CHANGES}\n{statement};")):
        with pytest.raises(AssertionError, match=rf"turnstile\.{table}(:| has)"):
            must_lose_nothing(CURRENT, version, worker_role)
