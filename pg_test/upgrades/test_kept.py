"""The scripts that the tree keeps are what was released, fit what it builds, and find all that they need in the library."""

import re
import subprocess

import pytest

from support.database import server
from support.scripts import CURRENT, KEPT, directory, installed, releases
from upgrades.freeze import SUMS
from upgrades.script import beginning, end

UPGRADES = sorted(path.stem.removeprefix("turnstile--") for path in KEPT.glob("turnstile--*--*.sql"))
_SYMBOL = re.compile(r"'MODULE_PATHNAME',\s*'(\w+)'")


def _sums() -> dict[str, str]:
    return {name: digest for digest, name in (line.split() for line in SUMS.read_text().splitlines())}


def test_the_kept_script_of_this_version_is_what_the_tree_builds():
    """If not: make freeze. A version under development need not have one, but for the first."""
    kept = KEPT / f"turnstile--{CURRENT}.sql"
    assert kept.exists() or releases(), "no release is kept"
    assert not kept.exists() or kept.read_text() == installed(CURRENT)


def test_what_was_released_stays_as_it_was():
    old = [path.name for path in KEPT.glob("turnstile--*.sql") if not path.stem.endswith(f"--{CURRENT}")]
    assert set(old) <= _sums().keys() <= {path.name for path in KEPT.glob("turnstile--*.sql")}
    done = subprocess.run(["sha256sum", "--check", "--quiet", SUMS.name], cwd=KEPT, capture_output=True, text=True, check=False)
    changed = {line.split(":")[0] for line in done.stdout.splitlines()}
    assert changed.isdisjoint(old)


def test_each_kept_script_is_in_the_servers_directory():
    folder = directory()
    for path in KEPT.glob("turnstile--*.sql"):
        assert (folder / path.name).read_text() == path.read_text()


def test_there_is_a_way_from_each_release():
    assert all(any(upgrade.startswith(f"{release}--") for upgrade in UPGRADES) for release in releases() if release != CURRENT)


def test_upgrade_scripts_begin_and_end_as_they_must():
    """Those of earlier releases ended with what held then."""
    for upgrade in UPGRADES:
        text = (KEPT / f"turnstile--{upgrade}.sql").read_text()
        assert not upgrade.endswith(f"--{CURRENT}") or (text.startswith(beginning()) and text.endswith(end())), upgrade


def test_version_has_one_home():
    assert f"SELECT '{CURRENT}'" in (KEPT / "schema/version.sql").read_text()


def _exported() -> set[str]:
    with server() as admin:
        (folder,) = admin.execute("SELECT setting FROM pg_config WHERE name = 'PKGLIBDIR'").fetchone()
    listed = subprocess.run(["nm", "--dynamic", "--defined-only", f"{folder}/turnstile.so"], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in listed.stdout.splitlines()}


@pytest.mark.parametrize("name", [f"turnstile--{version}" for version in [*releases(), *UPGRADES]])
def test_the_library_has_what_the_scripts_name(name):
    """An older catalog calls it until it is upgraded, and pg_upgrade brings it over as it is."""
    named = set(_SYMBOL.findall((KEPT / f"{name}.sql").read_text()))
    assert named or "--" in name.removeprefix("turnstile--")
    assert named | {f"pg_finfo_{symbol}" for symbol in named} <= _exported()
