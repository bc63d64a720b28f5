import os

import psycopg

BATCH = 100
missing = int(os.environ["LAST"]) - int(os.environ["FIRST"]) + 1
payload = os.environ["PAYLOAD"]

# A tick for each hundred events, so that batches are as large as those of the others.
with psycopg.connect(autocommit=True) as connection:
    connection.execute("SELECT pgq.set_queue_config('bench', 'ticker_max_count', '1')")
    for first in range(0, missing, BATCH):
        number = min(BATCH, missing - first)
        connection.execute(
            "SELECT count(pgq.insert_event('bench', 'job', %s)) FROM generate_series(1, %s)", [payload, number]
        )
        connection.execute("SELECT pgq.ticker('bench')")
    connection.execute("SELECT pgq.set_queue_config('bench', 'ticker_max_count', '500')")
