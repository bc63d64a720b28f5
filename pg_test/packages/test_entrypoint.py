"""Where the first process of a container may make its cluster. What else it does is in test_container.py."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from faults.cluster import as_server, binary
from support.database import server
from support.system import ROOT


@pytest.fixture
def volume():
    """A folder of the server's user, who may enter no other that is private."""
    with tempfile.TemporaryDirectory(prefix="turnstile-volume.") as folder:
        place = Path(folder)
        place.chmod(0o755)
        shutil.copy(ROOT / "packaging/container/entrypoint", place)
        (place / "data").mkdir(mode=0o700)
        if os.geteuid() == 0:
            shutil.chown(place / "data", "postgres", "postgres")
        yield place / "data"


def _inside(*command) -> None:
    subprocess.run(as_server(*map(str, command)), check=True)


def _start(volume: Path, pgdata: str, then: tuple = ("true",)) -> subprocess.CompletedProcess:
    with contextlib.closing(server()) as admin:
        programs = os.path.dirname(binary(admin, "initdb"))
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "PGDATA": pgdata, "POSTGRES_PASSWORD": "secret", "LC_ALL": "C.UTF-8"}
    command = as_server(str(volume.parent / "entrypoint"), *then)
    return subprocess.run(command, env=environment, cwd="/", capture_output=True, text=True, check=False)


@pytest.mark.parametrize("made", [False, True], ids=["new", "empty"])
@pytest.mark.parametrize("end", ["", "/"], ids=["plain", "with a slash"])
def test_a_folder_that_is_new_or_empty_becomes_the_cluster(volume, made, end):
    place = volume / "cluster"
    if made:
        _inside("mkdir", place)
    for _ in range(2):
        started = _start(volume, f"{place}{end}", ("cat", f"{place}/PG_VERSION"))
        assert started.returncode == 0, started.stderr
    assert os.listdir(volume) == ["cluster"]


def test_a_folder_with_something_else_stays_as_it_is(volume):
    place = volume / "cluster"
    _inside("mkdir", place)
    _inside("touch", place / "mine")
    refused = _start(volume, str(place))
    assert refused.returncode == 1 and "PGDATA" in refused.stderr
    assert os.listdir(volume) == ["cluster"] and os.listdir(place) == ["mine"]
