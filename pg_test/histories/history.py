"""A whole history: what the clients saw beside what the server wrote, and which of the two belong together."""

import gc
from bisect import bisect
from collections import defaultdict
from functools import cached_property
from pathlib import Path

import orjson

from histories.decoding import read_stream
from histories.limits import Limits, begun, bound_of, done
from histories.locks import Locks
from histories.model import EVERY_QUEUE, NEVER, Call, Change, Commit, Rest, Transaction

# Seconds after which a commit that nobody waited for is on disk: three rounds of the process that writes the log.
WRITTEN_AFTER = 3.0


class History:
    def __init__(
        self,
        transactions: list[Transaction],
        commits: list[Commit],
        settings=None,
        rest=None,
        server_log="",
        orderly=True,
        crashes=(),
        clock=0.0,
    ):
        """`crashes`: when each began, and when it was over. `clock`: how far the server's clock is ahead of the clients'."""
        self.transactions, self.commits = transactions, commits
        self.rest = rest
        self.server_log = server_log
        self.orderly = orderly
        self._settings = settings or {}
        self.calls: list[Call] = [call for transaction in transactions for call in transaction.calls]
        self._match(crashes, clock)
        self._lose(crashes)

    def _match(self, crashes, clock: float) -> None:
        """Finds the transaction of each commit: by the calls that its rows name, else by its id."""
        began_at = [begin for begin, _ in crashes]
        by_xid, by_token, by_run = defaultdict(list), {}, defaultdict(list)
        for transaction in self.transactions:
            for call in transaction.calls:
                by_token[call.token] = transaction
                if call.xid is not None:
                    by_xid[call.xid].append(transaction)
                if transaction.outcome == "unknown":
                    for run in call.arguments.get("runs", []):
                        by_run[tuple(run)].append(transaction)
        for commit in self.commits:
            same_id = (each for each in by_xid[commit.xid] if _in_its_life(each, commit.at - clock, began_at))
            commit.transaction = _named(commit, by_token, self.births) or next(same_id, None) or _unknown(commit, by_run)

    def _lose(self, crashes) -> None:
        """A claim that left nothing in the log, and was committed just before a crash, is one that went on until then; its client
        may have read the answer after that."""
        found = {id(commit.transaction) for commit in self.commits}
        for transaction in self.transactions:
            if transaction.outcome != "committed" or id(transaction) in found or not any(map(has_claimed, transaction.kept)):
                continue
            asked, heard = transaction.calls[-1].sent, transaction.ended
            lost = [end for begin, end in crashes if begin - WRITTEN_AFTER <= heard and asked <= end]
            if lost:
                transaction.outcome, transaction.ended, transaction.is_lost = "rolled back", lost[0], True

    @cached_property
    def changes(self) -> list[Change]:
        return [change for commit in self.commits for change in commit.changes]

    @cached_property
    def touches(self) -> dict[int, list[Change]]:
        """The changes of each job, in order."""
        found = defaultdict(list)
        for change in self.changes:
            found[change.id].append(change)
        return found

    @cached_property
    def births(self) -> dict[int, Change]:
        """The first change of each job."""
        return {job_id: touches[0] for job_id, touches in self.touches.items()}

    @cached_property
    def locks(self) -> Locks:
        looked_after = {job_id for _, job_id, row in self.rows_of_batches if row["max_failed"] or row.get("priority")}
        return Locks(self.transactions, looked_after)

    def may_be_locked(self, rest: Rest, during: Call) -> bool:
        """Whether something that left no trace may have locked the job while it waited, during a call."""
        return self.locks.touch(rest, during.sent, during.ended)

    @cached_property
    def rests(self) -> list[Rest]:
        """The times at which jobs were available, for certain."""
        found = []
        for touches in self.touches.values():
            for change, following in zip(touches, [*touches[1:], None], strict=True):
                if change.new is None or change.new.state != "available":
                    continue
                begin, end = done(change.commit), begun(following.commit) if following else NEVER
                if begin < end:
                    found.append(Rest(change.new, begun(change.commit), begin, end))
        return found

    @cached_property
    def end(self) -> float:
        """When the last call was over."""
        return max((call.ended for call in self.calls if call.ended != NEVER), default=0.0)

    @cached_property
    def by_token(self) -> dict[str, Call]:
        return {call.token: call for call in self.calls}

    @cached_property
    def limits(self) -> Limits:
        return Limits(self._settings, self.commits)

    @cached_property
    def rows_of_batches(self) -> list[tuple[Commit, int, dict]]:
        """What commits have made of the settings of batches, by their ids."""
        found = [(commit, setting) for commit in self.commits for setting in commit.settings if setting.table == "batch"]
        return [(commit, int(setting.key[0]), setting.row) for commit, setting in found if setting.row is not None]

    @cached_property
    def stoppers(self) -> set[int]:
        """The transactions, by id(), that have stopped batches for their failures."""
        return {id(commit.transaction) for commit, _, row in self.rows_of_batches if row["stops"] == "failed"}

    @cached_property
    def quick_queues(self) -> set[str]:
        """Those whose claims did not wait for the disk at some time."""
        changed = [(setting.key[0], setting.row) for commit in self.commits for setting in commit.settings if setting.table == "queue"]
        rows = [*((row["name"], row) for row in self._settings.get("queue", [])), *changed]
        return {name for name, row in rows if row is not None and str(row.get("durable_claims")).lower() == "false"}

    @cached_property
    def bounds(self) -> Limits:
        """Of backlogs."""
        return Limits(self._settings, self.commits, bound_of)

    @cached_property
    def queues(self) -> set[str]:
        return {change.new.queue for change in self.changes if change.new is not None}

    def queues_of(self, claim: Call) -> list[str]:
        """The queues from which a claim may take."""
        named = claim.arguments.get("queues", [])
        return sorted(self.queues) if named == [EVERY_QUEUE] else named

    @cached_property
    def by_client(self) -> dict[str, list[Call]]:
        """The calls of each client, in order: number n is at n - 1."""
        found = defaultdict(list)
        for call in sorted(self.calls, key=lambda call: call.number):
            found[call.client].append(call)
        return found

    def called(self, *verbs: str):
        return (call for call in self.calls if call.verb in verbs)


def _named(commit: Commit, by_token: dict, births: dict) -> Transaction | None:
    for change in commit.changes:
        if change is births[change.id] and (found := by_token.get(change.new.kind)):
            return found
        if change.new is not None and change.new.worker and (not change.old or change.new.worker != change.old.worker):
            if found := by_token.get(change.new.worker):
                return found
    for job in commit.finished:
        if job.result and '"by"' in job.result and (found := by_token.get(orjson.loads(job.result)["by"])):
            return found
    return None


def _in_its_life(transaction: Transaction, at: float, crashes: list[float]) -> bool:
    """Whether no crash lies between the two: it leaves the ids of what it has cut short or taken back to others."""
    return bisect(crashes, transaction.sent) <= bisect(crashes, at) <= bisect(crashes, transaction.ended)


def has_claimed(call: Call) -> bool:
    return call.verb in ("claim", "claim_next", "complete_and_claim_next", "complete_and_claim") and bool(call.answer)


def _unknown(commit: Commit, by_run: dict) -> Transaction | None:
    """A lost transaction that asked for the end of one of the runs that end here."""
    for change in commit.changes:
        if change.old is not None and change.old.state == "running":
            for transaction in by_run.get((change.id, change.old.attempt), []):
                return transaction
    return None


def load(directory: Path) -> History:
    """Reads what `recording.record` has left."""
    # Millions of objects and no cycles: the collector would look at all of them again and again.
    gc.disable()
    transactions = []
    for path in sorted(directory.glob("*.calls")):
        transactions += transactions_of(read_calls(path))
    with (directory / "stream").open(encoding="utf-8") as stream:
        commits = read_stream(stream)
    settings = orjson.loads((directory / "settings.json").read_bytes())
    rest = orjson.loads((directory / "rest.json").read_bytes())
    plan = orjson.loads((directory / "plan.json").read_bytes())
    orderly = "turnstile.max_memory" not in plan["settings"]
    crashes = orjson.loads((directory / "crashes.json").read_bytes())
    server_log = (directory / "server.log").read_text()
    return History(transactions, commits, settings, rest, server_log, orderly, crashes["crashed"], crashes["clock"])


def read_calls(path: Path) -> list[Call]:
    calls: list[Call] = []
    for line in path.read_bytes().splitlines():
        entry = orjson.loads(line)
        if "verb" in entry:
            calls.append(Call(path.stem, entry["n"], entry["verb"], entry["arguments"], entry["at"]))
        else:
            call = calls[-1]
            call.ended, call.outcome = entry["at"], entry["outcome"]
            call.answer, call.xid = entry.get("answer"), entry.get("xid")
            call.sqlstate, call.message = entry.get("sqlstate"), entry.get("message")
    return calls


def transactions_of(calls: list[Call]) -> list[Transaction]:
    """The transactions of one client: each call by itself, or all from `begin` to the end of the block."""
    found, block, marks = [], None, []
    for call in calls:
        if block and call.verb == "connect":
            # Killed between two calls: nobody was left to say so.
            found.append(Transaction(block, "rolled back"))
            block = None
        if block is None:
            if call.verb == "begin" and call.outcome == "ok":
                block, marks = [call], []
            else:
                outcome = {"ok": "committed", "error": "rolled back", "unknown": "unknown"}[call.outcome]
                found.append(Transaction([call], outcome, call.ended))
            continue
        block.append(call)
        if call.verb == "savepoint":
            marks.append(len(block))
        elif call.verb == "release savepoint" and call.outcome == "ok":
            marks.pop()
        elif call.verb == "rollback to savepoint" and call.outcome == "ok":
            for undone in block[marks.pop() :]:
                undone.undone = True
        if (outcome := _outcome(call)) is not None:
            found.append(Transaction(block, outcome, call.ended))
            block = None
    if block:
        found.append(Transaction(block, "rolled back"))
    return found


def _outcome(call: Call) -> str | None:
    """What a call inside a block makes of the block; None: it goes on."""
    if call.verb == "commit":
        if call.outcome == "ok":
            return "committed" if call.answer == "COMMIT" else "rolled back"
        return {"error": "rolled back", "unknown": "unknown"}[call.outcome]
    if call.verb == "prepare":
        return None if call.outcome == "ok" and call.answer == "PREPARE TRANSACTION" else "rolled back"
    if call.verb == "commit prepared":
        return "unknown" if call.outcome == "unknown" else "committed"
    if call.verb in ("rollback", "disconnect") or call.outcome == "unknown":
        return "rolled back"
    return None
