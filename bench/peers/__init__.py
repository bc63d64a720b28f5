"""Turnstile against other queues for PostgreSQL. A contender is a folder of `contenders`, a scenario a file of `scenarios`."""
