"""Workers, producers and test helpers for Turnstile, a job queue inside PostgreSQL."""

from turnstile_client.aio import AsyncRun, AsyncWorker
from turnstile_client.faults import Undelivered
from turnstile_client.hooks import Hooks
from turnstile_client.options import BatchOptions, JobOptions, JobSpec
from turnstile_client.outcome import AwaitChildren, Discard, Ending, Release, Retry, Snooze
from turnstile_client.producer import Added, async_enqueue, async_enqueue_batch, async_enqueue_many, enqueue, enqueue_batch, enqueue_many
from turnstile_client.run import Job, Run, Stopped, StopReason
from turnstile_client.settings import Settings
from turnstile_client.waiting import JobFailed, async_await_result, await_result
from turnstile_client.worker import Worker

__all__ = [
    "Added", "AsyncRun", "AsyncWorker", "AwaitChildren", "BatchOptions", "Discard", "Ending", "Hooks", "Job", "JobFailed", "JobOptions",
    "JobSpec", "Release", "Retry", "Run", "Settings", "Snooze", "StopReason", "Stopped", "Undelivered", "Worker",
    "async_await_result", "async_enqueue", "async_enqueue_batch", "async_enqueue_many", "await_result", "enqueue", "enqueue_batch", "enqueue_many",
]  # fmt: skip
