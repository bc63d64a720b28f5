"""What a worker decides, without a server and by a clock of the test's own."""

import builtins
import json
from datetime import datetime, timezone

import psycopg
import pytest

from turnstile_client import Release, Retry, Snooze, StopReason
from turnstile_client.core import Core, Loop
from turnstile_client.ends import pause_after
from turnstile_client.faults import CannotConnect, Remedy, remedy
from turnstile_client.io import blocking, conninfo
from turnstile_client.outcome import (
    COMPLETE,
    DISCARD,
    FAIL,
    RELEASE,
    SNOOZE,
    Discard,
    Ending,
    after_stop,
    ending_of_error,
    ending_of_result,
    printable,
    with_text,
)
from turnstile_client.run import Job, Run, Stop
from turnstile_client.settings import LONGEST_ERROR, LONGEST_PAUSE, MOST_BYTES, MOST_ENDS, Settings

NOW = datetime.now(timezone.utc)
HOUR = 3600.0


def row(job_id, lease=30.0, attempt=1):
    return (lease, job_id, attempt, "default", "k", "{}", 0, None, None, None, 25, NOW, NOW, None, None, 24)


@pytest.fixture
def core():
    core = Core(Settings(concurrency=4, heartbeat=HOUR))
    core.signals = []
    core.signal = core.signals.append
    return core


def start(core, *ids, at=0.0, **of_row):
    return core.started([row(job_id, **of_row) for job_id in ids], at)


def end(core, job_id, ending=None, **fields):
    core.ended((job_id, 1), ending or Ending(COMPLETE, **fields))


# ---- classes of errors


class Busy(Exception):
    pass


@pytest.mark.parametrize(
    "raised, rules, wanted",
    [
        (Busy("b"), {}, "Busy"),
        (Busy("b"), {Busy: Retry}, "Busy"),
        (Busy("b"), {Busy: Retry(error_class="line busy")}, "line busy"),
        (Busy("b"), {Busy: lambda error: Discard(TimeoutError(error))}, "TimeoutError"),
        (Busy("b"), {Busy: lambda error: 1 / 0}, "Busy"),
        (Busy("b"), {Busy: Snooze(1)}, None),
        (Retry("r"), {}, None),
        (Retry(Busy("b"), error_class="line busy"), {}, "line busy"),
        (Discard("d", error_class="x" * 300), {}, "x" * 255),
        (Discard("d", error_class="é" * 200), {}, "é" * 127),
        (Discard("d", error_class="a\0\ud800"), {}, "a\\0\\ud800"),
        (Discard("d", error_class=""), {}, None),
    ],
)
def test_an_error_has_the_class_that_was_named_or_that_of_the_exception(raised, rules, wanted):
    assert ending_of_error(raised, rules).error_class == wanted


def group(*members):
    return builtins.ExceptionGroup("unhandled errors in a TaskGroup", members)


@pytest.mark.skipif(not hasattr(builtins, "ExceptionGroup"), reason="groups are of Python 3.11")
def test_of_a_group_the_first_exception_counts():
    raised = group(group(Busy("line 7")), ValueError("v"))
    ending = ending_of_error(raised, {Busy: Discard, Exception: Snooze(1)})
    assert (ending.verb, ending.error_class) == (DISCARD, "Busy")
    assert ending.error.startswith("Busy: line 7\n") and "ValueError: v" in ending.error
    assert ending_of_error(raised, {builtins.ExceptionGroup: Snooze(1), Busy: Discard}).verb == SNOOZE
    assert ending_of_error(group(Snooze(1)), {}).verb == SNOOZE
    assert Retry(raised).error_class == "Busy"


def test_what_an_exception_was_raised_from_says_nothing():
    try:
        raise ValueError("v") from Busy("b")
    except ValueError as error:
        ending = ending_of_error(error, {Busy: Discard})
    assert (ending.verb, ending.error_class) == (FAIL, "ValueError")


# ---- signs of life


def test_a_run_beats_three_times_in_its_lease(core):
    start(core, 1)
    assert core.take_beats(6.6) == []
    for now in (10.0, 20.0, 30.0):
        assert core.take_beats(now) == [(1, 1)]
        assert core.take_beats(now) == []


def test_who_is_nearly_due_beats_with_the_others_and_all_by_id(core):
    start(core, 2, at=0)
    start(core, 1, at=3)
    start(core, 3, at=9)
    assert core.take_beats(10.0) == [(1, 1), (2, 1)]


def test_a_lease_is_extended_from_the_moment_of_asking(core):
    [run] = start(core, 1)
    core.heard([(1, 1)], [(1, "running")], 15)
    assert core.expire(44.9) == []
    assert core.expire(45.0) == [(run, StopReason.LOST)]
    assert core.expire(46.0) == []


def test_who_begins_after_its_lease_is_late(core):
    start(core, 1, 2)
    core.heard([(2, 1)], [(1, "running")], 15)
    assert [core.is_late((job_id, 1), now) for job_id, now in [(1, 29.9), (1, 30.0), (2, 31.0), (3, 31.0)]] == [False, True, False, False]


def test_beats_that_were_not_heard_are_told_again_at_once(core):
    start(core, 1, 2)
    core.beat_again(core.take_beats(10.0))
    assert core.take_beats(10.1) == [(1, 1), (2, 1)]


def test_a_run_that_is_lost_beats_no_more(core):
    start(core, 1)
    beats = core.take_beats(10.0)
    core.expire(30.0)
    core.beat_again(beats)
    assert core.take_beats(HOUR) == []
    assert core.next_end(HOUR) > 0


def test_answers_go_by_their_number(core):
    first, second = start(core, 1, 2)
    stops = core.heard([(1, 1), (2, 1)], [(2, "lost"), (1, "cancel_requested")], 0)
    assert stops == [(second, StopReason.LOST), (first, StopReason.CANCELLED)]


def test_the_first_reason_to_stop_counts_and_none_after_the_end(core):
    first, second = start(core, 1, 2)
    end(core, 2)
    assert core.expire(HOUR) == [(first, StopReason.LOST)]
    assert core.stop_all(HOUR) == []
    assert (first.stopped, second.stopped) == (StopReason.LOST, None)


def test_a_listener_is_called_once_and_may_fail():
    stop, called = Stop(), []
    stop.listen(lambda: called.append(1))
    stop.listen(lambda: 1 / 0)
    assert stop.ask(StopReason.LOST) and not stop.ask(StopReason.CANCELLED)
    stop.listen(lambda: called.append(2))
    assert called == [1, 2]


# ---- room


def test_handlers_that_are_done_make_room_until_too_many_ends_are_untold(core):
    start(core, 1, 2, 3, 4)
    assert core.room() == 0
    end(core, 1)
    assert core.room() == 1
    for job_id in (2, 3, 4):
        end(core, job_id)
    start(core, 5, 6, 7, 8)
    for job_id in (5, 6, 7, 8):
        end(core, job_id)
    assert core.room() == 0
    core.accepted([(1, 1), (2, 1)])
    assert core.room() == 2


def test_the_claims_are_woken_when_there_is_the_room_that_they_want(core):
    start(core, 1, 2)
    core.wanted_room = 4
    end(core, 1)
    assert Loop.CLAIMS not in core.signals
    end(core, 2)
    assert Loop.CLAIMS in core.signals


def test_what_is_claimed_when_the_worker_must_stop_is_given_back(core):
    core.is_draining = True
    assert start(core, 1) == []
    assert core.endings.of((1, 1)).verb == RELEASE
    assert core.running == 0


# ---- ends


def test_completions_go_along_with_claims_for_as_long_as_claims_are_made(core):
    start(core, 1, 2, 3, 4)
    end(core, 1)
    assert core.endings.take_completed() == []
    end(core, 3)
    end(core, 2)
    end(core, 4, Ending(RELEASE))
    assert core.endings.take(0) == [[(1, 1)], [(4, 1)]]
    assert core.endings.take_completed() == [(2, 1), (3, 1)]
    core.endings.unheard([(2, 1), (3, 1)])
    assert not core.endings.let_go()
    assert core.endings.take(0) == [[(2, 1), (3, 1)]]


def test_results_go_together_as_far_as_their_bytes_allow(core):
    start(core, 1, 2, 3, 4)
    for job_id, size in ((1, 10), (2, MOST_BYTES // 2), (3, MOST_BYTES // 2), (4, 2 * MOST_BYTES)):
        end(core, job_id, text="x" * size)
    assert [[job_id for job_id, _ in keys] for keys in core.endings.take(0)] == [[1, 2], [3], [4]]


def test_a_call_has_so_many_ends_at_most():
    core = Core(Settings(concurrency=3000))
    start(core, *range(2500))
    for job_id in range(2500):
        end(core, job_id)
    assert [len(keys) for keys in core.endings.take(0)] == [MOST_ENDS, MOST_ENDS, 500]


def test_who_was_refused_goes_alone_and_later_and_fails_in_the_end(core):
    start(core, 1, 2)
    end(core, 1)
    end(core, 2)
    assert core.endings.take(0) == [[(1, 1), (2, 1)]]
    assert core.refused((1, 1), psycopg.errors.RaiseException("closed"), 0)
    core.endings.unheard([(2, 1)])
    assert core.endings.take(0) == [[(2, 1)]]
    for _ in range(30):
        core.endings.take(HOUR)
        core.refused((1, 1), psycopg.errors.RaiseException("closed"), 0)
        if core.endings.of((1, 1)).verb == FAIL:
            break
    assert "closed" in core.endings.of((1, 1)).error


def test_what_is_locked_is_told_again_for_ever(core):
    start(core, 1)
    end(core, 1)
    for _ in range(100):
        core.refused((1, 1), psycopg.errors.LockNotAvailable("locked"), 0)
    assert core.endings.of((1, 1)).verb == COMPLETE


def test_who_cannot_even_fail_is_let_go(core):
    start(core, 1)
    end(core, 1, Ending(SNOOZE))
    core.refused((1, 1), psycopg.errors.InvalidParameterValue("no"), 0)
    assert core.endings.of((1, 1)).verb == FAIL
    core.refused((1, 1), psycopg.errors.InvalidParameterValue("no"), 0)
    assert not core.held and not core.endings.ends


def test_the_same_refusal_is_news_once(core):
    start(core, 1)
    end(core, 1)
    told = [core.refused((1, 1), psycopg.errors.RaiseException(text), 0) is not None for text in ("a", "a", "b", "b")]
    assert told == [True, False, True, False]


# ---- outcomes


@pytest.mark.parametrize("reason", StopReason)
def test_a_stopped_run_that_is_done_completes(reason):
    done = Ending(COMPLETE)
    assert after_stop(done, reason) is done


def test_what_a_stopped_run_leaves_behind():
    failed, discarded, retried = Ending(FAIL, error="interrupted"), Ending(DISCARD), ending_of_error(Retry("later", in_=5), {})
    assert after_stop(failed, None) is failed
    assert {after_stop(each, StopReason.LOST) for each in (failed, discarded, None)} == {None}
    assert {after_stop(each, StopReason.CANCELLED) for each in (failed, discarded, Ending(SNOOZE), None)} == {Ending(FAIL, error="cancelled")}
    assert {after_stop(each, StopReason.SHUTDOWN) for each in (failed, None)} == {Ending(RELEASE)}
    assert after_stop(discarded, StopReason.SHUTDOWN) is discarded and after_stop(retried, StopReason.SHUTDOWN) is retried


def test_rules_go_by_the_most_derived_class():
    rules = {OSError: Discard, TimeoutError: Retry("slow", in_=3), ValueError: lambda error: Snooze(len(str(error)))}
    assert ending_of_error(ConnectionError("x"), rules).verb == DISCARD
    assert "ConnectionError: x" in ending_of_error(ConnectionError("x"), rules).error
    assert ending_of_error(TimeoutError("x"), rules).error == "slow"
    assert ending_of_error(ValueError("four"), rules).time.total_seconds() == 4
    assert ending_of_error(KeyError("x"), rules).verb == FAIL
    assert ending_of_error(Discard("own"), {Exception: Retry}).verb == DISCARD


def test_outcomes_may_be_returned_also_as_classes():
    assert [ending_of_result(each).verb for each in (Release, Release(), Discard, 5, None)] == [RELEASE, RELEASE, DISCARD, COMPLETE, COMPLETE]


def test_an_error_that_cannot_be_printed_is_an_error_nevertheless():
    class Rude(Exception):
        def __str__(self):
            raise RuntimeError

    assert "Rude" in ending_of_error(Rude(), {}).error


def test_long_texts_lose_their_middle():
    kept = printable("a" * LONGEST_ERROR + "b" * LONGEST_ERROR)
    assert len(kept) <= LONGEST_ERROR and kept[0] == "a" and kept[-1] == "b"


@pytest.mark.parametrize("result", [object(), {1, 2}, float("nan")])
def test_a_result_that_is_no_json_fails_the_run(result):
    strict = lambda value: json.dumps(value, allow_nan=False)  # noqa: E731
    assert with_text(Ending(COMPLETE, result=result), strict).verb == FAIL


def test_json_may_be_written_as_bytes():
    assert with_text(Ending(COMPLETE, result="ä"), lambda value: json.dumps(value, ensure_ascii=False).encode()).text == '"ä"'


# ---- jobs, faults, settings


def test_json_is_read_when_it_is_asked_for():
    job = Job.of([1, 1, "q", "k", "[" * 100_000, 0, None, None, None, 1, None, NOW, '{"a": 1}', None, 0])
    assert (job.metadata, job.children) == ({"a": 1}, None)
    with pytest.raises((ValueError, RecursionError)):
        Run(job, lambda *_: None).payload  # noqa: B018
    assert job.with_children({"completed": 1}).children == {"completed": 1}


@pytest.mark.parametrize(
    ("error", "is_closed", "wanted"),
    [
        (psycopg.errors.QueryCanceled(), False, Remedy.AGAIN), (psycopg.errors.DeadlockDetected(), False, Remedy.AGAIN),
        (psycopg.errors.InsufficientPrivilege(), False, Remedy.NEVER), (psycopg.errors.RaiseException(), False, Remedy.NEVER),
        (psycopg.errors.RaiseException(), True, Remedy.RECONNECT), (psycopg.errors.ReadOnlySqlTransaction(), False, Remedy.ELSEWHERE),
        (psycopg.OperationalError(), False, Remedy.RECONNECT), (psycopg.DataError(), False, Remedy.NEVER),
        (CannotConnect(), False, Remedy.RECONNECT), (UnicodeEncodeError("latin1", "x", 0, 1, ""), False, Remedy.NEVER),
    ],
)  # fmt: skip
def test_the_remedy_for_each_fault(error, is_closed, wanted):
    assert remedy(error, is_closed) is wanted


def test_pauses_grow_up_to_the_longest():
    for failures in range(200):
        assert 0.05 <= pause_after(failures) <= LONGEST_PAUSE


def test_what_a_connection_string_says_counts():
    parts = psycopg.conninfo.conninfo_to_dict(conninfo("host=a keepalives_idle=7"))
    assert (parts["keepalives_idle"], parts["client_encoding"]) == ("7", "UTF8")


def test_a_coroutine_that_suspends_is_none_for_threads():
    import asyncio

    async def suspends():
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="async_"):
        blocking(suspends())
