"""The rules that every history must keep: each a function from a history to the violations that it finds."""

from histories.rules import backlogs, batches, blocked, figures, followers, jobs, limits, order, progress, runs, server, shares, unique

RULES = [
    jobs.acknowledged_jobs_exist,
    jobs.jobs_come_from_kept_calls,
    jobs.jobs_do_not_vanish,
    jobs.rolled_back_stays_rolled_back,
    jobs.tables_at_rest_agree,
    runs.claims_take_available_jobs,
    runs.runs_are_handed_out_once,
    runs.only_claims_are_lost,
    runs.claims_are_handed_to_their_caller,
    runs.attempts_suffice,
    runs.ends_were_asked_for,
    runs.acknowledged_ends_hold,
    runs.jobs_finish_once,
    limits.limits_hold_at_every_commit,
    limits.pauses_hold,
    limits.rates_hold,
    limits.held_sessions_wait,
    backlogs.backlogs_keep_their_bounds,
    batches.callbacks_wait_for_children,
    batches.callbacks_run_once,
    batches.callbacks_are_told_all_ends,
    batches.callbacks_are_as_agreed,
    batches.batches_fail_for_a_reason,
    batches.ends_wait_for_children,
    batches.children_have_parents,
    batches.children_belong_to_who_was_named,
    batches.parents_hold_their_sessions,
    followers.followers_wait,
    followers.followers_end_for_a_reason,
    blocked.who_waits_for_nothing_goes_on,
    unique.one_job_holds_a_key,
    unique.windows_are_kept,
    order.sessions_keep_their_order,
    order.nobody_is_passed_over,
    order.nobody_runs_too_early,
    shares.shares_are_kept,
    progress.who_may_run_is_claimed,
    progress.everything_ends,
    figures.events_are_counted,
    server.checks_are_empty,
    server.predictions_come_true,
    server.errors_are_expected,
    server.the_server_is_well,
]

# What holds as long as all lanes fit into memory.
ORDERLY = [
    order.sessions_keep_their_order,
    order.nobody_is_passed_over,
    shares.shares_are_kept,
    figures.events_are_counted,
    server.predictions_come_true,
]

# Of one rule: the first show what is wrong, the others that it is.
MOST_SHOWN = 10


def violations(history) -> dict[str, list[str]]:
    """What each broken rule found."""
    rules = [rule for rule in RULES if history.orderly or rule not in ORDERLY]
    found = {rule.__name__: list(rule(history)) for rule in rules}
    return {name: lines for name, lines in found.items() if lines}


def report(found: dict[str, list[str]]) -> str:
    parts = []
    for name, lines in found.items():
        parts.append(f"{name}: {len(lines)} violations")
        parts += [f"    {line}" for line in lines[:MOST_SHOWN]]
    return "\n".join(parts)
