"""Settings that begin like those of the extension, and are none: a typing error must not pass for a setting."""

import contextlib

import pytest
from psycopg import errors

from faults.cluster import own_cluster
from support.calls import enqueue
from support.database import fresh_database, server


@pytest.mark.parametrize("statement", ["SET turnstile.max_paylod = '1kB'", "SELECT set_config('turnstile.max_paylod', '1kB', true)"])
def test_an_unknown_setting_is_refused(conn, statement):
    with pytest.raises(errors.InvalidName):
        conn.execute(statement)
    conn.execute("SET turnstile_mine.max_paylod = '1kB'")


def test_an_unknown_setting_of_a_database_is_refused_as_well(db, conn):
    with pytest.raises(errors.InvalidName):
        conn.execute(f"ALTER DATABASE {db.name} SET turnstile.max_paylod = '1kB'")


def test_what_an_older_library_let_pass_keeps_nobody_out():
    """A setting of the configuration or of a database that is gone: the log says so, and RESET ALL takes it away."""
    settings = {"shared_preload_libraries": "", "fsync": "off", "turnstile.gone": "old"}
    with own_cluster("servers_settings", **settings) as cluster, fresh_database(extension=False) as database:
        with contextlib.closing(server()) as admin:
            admin.execute(f"ALTER DATABASE {database.name} SET turnstile.gone = 'old'")
            admin.execute("ALTER SYSTEM SET shared_preload_libraries = 'turnstile'")
        cluster.restart()
        conn = database.connect()
        conn.execute("CREATE EXTENSION turnstile")
        assert enqueue(conn) > 0
        with pytest.raises(errors.UndefinedObject):
            conn.execute("SHOW turnstile.gone")
        named = [line for line in cluster.log.splitlines() if "WARNING" in line and "turnstile.gone" in line]
        assert len(named) >= 2, "once at the start, and once for each session of the database"
        conn.execute(f"ALTER DATABASE {database.name} RESET ALL")
        assert conn.execute("SELECT count(*) FROM pg_db_role_setting").fetchone() == (0,)
