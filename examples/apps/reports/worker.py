"""Computes reports: a job for each month, and one that adds them up."""

import os

import psycopg
from turnstile_client import Worker

DATABASE = os.environ["DATABASE_URL"]
OF_MONTH = "SELECT coalesce(sum(amount), 0)::float FROM sale WHERE tenant = %s AND date_trunc('month', day) = make_date(%s, %s, 1)"
OF_MONTHS = "SELECT result FROM turnstile.batch_results(%s) ORDER BY (payload ->> 'month')::int"

worker = Worker(DATABASE, queues=["reports"], concurrency=8)


@worker.handler("month")
def month(run):
    with psycopg.connect(DATABASE) as db:
        [amount] = db.execute(OF_MONTH, [run.job.tenant, run.payload["year"], run.payload["month"]]).fetchone()
    return amount


@worker.handler("report")
def report(run):
    with psycopg.connect(DATABASE) as db:
        months = [amount for (amount,) in db.execute(OF_MONTHS, [run.job.id])]
    return {"year": run.payload["year"], "months": months, "total": round(sum(months), 2)}


if __name__ == "__main__":
    worker.run()
