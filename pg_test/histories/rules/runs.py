"""Runs: each is handed to one caller, ends once, and only by who holds it."""

from collections import defaultdict
from itertools import takewhile

from histories.history import History, has_claimed
from histories.limits import done
from histories.model import Change, Commit, is_claim

# Calls about a run that do not end it.
GOES_ON = ("heartbeat", "progress")
CLAIMS = ("claim", "claim_next", "complete_and_claim_next", "complete_and_claim")
# Of a transaction that may be lost.
CLAIMS_ALONE = ("begin", "claim", "claim_next", "savepoint", "release savepoint", "wait_for_job", "set", "left behind", "commit")


def claims_take_available_jobs(history: History):
    """A claim takes a job that was available, under the attempt after the last that was not lost; so no run is named twice."""
    last: dict[int, int] = {}
    for commit in history.commits:
        finished = {job.id for job in commit.finished}
        for change in commit.changes:
            if change.new is None and change.id not in finished:
                # Who deletes a job deletes what is known of its runs since it was last brought back.
                last.pop(change.id, None)
            if not is_claim(change):
                continue
            if change.old is None or change.old.state != "available":
                yield f"job {change.id} was claimed while it was {change.old and change.old.state}: {change.new}"
            elif change.new.attempt != change.old.attempt + 1 + _skipped(change):
                yield f"job {change.id} went from attempt {change.old.attempt} to {change.new.attempt}: {change.new}"
            elif change.new.attempt <= last.get(change.id, 0):
                yield f"job {change.id} was at attempt {last[change.id]} before: {change.new}"
            last[change.id] = change.new.attempt


def _skipped(change: Change) -> int:
    """Attempts that lost claims may have had: they do not count, and there are as many as epochs that have ended."""
    old, new = change.old, change.new
    skipped = new.uncounted - old.uncounted
    if old.claim_epoch is None or new.claim_epoch is None:
        return skipped if old.claim_epoch is not None else 0
    return new.claim_epoch - old.claim_epoch if new.claim_epoch - old.claim_epoch == skipped else -1


def runs_are_handed_out_once(history: History):
    """No run is handed out twice, whatever a crash has taken back; but of a job that was deleted nothing is known any more."""
    deleted = {change.id for change in history.changes if _is_deleted(change)}
    handed: dict[tuple, str] = {}
    for transaction in history.transactions:
        if transaction.outcome != "committed" and not transaction.is_lost:
            continue
        for call in filter(has_claimed, transaction.kept):
            for run in map(tuple, call.answer):
                if run in handed and run[0] not in deleted:
                    yield f"run {run} was handed out by {handed[run]} and by {call.token}"
                handed[run] = call.token


def _is_deleted(change: Change) -> bool:
    return change.new is None and change.id not in {job.id for job in change.commit.finished}


def only_claims_are_lost(history: History):
    """A crash takes back nothing of what was acknowledged but claims from queues that allow it, in transactions that did nothing else."""
    for transaction in history.transactions:
        if not transaction.is_lost:
            continue
        for call in transaction.kept:
            if call.verb not in CLAIMS_ALONE:
                yield f"{call.token}: {call.verb} was acknowledged, and lost with a claim"
            for run in call.answer if has_claimed(call) else []:
                if not any(change.new and change.new.queue in history.quick_queues for change in history.touches[run[0]]):
                    yield f"{call.token}: run {run} was lost, of a queue that keeps its claims"


def claims_are_handed_to_their_caller(history: History):
    """What a committed claim answered is what it has claimed."""
    by_call = defaultdict(set)
    for change in history.changes:
        if is_claim(change):
            by_call[change.new.worker].add((change.id, change.new.attempt))
    for token in by_call.keys() - history.by_token.keys():
        yield f"claimed by nobody: {token} {by_call[token]}"
    for transaction in history.transactions:
        for call in transaction.calls:
            if call.verb not in CLAIMS or call.outcome == "unknown":
                continue
            answer = {tuple(run) for run in call.answer or []}
            if call.outcome == "error" or call.undone or transaction.outcome == "rolled back":
                if by_call[call.token]:
                    yield f"{call.token} was undone, but has claimed {by_call[call.token]}"
            elif transaction.outcome == "committed" and answer != by_call[call.token]:
                yield f"{call.token} answered {sorted(answer)}, but has claimed {sorted(by_call[call.token])}"


def attempts_suffice(history: History):
    """No job is claimed more often than its attempts allow."""
    for change in history.changes:
        if is_claim(change) and change.new.attempt - change.new.uncounted > change.new.max_attempts:
            yield f"job {change.id} was claimed once more than its attempts allow: {change.new}"


def ends_of_runs(history: History) -> list[tuple[Commit, Change]]:
    """Where runs end, in whatever way."""
    found = []
    for commit in history.commits:
        for change in commit.changes:
            old, new = change.old, change.new
            if old is not None and old.state == "running":
                if new is None or new.state != "running" or new.attempt != old.attempt:
                    found.append((commit, change))
    return found


def ends_were_asked_for(history: History):
    """A run ends because its holder, by id and attempt, says so; or its job is deleted; or its lease is over."""
    for commit, change in ends_of_runs(history):
        run = (change.id, change.old.attempt)
        calls = commit.transaction.kept if commit.transaction else []
        asked = {tuple(named) for call in calls if call.verb not in GOES_ON for named in call.arguments.get("runs", [])}
        deleted = any(call.verb == "delete" for call in calls)
        lease = change.old.lease_expires_at
        rescued = lease is not None and lease <= commit.at
        if run not in asked and not deleted and not rescued and not abandoned(history, change, commit):
            yield f"run {run} was ended by somebody who does not hold it: {calls[-1] if calls else 'nobody'}"


def abandoned(history: History, change: Change, commit: Commit) -> bool:
    """Whether a run was bound to a connection that may have been gone when it was ended."""
    claim = history.by_token.get(change.old.worker)
    if claim is None or not claim.arguments.get("bound"):
        return False
    later = history.by_client[claim.client][claim.number :]
    same_connection = takewhile(lambda call: call.verb != "connect", later)
    return not any(call.outcome == "ok" and call.sent > done(commit) for call in same_connection)


def acknowledged_ends_hold(history: History):
    """A run whose end was acknowledged has ended by that very transaction."""
    ended = defaultdict(list)
    for commit, change in ends_of_runs(history):
        ended[change.id, change.old.attempt].append(commit.transaction)
    for transaction in history.transactions:
        if transaction.outcome != "committed":
            continue
        for call in transaction.kept:
            for run in _acknowledged(call):
                if not any(by is transaction for by in ended.get(run, [])):
                    yield f"{call.token}: the end of run {run} was acknowledged, but is not committed by it"


def _acknowledged(call) -> list[tuple]:
    """The runs that a call says it has ended."""
    runs = [tuple(run) for run in call.arguments.get("runs", [])]
    if call.verb in ("complete", "release", "snooze", "await_children") and call.answer is True or call.verb in ("fail", "discard"):
        return runs
    if call.verb == "complete_many" and call.answer == len(runs):
        return runs
    return []


def jobs_finish_once(history: History):
    """A job that goes to history leaves the live ones in the same commit, as the run that it was."""
    for commit in history.commits:
        gone = {change.id: change.old for change in commit.changes if change.new is None}
        for job in commit.finished:
            old = gone.pop(job.id, None)
            if old is None:
                yield f"job {job.id} was finished once more at commit {commit.index}: {job}"
            elif job.state == "completed" and old.state != "blocked" and (old.state != "running" or old.attempt != job.attempt):
                yield f"job {job.id} was completed, but it was not that run: {old} {job}"
