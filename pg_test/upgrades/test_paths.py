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
