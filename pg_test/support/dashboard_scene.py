"""A company's jobs as they come and go, for pictures of the dashboard: a tenant that is noisy, a batch, failures, and workers at work."""

import contextlib
import random
import threading
from collections.abc import Iterator

import psycopg

from support.batches import enqueue_batch
from support.calls import call
from support.database import Database

# Kinds of a queue, with how long their runs take in seconds.
QUEUES = {
    "mail": {"send_email": 0.05, "send_digest": 0.1},
    "webhooks": {"deliver_webhook": 0.08},
    "billing": {"charge_card": 0.2, "send_invoice": 0.15},
    "imports": {"import_csv": 0.5, "index_document": 0.12},
    "video": {"render_video": 2.5, "make_thumbnail": 0.3},
    "reports": {"build_report": 0.6},
}
TENANTS = ["acme", "globex", "initech", "umbrella", "hooli", "vandelay", "wonka", "stark", "wayne", "tyrell", "cyberdyne", "soylent"]
NOISY = "initech"
BACKLOG, FAILED, CHILDREN = 6_000, 10_000, 1_500
# In each queue at once, and by all workers together in a second.
WORKERS = {"mail": 3, "webhooks": 2, "billing": 2, "imports": 6, "video": 5, "reports": 2}
ERRORS = {
    "charge_card": "CardDeclined: insufficient_funds\n  at charge (payments.py:88)\n  at run (worker.py:41)",
    "deliver_webhook": "HTTP 503 from hooks.example.com\nRetry-After: 30",
    "render_video": "ffmpeg exited with status 1: Invalid data found when processing input",
    "import_csv": "line 1042: 7 columns instead of 9",
}
OUTAGE = "ConnectionError: smtp.example.com:587 timed out after 10 s\n  at connect (smtp.py:114)\n  at send_email (mail.py:27)"

SETTINGS = """
SELECT turnstile.set_queue('video', max_running => 5);
SELECT turnstile.set_queue('webhooks', rate => 40, rate_per => '1 second', burst => 20);
SELECT turnstile.set_queue('imports', max_running => 8);
SELECT turnstile.set_tenant('*', slots => 4);
SELECT turnstile.set_tenant('initech', slots => 5);
SELECT turnstile.set_account('acme', 'eu', slots => 2);
SELECT turnstile.set_concurrency('smtp.example.com', slots => 4);
SELECT turnstile.set_concurrency('gpu', slots => 3);
SELECT turnstile.set_endpoint('deliver_webhook', 'https://hooks.example.com/turnstile');
"""
RECURRING = "INSERT INTO turnstile.recurring (name, cron, kind, payload, queue) VALUES (%s, %s, %s, '{}', %s)"
OF_A_TENANT = """
SELECT count(turnstile.enqueue('import_csv', jsonb_build_object('file', 's3://initech/export-' || n || '.csv', 'rows', 1000 + n),
    queue => 'imports', tenant => 'initech', account => 'migration')) FROM generate_series(1, %s) AS n
"""
TO_FAIL = """
SELECT count(turnstile.enqueue('send_email', jsonb_build_object('to', 'user' || n || '@example.com', 'template', 'welcome'),
    queue => 'mail', tenant => (%s::text[])[1 + n %% 12], concurrency_key => 'smtp.example.com')) FROM generate_series(1, %s) AS n
"""
FAIL = """
SELECT count(turnstile.fail(id, attempt, %s, discard => true))
FROM turnstile.claim('{mail}', 500, worker => 'mail-' || %s, lease => '1 hour')
"""


class Scene:
    def __init__(self, database: Database, seed: int = 7):
        self.database = database
        self.conn = database.connect()
        self.chance = random.Random(seed)
        self.over = threading.Event()
        self.threads: list[threading.Thread] = []
        self.batch = 0

    def before(self, failed: int = FAILED) -> None:
        """What has happened until now: an outage of mail, and a tenant that has brought more than its share."""
        conn = self.conn
        conn.execute(TO_FAIL, [TENANTS, failed])
        worker = 0
        while conn.execute(FAIL, [OUTAGE, worker % 3 + 1]).fetchone()[0]:
            worker += 1
        conn.execute(SETTINGS)
        for name, cron, kind, queue in (
            ("nightly-invoices", "30 2 * * *", "send_invoice", "billing"),
            ("weekly-digest", "0 7 * * 1", "send_digest", "mail"),
            ("warm-reports", "*/15 6-20 * * *", "build_report", "reports"),
        ):
            conn.execute(RECURRING, [name, cron, kind, queue])
        conn.execute(OF_A_TENANT, [BACKLOG])

    def begin_batch(self, children: int = CHILDREN, slots: int = 12) -> int:
        jobs = [{"kind": "send_invoice", "payload": {"invoice": 52_000 + number, "pdf": True}, "max_attempts": 2} for number in range(children)]
        given = {"payload": {"month": "2026-10"}, "queue": "billing", "tenant": "umbrella", "slots": slots, "max_failed": 100}
        self.batch = enqueue_batch(self.conn, "invoice_run", jobs, **given)
        return self.batch

    # ---- Load ----

    def start(self, pace: float = 12) -> None:
        """`pace`: jobs a second that come."""
        self._thread(self._produce, pace)
        for queue, number in WORKERS.items():
            for each in range(number):
                self._thread(self._work, queue, f"{queue}-{each + 1}")

    def _thread(self, run, *arguments) -> None:
        self.threads.append(threading.Thread(target=self._until_over, args=[run, *arguments], daemon=True))
        self.threads[-1].start()

    def _until_over(self, run, *arguments) -> None:
        # The server may go before its workers do.
        with contextlib.suppress(psycopg.OperationalError), self.database.connect() as conn:
            run(conn, *arguments)

    def stop(self) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join(15)

    def _produce(self, conn, pace: float) -> None:
        while not self.over.wait(self.chance.expovariate(pace)):
            queue = self.chance.choices(list(QUEUES), [8, 6, 3, 1, 0.8, 1])[0]
            kind = self.chance.choice(list(QUEUES[queue]))
            tenant = self.chance.choices(TENANTS, [12, 9, 2, 6, 5, 4, 3, 3, 2, 2, 1, 1])[0]
            more: dict = {"max_attempts": 4}
            if queue == "mail":
                more["concurrency_key"] = "smtp.example.com"
            if kind == "render_video":
                more["concurrency_key"] = "gpu"
            if tenant == "acme":
                more["account"] = self.chance.choice(["eu", "us"])
            if kind == "charge_card":
                more["session"] = f"customer-{self.chance.randrange(40)}"
            payload = {"id": self.chance.randrange(10**6), "source": self.chance.choice(["api", "web", "cron"])}
            call(conn, "enqueue", kind=kind, payload=payload, queue=queue, tenant=tenant, **more)

    def _work(self, conn, queue: str, worker: str) -> None:
        chance = random.Random(worker)
        while not self.over.is_set():
            job = next(iter(call(conn, "claim_next", queue=queue, worker=worker)), None)
            if job is None:
                self.over.wait(0.2)
                continue
            usual = QUEUES[queue].get(job.kind, 0.1)
            self._run(conn, job, usual * chance.uniform(0.5, 1.6))
            if job.kind in ERRORS and chance.random() < 0.06:
                call(conn, "fail", job_id=job.id, attempt=job.attempt, error=ERRORS[job.kind], retry_in=f"{chance.randrange(20, 90)} s")
            else:
                call(conn, "complete", job_id=job.id, attempt=job.attempt, result={"ok": True})

    def _run(self, conn, job, seconds: float) -> None:
        if seconds < 1:
            self.over.wait(seconds)
            return
        for done in range(1, 5):
            self.over.wait(seconds / 4)
            call(conn, "progress", job_id=job.id, attempt=job.attempt, done=done * 25, total=100, message="frames")


@contextlib.contextmanager
def playing(database: Database) -> Iterator[Scene]:
    scene = Scene(database)
    try:
        yield scene
    finally:
        scene.stop()
