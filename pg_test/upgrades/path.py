"""One way from a version to another: what must hold after it."""

import re

from psycopg import errors

from support.calls import call
from support.database import fresh_database
from support.scripts import ROOT
from upgrades.catalog import Facts, described, differences
from upgrades.filled import Filling, add_own, contents, copy_rows, fill, lost, unlike, work_off


def made_new(version: str, role: str) -> Facts:
    """What a new installation of the version has, once users have added their own."""
    with fresh_database(extension=False) as database:
        conn = database.connect()
        conn.execute(f"CREATE EXTENSION turnstile VERSION '{version}'")
        add_own(conn, role)
        return described(conn)


def upgraded(conn, old: str, new: str, role: str) -> Facts:
    """What an upgrade leaves of the old version and of what users have added to it."""
    conn.execute(f"CREATE EXTENSION turnstile VERSION '{old}'")
    add_own(conn, role)
    conn.execute(f"ALTER EXTENSION turnstile UPDATE TO '{new}'")
    return described(conn)


def _none(found) -> None:
    assert not found, found


def _filled(conn, role: str) -> Filling:
    """By calls where the library serves the catalog, else with the rows that calls leave in the catalog of this tree."""
    try:
        _none(call(conn, "check"))
    except errors.ObjectNotInPrerequisiteState:
        with fresh_database() as database:
            source = database.connect()
            add_own(source, role)
            filling = fill(source)
            copy_rows(source, conn)
            return filling
    filling = fill(conn)
    _none(call(conn, "check"))
    return filling


def must_lose_nothing(old: str, new: str, role: str) -> None:
    with fresh_database(extension=False) as database:
        conn = database.connect()
        conn.execute(f"CREATE EXTENSION turnstile VERSION '{old}'")
        add_own(conn, role)
        filling = _filled(conn, role)
        before = contents(conn)
        inherits = conn.execute("SELECT to_regclass('turnstile.queue_in_force')").fetchone()[0]
        conn.execute(f"ALTER EXTENSION turnstile UPDATE TO '{new}'")
        assert conn.execute("SELECT extversion FROM pg_extension WHERE extname = 'turnstile'").fetchone() == (new,)
        _none(differences(made_new(new, role), described(conn)))
        _none(misplaced(conn))
        if not inherits:
            _none(unlike(before, conn))
        _none(lost(before, contents(conn)))
        _none(call(conn, "check"))
        work_off(conn, filling)
        _none(call(conn, "check"))


def misplaced(conn) -> dict[str, int]:
    """Columns that the library knows by a number which they do not have."""
    source = (ROOT / "src/job/column.rs").read_text()
    known = {name.lower(): int(number) for name, number in re.findall(r"pub const ([A-Z_]+): usize = (\d+);", source)}
    assert len(known) > 20
    numbers = dict(conn.execute("SELECT attname, attnum FROM pg_attribute WHERE attrelid = 'turnstile.job'::regclass AND attnum > 0"))
    return {name: number for name, number in known.items() if numbers.get(name) != number}
