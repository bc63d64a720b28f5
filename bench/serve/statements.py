"""The statements of the dashboard, with arguments for a database that serve.filling has filled."""

from dataclasses import dataclass
from typing import Any

from lib.project import ROOT

FOLDER = ROOT / "crates" / "cli" / "src" / "serve" / "dashboard" / "sql"
MONITOR, OPERATOR, TENANT, SUPPORT = (f"turnstile_bench_{kind}" for kind in ("monitor", "operator", "tenant", "support"))
LOWEST, HIGHEST = -(2**63), 2**63 - 1
LOOK = "int8, int8, int8, text, text, text, text, text, text[], bool, int8, int8, int8"
# Ids that were found before, and whether ends are looked at twice.
IDS = "text"
TYPES = {
    "capabilities": "", "attention": "", "overview": "", "series": "int8", "metrics": "", "memory": "", "partitions": "", "server": "",
    "stats_reset": "", "queues": "text, int8, text", "queue": "text", "tenants": "text, int8, text", "tenant": "text",
    "accounts": "text, text, int8", "keys": "text, text, int8, text", "workers": "text, int8, text", "recurring": "text, int8",
    "why": "text, text", "unattended": "text[]", "newest": "", "few": "text", "sees_all": "",
    "jobs_status": f"{LOOK}, {IDS}", "jobs_mine": f"{LOOK}, {IDS}, text", "count_status": f"{LOOK}, {IDS}, bool",
    "count_mine": f"{LOOK}, {IDS}, bool, text", "running": "text, int8", "ended_between": "int8, int8",
    "job_status": "int8", "job_mine": "int8, int8", "ends_status": "int8", "ends_mine": "int8", "children_status": "int8, int8",
    "children_mine": "int8, int8", "why_job": "int8", "estimate": "int8", "dependencies": "int8, int8",
    "failures_status": "int8, int8, int8, int8", "failures_mine": "int8, int8, int8, int8", "failing": "",
    "batches": "text, int8", "batch": "int8", "batch_counts": "text", "batch_settings": "int8",
}  # fmt: skip


@dataclass(frozen=True)
class Call:
    role: str
    statement: str
    arguments: tuple = ()
    remark: str = ""


def look(low: int, high: int, most: int, states: str = "{}", live: str | None = None, **of: Any) -> tuple:
    """The arguments of a statement that looks for jobs."""
    names = ("queue", "kind", "tenant", "account", "session")
    return (low, high, most, *(of.get(name) for name in names), states, live, of.get("older"), of.get("younger"), of.get("parent"))


def figures() -> list[Call]:
    return [
        Call(MONITOR, "capabilities"), Call(MONITOR, "overview"), Call(MONITOR, "attention"), Call(MONITOR, "series", (8,)),
        Call(MONITOR, "metrics"), Call(MONITOR, "memory"), Call(MONITOR, "partitions"), Call(MONITOR, "server"), Call(MONITOR, "stats_reset"),
        Call(MONITOR, "queues", ("", 200, "")), Call(MONITOR, "queue", ("mail",)), Call(MONITOR, "tenants", ("", 200, "")),
        Call(MONITOR, "tenants", ("00", 200, "wait")), Call(MONITOR, "tenant", ("tenant-0001",)),
        Call(MONITOR, "accounts", ("tenant-0001", None, 200)), Call(MONITOR, "keys", ("", None, 200, "")),
        Call(MONITOR, "workers", ("", 200, "")), Call(MONITOR, "why", (None, None)), Call(MONITOR, "why", ("mail", None)),
        Call(MONITOR, "why", (None, "tenant-0001")), Call(MONITOR, "unattended", ("{mail,report,video}",)),
        Call(MONITOR, "batches", ("", 100)), Call(MONITOR, "batch", (1,)), Call(MONITOR, "batch_counts", ("{2,40,41}",)),
        Call("postgres", "recurring", ("", 200)), Call(OPERATOR, "batch_settings", (1,)),
    ]  # fmt: skip


def jobs(newest: int, example: dict[str, int]) -> list[Call]:
    """`example`: a job in each state."""
    calls = [
        Call(OPERATOR, "newest"), Call(TENANT, "newest"), Call(OPERATOR, "few", (None,)), Call(SUPPORT, "sees_all"),
        Call(OPERATOR, "running", (None, 5_000)), Call(OPERATOR, "ended_between", (2_100_000, newest), "nothing"),
        Call(OPERATOR, "ended_between", (1_000_000, newest), "something"),
    ]  # fmt: skip
    for role, kind, payload in ((OPERATOR, "status", ()), (SUPPORT, "mine", (None,)), (TENANT, "mine", (None,))):
        def call(remark: str, *arguments: Any, counts: bool = False, payload=payload, **of: Any) -> None:
            statement = f"{'count' if counts else 'jobs'}_{kind}"
            calls.append(Call(role, statement, (*look(*arguments, **of), None, *(("t",) if counts else ()), *payload), remark))

        call("newest 1,000 ids", newest - 1_000, newest, 51)
        call("a window of 100,000, one tenant", newest - 100_000, newest, 51, tenant="tenant-0007")
        call("a window of 100,000, nothing matches", newest - 100_000, newest, 51, kind="none")
        call("an old window of 100,000, discarded", 500_000, 600_000, 51, "{discarded}", "f")
        call("running, without their ids", LOWEST, HIGHEST, 51, "{running}", "t")
        call("blocked", LOWEST, HIGHEST, 51, "{blocked}", "t")
        call("children of a job", LOWEST, HIGHEST, 51, parent=40)
        call("a window of 100,000, those that failed", newest - 100_000, newest, 2_500, "{retryable,cancelled,discarded}", counts=True)
        calls.append(Call(role, f"job_{kind}", (example["available"], *((262144,) if kind == "mine" else ()))))
        calls.append(Call(role, f"job_{kind}", (example["discarded"], *((262144,) if kind == "mine" else ()))))
        calls.append(Call(role, f"ends_{kind}", (example["discarded"],)))
        calls.append(Call(role, f"children_{kind}", (3, 10_000)))
    call = ("a window of 100,000, a payload", *look(newest - 100_000, newest, 51), None, '{"large": true}')
    calls += [Call(role, "jobs_mine", call[1:], call[0]) for role in (SUPPORT, TENANT)]
    calls += [Call(OPERATOR, "why_job", (example[state],), state) for state in ("available", "scheduled", "retryable", "blocked")]
    calls += [Call(OPERATOR, "estimate", (example[state],), state) for state in ("available", "scheduled", "retryable")]
    calls += [Call(OPERATOR, "dependencies", (job, 20)) for job in (1, example["blocked"])]
    return calls


def failures(now_ms: int) -> list[Call]:
    calls = [Call(OPERATOR, "failing"), Call(SUPPORT, "failing")]
    for role, kind in ((OPERATOR, "status"), (SUPPORT, "mine"), (TENANT, "mine")):
        for hours in (1, 4):
            calls.append(Call(role, f"failures_{kind}", (now_ms - hours * 3_600_000, now_ms, 50_000, 2_000), f"{hours} h"))
    return calls


def text(statement: str) -> str:
    return (FOLDER / f"{statement}.sql").read_text()
