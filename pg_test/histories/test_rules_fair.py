"""The rules in a fair queue: what breaks them there, and what only would in another."""

import pytest

from histories import mix
from histories.rules import violations
from histories.story import Story, case_of

FAIR, OTHER = mix.FAIR, mix.QUEUES[0]
GOOD, BAD = [], []


good = case_of(GOOD)


def bad(rule: str):
    """A story that breaks this rule and no other."""
    return case_of(BAD, rule)


@pytest.mark.parametrize("tell", GOOD)
def test_what_is_fair_is_accepted(tell):
    story = Story()
    tell(story)
    assert violations(story.told()) == {}


@pytest.mark.parametrize(("rule", "tell"), BAD)
def test_what_is_not_fair_is_found(rule, tell):
    story = Story()
    tell(story)
    assert list(violations(story.told())) == [rule]


def backlog(story, tenant, *ids, **columns):
    story.enqueues(*ids, tenant=tenant, **{"queue": FAIR} | columns)


def starts(story, *ids, queues=(FAIR,)):
    """Claims that take these jobs, one each."""
    for job_id in ids:
        story.claims(job_id, queues=queues)


@good
def another_tenant_is_served_before_an_older_job(story):
    backlog(story, "t1", 1, 2)
    backlog(story, "t2", 3)
    starts(story, 1, 3, 2)


@bad("nobody_is_passed_over")
def a_tenant_is_served_out_of_its_order(story):
    backlog(story, "t1", 1, 2)
    starts(story, 2)


@bad("nobody_is_passed_over")
def a_share_goes_before_a_priority(story):
    backlog(story, "t1", 1, priority=-5)
    backlog(story, "t2", 2, priority=0)
    starts(story, 2)


@bad("nobody_is_passed_over")
def a_fair_queue_hands_out_nothing(story):
    backlog(story, "t1", 1)
    story.claims(most=1, queues=(FAIR,))


@good
def between_queues_a_fair_one_goes_by_what_memory_knows(story):
    backlog(story, "t1", 1, queue=OTHER)
    backlog(story, "t2", 2, 3)
    starts(story, 2, 1, 3, queues=("*",))


@bad("nobody_is_passed_over")
def between_queues_a_fair_one_goes_before_a_priority(story):
    backlog(story, "t1", 1, queue=OTHER, priority=-5)
    backlog(story, "t2", 2)
    starts(story, 2, queues=("*",))


# So many that a tenant of the greatest weight cannot start them before another has started one.
MANY = range(1000, 1250)


@bad("shares_are_kept")
def a_tenant_waits_while_another_starts_all_it_has(story):
    backlog(story, "t3", *MANY)
    backlog(story, "t1", 1)
    starts(story, *MANY)
    starts(story, 1)


@good
def a_fifo_queue_shares_nothing(story):
    backlog(story, "t3", *MANY, queue=OTHER)
    backlog(story, "t1", 2000, queue=OTHER)
    starts(story, *MANY, 2000, queues=(OTHER,))


@good
def a_heavy_tenant_starts_more(story):
    backlog(story, "t3", *MANY)
    backlog(story, "t1", *range(1, 53))
    jobs, weight = iter(MANY), mix.WEIGHTS["t3"]
    for own in range(1, 51):
        starts(story, own, *[next(jobs) for _ in range(weight)])
    starts(story, 51, 52)


@good
def starts_that_are_rolled_back_were_starts(story):
    backlog(story, "t3", *MANY)
    backlog(story, "t1", 1)
    for job_id in MANY:
        starts(story, job_id)
        if job_id % mix.WEIGHTS["t3"] == 0:
            undone = story.called("claim", [[1, 1]], queues=[FAIR], most=1)
            story.ended(undone, story.called("rollback"), outcome="rolled back")
    starts(story, 1)


@good
def a_full_tenant_leaves_its_share_to_others(story):
    story.limits("tenant", "t1", slots="1")
    backlog(story, "t3", *MANY)
    backlog(story, "t1", 1, 2)
    starts(story, 1, *MANY)
