"""The pages of the shop: orders, and the jobs that are dead."""

from datetime import datetime, timedelta, timezone

from flask import Flask, redirect, render_template, request
from models import Order, Session
from sqlalchemy import text
from turnstile_client import enqueue

app = Flask(__name__)


@app.post("/orders")
def order():
    # The order and its jobs are there together, or not at all.
    with Session.begin() as session:
        new = Order(email=request.form["email"], item=request.form["item"])
        session.add(new)
        session.flush()
        enqueue(session, "receipt", {"order": new.id}, queue="mail", priority=-10)
        enqueue(session, "survey", {"order": new.id}, queue="mail", run_at=datetime.now(timezone.utc) + timedelta(days=3))
        # However many orders come at once, each item is counted once, after the last of them, and by one worker at a time.
        enqueue(session, "count sales", {"item": new.item}, unique_key=f"count {new.item}", unique_mode="until_and_while_executing")
        return {"order": new.id}, 201


@app.get("/dead")
def dead():
    with Session() as session:
        jobs = session.execute(text("SELECT id, kind, payload, errors FROM turnstile.dead_jobs ORDER BY id DESC LIMIT 50"))
        return render_template("dead.html", jobs=jobs.all())


@app.post("/dead/<int:job>/retry")
def retry(job):
    with Session.begin() as session:
        session.execute(text("SELECT turnstile.retry(:job)"), {"job": job})
    return redirect("/dead", 303)
