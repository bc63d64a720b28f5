"""A tenant asks for the report of a year, reloads its progress, and waits for its result."""

import os

import psycopg
from flask import Flask, abort, redirect, render_template, url_for
from turnstile_client import JobFailed, await_result, enqueue_batch

DATABASE = os.environ["DATABASE_URL"]
FIND = "SELECT state, payload, result FROM turnstile.my_jobs WHERE id = %s AND tenant = %s AND kind = 'report'"
PROGRESS = "SELECT count(*) FILTER (WHERE state = 'completed'), count(*) FROM turnstile.batch_results(%s)"

app = Flask(__name__)


@app.post("/<tenant>/reports/<int:year>")
def ask(tenant, year):
    months = [{"kind": "month", "payload": {"year": year, "month": month}} for month in range(1, 13)]
    with psycopg.connect(DATABASE) as db:
        # The key: who presses the button twice gets the report that is under way.
        report = enqueue_batch(
            db, "report", {"year": year}, children=months, queue="reports", tenant=tenant,
            on_end="run_if_all_completed", unique_key=f"report {year}",
        )  # fmt: skip
    return redirect(url_for("show", tenant=tenant, report=report), 303)


@app.get("/<tenant>/reports/<int:report>")
def show(tenant, report):
    with psycopg.connect(DATABASE) as db:
        state, payload, result = find(db, tenant, report)
        done, total = db.execute(PROGRESS, [report]).fetchone()
    return render_template("report.html", state=state, year=payload["year"], result=result, done=done, total=total)


@app.get("/<tenant>/reports/<int:report>/result")
def result(tenant, report):
    with psycopg.connect(DATABASE, autocommit=True) as db:
        find(db, tenant, report)
        try:
            return await_result(db, report, timeout=30)
        except TimeoutError:
            return {"error": "not yet: ask again"}, 202
        except JobFailed as failure:
            return {"error": f"the report is {failure.state}"}, 500


def find(db, tenant, report):
    return db.execute(FIND, [report, tenant]).fetchone() or abort(404)
