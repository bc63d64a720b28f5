"""`turnstile work --persistent`: lines to and from long-lived commands."""

import os
import signal
import sys
from pathlib import Path

import pytest

from support.calls import call, enqueue, enqueue_many
from support.ended import await_counts, await_state, error_classes, errors, result, state
from support.sleepers import await_asleep, until

COMMAND = [sys.executable, Path(__file__).with_name("persistent.py")]


@pytest.fixture
def persistent(work):
    return lambda *arguments, command=COMMAND: work("--persistent", *arguments, command=command)


def test_one_command_does_one_job_after_the_other(conn, persistent):
    jobs = [enqueue(conn) for _ in range(5)]
    worker = persistent()
    await_counts(conn, completed=5)
    results = [result(conn, job) for job in jobs]
    assert {each["pid"] for each in results} == set(worker.commands())
    assert sorted(each["answered"] for each in results) == [0, 1, 2, 3, 4]


def test_no_more_commands_than_jobs_at_once(conn, persistent):
    enqueue_many(conn, [{"kind": "work"}] * 200)
    worker = persistent("--concurrency", "3")
    await_counts(conn, completed=200)
    assert len(worker.commands()) <= 3


def test_a_line_has_the_job(conn, persistent):
    names = {"tenant": "acme", "account": "a1", "session": "s"}
    job = enqueue(conn, payload={"text": "ä\n"}, priority=7, metadata={"trace": "x"}, **names)
    persistent()
    await_state(conn, job, "completed")
    given = result(conn, job)["job"]
    created = given.pop("created_at")
    assert conn.execute("SELECT created_at = %s FROM turnstile.jobs WHERE id = %s", [created, job]).fetchone() == (True,)
    assert given.pop("attempts_left") == given.pop("max_attempts") - 1 > 0
    assert given == {
        "id": job,
        "attempt": 1,
        "queue": "default",
        "kind": "work",
        "payload": {"text": "ä\n"},
        "priority": 7,
        "metadata": {"trace": "x"},
        "children": None,
        **names,
    }


@pytest.mark.parametrize(
    "answer, ends, value, error, error_class",
    [
        ({"status": "complete"}, "completed", None, None, None),
        ({"status": "complete", "result": {"a": [1]}}, "completed", {"a": [1]}, None, None),
        ({"status": "fail", "error": "a bug", "error_class": "bug"}, "retryable", None, "a bug", "bug"),
        ({"status": "fail", "error_class": ""}, "retryable", None, "no reason given", None),
        ({"status": "retry", "error": "busy", "in": 1000, "error_class": "é" * 200}, "retryable", None, "busy", "é" * 127),
        ({"status": "discard", "error": "no such user"}, "discarded", None, "no such user", None),
        ({"status": "snooze", "in": 1000}, "scheduled", None, None, None),
    ],
)
def test_the_status_says_how_the_run_ends(conn, persistent, answer, ends, value, error, error_class):
    job = enqueue(conn, kind="answer", payload=answer)
    persistent()
    await_state(conn, job, ends)
    assert result(conn, job) == value
    assert errors(conn, job) == ([error] if error else [])
    assert error_classes(conn, job) == ([error_class] if error else [])


@pytest.fixture
def parent(conn, tmp_path):
    """A run that has begun, with a child; it waits for its children once the file is there."""
    go = tmp_path / "go"

    def begin(kind: str) -> tuple[int, int, Path]:
        job = enqueue(conn, kind=kind, payload={"go": str(go)})
        await_state(conn, job, "running")
        return job, enqueue(conn, parent=job, queue="elsewhere"), go

    return begin


def test_a_run_that_has_added_children_waits_for_them(conn, persistent, parent):
    persistent("--queues", "default")
    job, child, go = parent("parent")
    go.touch()
    await_state(conn, job, "blocked")
    call(conn, "cancel", job_id=child)
    await_state(conn, job, "completed")
    assert result(conn, job) == [None, {"completed": 0, "discarded": 0, "cancelled": 1}]
    assert attempts(conn, job) == 2


def test_a_run_whose_children_have_ended_goes_on_with_them(conn, persistent, parent):
    persistent("--queues", "default")
    job, child, go = parent("parent")
    call(conn, "cancel", job_id=child)
    go.touch()
    await_state(conn, job, "completed")
    assert result(conn, job) == [None, {"completed": 0, "discarded": 0, "cancelled": 1}]
    assert attempts(conn, job) == 1


def test_a_run_that_waits_again_for_children_that_have_ended_fails(conn, persistent, parent):
    persistent("--queues", "default")
    job, child, go = parent("waits_again")
    call(conn, "cancel", job_id=child)
    go.touch()
    await_state(conn, job, "retryable")
    assert "waits for children" in errors(conn, job)[0]
    assert attempts(conn, job) == 1


def test_a_run_that_waits_for_children_and_has_none_fails(conn, persistent):
    job = enqueue(conn, kind="answer", payload={"status": "await_children"})
    after = enqueue(conn)
    persistent()
    await_state(conn, job, "retryable")
    await_state(conn, after, "completed")
    assert "waits for children" in errors(conn, job)[0]
    assert attempts(conn, job) == 1


def attempts(conn, job: int) -> int:
    return conn.execute("SELECT attempt FROM turnstile.jobs WHERE id = %s", [job]).fetchone()[0]


def test_an_error_may_have_what_the_database_has_not(conn, persistent):
    job = enqueue(conn, kind="raw", payload={"text": '{"id": ID, "attempt": 1, "status": "fail", "error": "a\\u0000b"}\n'})
    persistent()
    await_state(conn, job, "retryable")
    assert errors(conn, job) == ["a\N{REPLACEMENT CHARACTER}b"]


WRONG = {
    "no JSON": ("hello\n", "not as it should be"),
    "another job": ('{"id": 0, "attempt": 1, "status": "complete"}\n', "is for job 0"),
    "another attempt": ('{"id": ID, "attempt": 2, "status": "complete"}\n', "attempt 2"),
    "no status": ('{"id": ID, "attempt": 1}\n', "missing field `status`"),
    "an unknown status": ('{"id": ID, "attempt": 1, "status": "completed"}\n', "unknown variant `completed`"),
    "an unknown field": ('{"id": ID, "attempt": 1, "status": "complete", "resul": 1}\n', "unknown field `resul`"),
    "a time that is none": ('{"id": ID, "attempt": 1, "status": "snooze", "in": -1}\n', "must be seconds, from 0"),
    "a time beyond all times": ('{"id": ID, "attempt": 1, "status": "snooze", "in": 1e18}\n', "1,000 years"),
    "a snooze without a time": ('{"id": ID, "attempt": 1, "status": "snooze"}\n', 'needs "in"'),
    "two lines": ('{"id": ID, "attempt": 1, "status": "complete"}\n{}\n', "several lines"),
    "an empty line": ("\n", "not as it should be"),
}


@pytest.mark.parametrize("line, error", WRONG.values(), ids=WRONG)
def test_a_line_that_is_wrong_fails_the_run_and_the_command_is_started_anew(conn, persistent, line, error):
    before = enqueue(conn)
    wrong = enqueue(conn, kind="raw", payload={"text": line})
    after = enqueue(conn)
    persistent()
    await_counts(conn, completed=2, retryable=1)
    assert error in errors(conn, wrong)[0]
    assert result(conn, before)["pid"] != result(conn, after)["pid"]
    assert result(conn, after)["answered"] == 0


def test_a_second_answer_to_a_job_does_not_count(conn, persistent):
    first, second = enqueue(conn), enqueue(conn, kind="again")
    worker = persistent()
    await_counts(conn, completed=2)
    assert result(conn, first)["job"]["id"] == first
    assert (result(conn, second), errors(conn, second)) == (None, [])
    until(lambda: "a second answer" in worker.stderr(), "it is told")


def test_a_command_may_have_several_jobs_and_answers_in_any_order(conn, persistent):
    jobs = [enqueue(conn, kind="together", payload={"jobs": 3}) for _ in range(3)]
    worker = persistent("--concurrency", "6", "--jobs-each", "3")
    await_counts(conn, completed=3)
    assert {result(conn, job) for job in jobs} == set(worker.commands())


def test_a_command_that_dies_fails_all_the_jobs_that_it_has(conn, persistent):
    enqueue_many(conn, [{"kind": "together", "payload": {"jobs": 9}}] * 2)
    persistent("--concurrency", "3", "--jobs-each", "3")
    await_counts(conn, running=2)
    enqueue(conn, kind="error")
    await_counts(conn, retryable=3)


def test_the_other_jobs_of_a_command_that_is_stopped_are_given_back(conn, persistent):
    cancelled, other = (enqueue(conn, kind="together", payload={"jobs": 9}) for _ in range(2))
    worker = persistent("--concurrency", "2", "--jobs-each", "2", "--heartbeat", "100ms")
    await_counts(conn, running=2)
    until(worker.commands, "the command has begun")
    [command] = worker.commands()
    call(conn, "cancel", job_id=cancelled)
    await_state(conn, cancelled, "cancelled")
    until(lambda: set(worker.commands()) - {command}, "another command has the other job")
    await_state(conn, other, "running")
    assert errors(conn, other) == []


def test_a_command_that_dies_fails_its_job_and_no_other(conn, persistent):
    before, wrong, after = enqueue(conn), enqueue(conn, kind="error"), enqueue(conn)
    worker = persistent()
    await_counts(conn, completed=2, retryable=1)
    assert errors(conn, wrong) == ["the command has ended before it answered: exit status 3\na bug"]
    assert result(conn, before)["pid"] != result(conn, after)["pid"]
    assert "a bug" in worker.stderr()


def test_a_command_that_dies_between_two_jobs_fails_none(conn, persistent):
    before = enqueue(conn)
    worker = persistent()
    await_counts(conn, completed=1)
    os.kill(result(conn, before)["pid"], signal.SIGKILL)
    until(lambda: not worker.commands(), "it is gone")
    after = enqueue(conn)
    await_state(conn, after, "completed")


def test_what_a_command_says_between_two_jobs_fails_no_other(conn, persistent, tmp_path):
    script = Path(COMMAND[1]).read_text().replace(
        "    answered += 1",
        f"    answered += 1\n    time.sleep(0.2)\n    print('hello', flush=True)\n    open({str(tmp_path / 'said')!r}, 'w')",
    )
    before = enqueue(conn)
    worker = persistent(command=[sys.executable, "-c", script])
    until((tmp_path / "said").exists, "it has said more than its answer")
    after = enqueue(conn)
    await_state(conn, after, "completed")
    assert result(conn, before)["pid"] != result(conn, after)["pid"]
    assert "what was not asked" in worker.stderr()


def test_a_command_that_dies_at_once_fails_its_jobs_until_it_is_mended(conn, persistent, tmp_path):
    call(conn, "set_queue", name="*", retry_base="1 millisecond")
    fixed = tmp_path / "fixed"
    command = ["sh", "-c", f"[ -e {fixed} ] || exit 1; exec {' '.join(map(str, COMMAND))}"]
    job = enqueue(conn, max_attempts=1000)
    persistent(command=command)
    until(lambda: attempts(conn, job) > 2, "several attempts")
    fixed.touch()
    await_state(conn, job, "completed")


def test_what_belongs_to_another_job_is_not_in_the_error(conn, persistent):
    first, second = enqueue(conn), enqueue(conn, kind="error")
    script = Path(COMMAND[1]).read_text().replace('case "work":', 'case "work":\n            print("of the first", file=sys.stderr, flush=True)')
    assert script.count("of the first") == 1
    persistent(command=[sys.executable, "-c", script])
    await_counts(conn, completed=1, retryable=1)
    assert state(conn, first) == "completed"
    assert "of the first" not in errors(conn, second)[0]


def test_a_command_without_work_is_told_to_go_by_the_end_of_its_input(conn, persistent, tmp_path):
    gone = tmp_path / "gone"
    script = Path(COMMAND[1]).read_text() + f"\nopen({str(gone)!r}, 'w')\n"
    enqueue(conn)
    worker = persistent(command=[sys.executable, "-c", script])
    await_counts(conn, completed=1)
    await_asleep(conn, 1)
    worker.terminate()
    assert worker.ended()[0] == 0
    assert gone.exists()


def test_a_command_that_hangs_loses_its_run_after_its_time(conn, persistent):
    slow, after = enqueue(conn, kind="deaf"), enqueue(conn)
    worker = persistent("--timeout", "500ms", "--grace", "200ms")
    await_state(conn, slow, "retryable")
    await_state(conn, after, "completed")
    assert errors(conn, slow) == ["no end after 0.5 s"]
    assert "the command is stopped: no end after 0.5 s" in worker.stderr()


def test_a_cancelled_job_stops_its_command(conn, persistent):
    job, after = enqueue(conn, kind="hang"), enqueue(conn)
    persistent("--heartbeat", "100ms")
    await_state(conn, job, "running")
    call(conn, "cancel", job_id=job)
    await_state(conn, job, "cancelled")
    await_state(conn, after, "completed")


def test_an_answer_after_the_signal_counts(conn, persistent):
    job = enqueue(conn, kind="last_word")
    worker = persistent("--drain", "0")
    await_state(conn, job, "running")
    until(worker.commands, "the command has begun")
    await_reading(conn, worker)
    worker.terminate()
    assert worker.ended()[0] == 0
    assert (state(conn, job), result(conn, job)) == ("completed", "in time")


def await_reading(conn, worker) -> None:
    """The command handles SIGTERM by now."""
    [pid] = worker.commands()
    caught = lambda: int(Path(f"/proc/{pid}/status").read_text().split("SigCgt:")[1].split()[0], 16)
    until(lambda: caught() & 1 << (signal.SIGTERM - 1), "it handles SIGTERM")


def test_who_is_not_done_in_time_gives_the_job_back(conn, persistent):
    job = enqueue(conn, kind="hang")
    worker = persistent("--drain", "0")
    await_state(conn, job, "running")
    worker.terminate()
    assert worker.ended()[0] == 0
    assert state(conn, job) == "available"
    assert errors(conn, job) == []
