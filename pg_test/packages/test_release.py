"""`make release`: each of its checks stops a release, and what it builds is whole."""

import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from support.system import ROOT

TODAY = datetime.datetime.now(datetime.UTC).date()
VERSION = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]
FILES = ["Cargo.toml", "Cargo.lock", "turnstile.control", "META.json", "CHANGELOG.md"]
FROZEN = f"sql/turnstile--{VERSION}.sql"

# Stands for make: notes what it was asked for, then does as the test wants.
MAKE = """#!/bin/sh
echo "$*" >>"$CALLS"
case "$*" in *"$FAILS"*) exit 2 ;; esac
case "$*" in
  *reference*) [ -z "$STALE" ] || echo more >>docs/reference.md ;;
  *deb*) echo package >"$TURNSTILE_PACKAGES/postgresql-${3#PG=}-turnstile.deb" ;;
esac
"""


class Project:
    """Copies of the project's own files, all committed, as they are when a version is ready for release."""

    def __init__(self, folder: Path):
        self.folder = folder / "project"
        self.calls = folder / "calls"
        self.make = folder / "make"
        self.make.write_text(MAKE)
        self.make.chmod(0o755)
        for name in ("scripts", "packaging"):
            shutil.copytree(ROOT / name, self.folder / name)
        for name in FILES:
            shutil.copy(ROOT / name, self.folder)
        self.change("CHANGELOG.md", r"\A.*?^## .*?$", f"# Changelog\n\n## {VERSION}, {TODAY}")
        for path in ("docs/reference.md", FROZEN):
            (self.folder / path).parent.mkdir(exist_ok=True)
            # As large as real ones are.
            (self.folder / path).write_text("-- What it does.\n" + "SELECT 1;\n" * 50_000)
        (self.folder / ".gitignore").write_text("/target/\n")
        self.git("init")
        self.commit()

    def git(self, *arguments) -> str:
        own = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
        return subprocess.run(["git", *own, *arguments], cwd=self.folder, check=True, capture_output=True, text=True).stdout

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--message", "all")

    def change(self, name: str, pattern: str, replacement: str) -> None:
        path = self.folder / name
        text, count = re.subn(pattern, replacement, path.read_text(), count=1, flags=re.MULTILINE | re.DOTALL)
        assert count == 1, f"{name} has no {pattern}"
        path.write_text(text)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def release(self, *options, version: str = VERSION, fails: str = "nothing", stale: str = "") -> subprocess.CompletedProcess:
        given = {"MAKE": str(self.make), "CALLS": str(self.calls), "FAILS": fails, "STALE": stale}
        command = [self.folder / "scripts/release", *options, version]
        return subprocess.run(command, env=os.environ | given, capture_output=True, text=True)


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_what_is_ready_passes_the_checks_and_nothing_is_built(project):
    done = project.release("--check")
    assert (done.returncode, done.stdout) == (0, "")
    assert not (project.folder / "target").exists()
    assert not project.calls.exists()


HIGHER = VERSION.replace("0", "7", 1)
STALE_VERSIONS = {
    "Cargo.toml": ("Cargo.toml", r'^version = "[^"]*"', f'version = "{HIGHER}"'),
    "Cargo.lock": ("Cargo.lock", r'^(name = "turnstile"\nversion = )"[^"]*"', rf'\g<1>"{HIGHER}"'),
    "turnstile.control": ("turnstile.control", r"^default_version = '[^']*'", f"default_version = '{HIGHER}'"),
    "META.json": ("META.json", r'"version": "[^"]*",\n  "maint', f'"version": "{HIGHER}",\n  "maint'),
    "META.json, provides": ("META.json", r'"version": "[^"]*"\n    }', f'"version": "{HIGHER}"\n    }}'),
    "packaging/debian": ("scripts/package", r"^turnstile \(\$VERSION", f"turnstile ({HIGHER}"),
}


@pytest.mark.parametrize("place", STALE_VERSIONS)
def test_each_place_must_have_the_version(project, place):
    project.change(*STALE_VERSIONS[place])
    project.commit()
    done = project.release("--check")
    assert done.returncode == 1
    assert f"{place}: has version {HIGHER} instead of {VERSION}" in done.stdout.splitlines()
    assert len(done.stdout.splitlines()) == (3 if place == "Cargo.toml" else 1), "turnstile.control and the package follow Cargo.toml"


def _not_committed(project):
    project.write("more.txt", "more")


def _changed(project):
    project.write("META.json", (project.folder / "META.json").read_text() + "\n")


def _tagged(project):
    project.git("tag", f"v{VERSION}")


def _committed(change):
    def and_commit(project):
        change(project)
        project.commit()

    return and_commit


NEWEST = f"## {VERSION}, {TODAY}"
OLD = "sql/turnstile--0.0.1.sql"
WAYS_TO_FAIL = {
    "a new file": (_not_committed, "more.txt: is not committed"),
    "a change": (_changed, "META.json: is not committed"),
    "released already": (_tagged, f"v{VERSION} is released already"),
    "another day": (
        _committed(lambda project: project.change("CHANGELOG.md", NEWEST, f"## {VERSION}, 2001-01-01")),
        f'CHANGELOG.md: does not begin with "{NEWEST}"',
    ),
    "not released": (
        _committed(lambda project: project.change("CHANGELOG.md", NEWEST, f"## Unreleased\n\n- more\n\n{NEWEST}")),
        f'CHANGELOG.md: does not begin with "{NEWEST}"',
    ),
    "nothing new": (
        _committed(lambda project: project.change("CHANGELOG.md", NEWEST, f"{NEWEST}\n\n## 0.0.1, 2001-01-01")),
        f"CHANGELOG.md: says nothing of what is new in {VERSION}",
    ),
    "a file of PGXN": (
        _committed(lambda project: project.change("META.json", r'"sql/[^"]*"', '"sql/other.sql"')),
        "META.json: names a file that is not there",
    ),
    "an install script that is not kept": (
        _committed(lambda project: (project.folder / FROZEN).unlink()),
        f"{FROZEN}: the install script is not kept",
    ),
    "an install script with nothing": (
        _committed(lambda project: project.write(FROZEN, "-- SELECT 1;\n\n")),
        f"{FROZEN}: the install script is not kept",
    ),
    "no upgrade": (
        _committed(lambda project: project.write(OLD, "SELECT 1;\n")),
        f"sql: no way from 0.0.1 to {VERSION} through scripts that do something",
    ),
    "an empty upgrade": (
        _committed(
            lambda project: (
                project.write(OLD, "SELECT 1;\n"),
                project.write(f"sql/turnstile--0.0.1--{VERSION}.sql", "\\echo no \\quit\n-- nothing\n"),
            )
        ),
        f"sql: no way from 0.0.1 to {VERSION} through scripts that do something",
    ),
    "an upgrade in circles": (
        _committed(
            lambda project: (
                project.write(OLD, "SELECT 1;\n"),
                project.write("sql/turnstile--0.0.1--0.0.2.sql", "SELECT 1;\n"),
                project.write("sql/turnstile--0.0.2--0.0.1.sql", "SELECT 1;\n"),
            )
        ),
        f"sql: no way from 0.0.1 to {VERSION} through scripts that do something",
    ),
}


@pytest.mark.parametrize("way", WAYS_TO_FAIL)
def test_each_check_stops_a_release(project, way):
    damage, reason = WAYS_TO_FAIL[way]
    damage(project)
    for options in (["--check"], []):
        done = project.release(*options)
        assert done.returncode == 1
        assert reason in done.stdout.splitlines()
    assert not project.calls.exists()


@pytest.mark.parametrize("version", ["1.2", "v1.2.3", "1.2.3-rc1", "01.2.3", ""])
def test_a_version_has_three_numbers(project, version):
    done = project.release("--check", version=version)
    assert done.returncode == 1
    assert "no version of the form" in done.stdout or "usage:" in done.stderr


def test_an_upgrade_may_go_in_several_steps(project):
    project.write(OLD, "SELECT 1;\n")
    project.write("sql/turnstile--0.0.1--0.0.2.sql", "SELECT 1;\n")
    project.write(f"sql/turnstile--0.0.2--{VERSION}.sql", "SELECT 1;\n")
    project.commit()
    assert project.release("--check").returncode == 0


def _built(project) -> Path:
    return project.folder / f"target/release-{VERSION}"


def test_pages_that_are_not_made_anew_stop_a_release(project):
    done = project.release(stale="yes")
    assert done.returncode == 1
    assert "docs/reference.md" in done.stderr
    assert not _built(project).exists()


@pytest.mark.parametrize("target", ["reference", "lint", "test"])
def test_what_make_says_stops_a_release(project, target):
    done = project.release(fails=f" {target}")
    assert done.returncode == 1
    assert f"make {target}" in done.stderr
    assert not _built(project).exists()


def test_what_is_built_is_whole_and_nothing_is_published(project):
    before = project.git("rev-parse", "HEAD")
    done = project.release()
    assert done.returncode == 0, done.stderr
    built = _built(project)
    sums = dict(reversed(line.split("  ")) for line in (built / "SHA256SUMS").read_text().splitlines())
    assert set(sums) == {path.name for path in built.iterdir()} - {"SHA256SUMS"}
    assert sums == {name: hashlib.sha256((built / name).read_bytes()).hexdigest() for name in sums}
    name = f"turnstile-{VERSION}"
    assert any(path.endswith(".deb") for path in sums)
    tracked = {f"{name}/{path}" for path in project.git("ls-files").splitlines()}
    with tarfile.open(built / f"{name}.tar.gz") as archive:
        assert {member.name for member in archive if member.isfile()} == tracked
    with zipfile.ZipFile(built / f"{name}.zip") as archive:
        assert {path for path in archive.namelist() if not path.endswith("/")} == tracked
        assert json.loads(archive.read(f"{name}/META.json"))["version"] == VERSION
    calls = [call.replace("--no-print-directory ", "") for call in project.calls.read_text().splitlines()]
    assert calls[:3] == ["reference security-page", "lint", "test"]
    assert all(call.startswith("deb PG=") for call in calls[3:])
    assert (project.git("tag"), project.git("rev-parse", "HEAD"), project.git("status", "--porcelain")) == ("", before, "")
    assert f"git tag --sign v{VERSION}" in done.stdout
