"""Each file measures one thing; the order is that of the page, the weight about how many seconds it needs for a full run."""

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
    Scenario("enqueue", 200, enqueue.measure),
    Scenario("bulk", 150, bulk.measure),
    Scenario("connect", 45, connect.measure, ("turnstile", "bare")),
    Scenario("singles", 160, singles.measure_durable),
    Scenario("singles_slow_disk", 340, singles.measure_slow_disk),
    Scenario("singles_async", 330, singles.measure_async),
    Scenario("one_call", 60, one_call.measure),
    Scenario("batches", 520, batches.measure),
    Scenario("batches_no_history", 260, batches.measure_no_history, DELETE),
    Scenario("backlog", 830, backlog.measure),
    Scenario("tenants", 250, tenants.measure),
    Scenario("dense_tenants", 200, dense_tenants.measure, ("turnstile",)),
    Scenario("sessions", 240, sessions.measure),
    Scenario("horizon", 280, horizon.measure),
    Scenario("wake_up", 180, wake_up.measure),
    Scenario("cost", 100, cost.measure),
    Scenario("own_workers", 520, own_workers.measure),
]
