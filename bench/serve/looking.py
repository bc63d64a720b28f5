"""The looks of the dashboard that take several statements, as crates/cli/src/serve/dashboard/data does them."""

import time
from collections.abc import Callable
from typing import Any

from serve.statements import LOWEST, OPERATOR, SUPPORT, TENANT, look

FIRST, LARGEST, STEP = 5_000, 100_000, 4
QUICK, SLOW = 0.015, 0.09
ENOUGH = 0.15
PAGE = 51
NARROW, LEAP = 20_000, 8

LOOKS = [
    ("all", {}, "{}", None), ("one tenant of a thousand", {"tenant": "tenant-0002"}, "{}", None), ("a kind", {"kind": "notify"}, "{}", None),
    ("a queue and a tenant", {"queue": "mail", "tenant": "tenant-0002"}, "{}", None), ("what nobody has", {"session": "none"}, "{}", None),
    ("discarded", {}, "{discarded}", "f"), ("discarded of one tenant", {"tenant": "tenant-0002"}, "{discarded}", "f"),
    ("scheduled of one tenant", {"tenant": "tenant-0002"}, "{scheduled}", "t"), ("older than a week", {"older": 604_800}, "{}", None),
]  # fmt: skip


def looks(run: Callable, newest: int) -> list[tuple]:
    """Role, what is looked for, milliseconds, windows, jobs, ids that were looked through."""
    found = []
    for role, kind, more in ((OPERATOR, "status", (None,)), (SUPPORT, "mine", (None, None)), (TENANT, "mine", (None, None))):
        def jobs(*arguments: Any, role=role, kind=kind) -> list[tuple]:
            return run(role, f"jobs_{kind}", arguments)

        def bound(top: int, role=role) -> int:
            return _bound(lambda low, high: run(role, "ended_between", (low, high)) == [("true",)], top)

        for name, of, states, live in LOOKS:
            found.append((role, name, *_look(jobs, bound if role != TENANT else None, newest, of, states, live, more)))
    return found


def _bound(is_there: Callable, top: int) -> int:
    """No job with this id or a higher one has ended."""
    low, high, step = top - NARROW, top, NARROW
    while not is_there(low, high):
        if low <= 1:
            return low
        step *= LEAP
        low, high = max(low - step, 1), low
    while high - low > NARROW:
        middle = low + (high - low) // 2
        low, high = (middle, high) if is_there(middle, high) else (low, middle)
    return high


def _look(run: Callable, bound: Callable | None, newest: int, of: dict, states: str, live: str | None, more: tuple) -> tuple:
    begin = time.perf_counter()
    size, jobs, windows, last = FIRST, 0, 0, begin
    high = newest + 1
    while True:
        if live == "f" and bound:
            high = bound(high)
        low = high - size if high - size > 1 else LOWEST
        jobs += len(run(*look(low, high, PAGE - jobs, states, live, **of), *more))
        windows += 1
        if jobs >= PAGE or low == LOWEST or time.perf_counter() - begin > ENOUGH:
            break
        took, last = time.perf_counter() - last, time.perf_counter()
        if took < QUICK and size * STEP <= LARGEST:
            size *= STEP
        elif took > SLOW:
            size = max(size // STEP, FIRST)
        high = low
    return (time.perf_counter() - begin) * 1000, windows, jobs, newest + 1 - max(low, 0)
