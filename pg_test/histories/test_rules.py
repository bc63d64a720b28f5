"""The rules themselves: each finds what it is there for, in a history made by hand, and nothing in one without fault."""

import pytest

from histories import bad_batches, bad_ends, test_rules_fair
from histories.bad_runs import BAD, bad
from histories.history import transactions_of
from histories.model import Call
from histories.rules import RULES, violations
from histories.story import Story


def ordinary(story: Story) -> None:
    """Jobs enqueued, claimed, failed and completed under limits that change, as it should be."""
    story.limits("tenant", "acme", slots="2")
    story.enqueues(1, 2, 3, tenant="acme")
    story.enqueues(4, 5, session="chat")
    story.claims(1, 2)
    story.limits("tenant", "acme", slots="1")
    story.completes(1)
    story.completes(2)
    story.claims(3, 4, most=2)
    story.fails(4, holds_session=True)
    story.completes(3)
    story.claims(most=1)
    transaction = story.ended(story.called("hurry", [4]))
    story.committed(transaction, {"id": 4, "state": "available"})
    story.claims(4)
    story.completes(4)
    story.claims(5)
    story.completes(5)
    story.ended(story.called("check", []))
    events = {"enqueued": 5, "started": 6, "completed": 5, "discarded": 0}
    story.ended(story.called("statistics", [0.0, [["q", event, number] for event, number in events.items()]]))


def test_an_ordinary_history_breaks_no_rule():
    story = Story()
    ordinary(story)
    finished = [{"id": job_id, "state": "completed", "attempt": 2 if job_id == 4 else 1} for job_id in range(1, 6)]
    story.rest = {"live": [], "finished": finished}
    assert violations(story.told()) == {}


@pytest.mark.parametrize("tell", bad_batches.ORDINARY + bad_ends.ORDINARY)
def test_an_ordinary_batch_breaks_no_rule(tell):
    story = Story()
    tell(story)
    assert violations(story.told()) == {}


@pytest.mark.parametrize(("rule", "tell"), BAD)
def test_a_bad_history_is_found(rule, tell):
    story = Story()
    tell(story)
    assert rule in violations(story.told())


def test_every_rule_has_a_bad_history():
    assert {rule.__name__ for rule in RULES} - {case.values[0] for case in BAD + test_rules_fair.BAD} == set()


@bad("limits_hold_at_every_commit")
def a_tenant_passes_its_slots(story):
    story.limits("tenant", "acme", slots="1")
    story.enqueues(1, 2, tenant="acme")
    story.claims(1)
    story.claims(2)


@bad("limits_hold_at_every_commit")
def a_lowered_limit_admits_before_there_is_room(story):
    story.limits("queue", "q", max_running="3")
    story.enqueues(1, 2, 3, 4)
    story.claims(1, 2, 3)
    story.limits("queue", "q", max_running="1")
    story.completes(1)
    story.claims(4)


@bad("limits_hold_at_every_commit")
def a_paused_queue_starts_a_job(story):
    story.limits("queue", "q", max_running=None, paused="true")
    story.enqueues(1)
    story.claims(1)


@bad("limits_hold_at_every_commit")
def a_default_of_accounts_is_passed(story):
    story.limits("account", "acme", "*", slots="1")
    story.enqueues(1, 2, tenant="acme", account="sales")
    story.claims(1, 2)


@bad("limits_hold_at_every_commit")
def two_of_a_session_run_at_once(story):
    story.enqueues(1, 2, session="chat")
    story.claims(1)
    story.claims(2)


@bad("backlogs_keep_their_bounds")
def a_job_is_added_to_a_full_backlog(story):
    story.limits("queue", "q", max_waiting="2")
    story.enqueues(1, 2)
    story.claims(1)
    story.enqueues(3)
    story.enqueues(4)


@bad("backlogs_keep_their_bounds")
def a_job_is_added_for_a_tenant_whose_failed_job_takes_the_place(story):
    story.limits("tenant", "*", max_waiting="1")
    story.enqueues(1, tenant="acme")
    story.claims(1)
    story.fails(1)
    story.enqueues(2, tenant="acme")


@bad("held_sessions_wait")
def a_session_goes_on_while_its_failed_job_waits(story):
    story.enqueues(1, 2, session="chat")
    story.claims(1)
    story.fails(1, holds_session=True)
    story.claims(2)


@bad("one_job_holds_a_key")
def two_live_jobs_have_one_key(story):
    story.enqueues(1, unique_key="k", unique_mode="until_executed")
    story.claims(1)
    story.enqueues(2, unique_key="k", unique_mode="until_executed")


@bad("one_job_holds_a_key")
def two_waiting_jobs_have_one_key(story):
    story.enqueues(1, 2, unique_key="k", unique_mode="until_executing")


@bad("limits_hold_at_every_commit")
def two_jobs_of_a_key_run_at_once(story):
    story.enqueues(1, 2, unique_key="k", unique_mode="while_executing")
    story.claims(1, 2)


@bad("pauses_hold")
def a_job_starts_in_a_pause(story):
    story.limits("tenant", "acme", slots=None, paused_until="2100-01-01 00:00:00+00")
    story.enqueues(1, tenant="acme")
    story.claims(1)


@bad("rates_hold")
def two_jobs_start_with_one_token(story):
    story.limits("tenant", "acme", slots=None, rate="1", rate_per="00:00:05", burst=None)
    story.enqueues(1, 2, tenant="acme")
    story.claims(1)
    story.claims(2)


@bad("windows_are_kept")
def a_duplicate_is_enqueued_in_the_window_of_a_finished_job(story):
    key = {"unique_key": "k", "unique_mode": "until_expired"}
    story.enqueues(1, **key, created_at=1.0, unique_until=9.0)
    story.claims(1)
    story.completes(1)
    story.enqueues(2, **key, created_at=8.0, unique_until=16.0)


@bad("one_job_holds_a_key")
def a_duplicate_is_enqueued_in_the_window_of_a_live_job(story):
    key = {"unique_key": "k", "unique_mode": "until_executed"}
    story.enqueues(1, **key, created_at=1.0, unique_until=9.0)
    story.enqueues(2, **key, created_at=8.0, unique_until=16.0)


@bad("held_sessions_wait")
def a_failed_job_forgets_to_hold_its_session(story):
    story.enqueues(1, 2, session="chat")
    story.claims(1)
    story.fails(1)
    story.claims(2)


@bad("sessions_keep_their_order")
def a_session_goes_out_of_order(story):
    story.enqueues(1, 2, session="chat")
    story.claims(2)


@bad("nobody_is_passed_over")
def a_worse_job_is_taken(story):
    story.enqueues(1, priority=5)
    story.enqueues(2, priority=1)
    story.claims(1)


@bad("nobody_is_passed_over")
def a_claim_finds_nothing_where_there_is_something(story):
    story.enqueues(1)
    story.claims(most=1)


@bad("nobody_is_passed_over")
def a_later_queue_is_served_first(story):
    story.enqueues(1)
    story.enqueues(2, queue="other")
    story.claims(2, queues=["q", "other"])


@bad("nobody_is_passed_over")
def a_claim_from_all_queues_takes_the_worse_job(story):
    story.enqueues(1, priority=1)
    story.enqueues(2, queue="other", priority=2)
    story.claims(2, queues=["*"])


@bad("nobody_runs_too_early")
def a_scheduled_job_runs_before_its_time(story):
    story.enqueues(1, run_at=1000.0)
    story.claims(1)


@bad("nobody_is_passed_over")
def a_job_is_passed_over_beside_a_sweep_that_saw_it_as_it_is(story):
    story.enqueues(1)
    sweep = story.called("hurry", [], lasts=10.0)
    story.now -= 9
    story.claims(most=1)
    story.now += 9
    story.ended(sweep, story.called("commit", "COMMIT"))


@bad("nobody_is_passed_over")
def a_job_is_passed_over_beside_claims_of_another_queue_that_fail(story):
    story.enqueues(1)
    failing = story.called("claim", outcome="error", lasts=10.0, queues=["other"], most=1)
    story.now -= 9
    story.claims(most=1)
    story.now += 9
    story.ended(failing, outcome="rolled back")


@bad("who_may_run_is_claimed")
def a_job_with_room_is_forgotten(story):
    story.limits("tenant", "acme", slots="1")
    story.enqueues(1, tenant="acme")
    for _ in range(25):
        story.claims(most=1)


@bad("everything_ends")
def jobs_are_left(story):
    story.ended(story.called("stuck", 3))


@bad("checks_are_empty")
def a_check_finds_something(story):
    story.ended(story.called("check", [["held", "1 is held, 0 run"]]))


@bad("predictions_come_true")
def a_claim_is_not_as_predicted(story):
    story.ended(story.called("prediction", [1, 2]))


@bad("errors_are_expected")
def an_internal_error(story):
    call = story.called("claim", outcome="error", queues=["q"], most=1)
    call.sqlstate = "XX000"
    story.ended(call, outcome="rolled back")


@bad("the_server_is_well")
def a_backend_crashes(story):
    story.server_log = "LOG:  server process (PID 1) was terminated by signal 11: Segmentation fault"


def test_a_block_ends_where_its_client_was_killed():
    verbs = ["begin", "claim", "connect", "claim"]
    calls = [Call("worker0", n, verb, {}, n, n + 0.5, "ok") for n, verb in enumerate(verbs)]
    found = [([call.verb for call in transaction.calls], transaction.outcome) for transaction in transactions_of(calls)]
    assert found == [(["begin", "claim"], "rolled back"), (["connect"], "committed"), (["claim"], "committed")]
