"""`turnstile work` with a command for each job: what the command gets, and what becomes of the job."""

import contextlib
import os
import resource
import sys
from pathlib import Path

import pytest

from support.calls import call, enqueue, enqueue_many
from support.ended import await_counts, await_state, counts, error_classes, errors, result, state
from support.sleepers import await_asleep, until

ECHO = Path(__file__).with_name("echo.py")
BY_KIND = """case $TURNSTILE_KIND in
  done) exit 0 ;;
  result) echo 'first'; echo '{"sent": 1}'; echo ;;
  text) echo '{"sent": 1}'; echo 'sent' ;;
  later) echo 'busy' >&2; exit 75 ;;
  never) echo 'no such user' >&2; exit 65 ;;
  wrong) echo 'a bug' >&2; exit 3 ;;
  silent) exit 3 ;;
  killed) echo 'half done' >&2; kill -9 $$ ;;
esac"""


@pytest.mark.parametrize(
    "kind, ends, value, error, error_class",
    [
        ("done", "completed", None, None, None),
        ("result", "completed", {"sent": 1}, None, None),
        ("text", "completed", None, None, None),
        ("later", "retryable", None, "busy", "exit.75"),
        ("never", "discarded", None, "no such user", "exit.65"),
        ("wrong", "retryable", None, "a bug", "exit.3"),
        ("silent", "retryable", None, "exit status 3", "exit.3"),
        ("killed", "retryable", None, "killed by signal 9\nhalf done", "signal.9"),
    ],
)
def test_the_exit_code_says_how_the_run_ends(conn, work, kind, ends, value, error, error_class):
    job = enqueue(conn, kind=kind)
    work(command=["sh", "-c", BY_KIND])
    await_state(conn, job, ends)
    assert result(conn, job) == value
    assert errors(conn, job) == ([error] if error else [])
    assert error_classes(conn, job) == ([error_class] if error else [])


def test_a_retry_curve_goes_by_the_exit_status(conn, work):
    call(conn, "set_retry_curve", kind="*", error_class="exit.3", discard=True)
    jobs = [enqueue(conn, kind=kind) for kind in ("wrong", "killed")]
    work(command=["sh", "-c", BY_KIND])
    await_counts(conn, discarded=1, retryable=1)
    assert [state(conn, job) for job in jobs] == ["discarded", "retryable"]


DUE = "SELECT extract(epoch FROM run_at - clock_timestamp()) FROM turnstile.jobs WHERE id = %s"


def test_exit_code_75_is_tried_again_when_the_command_line_says(conn, work):
    later, wrong = enqueue(conn, kind="later"), enqueue(conn, kind="wrong")
    work("--retry-in", "7d", command=["sh", "-c", BY_KIND])
    await_counts(conn, retryable=2)
    day = 24 * 3600
    assert conn.execute(DUE, [later]).fetchone()[0] > 6 * day
    assert conn.execute(DUE, [wrong]).fetchone()[0] < day


PRINT_ALL = """
import json, os, sys
seen = {name: value for name, value in os.environ.items() if name.startswith("TURNSTILE_")}
print(json.dumps({"payload": json.load(sys.stdin), "variables": seen}))
"""


def test_a_command_gets_the_payload_and_the_job(conn, work):
    names = {"tenant": "acme", "account": "a1", "session": "s 1", "queue": "mail"}
    full = enqueue(conn, payload={"text": "ä\n\"b\""}, priority=7, metadata={"trace": "x"}, **names)
    bare = enqueue(conn)
    work("--queues", "mail,*", command=[sys.executable, "-c", PRINT_ALL], TURNSTILE_TENANT="of the parent")
    await_counts(conn, completed=2)
    seen = result(conn, full)
    assert seen["payload"] == {"text": "ä\n\"b\""}
    created = seen["variables"].pop("TURNSTILE_CREATED_AT")
    assert conn.execute("SELECT created_at = %s FROM turnstile.jobs WHERE id = %s", [created, full]).fetchone() == (True,)
    of_the_parent = {name for name in os.environ if name.startswith("TURNSTILE_")} | {"TURNSTILE_LOG", "TURNSTILE_TEST_MARK"}
    given = {name: value for name, value in seen["variables"].items() if name not in of_the_parent}
    assert {name.removeprefix("TURNSTILE_").lower(): value for name, value in given.items()} == {
        "job_id": str(full),
        "attempt": "1",
        "max_attempts": str(conn.execute("SELECT max_attempts FROM turnstile.jobs WHERE id = %s", [full]).fetchone()[0]),
        "kind": "work",
        "priority": "7",
        "metadata": '{"trace": "x"}',
        **names,
    }
    assert not {"TURNSTILE_TENANT", "TURNSTILE_METADATA"} & result(conn, bare)["variables"].keys()


def test_much_goes_in_and_out_at_the_same_time(conn, work):
    payload = {"text": "x" * 1_000_000}
    job = enqueue(conn, payload=payload)
    work(command=["cat"])
    await_state(conn, job, "completed")
    assert result(conn, job) == payload


def test_a_command_need_not_read_its_input(conn, work):
    job = enqueue(conn, payload={"text": "x" * 1_000_000})
    work(command=["true"])
    await_state(conn, job, "completed")


def test_all_of_standard_error_is_passed_on_and_its_end_is_kept(conn, work):
    script = "import sys; sys.stderr.write('begin ' + 'ä' * 10_000 + ' end\\n'); sys.exit(1)"
    job = enqueue(conn)
    worker = work(command=[sys.executable, "-c", script])
    await_state(conn, job, "retryable")
    [error] = errors(conn, job)
    assert len(error) == 4000 and error.endswith("ä end")
    worker.terminate()
    assert "begin " + "ä" * 10_000 + " end" in worker.ended()[1]


def test_an_error_may_have_any_bytes(conn, work):
    job = enqueue(conn)
    work(command=["sh", "-c", r"printf 'a\000b\377' >&2; exit 1"])
    await_state(conn, job, "retryable")
    assert errors(conn, job) == ["a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}"]


def test_a_result_that_the_database_refuses_fails_the_run(conn, work):
    job, other = enqueue(conn, kind="nul"), enqueue(conn)
    work("-c", "2", command=["sh", "-c", r"""[ $TURNSTILE_KIND = nul ] && printf '"\\u0000"' || echo 1"""])
    await_state(conn, job, "retryable")
    await_state(conn, other, "completed")
    assert "22P05" in errors(conn, job)[0]


def test_what_a_command_leaves_running_is_killed(conn, work):
    job = enqueue(conn)
    worker = work(command=["sh", "-c", "sleep 1000 >/dev/null 2>&1 & sleep 1000 & echo 1"])
    await_state(conn, job, "completed")
    assert result(conn, job) == 1
    until(lambda: not worker.commands(), "its children are gone", worker.commands)


def test_who_leaves_the_group_with_the_pipes_holds_nothing_up(conn, work):
    job = enqueue(conn)
    worker = work(command=["sh", "-c", "setsid sleep 5 & echo 2"])
    await_state(conn, job, "completed")
    assert result(conn, job) == 2
    worker.terminate()
    assert worker.ended()[0] == 0


def test_as_many_commands_as_it_was_told_run_at_once(conn, work, tmp_path):
    """Each waits until three are there, and there are never more."""
    script = f"touch {tmp_path}/$TURNSTILE_JOB_ID; while [ $(ls {tmp_path} | wc -l) -lt 3 ]; do sleep 0.01; done"
    for _ in range(3):
        enqueue(conn)
    work("--concurrency", "3", command=["sh", "-c", script])
    await_counts(conn, completed=3)


def test_a_job_that_comes_later_wakes_it(conn, work):
    work(command=["true"])
    await_asleep(conn, 1)
    job = enqueue(conn)
    await_state(conn, job, "completed")


def test_other_queues_are_left_alone(conn, work):
    other, own = enqueue(conn, queue="other"), enqueue(conn, queue="mail")
    work("--queues", "mail", command=["true"])
    await_state(conn, own, "completed")
    assert state(conn, other) == "available"


def test_a_command_that_vanishes_costs_no_attempt(conn, work, tmp_path):
    script = tmp_path / "handle"
    script.write_text("#!/bin/sh\nexit 0\n")
    script.chmod(0o755)
    worker = work(command=[script])
    await_asleep(conn, 1)
    script.unlink()
    job = enqueue(conn)
    await_state(conn, job, "scheduled")
    assert "cannot be started" in worker.stderr()


@pytest.mark.parametrize("arguments", [["--concurrency", "0"], ["--queues", ",".join(map(str, range(33)))], ["--drain", "x"]])
def test_a_command_line_that_means_nothing_is_refused(conn, work, arguments):
    assert work(*arguments, command=["true"]).ended()[0] == 2


def test_a_program_that_is_not_there_is_told_before_any_job_is_claimed(conn, work):
    job = enqueue(conn)
    status, said = work(command=["no-such-program"]).ended()
    assert (status, state(conn, job)) == (2, "available")
    assert "no-such-program" in said


def test_a_log_is_as_its_word_says_and_other_words_are_refused(conn, work):
    status, said = work(command=["true"], TURNSTILE_LOG="bogus").ended()
    assert (status, "off, error, warn, info or debug" in said) == (2, True)
    job = enqueue(conn)
    worker = work(command=["false"], TURNSTILE_LOG="Warning")
    await_state(conn, job, "retryable")
    until(lambda: " WARN " in worker.stderr(), "it tells of the failure", worker.stderr)
    worker.terminate()
    status, said = worker.ended()
    assert (status, " INFO " in said) == (0, False)


def test_who_may_not_work_is_told(db, conn, work, role):
    call(conn, "allow_producer", role=role)
    status, said = work(command=["true"], database=f"dbname={db.name} options='-c role={role}'").ended()
    assert status == 1
    assert "42501" in said


def test_who_may_work_can(db, conn, work, role):
    call(conn, "allow_worker", role=role, queues=["mail"])
    job = enqueue(conn, queue="mail")
    work("-q", "mail", command=["true"], database=f"dbname={db.name} options='-c role={role}'")
    await_state(conn, job, "completed")


# ---- Few resources --------------------------------------------------------------------------------


def test_more_commands_than_open_files_allow_are_refused(conn, work):
    job = enqueue(conn)
    status, said = work("--concurrency", "1000", command=["true"], limits="ulimit -n 64").ended()
    assert (status, state(conn, job)) == (2, "available")
    assert "4040 open files, and the limit is 64" in said


@pytest.mark.parametrize("mode, command", [([], ["sh", "-c", "sleep 0.1"]), (["--persistent"], [sys.executable, ECHO])], ids=["command", "persistent"])
def test_as_many_commands_as_it_says_can_run(conn, work, mode, command):
    """With exactly the limit that it asks for."""
    enqueue_many(conn, [{"kind": "work"}] * 60)
    worker = work("--concurrency", "6", *mode, command=command, limits="ulimit -n 64")
    await_counts(conn, completed=60)
    assert conn.execute("SELECT max(attempt) FROM turnstile.jobs").fetchone() == (1,)
    assert "cannot be started" not in worker.stderr()


def test_the_soft_limit_is_raised_for_the_program_alone(conn, work):
    job = enqueue(conn)
    work("--concurrency", "30", command=["sh", "-c", "ulimit -n"], limits="ulimit -S -n 100")
    await_state(conn, job, "completed")
    assert result(conn, job) == 100


@pytest.mark.parametrize("mode, command", [([], ["true"]), (["--persistent"], [sys.executable, ECHO])], ids=["command", "persistent"])
def test_a_shortage_spends_no_jobs(conn, work, mode, command):
    worker = work("--concurrency", "2", *mode, command=command)
    await_asleep(conn, 1)
    limits = resource.prlimit(worker.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(worker.process.pid, resource.RLIMIT_NOFILE, (8, limits[1]))
    enqueue_many(conn, [{"kind": "work"}] * 20)
    until(lambda: "cannot be started yet" in worker.stderr(), "it has none", worker.stderr)
    assert counts(conn) == {"running": 2, "available": 18}
    resource.prlimit(worker.process.pid, resource.RLIMIT_NOFILE, limits)
    await_counts(conn, completed=20)
    assert conn.execute("SELECT max(attempt) FROM turnstile.jobs").fetchone() == (1,)


def test_who_is_told_to_end_in_a_shortage_gives_its_jobs_back(conn, work):
    worker = work("--drain", "0", command=["true"])
    await_asleep(conn, 1)
    limits = resource.prlimit(worker.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(worker.process.pid, resource.RLIMIT_NOFILE, (8, limits[1]))
    job = enqueue(conn)
    until(lambda: "cannot be started yet" in worker.stderr(), "it has none", worker.stderr)
    worker.terminate()
    until(lambda: "is given back" in worker.stderr(), "it is given back", worker.stderr)
    resource.prlimit(worker.process.pid, resource.RLIMIT_NOFILE, limits)
    assert worker.ended()[0] == 0
    assert state(conn, job) == "available"


def test_a_result_that_is_too_large_fails_its_run_alone(conn, work):
    large = enqueue(conn, kind="large")
    enqueue_many(conn, [{"kind": "work"}] * 5)
    script = "import os; print('\"' + 'x' * (2_000_000 if os.environ['TURNSTILE_KIND'] == 'large' else 900_000) + '\"')"
    work("--concurrency", "6", command=[sys.executable, "-c", script])
    await_counts(conn, completed=5, retryable=1)
    assert "(54000)" in errors(conn, large)[0]


@pytest.fixture
def full_pipe():
    """The path of a pipe that is full and that nobody reads."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"x")
    yield f"/proc/{os.getpid()}/fd/{writer}"
    os.close(reader)
    os.close(writer)


def test_a_log_that_nobody_reads_holds_up_no_run(conn, work, full_pipe):
    """A run that fails is worth a line of it."""
    stays, fails = enqueue(conn, kind="stays"), enqueue(conn, kind="fails")
    command = ["sh", "-c", "case $TURNSTILE_KIND in stays) sleep 3600 ;; *) exit 3 ;; esac"]
    work("--concurrency", 2, "--lease", "3s", "--heartbeat", "100ms", command=command, limits=f"exec 2>{full_pipe}")
    await_state(conn, fails, "retryable")
    lease = "SELECT lease_expires_at FROM turnstile.job WHERE id = %s AND attempt = 1"
    before = conn.execute(lease, [stays]).fetchone()
    until(lambda: conn.execute(lease, [stays]).fetchone() > before, "a heartbeat")


@pytest.mark.parametrize("mode", [[], ["--persistent"]], ids=["command", "persistent"])
def test_errors_of_commands_that_nobody_reads_keep_it_from_nothing(conn, work, full_pipe, mode):
    """Neither from its end, nor do more commands hold more threads."""
    enqueue_many(conn, [{"kind": "work"}] * 8)
    worker = work("--concurrency", 4, *mode, command=["sh", "-c", "echo failed >&2; exit 3"], limits=f"exec 2>{full_pipe}")
    await_counts(conn, retryable=8)
    assert threads(worker.process.pid) < 8
    worker.terminate()
    assert worker.ended()[0] == 0


def threads(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/task"))
