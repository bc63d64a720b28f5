"""What a worker is given that could never work is refused when it is given."""

import asyncio
import functools

import pytest

from turnstile_client import AsyncWorker, Discard, Retry, Snooze, Worker
from turnstile_client.testing import drain


async def coroutine(run):
    return 1


async def generator(run):
    yield 1


class Called:
    async def __call__(self, run):
        return 1


@functools.wraps(coroutine)
def in_a_loop_of_its_own(run):
    return asyncio.run(coroutine(run))


@pytest.mark.parametrize("handler", [coroutine, generator, Called(), functools.partial(coroutine)])
def test_threads_run_no_coroutines(handler):
    for add in [lambda: Worker("", {"a": handler}), lambda: Worker().handler("a")(handler)]:
        with pytest.raises(TypeError, match="'a' is a coroutine function, which only an AsyncWorker runs"):
            add()
    AsyncWorker("", {"a": handler})
    Worker("", {"a": in_a_loop_of_its_own})


@pytest.mark.parametrize("worker", [Worker, AsyncWorker])
def test_a_handler_is_a_function_and_has_a_kind(worker):
    for add in [lambda: worker().handler(lambda run: None), lambda: worker("", {5: print})]:
        with pytest.raises(TypeError, match="needs the kind of its jobs"):
            add()
    for add in [lambda: worker().handler("a")(5), lambda: worker("", {"a": None})]:
        with pytest.raises(TypeError, match="must be a function"):
            add()


def test_the_later_handler_of_a_kind_counts():
    worker = Worker("", {"a": print})
    assert worker.handler("a")(repr) is repr
    assert worker.handlers.of("a") is repr


@pytest.mark.parametrize(
    "retry",
    [{5: Discard}, {"ValueError": Discard}, {(OSError, ValueError): Discard}, {int: Discard}, {ValueError: 5}, {ValueError: int},
     {ValueError: Snooze}, {ValueError: None}],
)  # fmt: skip
def test_a_rule_that_cannot_be_followed_is_refused(retry):
    for use in [lambda: Worker(retry=retry), lambda: AsyncWorker(retry=retry), lambda: drain(None, {}, retry=retry)]:
        with pytest.raises(TypeError):
            use()


def test_rules_that_can_be_followed_are_taken():
    class Own(Retry):
        pass

    Worker(retry={ValueError: Discard, OSError: Snooze(5), KeyError: lambda error: Discard(error), SystemExit: Own})
