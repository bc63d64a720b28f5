"""The application `console`, as an operator of devices uses it."""

import subprocess

import pytest

from support.apps import APPS, BIN, psql, url_of
from support.calls import call
from support.examples import environment
from support.sleepers import PATIENCE, until

# A device that notes what it is told, and can be held up, out of order, or away.
DEVICE = """#!/bin/sh
echo "$1 $2" >>"$DEVICE_LOG"
[ ! -e "$DEVICE_LOG.$1.away" ] || exit 255
case $2 in
  long) exec sleep 600 ;;
  bad) echo 'no such app'; exit 3 ;;
esac
echo "done: $2"
"""


@pytest.fixture
def log(tmp_path):
    (tmp_path / "device").write_text(DEVICE)
    (tmp_path / "device").chmod(0o755)
    (tmp_path / "log").touch()
    return tmp_path / "log"


@pytest.fixture
def begin(db, work, log):
    psql(db, APPS / "console" / "setup.sql")
    return lambda: work("console", DEVICE_SHELL=str(log.parent / "device"), DEVICE_LOG=str(log))


@pytest.fixture
def console(db, begin):
    def console(*words) -> str:
        command = [BIN / "python", "console.py", *map(str, words)]
        kept = {"capture_output": True, "text": True, "timeout": PATIENCE}
        done = subprocess.run(command, cwd=APPS / "console", env=environment(url_of(db)), **kept)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return console


def await_line(console, device: str, *words: str) -> None:
    """A line of the list that has these words in this order."""

    def has_it() -> bool:
        return any(line.split()[1:][: len(words)] == list(words) for line in console("list", device).splitlines())

    until(has_it, f"{words}", lambda: console("list", device))


def test_commands_run_in_order_on_each_device(console, begin, log):
    for command in "one", "two", "three":
        for device in "lamp", "door":
            console("send", device, command)
    worker = begin()
    for device in "lamp", "door":
        await_line(console, device, "completed", "three", "done:", "three")
    told = log.read_text().splitlines()
    for device in "lamp", "door":
        assert [line for line in told if line.startswith(device)] == [f"{device} {each}" for each in ("one", "two", "three")]
    worker.leaves()


def test_an_urgent_command_is_the_next_one(console, begin, log):
    console("send", "lamp", "one")
    second = console("send", "lamp", "two")
    console("send", "lamp", "now", "--urgent")
    console("urgent", second)
    begin()
    await_line(console, "lamp", "completed", "one")
    assert log.read_text().splitlines() == ["lamp two", "lamp now", "lamp one"]


def test_the_list_says_why_a_command_waits_and_a_long_one_is_cancelled(console, begin):
    long = console("send", "lamp", "long")
    waits = console("send", "lamp", "next")
    begin()
    await_line(console, "lamp", "running", "long")
    [line] = [line for line in console("list", "lamp").splitlines() if line.split()[0] == waits]
    assert 'Session "lamp" lets one job run at a time, and that is job ' in line
    assert console("cancel", long) == "running"
    await_line(console, "lamp", "cancelled", "long")
    await_line(console, "lamp", "completed", "next")


def test_a_command_that_fails_is_not_repeated(console, begin, log):
    console("send", "lamp", "bad")
    console("send", "lamp", "good")
    begin()
    await_line(console, "lamp", "completed", "good")
    await_line(console, "lamp", "discarded", "bad", "exit", "status", "3:", "no", "such", "app")
    assert log.read_text().splitlines() == ["lamp bad", "lamp good"]


def test_commands_for_a_device_that_is_away_wait_in_order(conn, console, begin, log):
    call(conn, "set_queue", name="devices", retry_base="10 milliseconds", retry_cap="20 milliseconds")
    away = log.parent / "log.lamp.away"
    away.touch()
    console("send", "lamp", "one")
    console("send", "lamp", "two")
    begin()
    until(lambda: log.read_text().count("lamp one") > 2, "it is tried again")
    away.unlink()
    await_line(console, "lamp", "completed", "two")
    assert set(log.read_text().splitlines()[:-1]) == {"lamp one"}


def test_a_device_is_held(console, begin):
    console("hold", "lamp")
    console("send", "lamp", "one")
    console("send", "door", "one")
    begin()
    await_line(console, "door", "completed", "one")
    await_line(console, "lamp", "available", "one", "Session", '"lamp"', "is", "paused.")
    console("go-on", "lamp")
    await_line(console, "lamp", "completed", "one")
