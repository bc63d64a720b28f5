"""How `turnstile work` stops commands, and how it ends itself: nothing is left in whatever way that comes."""

import contextlib
import os
import signal

import pytest

from support.calls import call, enqueue
from support.ended import await_state, counts, error_classes, errors, state
from support.sleepers import asleep, await_asleep, until

DEAF = ["sh", "-c", "trap '' TERM; sleep 1000 & while :; do wait; sleep 1000; done"]


def begin(folder) -> str:
    return f"touch {folder}/begun;"


def await_begun(folder) -> None:
    until((folder / "begun").exists, "the command has begun")


def test_a_cancelled_job_stops_its_command(conn, work, tmp_path):
    job = enqueue(conn)
    script = f"trap 'touch {tmp_path}/told; exit 0' TERM; {begin(tmp_path)} while :; do sleep 0.01; done"
    worker = work("--heartbeat", "100ms", command=["sh", "-c", script])
    await_begun(tmp_path)
    call(conn, "cancel", job_id=job)
    await_state(conn, job, "cancelled")
    assert (tmp_path / "told").exists()
    assert "the job was cancelled" in worker.stderr()


def test_a_cancelled_job_kills_a_command_that_is_deaf(conn, work):
    job = enqueue(conn)
    worker = work("--heartbeat", "100ms", "--grace", "300ms", command=DEAF)
    until(lambda: len(worker.commands()) == 2, "the command and its child have begun")
    call(conn, "cancel", job_id=job)
    await_state(conn, job, "cancelled")
    until(lambda: not worker.commands(), "both are killed", worker.commands)
    assert "is killed" in worker.stderr()


def test_a_command_that_hangs_loses_its_run_after_its_time(conn, work):
    job, after = enqueue(conn), enqueue(conn, kind="quick")
    script = "[ $TURNSTILE_KIND = quick ] || { echo 'so far' >&2; trap '' TERM; while :; do sleep 1; done; }"
    worker = work("--timeout", "500ms", "--grace", "200ms", command=["sh", "-c", script])
    await_state(conn, job, "retryable")
    await_state(conn, after, "completed")
    assert (errors(conn, job), error_classes(conn, job)) == (["no end after 0.5 s\nso far"], ["timeout"])
    assert "the command is stopped: no end after 0.5 s" in worker.stderr()


def lose_lease(conn) -> None:
    conn.execute("UPDATE turnstile.job SET lease_expires_at = clock_timestamp() - interval '1 minute' WHERE state = 'running'")
    call(conn, "rescue")


@pytest.mark.parametrize("mode", [[], ["--persistent"]], ids=["command", "persistent"])
def test_the_command_of_a_lost_run_is_stopped_and_changes_nothing(conn, work, tmp_path, mode):
    job = enqueue(conn)
    script = f"{begin(tmp_path)} trap 'exit 65' TERM; while :; do sleep 0.01; done"
    worker = work(*mode, "--heartbeat", "100ms", command=["sh", "-c", script])
    await_begun(tmp_path)
    worker.signal(signal.SIGSTOP)
    lose_lease(conn)
    worker.signal(signal.SIGCONT)
    until(lambda: "the run was lost" in worker.stderr(), "it says so", worker.stderr)
    until(lambda: not worker.commands(), "the command is gone", worker.commands)
    assert (state(conn, job), errors(conn, job)) == ("retryable", ["lease expired"])
    worker.terminate()
    assert worker.ended()[0] == 0


def test_a_run_whose_lease_ends_without_a_word_of_the_server_is_lost(conn, work, tmp_path):
    """The server holds up all heartbeats, and hears of no end: only the worker's own clock can tell."""
    enqueue(conn)
    worker = work("--lease", "1s", command=["sh", "-c", f"{begin(tmp_path)} exec sleep 1000"])
    await_begun(tmp_path)
    conn.execute("BEGIN; LOCK TABLE turnstile.job")
    until(lambda: "the run was lost" in worker.stderr(), "it says so", worker.stderr)
    until(lambda: not worker.commands(), "the command is gone", worker.commands)
    conn.execute("ROLLBACK")


# ---- SIGTERM --------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_who_is_told_to_end_lets_its_jobs_end_and_takes_no_other(conn, work, tmp_path, number):
    enqueue(conn)
    worker = work(command=["sh", "-c", f"{begin(tmp_path)} while ! [ -e {tmp_path}/go ]; do sleep 0.01; done"])
    await_begun(tmp_path)
    worker.signal(number)
    until(lambda: "drains" in worker.stderr(), "it has got the signal")
    enqueue(conn)
    (tmp_path / "go").touch()
    assert worker.ended()[0] == 0
    assert counts(conn) == {"completed": 1, "available": 1}


@pytest.mark.parametrize("mode", [[], ["--persistent"]], ids=["command", "persistent"])
def test_who_sleeps_goes_at_once(conn, work, mode):
    worker = work(*mode, command=["cat"])
    await_asleep(conn, 1)
    worker.terminate()
    assert worker.ended()[0] == 0
    until(lambda: asleep(conn) == 0, "the sleeper is gone from the server, too")
    worker.leaves_nothing()


def test_jobs_that_do_not_end_in_time_are_given_back(conn, work):
    job = enqueue(conn)
    worker = work("--drain", "300ms", "--grace", "300ms", command=DEAF)
    until(lambda: len(worker.commands()) == 2, "the command and its child have begun")
    worker.terminate()
    assert worker.ended()[0] == 0
    assert (state(conn, job), errors(conn, job)) == ("available", [])
    worker.leaves_nothing()


def test_who_ends_well_because_it_was_told_to_has_not_done_the_job(conn, work, tmp_path):
    job = enqueue(conn)
    script = f"trap 'exit 0' TERM; {begin(tmp_path)} while :; do sleep 0.01; done"
    worker = work("--drain", "0", command=["sh", "-c", script])
    await_begun(tmp_path)
    worker.terminate()
    assert worker.ended()[0] == 0
    assert state(conn, job) == "available"


def test_a_second_signal_stops_the_jobs_at_once(conn, work, tmp_path):
    """Under a drain that lasts longer than the test waits."""
    job = enqueue(conn)
    worker = work("--drain", "1h", command=["sh", "-c", f"{begin(tmp_path)} exec sleep 1000"])
    await_begun(tmp_path)
    worker.terminate()
    until(lambda: "drains" in worker.stderr(), "it has got the signal")
    worker.terminate()
    assert worker.ended()[0] == 0
    assert state(conn, job) == "available"


# ---- SIGHUP ---------------------------------------------------------------------------------------


def test_a_hang_up_is_a_soft_stop_however_often_it_comes(conn, work, tmp_path, hang_ups):
    hang_ups(signal.SIG_DFL)
    job = enqueue(conn)
    worker = work("--drain", "1h", command=["sh", "-c", f"{begin(tmp_path)} while ! [ -e {tmp_path}/go ]; do sleep 0.01; done"])
    await_begun(tmp_path)
    worker.signal(signal.SIGHUP)
    until(lambda: "drains" in worker.stderr(), "it has got the signal")
    worker.signal(signal.SIGHUP)
    enqueue(conn)
    (tmp_path / "go").touch()
    assert worker.ended()[0] == 0
    assert state(conn, job) == "completed"
    assert counts(conn) == {"completed": 1, "available": 1}


def test_who_ignores_hang_ups_goes_on(conn, work, hang_ups):
    """As nohup has it."""
    hang_ups(signal.SIG_IGN)
    worker = work(command=["true"])
    await_asleep(conn, 1)
    worker.signal(signal.SIGHUP)
    job = enqueue(conn)
    await_state(conn, job, "completed")
    worker.terminate()
    assert worker.ended()[0] == 0


# ---- SIGKILL --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [[], ["--persistent"]], ids=["command", "persistent"])
def test_nothing_outlives_a_program_that_is_killed(conn, work, mode):
    """Not even a child of a command that is deaf to SIGTERM, and holds none of its pipes."""
    enqueue(conn)
    script = "trap '' TERM; (trap '' TERM HUP; sleep 1000 </dev/null >/dev/null 2>&1) & sleep 1000 & wait"
    worker = work(*mode, command=["sh", "-c", script])
    until(lambda: len(worker.commands()) >= 3, "the command and its children have begun")
    worker.kill()
    worker.leaves_nothing()


def test_who_signals_all_of_a_service_does_not_end_the_keeper_before_the_program(conn, work):
    enqueue(conn)
    worker = work("--drain", "1h", command=DEAF)
    until(lambda: len(worker.commands()) == 2, "the command and its child have begun")
    for number in [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]:
        os.kill(worker.keepers()[0], number)
    worker.terminate()
    until(lambda: "drains" in worker.stderr(), "it has got the signal")
    worker.kill()
    worker.leaves_nothing()


def test_a_keeper_that_was_killed_is_replaced_with_all_that_it_knew(conn, work, tmp_path):
    enqueue(conn)
    worker = work("--concurrency", "2", command=["sh", "-c", f"{begin(tmp_path)} {DEAF[2]}"])
    until(lambda: len(worker.commands()) == 2, "the first command and its child have begun")
    [keeper] = worker.keepers()
    os.kill(keeper, signal.SIGKILL)
    until(lambda: keeper not in worker.family(), "it is gone")
    enqueue(conn)
    until(lambda: len(worker.commands()) == 4, "so have the second and its child")
    assert len(worker.keepers()) == 1
    worker.kill()
    worker.leaves_nothing()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_keeper_that_can_kill_nothing_is_replaced_before_another_command_starts(conn, work, number):
    enqueue(conn)
    worker = work(command=DEAF)
    until(lambda: len(worker.commands()) == 2, "the command and its child have begun")
    [keeper] = worker.keepers()
    os.kill(keeper, number)
    until(lambda: worker.keepers() not in ([], [keeper]) and keeper not in worker.keepers(), "there is another, and not that one")
    until(lambda: "there is another" in worker.stderr(), "it is told of all groups")
    worker.kill()
    worker.leaves_nothing()


def test_commands_start_and_end_while_keepers_are_killed(conn, work):
    for _ in range(60):
        enqueue(conn)
    worker = work("--concurrency", "4", command=["sh", "-c", "sleep 1000 </dev/null >/dev/null 2>&1 & sleep 0.03"])
    while counts(conn) != {"completed": 60}:
        for keeper in worker.keepers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(keeper, signal.SIGKILL)
        assert set(counts(conn)) <= {"available", "running", "completed"}
    assert worker.stderr().count("there is another") > 1
    until(lambda: not worker.commands(), "nothing is left", worker.commands)
