"""The server: its memory agrees with the tables, its answers are those of the rules, nothing breaks."""

import re

from histories.history import History
from histories.model import is_claim

# Serialization, deadlock, cancelled, lock timeout, superseded or finished, no such job: each may happen to anybody.
EXPECTED = {"40001", "40P01", "57014", "55P03", "55000", "P0002"}
# Two phases for who has changed jobs; a full backlog for who adds some.
EXPECTED_OF = {"prepare": {"0A000"}}
EXPECTED_OF |= dict.fromkeys(["enqueue", "enqueue_batch", "enqueue_many", "insert", "copy", "retry", "retry_many"], {"53400"})
_BROKEN = re.compile(r"PANIC|panicked|terminated by signal (?!9)|TRAP:|\] XX\d\d\d ERROR|could not (read|write|access)")


def checks_are_empty(history: History):
    """turnstile.check() finds nothing, while clients work, after each crash, and at rest."""
    for call in history.called("check"):
        if call.outcome == "ok" and call.answer:
            yield f"{call.token}: {call.answer[:5]}"


def predictions_come_true(history: History):
    """At rest each claim takes what a slow scan over all jobs says, unless it has looked after batches first: after the scan."""
    others = {
        call.token
        for commit in history.commits
        if commit.transaction and not all(map(is_claim, commit.changes))
        for call in commit.transaction.calls
    }
    for call in history.called("prediction"):
        expected, found = call.answer
        claim = history.by_client[call.client][call.number - 2]
        if expected != found and claim.token not in others:
            yield f"{call.token}: job {found} was claimed where the rules say {expected}"


def errors_are_expected(history: History):
    """The server refuses only what clients do to each other."""
    for call in history.calls:
        if call.outcome == "error" and call.sqlstate not in EXPECTED | EXPECTED_OF.get(call.verb, set()):
            yield f"{call.token}: {call.verb} {call.sqlstate} {call.message}"


def the_server_is_well(history: History):
    """No panic, no signal but the one that was sent, no internal error in the server's log."""
    for line in history.server_log.splitlines():
        if _BROKEN.search(line):
            yield line[:300]
