"""Runs the scenarios, keeps their figures, and writes the page."""

import shlex
import sys
from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

from lib.cluster import benchmark_cluster
from peers import scheduler, versions
from peers.arena import Arena
from peers.budget import Budget
from peers.contender import ORDER, contenders
from peers.places import DOCS, FULL_RESULTS, QUICK_RESULTS
from peers.render.page import write_page
from peers.run import TROUBLE, Run, Scenario
from peers.scenarios import ALL
from peers.slices import reason
from peers.store import Store

QUICK_MINUTES, FULL_MINUTES = 6.0, 78.0
# 100,000 sessions and as many tenants, each a lane.
SETTINGS = {"max_connections": "200", "turnstile.max_memory": "1GB"}


def _options() -> Namespace:
    parser = ArgumentParser(prog="bench/compare", description=__doc__)
    keys = [*(scenario.key for scenario in ALL), scheduler.KEY]
    parser.add_argument("--quick", action="store_true", help="short slices, few points: to see that it runs")
    parser.add_argument(
        "--minutes", type=float, help=f"for all scenarios (default: {FULL_MINUTES:.0f}; quick: {QUICK_MINUTES:.0f})"
    )
    parser.add_argument("--seconds", type=int, help="length of a slice (default: 2; quick: 1)")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of a scenario, at most (default: 7)")
    parser.add_argument(
        "--only", action="append", choices=keys, metavar="SCENARIO", help=f"one of {', '.join(keys)}; may be repeated"
    )
    parser.add_argument(
        "--contender",
        action="append",
        choices=ORDER,
        metavar="NAME",
        help=f"one of {', '.join(ORDER)}; may be repeated",
    )
    parser.add_argument("--resume", action="store_true", help="keep the scenarios that are done already")
    parser.add_argument("--render", action="store_true", help="measure nothing, only write the page")
    parser.add_argument("--results", type=Path, help="the JSON file with all figures")
    parser.add_argument("--page", type=Path, help="the directory for the page (default: docs; quick: beside the JSON)")
    options = parser.parse_args()
    options.results = options.results or (QUICK_RESULTS if options.quick else FULL_RESULTS)
    options.page = options.page or (options.results.parent if options.quick else DOCS)
    options.minutes = options.minutes or (QUICK_MINUTES if options.quick else FULL_MINUTES)
    options.seconds = options.seconds or (1 if options.quick else 2)
    return options


def _measure(options: Namespace, store: Store, arena: Arena, scenario: Scenario, budget: Budget) -> None:
    share = budget.next(scenario.key)
    print(f"{scenario.key}: {share.seconds:.0f} s", flush=True)
    begun = monotonic()
    taking_part = [contender for contender in contenders(options.contender) if scenario.admits(contender)]
    run = Run(arena, taking_part, share, options.quick, options.seconds, options.rounds)
    try:
        result = scenario.measure(run).as_json() | {"complete": True}
    except TROUBLE as error:
        result = {"failed": reason(error)}
    result |= {
        "took": round(monotonic() - begun),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": options.quick,
        "command": shlex.join(["bench/compare", *sys.argv[1:]]),
        "slice_seconds": options.seconds,
    }
    store.keep(scenario.key, result, some_contenders=bool(options.contender))
    print(f"    {scenario.key}: done after {result['took']} s", flush=True)


def _run(options: Namespace, store: Store) -> None:
    wanted = [scenario for scenario in ALL if not options.only or scenario.key in options.only]
    if (not options.only or scheduler.KEY in options.only) and not (options.resume and store.has(scheduler.KEY)):
        _measure_scheduler(options, store)
    wanted = [scenario for scenario in wanted if not (options.resume and store.has(scenario.key))]
    if not wanted:
        return
    with benchmark_cluster("compare", here=False, settings=SETTINGS):
        store.describe(machine=versions.describe())
        arena = Arena()
        for contender in contenders(options.contender):
            _try_install(arena, contender)
        budget = Budget(options.minutes, {scenario.key: scenario.weight for scenario in wanted})
        for scenario in wanted:
            _measure(options, store, arena, scenario, budget)


def _measure_scheduler(options: Namespace, store: Store) -> None:
    """Before the budget begins: it takes two minutes, and is quick if that was asked for."""
    print(f"{scheduler.KEY}: criterion", flush=True)
    try:
        result = scheduler.measure(options.quick)
    except TROUBLE as error:
        result = {"failed": reason(error)}
    store.keep(scheduler.KEY, result)


def _try_install(arena: Arena, contender) -> None:
    """Before the clock starts; what cannot be installed is reported in each table."""
    try:
        arena.install(contender)
    except TROUBLE as error:
        print(f"{contender.name}: {error}", flush=True)


def main() -> None:
    options = _options()
    store = Store(options.results, goes_on=options.render or options.resume or bool(options.only))
    if not options.render:
        _run(options, store)
    page = write_page(store.data, options.page)
    print(f"{options.results}\n{page}")


if __name__ == "__main__":
    main()
