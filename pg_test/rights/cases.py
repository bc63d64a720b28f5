"""What is tried: statements, and which permissions each needs. `{waiting}`, `{running}` and `{finished}` stand for jobs of the
target that the case is about, `{queue}` and `{tenant}` for its names."""

from dataclasses import dataclass

from rights.world import ALL, TARGETS


@dataclass(frozen=True)
class Case:
    name: str
    statement: str
    # All of them: (verb, queue, tenant).
    needs: tuple
    target: str | None = None
    # The verbs for which any permission will do.
    any_of: str | None = None


def literal(name: str | None) -> str:
    return "NULL" if name is None else f"'{name}'"


def _row(target: str) -> str:
    queue, tenant = TARGETS[target]
    return f"{literal(queue)}, {literal(tenant)}"


ENQUEUE = "SELECT turnstile.enqueue('{kind}', queue => {queue}, tenant => {tenant}{more})"


def _enqueue(name: str, lands: tuple, kind="k", queue=None, more="", also=()) -> Case:
    _, tenant = lands
    statement = ENQUEUE.format(kind=kind, queue=literal(queue), tenant=literal(tenant), more=more)
    return Case(f"enqueue: {name}", statement, (("enqueue", *lands), *also))


def enqueues() -> list[Case]:
    cases = [_enqueue(name, lands, queue=lands[0]) for name, lands in TARGETS.items()]
    for name, (queue, tenant) in TARGETS.items():
        element = {"kind": "k", "queue": queue} | ({"tenant": tenant} if tenant else {})
        text = str(element).replace("'", '"')
        own = '{"kind": "k", "queue": "mail", "tenant": "acme"}'
        for how, more in (("", ""), (" by key", ', "unique_key": "many"')):
            jobs = f"[{own}, {text[:-1]}{more}}}]"
            cases.append(
                Case(f"enqueue_many{how}: {name}", f"SELECT * FROM turnstile.enqueue_many('{jobs}')",
                     (("enqueue", "mail", "acme"), ("enqueue", queue, tenant)))
            )  # fmt: skip
        cases.append(
            Case(f"enqueue by columns: {name}",
                 f"SELECT turnstile.enqueue('k', queue => {literal(queue)}, tenant => {literal(tenant)}, unique_by => '{{kind}}')",
                 (("enqueue", queue, tenant),))
        )  # fmt: skip
        batch = f"SELECT turnstile.enqueue_batch('k', queue => {literal(queue)}, tenant => {literal(tenant)}, children => '[{{\"kind\": \"k\"}}]')"
        cases.append(Case(f"enqueue_batch: {name}", batch, (("enqueue", queue, tenant),)))
        schedule = f"SELECT turnstile.schedule('n', '* * * * *', 'k', queue => {literal(queue)}, tenant => {literal(tenant)})"
        cases.append(Case(f"schedule: {name}", schedule, (("enqueue", queue, tenant),)))
    cases.append(Case("enqueue_if_new", "SELECT * FROM turnstile.enqueue_if_new('k', queue => 'mail')", (("enqueue", "mail", None),)))
    replace = ", unique_key => 'waiting {}', unique_mode => 'replace'"
    return [
        *cases,
        _enqueue("routed to the own queue", ("mail", "acme"), kind="to mail"),
        _enqueue("routed to another queue", ("sms", "acme"), kind="to sms"),
        _enqueue("left out, to default", ("default", "acme")),
        _enqueue("the own queue, overridden", ("sms", "acme"), kind="always sms", queue="mail"),
        _enqueue("another queue, overridden", ("mail", "acme"), kind="always mail", queue="sms"),
        _enqueue("replaces an own job", ("mail", "acme"), queue="mail", more=replace.format("mail")),
        _enqueue(
            "replaces a job of another queue", ("mail", "acme"), queue="mail", more=replace.format("sms"),
            also=(("enqueue", "sms", "acme"),),
        ),
        _enqueue("the key of a job that runs", ("mail", "acme"), queue="mail", more=replace.format("mail").replace("waiting", "running")),
    ]  # fmt: skip


def claims() -> list[Case]:
    def work(*queues):
        return tuple(("work", queue, ALL) for queue in queues)

    return [
        Case("claim_next: own", "SELECT * FROM turnstile.claim_next('mail')", work("mail")),
        Case("claim_next: other", "SELECT * FROM turnstile.claim_next('sms')", work("sms")),
        Case("claim_next: default", "SELECT * FROM turnstile.claim_next()", work("default")),
        Case("claim_own: own", "SELECT * FROM turnstile.claim_own('{mail}')", work("mail")),
        Case("claim_own: other", "SELECT * FROM turnstile.claim_own('{sms}')", work("sms")),
        Case("claim_next: *", "SELECT * FROM turnstile.claim_next('*')", (), any_of="work"),
        Case("claim_next: * and a wait", "SELECT * FROM turnstile.claim_next('*', wait => '0')", (), any_of="work"),
        Case("claim: own", "SELECT * FROM turnstile.claim('{mail}', 9)", work("mail")),
        Case("claim: own and other", "SELECT * FROM turnstile.claim('{mail,sms}', 9)", work("mail", "sms")),
        Case("claim: own and *", "SELECT * FROM turnstile.claim('{mail,*}', 9)", work("mail"), any_of="work"),
        Case("listen_channel: own", "SELECT turnstile.listen_channel('mail')", work("mail")),
        Case("listen_channel: other", "SELECT turnstile.listen_channel('sms')", work("sms")),
        Case("listen_channel: *", "SELECT turnstile.listen_channel('*')", work(ALL)),
        Case("endpoint_of", "SELECT * FROM turnstile.endpoint_of('k')", (), any_of="work manage"),
        Case("wait_for_job: own", "CALL turnstile.wait_for_job('{mail}', '0')", work("mail")),
        Case("wait_for_job: own and other", "CALL turnstile.wait_for_job('{mail,sms}', '0')", work("mail", "sms")),
        Case("wait_for_job: *", "CALL turnstile.wait_for_job('{*}', '0')", (), any_of="work"),
    ]


ENDS = {
    "complete": "SELECT turnstile.complete({running}, 1)",
    "complete, a stale attempt": "SELECT turnstile.complete({running}, 7)",
    "complete_and_claim_next": "SELECT * FROM turnstile.complete_and_claim_next({running}, 1)",
    "fail": "SELECT turnstile.fail({running}, 1)",
    "fail, finished": "SELECT turnstile.fail({finished}, 1)",
    "release": "SELECT turnstile.release({running}, 1)",
    "snooze": "SELECT turnstile.snooze({running}, 1, '1 day')",
    "heartbeat": "SELECT turnstile.heartbeat({running}, 1)",
    "heartbeat, a stale attempt": "SELECT turnstile.heartbeat({running}, 7)",
    "progress": "SELECT turnstile.progress({running}, 1, 1)",
    "report_endpoint": "SELECT turnstile.report_endpoint({running}, 1, 'works')",
    "await_children": "SELECT turnstile.await_children({running}, 1)",
    "discard a run": "SELECT turnstile.discard({running}, 1)",
}
MANAGED = {
    "cancel": "SELECT turnstile.cancel({waiting})",
    "cancel, running": "SELECT turnstile.cancel({running})",
    "cancel, finished": "SELECT turnstile.cancel({finished})",
    "discard": "SELECT turnstile.discard({waiting})",
    "retry": "SELECT turnstile.retry({finished})",
    "retry, running": "SELECT turnstile.retry({running})",
    "reprioritize": "SELECT turnstile.reprioritize({waiting}, 7)",
    "why_waiting": "SELECT * FROM turnstile.why_waiting({waiting})",
    "why_waiting, running": "SELECT * FROM turnstile.why_waiting({running})",
    "wait_for_end": "CALL turnstile.wait_for_end({waiting}, '0')",
    "wait_estimate": "SELECT * FROM turnstile.wait_estimate({waiting})",
    "wait_estimate, finished": "SELECT * FROM turnstile.wait_estimate({finished})",
    "UPDATE": "UPDATE turnstile.job SET priority = 7 WHERE id = {waiting}",
    "DELETE": "DELETE FROM turnstile.job WHERE id = {waiting}",
    "MERGE, update": "MERGE INTO turnstile.job USING (VALUES ({waiting})) AS source (id) ON job.id = source.id"
    " WHEN MATCHED THEN UPDATE SET priority = 7",
    "MERGE, delete": "MERGE INTO turnstile.job USING (VALUES ({waiting})) AS source (id) ON job.id = source.id"
    " WHEN MATCHED THEN DELETE",
}
INSERTED = {
    "INSERT": "INSERT INTO turnstile.job (kind, queue, tenant) VALUES ('k', {row})",
    "INSERT of two": "INSERT INTO turnstile.job (kind, queue, tenant) VALUES ('k', 'mail', 'acme'), ('k', {row})",
    "MERGE, insert": "MERGE INTO turnstile.job USING (VALUES (0)) AS source (id) ON job.id = source.id"
    " WHEN NOT MATCHED THEN INSERT (kind, queue, tenant) VALUES ('k', {row})",
    "COPY": "COPY turnstile.job (kind, queue, tenant) FROM STDIN\nk\t{copied}\n",
}


def ends_and_others() -> list[Case]:
    cases = []
    for target, (queue, tenant) in TARGETS.items():
        for name, statement in ENDS.items():
            cases.append(Case(f"{name}: {target}", statement, (("work", queue, ALL),), target))
        for name, statement in MANAGED.items():
            cases.append(Case(f"{name}: {target}", statement, (("manage", queue, tenant),), target))
        for name, statement in INSERTED.items():
            copied = f"{queue}\t{tenant or chr(92) + 'N'}"
            needs = [("enqueue", queue, tenant)] + ([("enqueue", "mail", "acme")] if "two" in name else [])
            text = statement.replace("{row}", _row(target)).replace("{copied}", copied)
            cases.append(Case(f"{name}: {target}", text, tuple(needs)))
        # Where an UPDATE takes a job is checked like where it takes it from.
        change = f"UPDATE turnstile.job SET queue = {literal(queue)}, tenant = {literal(tenant)} WHERE id = {{waiting}}"
        cases.append(Case(f"UPDATE to: {target}", change, (("manage", "mail", "acme"), ("manage", queue, tenant)), "own"))
        claim = f"SELECT * FROM turnstile.complete_and_claim_next({{running}}, 1, queue => {literal(queue)})"
        many = f"SELECT * FROM turnstile.complete_and_claim('{{}}', '{{}}', ARRAY[{literal(queue)}])"
        cases.append(Case(f"complete many and claim: {target}", many, (("work", queue, ALL),)))
        cases.append(Case(f"complete and claim: {target}", claim, (("work", "mail", ALL), ("work", queue, ALL)), "own"))
    return cases


FILTERS = {
    "queue => 'mail', tenant => 'acme'": ("mail", "acme"),
    "queue => 'sms', tenant => 'acme'": ("sms", "acme"),
    "tenant => 'acme'": (ALL, "acme"),
    "tenant => 'acme', state => 'retryable'": (ALL, "acme"),
    "tenant => 'globex'": (ALL, "globex"),
    "queue => 'mail'": ("mail", ALL),
    "kind => 'k'": (ALL, ALL),
    "older_than => '0'": (ALL, ALL),
    "tenant => '*'": (ALL, ALL),
}
OPERATED = [
    "set_tenant('acme')", "set_tenant('acme', slots => 3)", "set_account('acme', 'a', slots => 3)",
    "set_concurrency('c', slots => 3)", "pause_tenant('acme')", "resume_tenant('acme')", "pause_account('acme', 'a')",
    "resume_account('acme', 'a')", "pause_session('mail', 'acme', 's')", "resume_session('mail', 'acme', 's')",
    "set_route('k', queue => 'mail')", "drop_route('to sms')", "reroute('k')", "set_endpoint('k', 'http://a.example')", "drop_endpoint('k')", "set_retry_curve('k', base => '1 minute')", "drop_retry_curve('k', '*')",
    "pause_concurrency('c')", "resume_concurrency('c')", "rescue()", "promote()", "fire_recurring()", "check()",
    "rebuild()", "prune_unique_keys()", "recent()", "recent('oldest')", "recent_failures()",
    "stat_reset()", "set_batch(1)",
]  # fmt: skip
OF_A_QUEUE = ["set_queue('{}')", "set_queue('{}', max_running => 3)", "pause_queue('{}')", "resume_queue('{}')"]
SETTINGS = {
    "INSERT INTO turnstile.queue (name) VALUES ('fresh')": ("fresh", ALL),
    "UPDATE turnstile.queue SET paused = true WHERE name = '*'": (ALL, ALL),
    "INSERT INTO turnstile.tenant (name) VALUES ('fresh')": (ALL, ALL),
    "INSERT INTO turnstile.account (tenant, name) VALUES ('acme', 'fresh')": (ALL, ALL),
    "INSERT INTO turnstile.concurrency (key) VALUES ('fresh')": (ALL, ALL),
    "INSERT INTO turnstile.paused_session (queue, session) VALUES ('mail', 's')": (ALL, ALL),
    "INSERT INTO turnstile.route (pattern) VALUES ('fresh')": (ALL, ALL),
    "DELETE FROM turnstile.route": (ALL, ALL),
    "INSERT INTO turnstile.endpoint (pattern, url) VALUES ('fresh', 'http://a.example')": (ALL, ALL),
    "DELETE FROM turnstile.endpoint": (ALL, ALL),
    "INSERT INTO turnstile.retry_curve (kind, error_class) VALUES ('fresh', '*')": (ALL, ALL),
    "DELETE FROM turnstile.retry_curve": (ALL, ALL),
    "INSERT INTO turnstile.slowed_key (key, one_at_a_time) VALUES ('fresh', true)": (ALL, ALL),
}


def of_operators() -> list[Case]:
    cases = []
    for verb in ("cancel_many", "discard_many", "retry_many", "delete_many"):
        for filters, (queue, tenant) in FILTERS.items():
            if "retryable" in filters and verb in ("cancel_many", "delete_many"):
                continue
            cases.append(Case(f"{verb}({filters})", f"SELECT turnstile.{verb}({filters})", (("manage", queue, tenant),)))
    cases += [Case(call, f"SELECT * FROM turnstile.{call}", (("manage", ALL, ALL),)) for call in OPERATED]
    for call in OF_A_QUEUE:
        for queue in ("mail", ALL):
            text = call.format(queue)
            cases.append(Case(text, f"SELECT * FROM turnstile.{text}", (("manage", queue, ALL),)))
    cases += [Case(change, change, (("manage", *needed),)) for change, needed in SETTINGS.items()]
    return cases


CASES = [*enqueues(), *claims(), *ends_and_others(), *of_operators()]
assert len({case.name for case in CASES}) == len(CASES)
