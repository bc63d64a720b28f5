"""Each file measures one thing; the order is that of the page."""

from peers.run import Scenario
from peers.scenarios import (
    backlog,
    batches,
    bulk,
    connect,
    cost,
    dense_tenants,
    enqueue,
    horizon,
    one_call,
    own_workers,
    sessions,
    singles,
    tenants,
    wake_up,
)

# They delete what is finished.
DELETE = ("turnstile_no_history", "bare_deleted", "pgmq", "graphile_worker")

ALL = [
    Scenario("enqueue", 5, enqueue.measure),
    Scenario("bulk", 2, bulk.measure),
    Scenario("connect", 2, connect.measure, ("turnstile", "bare")),
    Scenario("singles", 6, singles.measure_durable),
    Scenario("singles_slow_disk", 6, singles.measure_slow_disk),
    Scenario("singles_async", 4, singles.measure_async),
    Scenario("one_call", 2, one_call.measure),
    Scenario("batches", 6, batches.measure),
    Scenario("batches_no_history", 6, batches.measure_no_history, DELETE),
    Scenario("backlog", 25, backlog.measure),
    Scenario("tenants", 5, tenants.measure),
    Scenario("dense_tenants", 4, dense_tenants.measure, ("turnstile",)),
    Scenario("sessions", 9, sessions.measure),
    Scenario("horizon", 14, horizon.measure),
    Scenario("wake_up", 8, wake_up.measure),
    Scenario("cost", 4, cost.measure),
    Scenario("own_workers", 12, own_workers.measure),
]
