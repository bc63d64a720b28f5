"""How often a history has met what the rules of batches are about: a rule that never applies checks nothing."""

from collections import Counter

from histories.history import History
from histories.model import Change, is_claim
from histories.rules.batches import was_blocked
from histories.rules.followers import order_of

MET = (
    "children", "children of children", "callbacks", "parents that ended without a run", "batches opened in their turn", "batches failed",
    "batches cancelled", "batches discarded", "runs that stepped aside", "parents brought back", "children brought back",
    "followers released", "followers discarded", "followers by local names",
)  # fmt: skip


# What not each crash brings about.
AT_TIMES = ("claims lost",)


def tally(history: History) -> dict[str, int]:
    """By the words of MET and AT_TIMES, all of them."""
    found = Counter(what for change in history.changes for what in _of_change(history, change))
    found.update(
        f"batches {setting.row['stops']}"
        for commit in history.commits
        for setting in commit.settings
        if setting.table == "batch" and setting.row is not None and setting.row["stops"]
    )
    found["claims lost"] = sum(transaction.is_lost for transaction in history.transactions)
    return {what: found[what] for what in (*MET, *AT_TIMES)}


def _of_change(history: History, change: Change):
    if change is history.births[change.id]:
        yield from _of_birth(history, change)
    elif change.old is None:
        yield "children brought back" if change.new.parent is not None else "others brought back"
    if change.old is not None and change.new is not None:
        yield from _of_step(history, change)
    if is_claim(change) and change.new.children is not None:
        yield "callbacks"
    if was_blocked(change) and change.new is None:
        ended = {job.id: job.state for job in change.commit.finished}
        follows = order_of(history, change.id) is not None and change.old.children is None
        yield "followers discarded" if follows and ended.get(change.id) == "discarded" else "parents that ended without a run"


def _of_birth(history: History, change: Change):
    if change.new.parent is not None:
        yield "children"
        above = history.births.get(change.new.parent)
        if above is not None and above.new.parent is not None:
            yield "children of children"
    call = history.by_token.get(change.new.kind)
    if call is not None and call.arguments.get("places") and order_of(history, change.id):
        yield "followers by local names"


def _of_step(history: History, change: Change):
    old, new = change.old, change.new
    if new.state == "blocked" and old.opens_batch == "true":
        yield "batches opened in their turn"
    elif new.state == "blocked" and old.state == "running":
        yield "runs that stepped aside"
    elif new.state == "blocked" and old.state == "available":
        yield "parents brought back"
    elif old.state == "blocked" and new.state == "available" and new.children is None:
        yield "followers released"
