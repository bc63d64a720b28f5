"""A pair of servers of a test's own."""

import pytest

from failover.pair import Pair
from support.node import home_of_nodes


def _pair(is_synchronous: bool, **settings):
    with home_of_nodes() as home:
        pair = Pair(home, is_synchronous, **settings)
        try:
            pair.begin()
            yield pair
        finally:
            pair.destroy()


@pytest.fixture(params=["synchronous", "asynchronous"])
def pair(request):
    yield from _pair(request.param == "synchronous")


@pytest.fixture
def asynchronous_pair():
    yield from _pair(False)


@pytest.fixture
def synchronous_pair():
    yield from _pair(True)
