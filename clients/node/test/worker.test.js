// The rules of a worker: what a handler does is what becomes of its job.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import {
  awaitChildren, discard, enqueue, enqueueMany, Outcome, rawJson, release, retry, snooze, Undelivered, Worker,
} from 'turnstile-client'
import { endingOfError } from '../dist/outcome.js'
import { gate, job, state, states, until, withDatabase } from './support.js'

const throwing = (make) => (run) => {
  throw make(run)
}

test('results are kept, and all jobs run once', withDatabase(async ({ db, work }) => {
  const ran = []
  work({ add: (run) => { ran.push(run.job.id); return run.payload.a + 1 } })
  const added = await enqueueMany(db, Array.from({ length: 500 }, (_, a) => ({ kind: 'add', payload: { a } })))
  await until(async () => (await states(db)).completed === 500)
  assert.deepEqual(ran.sort(), added.map(({ id }) => id).sort())
  const { rows } = await db.query("SELECT count(*)::int FROM turnstile.jobs WHERE result = to_jsonb((payload ->> 'a')::int + 1)")
  assert.equal(rows[0].count, 500)
}))

test('each outcome is what the server makes of the job', withDatabase(async ({ db, work }) => {
  class Slow extends Error {}
  const handlers = {
    retry: throwing(() => retry({ in: '1 hour', error: 'later' })),
    discard: throwing(() => discard('no')),
    snooze: throwing(() => snooze({ in: '1 hour' })),
    returned: () => discard('returned'),
    error: throwing(() => new Error('bad \0 value', { cause: new TypeError('deep') })),
    slow: throwing(() => new Slow('slow')),
    code: throwing(() => Object.assign(new Error('gone'), { code: 'ECONNRESET' })),
    tested: throwing(() => new RangeError('far')),
    release: (run) => (run.job.attempt > 1 ? undefined : release()),
    undefined: throwing(() => undefined),
    object: throwing(() => ({ what: 'object' })),
    odd: throwing(() => Object.create(null)),
  }
  const ids = {}
  for (const kind of [...Object.keys(handlers), 'unknown']) ids[kind] = (await enqueue(db, kind)).id
  work(handlers, {
    retry: [
      [Slow, discard('lost')], ['ECONNRESET', (error) => retry({ in: '1 hour', error })], [(error) => error instanceof RangeError, discard()],
      [TypeError, discard('never')],
    ],
  })
  const wanted = {
    retry: 'retryable', discard: 'discarded', snooze: 'scheduled', returned: 'discarded', error: 'retryable', slow: 'discarded',
    code: 'retryable', tested: 'discarded', release: 'completed', undefined: 'retryable', object: 'retryable', odd: 'retryable',
    unknown: 'retryable',
  }
  await until(async () => {
    for (const [kind, wish] of Object.entries(wanted)) if ((await state(db, ids[kind])) !== wish) return false
    return true
  }, 'the states')
  const said = async (kind) => (await job(db, ids[kind])).error
  assert.equal(await said('retry'), 'later')
  assert.equal(await said('discard'), 'no')
  const classes = { retry: null, slow: 'Slow', error: 'Error', code: 'ECONNRESET', tested: 'RangeError', undefined: null, odd: null }
  for (const [kind, wish] of Object.entries(classes)) assert.equal((await job(db, ids[kind])).class, wish, kind)
  assert.match(await said('error'), /^Error: bad \\0 value\n\s+at [^]*\nCaused by: TypeError: deep\n/)
  assert.equal(await said('slow'), 'lost')
  assert.match(await said('tested'), /^RangeError: far\n/)
  assert.equal(await said('undefined'), 'undefined')
  assert.equal(await said('object'), '{"what":"object"}')
  assert.match(await said('unknown'), /no handler for jobs of kind 'unknown'/)
}))

test('retry curves go by the class of the error', withDatabase(async ({ db, work }) => {
  class NoSuchNumber extends Error {}
  await db.query("SELECT turnstile.set_retry_curve('*', 'NoSuchNumber', discard => true)")
  const handlers = {
    number: throwing(() => new NoSuchNumber('7')),
    named: throwing(() => retry({ error: new NoSuchNumber('8'), errorClass: 'carrier busy' })),
    ruled: throwing(() => new RangeError('far')),
    long: throwing(() => discard('no', { errorClass: 'é'.repeat(200) })),
    lone: throwing(() => discard('no', { errorClass: '\0\ud800' })),
    empty: throwing(() => discard('no', { errorClass: '' })),
  }
  const ids = {}
  for (const kind of Object.keys(handlers)) ids[kind] = (await enqueue(db, kind)).id
  work(handlers, { retry: [[RangeError, retry({ errorClass: 'out of range' })]] })
  await until(async () => (await db.query("SELECT count(*)::int FROM turnstile.jobs WHERE errors <> '[]'")).rows[0].count === 6, 'all to fail')
  const found = async (kind) => (({ state, class: name }) => [state, name])(await job(db, ids[kind]))
  assert.deepEqual(await found('number'), ['discarded', 'NoSuchNumber'])
  assert.deepEqual(await found('named'), ['retryable', 'carrier busy'])
  assert.deepEqual(await found('ruled'), ['retryable', 'out of range'])
  assert.deepEqual(await found('long'), ['discarded', 'é'.repeat(127)])
  assert.deepEqual(await found('lone'), ['discarded', '\\0\ufffd'])
  assert.deepEqual(await found('empty'), ['discarded', null])
}))

test('a code may be that of what an error wraps', () => {
  const coded = (code, cause) => Object.assign(new Error('deep', { cause }), { code })
  class Upstream extends Error {}
  const round = new Error('round')
  round.cause = round
  const cases = [
    [new TypeError('fetch failed', { cause: coded('ECONNREFUSED') }), true, 'ECONNREFUSED'],
    [new Error('a', { cause: new Error('b', { cause: new Error('c', { cause: coded('ECONNREFUSED') }) }) }), true, 'ECONNREFUSED'],
    [new AggregateError([coded('ENOENT'), coded('ECONNREFUSED')]), true, 'ENOENT'],
    [new TypeError('fetch failed', { cause: new AggregateError([coded('ECONNREFUSED')]) }), true, 'ECONNREFUSED'],
    [new Upstream('down', { cause: coded('ECONNREFUSED') }), true, 'Upstream'],
    [coded('ENOENT', coded('ECONNREFUSED')), true, 'ENOENT'],
    [new TypeError('a bug'), false, 'TypeError'],
    [new Error('text', { cause: 'ECONNREFUSED' }), false, 'Error'],
    [Object.assign(new Error('number'), { code: 7 }), false, 'Error'],
    [new DOMException('late', 'TimeoutError'), false, 'TimeoutError'],
    [round, false, 'Error'],
    [{ code: 'ECONNREFUSED' }, true, 'ECONNREFUSED'],
  ]
  for (const [error, fits, name] of cases) {
    const { verb, errorClass } = endingOfError(error, [['ECONNREFUSED', discard()]])
    assert.deepEqual([verb, errorClass], [fits ? 'discard' : 'fail', name], String(error))
  }
})

test('a host that fetch cannot reach is told by its code', withDatabase(async ({ db, work }) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${server.address().port}`
  await new Promise((closed) => server.close(closed))
  const { id } = await enqueue(db, 'call')
  work({ call: () => fetch(url) }, { retry: [['ECONNREFUSED', retry({ in: '1 hour' })], [TypeError, discard()]] })
  await until(async () => (await job(db, id)).error)
  const { state, class: name } = await job(db, id)
  assert.deepEqual([state, name], ['retryable', 'ECONNREFUSED'])
}))

const CYCLE = {}
CYCLE.cycle = CYCLE
for (const [name, result] of Object.entries({ cycle: CYCLE, NUL: '\0', function: () => {}, bigint: 1n, surrogate: '\ud800' })) {
  test(`a result that cannot be kept (${name}) fails its run and no other`, withDatabase(async ({ db, work }) => {
    const bad = (await enqueue(db, 'bad', {}, { maxAttempts: 1 })).id
    const good = (await enqueue(db, 'good')).id
    work({ bad: () => result, good: () => 'fine' })
    await until(async () => (await state(db, bad)) === 'discarded' && (await state(db, good)) === 'completed', 'both to end')
    assert.equal((await job(db, good)).result, 'fine')
  }))
}

test('payloads and results keep what JSON can say', withDatabase(async ({ db, work }) => {
  const payload = '{"big": 123456789012345678901234567890.5, "__proto__": {"a": 1}, "text": "\\ud83d\\ude00 ä"}'
  const seen = []
  work({ raw: (run) => { seen.push(run.payload, run.metadata); return rawJson(run.job.payloadText) }, parsed: (run) => run.payload })
  const raw = (await enqueue(db, 'raw', rawJson(payload), { metadata: { m: [null] } })).id
  const parsed = (await enqueue(db, 'parsed', rawJson(payload))).id
  await until(async () => (await states(db)).completed === 2)
  const { rows } = await db.query('SELECT result = $2::jsonb AS same, result AS kept FROM turnstile.jobs WHERE id = ANY ($1) ORDER BY id', [[raw, parsed], payload])
  assert.equal(rows[0].same, true)
  assert.deepEqual(Object.keys(rows[1].kept).sort(), ['__proto__', 'big', 'text'])
  assert.equal(seen[0].text, '😀 ä')
  assert.deepEqual(seen[1], { m: [null] })
}))

test('ids beyond 2^53 stay what they are', withDatabase(async ({ db, work }) => {
  await db.query("SELECT setval('turnstile.job_id_seq', 9007199254740993)")
  const added = await enqueue(db, 'big')
  assert.equal(added.id, '9007199254740994')
  work({ big: (run) => run.job.id })
  await until(async () => (await states(db)).completed === 1)
  assert.equal((await job(db, added.id)).result, added.id)
}))

test('a run waits for its children, and goes on where none is live', withDatabase(async ({ db, database, work }) => {
  const parent = async (run) => {
    if (run.job.children) return run.job.children
    const own = new pg.Client({ database })
    await own.connect()
    await enqueueMany(own, Array.from({ length: 3 }, () => ({ kind: 'child', parent: run.job.id })))
    await own.end()
    if (run.payload.late) await until(async () => (await states(db)).completed >= 3)
    throw awaitChildren()
  }
  const children = { completed: 3, discarded: 0, cancelled: 0 }
  work({ parent, child: () => {}, alone: () => awaitChildren() })
  const ids = [(await enqueue(db, 'parent', { late: true })).id]
  await until(async () => (await state(db, ids[0])) === 'completed')
  ids.push((await enqueue(db, 'parent')).id)
  await until(async () => (await state(db, ids[1])) === 'completed')
  for (const id of ids) assert.deepEqual((await job(db, id)).result, children)
  const alone = (await enqueue(db, 'alone', {}, { maxAttempts: 1 })).id
  await until(async () => (await state(db, alone)) === 'discarded')
  assert.match((await job(db, alone)).error, /waits for children/)
}))

test('a run hears of its cancellation', withDatabase(async ({ db, work }) => {
  const heard = []
  const long = async (run) => {
    await setTimeout(30_000, undefined, { signal: run.signal }).catch((error) => heard.push(run.stopped, error.name))
    run.signal.throwIfAborted()
  }
  work({ long }, { heartbeat: 100, hooks: { log() {}, stopping: (run, reason) => heard.push(reason) } })
  const { id } = await enqueue(db, 'long')
  await until(async () => (await state(db, id)) === 'running')
  await db.query('SELECT turnstile.cancel($1)', [id])
  await until(async () => (await state(db, id)) === 'cancelled')
  assert.deepEqual(heard, ['cancelled', 'cancelled', 'AbortError'].sort().reverse())
}))

test('heartbeats keep long runs alive', withDatabase(async ({ db, work }) => {
  const over = gate()
  work({ long: () => over.opened }, { lease: '1 second' })
  const { id } = await enqueue(db, 'long')
  await until(async () => (await state(db, id)) === 'running')
  const { rows: [{ lease_expires_at: first }] } = await db.query('SELECT lease_expires_at FROM turnstile.job')
  const later = "SELECT lease_expires_at > $1::timestamptz + interval '2 seconds' AS later FROM turnstile.job"
  await until(async () => (await db.query(later, [first])).rows[0].later)
  assert.equal((await db.query('SELECT turnstile.rescue()')).rows[0].rescue, 0)
  over.open()
  await until(async () => (await state(db, id)) === 'completed')
  assert.equal((await job(db, id)).attempt, 1)
}))

test('what has lost its run is told, and ends nothing', withDatabase(async ({ db, work }) => {
  const stopped = []
  const long = async (run) => {
    if (run.job.attempt > 1) return 'new'
    await new Promise((resolve) => run.signal.addEventListener('abort', resolve))
    stopped.push(run.stopped)
    throw new Error('interrupted')
  }
  work({ long }, { heartbeat: 100 })
  const { id } = await enqueue(db, 'long')
  await until(async () => (await state(db, id)) === 'running')
  await db.query("SELECT turnstile.fail($1, 1, 'taken away', '0')", [id])
  await until(async () => (await job(db, id)).result === 'new')
  await until(() => stopped.length === 1)
  assert.deepEqual(stopped, ['lost'])
  const { rows } = await db.query("SELECT jsonb_array_length(errors) AS errors FROM turnstile.jobs WHERE id = $1", [id])
  assert.equal(rows[0].errors, 1)
}))

test('a run whose lease is over by our own clock is told so while the server is away', withDatabase(async ({ db, work }) => {
  let isAway = false
  const connection = () => {
    if (isAway) throw new Error('away')
    return { database: db.database }
  }
  const stopped = []
  const long = async (run) => {
    if (run.job.attempt > 1) return
    await new Promise((resolve) => run.signal.addEventListener('abort', resolve))
    stopped.push(run.stopped)
  }
  work({ long }, { connection, lease: 1000 })
  await enqueue(db, 'long')
  await until(async () => (await states(db)).running === 1)
  isAway = true
  await hangUpAll(db)
  await until(() => stopped.length === 1)
  assert.deepEqual(stopped, ['lost'])
  isAway = false
  await until(async () => (await states(db)).completed === 1)
}))

const hangUpAll = (db) =>
  db.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()')

test('lost connections lose nothing', withDatabase(async ({ db, work }) => {
  const over = gate()
  let losses = 0
  const hooks = { log() {}, disconnected: () => (losses += 1) }
  work({ long: () => over.opened, short: () => {} }, { hooks })
  const { id } = await enqueue(db, 'long')
  await until(async () => (await state(db, id)) === 'running')
  for (let round = 0; round < 3; round += 1) {
    await hangUpAll(db)
    await enqueueMany(db, Array.from({ length: 20 }, () => ({ kind: 'short' })))
    await setTimeout(100)
  }
  over.open()
  await until(async () => (await states(db)).completed === 61)
  assert.equal((await job(db, id)).attempt, 1)
  assert.ok(losses > 0)
}))

test('an end that a trigger refuses is told again, and keeps no other', withDatabase(async ({ db, work }) => {
  await db.query(`CREATE TABLE closed ();
    CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
      IF OLD.kind = 'bad' AND to_regclass('public.closed') IS NOT NULL THEN RAISE 'closed'; END IF; RETURN OLD; END$$;
    CREATE TRIGGER no BEFORE DELETE ON turnstile.job FOR EACH ROW EXECUTE FUNCTION no()`)
  const bad = (await enqueue(db, 'bad')).id
  await enqueueMany(db, Array.from({ length: 10 }, () => ({ kind: 'good' })))
  work({ '*': (run) => run.job.kind })
  await until(async () => (await states(db)).completed === 10)
  assert.equal((await states(db)).running, 1)
  await db.query('DROP TABLE closed')
  await until(async () => (await state(db, bad)) === 'completed')
  assert.equal((await job(db, bad)).attempt, 1)
}))

test('a job that is locked holds up no other', withDatabase(async ({ db, database, work }) => {
  const over = gate()
  work({ locked: () => over.opened, short: () => {} }, { lease: '6 seconds' })
  const { id } = await enqueue(db, 'locked')
  await until(async () => (await state(db, id)) === 'running')
  const other = new pg.Client({ database })
  await other.connect()
  await other.query('BEGIN')
  await other.query('SELECT FROM turnstile.job WHERE id = $1 FOR UPDATE', [id])
  over.open()
  await enqueueMany(db, Array.from({ length: 30 }, () => ({ kind: 'short' })))
  await until(async () => (await states(db)).completed === 30)
  await other.query('ROLLBACK')
  await other.end()
  await until(async () => (await state(db, id)) === 'completed')
}))

test('progress is seen', withDatabase(async ({ db, work }) => {
  const over = gate()
  work({ long: async (run) => { run.progress(1, 2, 'half'); run.progress(2, 2, 'all \0'); await over.opened } })
  await enqueue(db, 'long')
  await until(async () => (await db.query("SELECT progress ->> 'message' AS message FROM turnstile.job")).rows[0].message === 'all \\0')
  over.open()
}))

test('hooks hear of runs, and may fail', withDatabase(async ({ db, work }) => {
  const heard = []
  const failing = {
    log() { throw new Error('hook') },
    around: () => Promise.reject(new Error('hook')),
    ended: (run, ending) => { heard.push([run.job.kind, ending.verb]); throw new Error('hook') },
    claimed: async () => { throw new Error('hook') },
  }
  const around = { log() {}, around: async (run, handler) => { heard.push('before'); const found = await handler(); heard.push(found); return 'ignored' } }
  const errors = console.error
  console.error = () => {}
  try {
    work({ a: () => 'own' }, { hooks: [around, failing] })
    const { id } = await enqueue(db, 'a')
    await until(async () => (await state(db, id)) === 'completed')
    assert.equal((await job(db, id)).result, 'own')
    assert.deepEqual(heard.slice(0, 1), ['before'])
    assert.ok(heard.some((each) => each[1] === 'complete'))
  } finally {
    console.error = errors
  }
}))

test('where sessions are SERIALIZABLE by default, claims are not', withDatabase(async ({ db, database, work }) => {
  await db.query(`ALTER DATABASE ${database} SET default_transaction_isolation = 'serializable'`)
  work({ a: () => 1 })
  await enqueueMany(db, Array.from({ length: 30 }, () => ({ kind: 'a' })))
  await until(async () => (await states(db)).completed === 30)
}))

test('a statement_timeout is a wake-up', withDatabase(async ({ db, database, work }) => {
  await db.query(`ALTER DATABASE ${database} SET statement_timeout = '300ms'`)
  let idle = 0
  work({ a: () => {} }, { hooks: { log() {}, idle: () => (idle += 1) } })
  await until(() => idle > 2)
  await enqueue(db, 'a')
  await until(async () => (await states(db)).completed === 1)
}))

test('what outcomes are', () => {
  assert.ok(retry() instanceof Outcome && retry() instanceof Error)
  assert.throws(() => retry({ in: 'soon' }), TypeError)
  assert.throws(() => snooze({}), TypeError)
  assert.throws(() => snooze({ in: -1 }), TypeError)
  assert.equal(new Undelivered(2).runs, 2)
})

test('bad settings are refused', () => {
  for (const settings of [
    { queues: [] }, { queues: 'default' }, { queues: [1] }, { queues: Array(33).fill('q') }, { concurrency: 0 }, { concurrency: 1.5 },
    { concurrency: NaN }, { lease: 0 }, { lease: -1 }, { wait: 0 }, { heartbeat: 0 }, { grace: 'soon' }, { lease: '100 days' },
  ]) {
    assert.throws(() => new Worker(settings), { name: /RangeError|TypeError/ }, JSON.stringify(settings))
  }
})
