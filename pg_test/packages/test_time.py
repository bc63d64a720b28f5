"""What runs of the tests must end in time begin only what can: scripts/test-all, scripts/test-versions and .ci/run, with parts that do nothing."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support.system import ROOT

TABLE = """# part quick rest
short   10    -
long    900   -
mixed   20    200
slow    1     -
"""
MAKEFILE = """
short long mixed: ; @echo ran $@
slow: ; @sleep 3
install: ;
"""
# Stands for make: says what it was asked for, and how much time it has.
MAKE = """#!/bin/sh
echo "$1 ${TURNSTILE_SECONDS-}"
"""
# Stands for scripts/test-all, of which the parts take no time.
PARTS = """#!/bin/sh
echo "$TURNSTILE_SERVER $TURNSTILE_SECONDS $*"
"""
NOTHING = """#!/bin/sh
echo "${0##*/} $*" >>"$CALLS"
"""


class Project:
    """The project's own scripts, beside what stands for the rest."""

    def __init__(self, folder: Path):
        self.folder, self.calls = folder, folder / "calls"
        for name in ("scripts", ".ci"):
            shutil.copytree(ROOT / name, folder / name)
        (folder / "Makefile").write_text(MAKEFILE)
        (folder / "scripts" / "part-seconds").write_text(TABLE)
        self.write("make", MAKE)

    def write(self, path: str, text: str) -> None:
        (self.folder / path).write_text(text)
        (self.folder / path).chmod(0o755)

    def run(self, script: str, *arguments, begun: int = 0, **more) -> subprocess.CompletedProcess:
        """As if it had begun so many seconds ago, which a shell takes from its environment."""
        own = {"SECONDS": str(begun), "TURNSTILE_SCRATCH": str(self.folder / "scratch"), "CALLS": str(self.calls)}
        inherited = {name: value for name, value in os.environ.items() if not re.match("TURNSTILE_|MAKE|MFLAGS", name)}
        command = [self.folder / script, *arguments]
        return subprocess.run(command, env=inherited | own | more, capture_output=True, text=True, timeout=60)


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def verdicts(done: subprocess.CompletedProcess) -> dict[str, str]:
    """What the end of the output says of each part."""
    return dict(re.findall(r"^([a-z]+) +(passed|FAILED|LEFT OUT)\b", done.stdout, re.MULTILINE))


def test_what_could_not_end_is_left_out_and_what_is_shorter_runs(project, tmp_path):
    left_out = tmp_path / "left-out"
    given = {"TURNSTILE_SECONDS": "1100", "TURNSTILE_TIER": "quick", "TURNSTILE_LEFT_OUT": str(left_out)}
    done = project.run("scripts/test-all", "long", "short", "mixed", begun=1000, **given)
    assert done.returncode == 0, done.stderr
    assert verdicts(done) == {"long": "LEFT OUT", "short": "passed", "mixed": "passed"}
    assert left_out.read_text() == "long\n"
    assert "2 passed, 0 failed, 1 left out" in done.stdout
    assert "ran long" not in done.stdout


@pytest.mark.parametrize(("tier", "verdict"), [("quick", "passed"), ("rest", "LEFT OUT"), ("", "LEFT OUT")])
def test_a_part_takes_what_its_tier_takes(project, tier, verdict):
    done = project.run("scripts/test-all", "mixed", TURNSTILE_SECONDS="210", TURNSTILE_TIER=tier, begun=100)
    assert verdicts(done) == {"mixed": verdict}


def test_a_machine_that_turns_out_slow_begins_less(project):
    done = project.run("scripts/test-all", "slow", "short", TURNSTILE_SECONDS="28", TURNSTILE_TIER="quick", TURNSTILE_JOBS="1")
    assert verdicts(done) == {"slow": "passed", "short": "LEFT OUT"}


def test_without_an_end_all_parts_run(project):
    done = project.run("scripts/test-all", "long", "short", TURNSTILE_TIER="quick", begun=100_000)
    assert verdicts(done) == {"long": "passed", "short": "passed"}


@pytest.mark.parametrize(("part", "tier"), [("unknown", "quick"), ("short", "rest")])
def test_a_part_without_seconds_is_refused(project, part, tier):
    done = project.run("scripts/test-all", part, TURNSTILE_TIER=tier)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"does not say how long {part} takes" in done.stderr


def test_the_table_has_the_parts_of_each_tier():
    lines = [line.split() for line in (ROOT / "scripts" / "part-seconds").read_text().splitlines() if not line.startswith("#")]
    for tier, column in (("quick", 1), ("rest", 2)):
        target = {"quick": "test", "rest": "test-rest"}[tier]
        listed = subprocess.run(["make", "--dry-run", target], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        parts = set(listed.split("scripts/test-all ")[1].split())
        known = {line[0] for line in lines if line[column] != "-"}
        assert parts <= known
    versions = re.findall(r"\btest-[a-z]+\b|\bregress\b|\bisolation\b", "".join(re.findall(r"^\w+=\(.*\)", _text("test-versions"), re.MULTILINE)))
    assert set(versions) - {"test-all"} <= {line[0] for line in lines if line[1] != "-"}


def _text(script: str) -> str:
    return (ROOT / "scripts" / script).read_text()


def is_about(seconds: str, expected: int) -> bool:
    """A moment passes until it is looked at."""
    return expected - 5 <= int(seconds) <= expected


# ---- Other versions of the server -----------------------------------------------------------------


@pytest.fixture
def versions(project):
    project.write("scripts/test-all", PARTS)
    for name in ("server", "install"):
        project.write(f"scripts/{name}", NOTHING)
    return project


def test_each_server_has_what_is_left(versions):
    done = versions.run("scripts/test-versions", "16", "17", TURNSTILE_SECONDS="1000", begun=100)
    assert done.returncode == 0, done.stderr
    left = dict(re.findall(r"^(\d+) (\d+) ", done.stdout, re.MULTILINE))
    assert sorted(left) == ["16", "17"]
    assert all(is_about(seconds, 900) for seconds in left.values())
    assert versions.calls.read_text().splitlines() == ["server 16", "install --build-only", "server 17", "install --build-only"]


def test_a_server_that_could_not_be_made_ready_is_left_out(versions):
    done = versions.run("scripts/test-versions", "16", "17", TURNSTILE_SECONDS="1000", begun=900)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^PostgreSQL (\d+): LEFT OUT", done.stdout, re.MULTILINE) == ["16", "17"]
    assert not versions.calls.exists()


# ---- CI -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("begun", "versions", "rest"), [(0, 1080, 3300), (1500, 900, 1800), (2500, 300, 800), (3200, 0, 100), (4000, 0, 0)]
)
def test_the_steps_of_ci_share_an_hour(project, begun, versions, rest):
    done = project.run(".ci/run", begun=begun, MAKE=str(project.folder / "make"))
    assert done.returncode == 0
    steps = dict(line.split(" ") for line in done.stdout.split("\n\n")[0].splitlines())
    assert list(steps) == ["lint", "test", "test-versions", "test-moves", "test-rest"]
    assert (steps["lint"], steps["test"], steps["test-moves"]) == ("", "", "")
    assert is_about(steps["test-versions"], versions)
    assert is_about(steps["test-rest"], rest)
