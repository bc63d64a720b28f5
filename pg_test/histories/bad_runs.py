"""Bad histories made by hand: of jobs that come, go and run as they must not."""

from histories.rules.jobs import ENQUEUES
from histories.story import case_of

BAD = []


def bad(rule: str):
    """A story that this rule, at least, must not accept."""
    return case_of(BAD, rule)


@bad("acknowledged_jobs_exist")
def an_acknowledged_job_is_lost(story):
    story.ended(story.called("enqueue", [1], jobs=1))


@bad("acknowledged_jobs_exist")
def a_copy_loses_a_row(story):
    call = story.called("copy", jobs=2)
    story.committed(story.ended(call), {"id": 1, "kind": call.token})


@bad("jobs_come_from_kept_calls")
def a_job_comes_from_nowhere(story):
    story.committed(story.ended(story.called("claim", [], queues=["q"], most=1)), {"id": 1, "kind": "stranger"})


@bad("jobs_come_from_kept_calls")
def an_enqueue_is_rolled_back_to_a_savepoint_and_there(story):
    call = story.called("enqueue", [1], jobs=1)
    call.undone = True
    story.committed(story.ended(call), {"id": 1, "kind": call.token})


@bad("jobs_come_from_kept_calls")
def an_enqueue_makes_two_jobs(story):
    call = story.called(ENQUEUES[0], [1], jobs=1)
    story.committed(story.ended(call), {"id": 1, "kind": call.token}, {"id": 2, "kind": call.token})


@bad("rolled_back_stays_rolled_back")
def a_rolled_back_enqueue_is_there(story):
    call = story.called("enqueue", [1], jobs=1)
    transaction = story.ended(call, story.called("rollback"), outcome="rolled back")
    story.committed(transaction, {"id": 1, "kind": call.token})


@bad("jobs_do_not_vanish")
def a_finished_job_reaches_no_history(story):
    story.enqueues(1)
    story.claims(1)
    story.committed(story.ended(story.called("complete", True, runs=[[1, 1]])), {"id": 1, "gone": True})


@bad("tables_at_rest_agree")
def a_job_is_not_in_the_tables_at_rest(story):
    story.enqueues(1)
    story.rest = {"live": [], "finished": []}


@bad("tables_at_rest_agree")
def a_job_is_in_history_twice(story):
    story.enqueues(1)
    story.claims(1)
    story.completes(1)
    story.rest = {"live": [], "finished": [{"id": 1, "state": "completed", "attempt": 1}] * 2}


@bad("claims_take_available_jobs")
def a_running_job_is_claimed(story):
    story.enqueues(1)
    story.claims(1)
    story.claims(1)


@bad("claims_take_available_jobs")
def an_attempt_is_used_again(story):
    story.enqueues(1, attempt=3)
    call = story.called("claim", [[1, 3]], queues=["q"], most=1)
    story.committed(story.ended(call), story.running(call, 1, 3))


@bad("claims_take_available_jobs")
def a_job_brought_back_begins_again_with_its_first_attempt(story):
    story.enqueues(1)
    story.claims(1)
    story.completes(1)
    transaction = story.ended(story.called("retry", [1, "available"]))
    story.committed(transaction, {"id": 1, "attempt": 0})
    story.claims(1)


def _quick(story) -> None:
    story.limits("queue", "q", durable_claims="false")
    story.enqueues(1, claim_epoch=1)


@bad("claims_take_available_jobs")
def an_attempt_is_skipped_though_no_epoch_has_ended(story):
    _quick(story)
    story.claims(1, attempt=2, uncounted=1, claim_epoch=1)


@bad("claims_take_available_jobs")
def an_attempt_is_skipped_that_counts(story):
    _quick(story)
    story.loses((1, 1))
    story.claims(1, attempt=2, claim_epoch=2)


@bad("runs_are_handed_out_once")
def a_lost_run_is_handed_out_again(story):
    _quick(story)
    story.loses((1, 1))
    story.claims(1, claim_epoch=1)


@bad("only_claims_are_lost")
def a_claim_is_lost_that_was_to_be_kept(story):
    story.enqueues(1)
    story.loses((1, 1))


@bad("only_claims_are_lost")
def what_was_done_beside_a_claim_is_lost(story):
    _quick(story)
    claim = story.called("claim", [[1, 1]], queues=["q"], most=1)
    story.ended(claim, story.called("heartbeat", True, runs=[[1, 1]]))
    story.crashes.append((story.now, story.now + 1))
    story.now += 2


@bad("claims_are_handed_to_their_caller")
def a_claim_is_lost_long_before_the_crash(story):
    _quick(story)
    story.ended(story.called("claim", [[1, 1]], queues=["q"], most=1))
    story.waits(5)
    story.crashes.append((story.now, story.now + 1))
    story.now += 2


@bad("claims_are_handed_to_their_caller")
def a_claim_is_handed_to_nobody(story):
    story.enqueues(1)
    call = story.called("claim", [], queues=["q"], most=1)
    story.committed(story.ended(call), story.running(call, 1, 1))


@bad("claims_are_handed_to_their_caller")
def a_claim_is_answered_but_not_made(story):
    story.enqueues(1)
    story.ended(story.called("claim", [[1, 1]], queues=["q"], most=1))


@bad("claims_are_handed_to_their_caller")
def a_claim_outlives_its_savepoint(story):
    story.enqueues(1)
    story.claims(1)
    story.transactions[-1].calls[0].undone = True


@bad("attempts_suffice")
def a_job_is_claimed_too_often(story):
    story.enqueues(1, attempt=2, max_attempts=2)
    story.claims(1)


@bad("ends_were_asked_for")
def a_superseded_finisher_finishes(story):
    story.enqueues(1)
    story.claims(1)
    story.completes(1, attempt=0)


@bad("ends_were_asked_for")
def a_run_is_taken_from_a_connection_that_is_alive(story):
    story.enqueues(1)
    story.claims(1)
    story.transactions[-1].calls[0].arguments["bound"] = True
    transaction = story.ended(story.called("claim", [], queues=["other"], most=1))
    story.committed(transaction, {"id": 1, "state": "retryable", "worker": None})
    story.ended(story.called("progress", True, runs=[]))


@bad("acknowledged_ends_hold")
def an_acknowledged_end_is_lost(story):
    story.enqueues(1)
    story.claims(1)
    story.ended(story.called("complete", True, runs=[[1, 1]]))


@bad("acknowledged_ends_hold")
def two_finishers_are_both_told_yes(story):
    story.enqueues(1)
    story.claims(1)
    story.completes(1)
    story.ended(story.called("complete", True, runs=[[1, 1]]))


@bad("jobs_finish_once")
def a_job_is_finished_twice(story):
    story.enqueues(1)
    story.claims(1)
    story.completes(1)
    story.commits[-1].finished *= 2


@bad("jobs_finish_once")
def a_waiting_job_is_completed(story):
    story.enqueues(1)
    story.completes(1)


def _a_run_and_statistics(story, **changed) -> None:
    story.enqueues(1, 2)
    story.claims(1)
    story.completes(1)
    events = {"enqueued": 2, "started": 1, "completed": 1} | changed
    story.ended(story.called("statistics", [0.0, [["q", event, number] for event, number in events.items()]]))


@bad("events_are_counted")
def a_start_is_not_counted(story):
    _a_run_and_statistics(story, started=0)


@bad("events_are_counted")
def an_end_is_counted_twice(story):
    _a_run_and_statistics(story, completed=2)


@bad("events_are_counted")
def what_was_rolled_back_is_counted(story):
    story.ended(story.called("enqueue", [3], jobs=1), story.called("rollback"), outcome="rolled back")
    _a_run_and_statistics(story, enqueued=3)
