"""Jobs: none is lost, none comes from nowhere."""

from collections import Counter

from histories.history import History

ENQUEUES = ("enqueue", "enqueue_batch", "enqueue_many", "insert", "copy")


def acknowledged_jobs_exist(history: History):
    """A committed enqueue has made the jobs whose ids it returned, as many as it was asked for."""
    made = history.births
    by_call = Counter(birth.new.kind for birth in history.births.values())
    for transaction in history.transactions:
        if transaction.outcome != "committed":
            continue
        for call in transaction.kept:
            if call.verb not in ENQUEUES:
                continue
            missing = [job_id for job_id in call.answer or [] if job_id not in made]
            if missing:
                yield f"{call.token}: {call.verb} was acknowledged, but there are no jobs {missing}"
            if not call.arguments.get("unique") and by_call[call.token] != call.arguments["jobs"]:
                yield f"{call.token}: {call.verb} of {call.arguments['jobs']} jobs has made {by_call[call.token]}"


def jobs_come_from_kept_calls(history: History):
    """Each job was asked for by a call that was not undone, and no call has made more than it asked for."""
    by_call = Counter(birth.new.kind for birth in history.births.values())
    for change in history.births.values():
        call = history.by_token.get(change.new.kind)
        if call is None or call.verb not in ENQUEUES:
            yield f"job {change.id} comes from nowhere: {change.new.kind}"
        elif call.undone or call.outcome == "error":
            yield f"job {change.id} comes from a call that was undone: {call}"
        elif by_call[call.token] > call.arguments["jobs"]:
            yield f"job {change.id}: more jobs than were asked for: {call}"


def jobs_do_not_vanish(history: History):
    """A job leaves the live ones only for history, unless somebody deletes it."""
    for commit in history.commits:
        finished = {job.id for job in commit.finished}
        for change in commit.changes:
            if change.new is None and change.id not in finished:
                calls = commit.transaction.kept if commit.transaction else []
                if not any(call.verb == "delete" for call in calls):
                    yield f"job {change.id} has vanished at commit {commit.index}: {change.old}"


def rolled_back_stays_rolled_back(history: History):
    """What a client was told is rolled back, is not committed."""
    for commit in history.commits:
        transaction = commit.transaction
        if transaction is not None and transaction.outcome == "rolled back":
            yield f"commit {commit.index} is of a transaction that was rolled back: {transaction.calls[0].token}"


def tables_at_rest_agree(history: History):
    """The tables in the end are what all commits add up to."""
    if history.rest is None:
        return
    live, finished = {}, Counter()
    for commit in history.commits:
        for change in commit.changes:
            live[change.id] = change.new
        finished.update((job.id, job.state, job.attempt) for job in commit.finished)
    expected = {(job.id, job.state, job.attempt) for job in live.values() if job is not None}
    found = {(row["id"], row["state"], row["attempt"]) for row in history.rest["live"]}
    for row in expected ^ found:
        yield f"live in the {'commits' if row in expected else 'tables'} only: {row}"
    ended = Counter((row["id"], row["state"], row["attempt"]) for row in history.rest["finished"])
    for row, times in ended.items():
        if times > finished[row]:
            yield f"finished in the tables only: {row}"
    for row in set(finished) - set(ended):
        yield f"finished in the commits only: {row}"
