"""Which surroundings are tried: each element by itself, then combinations by seed."""

import os

import pytest

from elements import ELEMENTS
from faults.cluster import own_cluster
from generator import Surrounding
from passes import drop, make_template
from support.database import server
from support.modules import must_be_available

COMBINATIONS = 80
FIRST_SEED = 1


def pytest_addoption(parser):
    parser.addoption("--combinations", type=int, default=COMBINATIONS, help="how many combinations of elements are tried")
    parser.addoption("--elements", help="try only these elements together, by name, with + between")


def surroundings(config) -> list[Surrounding]:
    """With a seed only the combinations from it on."""
    seed, named = config.getoption("--seed"), config.getoption("--elements")
    if named:
        return [Surrounding.of_elements(named.split("+"), seed or FIRST_SEED)]
    alone = [Surrounding.of_elements([name], FIRST_SEED) for name in ELEMENTS] if seed is None else []
    first = FIRST_SEED if seed is None else seed
    return alone + [Surrounding.of_seed(first + number) for number in range(config.getoption("--combinations"))]


def pytest_generate_tests(metafunc):
    if "surrounding" in metafunc.fixturenames:
        metafunc.parametrize("surrounding", [_parameter(each) for each in surroundings(metafunc.config)], ids=str)


def _parameter(surrounding: Surrounding):
    return pytest.param(surrounding, marks=[pytest.mark.long] if len(surrounding.names) > 1 else [])


def pytest_terminal_summary(terminalreporter):
    for report in terminalreporter.getreports("failed"):
        for repeat in [value for name, value in report.user_properties if name == "repeat"]:
            terminalreporter.write_line(f"REPEAT {repeat}")


@pytest.fixture(scope="session")
def alone():
    """A cluster with places for the server's launcher and the notifier, and no other background worker: one that upkeep started would
    do what the script is about to do."""
    with own_cluster("surroundings_alone", fsync="off", max_worker_processes=2):
        yield


@pytest.fixture(scope="session")
def copied(alone):
    """A database with some jobs, of which each way gets a copy."""
    with server() as admin:
        for module in ("amcheck", "postgres_fdw"):
            must_be_available(admin, module)
    name = f"surroundings_template_{os.getpid()}"
    try:
        make_template(name)
        yield name
    finally:
        drop(name)
