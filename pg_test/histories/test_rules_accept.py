"""The rules once more: what only looks bad breaks none of them."""

import pytest

from histories import mix
from histories.bad_batches import batch, looked_after
from histories.bad_ends import stopped
from histories.rules import violations
from histories.story import Story, case_of

GOOD = []


# A story that looks bad, but is not.
good = case_of(GOOD)


@pytest.mark.parametrize("tell", GOOD)
def test_what_only_looks_bad_is_accepted(tell):
    story = Story()
    tell(story)
    assert violations(story.told()) == {}


@good
def a_claim_was_on_its_way_when_the_limit_came_down(story):
    story.enqueues(1, 2, tenant="acme")
    story.claims(1)
    call = story.called("claim", [[2, 1]], queues=["q"], most=1, lasts=5.0)
    transaction = story.ended(call)
    story.now -= 4
    story.limits("tenant", "acme", slots="1")
    story.now += 4
    story.committed(transaction, story.running(call, 2, 1))


@good
def an_unknown_commit_has_happened(story):
    call = story.called("enqueue", outcome="unknown", jobs=1)
    story.committed(story.ended(call, outcome="unknown"), {"id": 1, "kind": call.token})


@good
def an_unknown_commit_has_not_happened(story):
    story.ended(story.called("enqueue", [1], outcome="unknown", jobs=1), outcome="unknown")


@good
def the_better_job_was_locked_by_a_claim_that_was_rolled_back(story):
    story.enqueues(1, priority=1)
    story.enqueues(2, priority=5)
    lost = story.called("claim", [[1, 1]], queues=["q"], most=1)
    story.claims(2)
    story.ended(lost, story.called("rollback"), outcome="rolled back")


@good
def a_run_whose_lease_is_over_is_rescued(story):
    story.enqueues(1)
    story.claims(1)
    story.live[1] = story.live[1]._replace(lease_expires_at=story.now - 0.5)
    story.waits(1)
    transaction = story.ended(story.called("claim", [], queues=["other"], most=1))
    story.committed(transaction, {"id": 1, "state": "retryable", "worker": None})


@good
def a_run_is_taken_from_a_connection_that_is_gone(story):
    story.enqueues(1)
    story.claims(1)
    story.transactions[-1].calls[0].arguments["bound"] = True
    story.ended(story.called("connect"))
    transaction = story.ended(story.called("claim", [], queues=["other"], most=1))
    story.committed(transaction, {"id": 1, "state": "retryable", "worker": None})


@good
def a_claim_from_all_queues_takes_the_better_job(story):
    story.enqueues(1, priority=2)
    story.enqueues(2, queue="other", priority=1)
    story.claims(2, queues=["*"])


@good
def a_key_is_free_once_its_job_has_started(story):
    story.enqueues(1, unique_key="k", unique_mode="until_executing")
    story.claims(1)
    story.enqueues(2, unique_key="k", unique_mode="until_executing")


@good
def a_key_is_free_once_its_window_is_over(story):
    for mode in ("until_executed", "until_expired"):
        first = len(story.live) + 1
        story.enqueues(first, unique_key=mode, unique_mode=mode, created_at=1.0, unique_until=9.0)
        story.enqueues(first + 1, unique_key=mode, unique_mode=mode, created_at=9.0, unique_until=17.0)


@good
def jobs_start_as_the_bucket_fills(story):
    story.limits("queue", "q", max_running=None, rate="1", rate_per="00:00:01", burst="2")
    story.enqueues(1, 2, 3)
    story.claims(1, 2)
    story.claims(3)


@good
def a_job_starts_after_its_pause(story):
    story.limits("queue", "q", max_running=None, paused_until="1970-01-01 00:00:01+00")
    story.enqueues(1)
    story.claims(1)


@good
def a_failed_job_that_is_moved_holds_no_session(story):
    story.enqueues(1, 2, session="chat")
    story.claims(1)
    story.fails(1, holds_session=True)
    transaction = story.ended(story.called("move", [1]))
    story.committed(transaction, {"id": 1, "queue": "other", "holds_session": False})
    story.claims(2)
    story.enqueues(3, queue="other", session="chat")
    story.claims(3, queues=["other"])


@good
def a_failed_job_holds_no_session_where_others_may_pass(story):
    story.enqueues(1, 2, session="chat", queue=mix.PASSING)
    story.claims(1, queues=[mix.PASSING])
    story.fails(1)
    story.claims(2, queues=[mix.PASSING])


@good
def a_full_gate_makes_everybody_wait(story):
    story.limits("tenant", "acme", slots="1")
    story.enqueues(1, 2, tenant="acme")
    story.claims(1)
    for _ in range(6):
        story.waits(2)
        story.claims(most=1)


@good
def a_job_that_was_brought_back_is_deleted_and_brought_back_again(story):
    story.enqueues(1)
    story.claims(1)
    story.fails_for_good(1)
    for _ in range(2):
        transaction = story.ended(story.called("retry", [1, "available"]))
        story.committed(transaction, {"id": 1, "attempt": 1})
        story.claims(1)
        story.fails(1)
        story.committed(story.ended(story.called("delete", [1])), {"id": 1, "gone": True})


@good
def claims_find_nothing_just_before_and_after_a_crash(story):
    story.limits("tenant", "acme", slots="1")
    story.enqueues(1, tenant="acme")
    for _ in range(4):
        story.waits(20)
        story.claims(most=1)


@good
def a_sweep_has_waited_for_a_change_of_the_job_and_locked_it(story):
    story.enqueues(1, state="scheduled")
    sweep = story.called("hurry", [], lasts=10.0)
    story.now -= 9
    story.committed(story.ended(story.called("promote", 1)), {"id": 1, "state": "available"})
    story.claims(most=1)
    story.now += 9
    story.ended(sweep, story.called("commit", "COMMIT"))


@good
def a_claim_in_a_block_has_met_the_job_while_it_fell_due_and_locked_it(story):
    story.enqueues(1, state="retryable")
    begin, claim = story.called("begin", "BEGIN"), story.called("claim", [], queues=["other"], most=1, lasts=5.0)
    story.now -= 4
    story.committed(story.ended(story.called("promote", 1)), {"id": 1, "state": "available"})
    story.now += 4
    story.claims(most=1)
    story.ended(begin, claim, story.called("commit", "COMMIT"))


@good
def a_serializable_transaction_passes_a_bound_that_it_cannot_count(story):
    story.limits("queue", "q", max_waiting="1")
    begin = story.called("begin", level="SERIALIZABLE")
    call = story.called("enqueue_many", [1, 2], jobs=2)
    transaction = story.ended(begin, call)
    story.committed(transaction, *[{"id": job_id, "kind": call.token} for job_id in (1, 2)])


@good
def a_claim_that_stops_a_batch_takes_nothing(story):
    batch(story, 2, 3, max_failed="0")
    story.claims(2)
    story.fails_for_good(2)
    story.enqueues(4)
    gone = {"id": 3, "gone": True}
    looked_after(story, gone, finished=[(3, "cancelled")], settings=[stopped("failed", max_failed="0")], queues=["q"])


@good
def a_claim_that_was_undone_had_opened_the_batch(story):
    batch(story, 2, opened_at=None, turn={"state": "available", "opens_batch": "true"})
    undone = story.called("claim", [], queues=["q"], most=1)
    undone.xid = 1
    story.enqueues(3)
    story.claims(3)
    story.ended(undone, story.called("rollback"), outcome="rolled back")


@good
def a_claim_that_was_undone_had_looked_after_the_child(story):
    batch(story, 2, 3, max_failed="0")
    undone = story.called("claim", [], queues=["other"], most=1)
    undone.xid = 1
    story.claims(3)
    story.ended(undone, story.called("rollback"), outcome="rolled back")


@good
def a_claim_was_lost(story):
    story.limits("queue", "q", durable_claims="false")
    story.enqueues(1, 2, claim_epoch=1)
    story.loses((1, 1))
    story.claims(1, 2, attempt=2, uncounted=1, claim_epoch=2)
    story.completes(1)
    story.ended(story.called("complete", outcome="error", runs=[[1, 1]]), outcome="rolled back").calls[0].sqlstate = "55000"
    story.completes(2)


@good
def a_claim_was_lost_whose_client_stood_still(story):
    story.limits("queue", "q", durable_claims="false")
    story.enqueues(1, claim_epoch=1)
    story.crashes.append((story.now + 1, story.now + 2))
    story.ended(story.called("claim", [[1, 1]], queues=["q"], most=1, lasts=4))
    story.claims(1, attempt=2, uncounted=1, claim_epoch=2)


@good
def a_lost_claim_was_of_the_only_slot(story):
    story.limits("queue", "q", max_running="1", durable_claims="false")
    story.enqueues(1, 2, claim_epoch=1)
    story.loses((1, 1))
    story.claims(1, attempt=2, uncounted=1, claim_epoch=2)


@good
def what_has_the_id_of_a_lost_claim(story):
    story.limits("queue", "q", durable_claims="false")
    story.enqueues(1, claim_epoch=1)
    lost = story.loses((1, 1))
    story.enqueues(2)
    story.transactions[-1].calls[0].xid = story.commits[-1].xid = lost.calls[0].xid
    story.claims(1, attempt=2, uncounted=1, claim_epoch=2)


@good
def what_nobody_knows_to_have_the_id_of_a_lost_claim(story):
    story.limits("queue", "q", durable_claims="false")
    story.enqueues(1, 2, claim_epoch=1)
    lost = story.loses((1, 1))
    story.claims(1, 2, attempt=2, uncounted=1, claim_epoch=2)
    unheard = story.ended(story.called("fail", outcome="unknown", runs=[[2, 2]]), outcome="unknown")
    story.committed(unheard, {"id": 2, "state": "retryable", "worker": None})
    unheard.calls[0].xid, story.commits[-1].xid = None, lost.calls[0].xid
