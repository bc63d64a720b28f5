"""From each release whose install script is kept to the version of this tree: nothing is lost, nothing is left over."""

import pytest

from support.database import fresh_database
from support.scripts import CURRENT, releases
from upgrades.path import must_lose_nothing


@pytest.mark.parametrize("release", releases())
def test_an_upgrade_makes_what_a_new_installation_makes(release, worker_role):
    must_lose_nothing(release, CURRENT, worker_role)


@pytest.mark.parametrize("release", releases())
def test_the_server_knows_the_way(release, conn):
    paths = conn.execute("SELECT source, path FROM pg_extension_update_paths('turnstile') WHERE target = %s", [CURRENT])
    assert release == CURRENT or dict(paths.fetchall()).get(release)


def test_what_is_installed_by_default_is_the_version_of_this_tree():
    with fresh_database() as database:
        conn = database.connect()
        found = "SELECT extversion, turnstile.version(), turnstile.catalog_version() FROM pg_extension WHERE extname = 'turnstile'"
        assert conn.execute(found).fetchone() == (CURRENT, CURRENT, CURRENT)


def test_what_was_kept_until_the_end_of_its_day_still_is():
    """Since 0.2.0 an interval of 0 keeps nothing."""
    with fresh_database(extension=False) as database:
        conn = database.connect()
        conn.execute("CREATE EXTENSION turnstile VERSION '0.1.0'")
        # The library serves no catalog of 0.1.0, nor its triggers.
        conn.execute("ALTER TABLE turnstile.queue DISABLE TRIGGER USER")
        conn.execute("INSERT INTO turnstile.queue (name, gate, keep_completed) VALUES ('brief', 1, '0'), ('long', 2, '30 days')")
        conn.execute("ALTER TABLE turnstile.queue ENABLE TRIGGER USER")
        conn.execute("ALTER EXTENSION turnstile UPDATE")
        kept = conn.execute("SELECT name, keep_completed::text FROM turnstile.queue WHERE name <> '*'")
        assert dict(kept.fetchall()) == {"brief": "00:00:01", "long": "30 days"}
