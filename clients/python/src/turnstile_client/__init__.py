"""Workers, producers and test helpers for Turnstile, a job queue inside PostgreSQL."""

from turnstile_client.aio import AsyncWorker
from turnstile_client.hooks import Hooks
from turnstile_client.outcome import AwaitChildren, Discard, Release, Retry, Snooze
from turnstile_client.producer import (
    Added, JobFailed, async_await_result, async_enqueue, async_enqueue_batch, async_enqueue_many, await_result, enqueue, enqueue_batch, enqueue_many,
)  # fmt: skip
from turnstile_client.run import Job, Run, StopReason
from turnstile_client.settings import Settings
from turnstile_client.worker import Worker

__all__ = [
    "Added", "AsyncWorker", "AwaitChildren", "Discard", "Hooks", "Job", "JobFailed", "Release", "Retry", "Run", "Settings", "Snooze", "StopReason", "Worker",
    "async_await_result", "async_enqueue", "async_enqueue_batch", "async_enqueue_many", "await_result", "enqueue", "enqueue_batch", "enqueue_many",
]  # fmt: skip
