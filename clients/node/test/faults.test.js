// What rules, hooks, errors and listeners may do without harm to the worker or to other runs.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { awaitResult, discard, enqueue, enqueueMany } from 'turnstile-client'
import { gate, job, state, states, until, withDatabase } from './support.js'

/** Calls `work` and returns what the process was warned of meanwhile, unhandled rejections among it. */
async function warningsOf(work) {
  const found = []
  const warn = (warning) => found.push(warning)
  process.on('warning', warn)
  process.on('unhandledRejection', warn)
  try {
    await work()
    await setTimeout(20)
  } finally {
    process.off('warning', warn)
    process.off('unhandledRejection', warn)
  }
  return found
}

test('a rule that throws, and errors that throw when they are read, fail their runs and no other', withDatabase(async ({ db, work }) => {
  const odd = new Error('odd')
  for (const name of ['stack', 'message', 'cause']) Object.defineProperty(odd, name, { get() { throw new RangeError(name) } })
  const proxy = new Proxy({}, { getPrototypeOf() { throw new Error('prototype') }, get() { throw new Error('property') } })
  const thrown = { rule: new RangeError('rule'), odd, proxy, cyclic: Object.assign(new Error('cyclic'), {}) }
  thrown.cyclic.cause = thrown.cyclic
  const handlers = Object.fromEntries(Object.entries(thrown).map(([kind, error]) => [kind, () => { throw error }]))
  const ids = {}
  for (const kind of [...Object.keys(thrown), 'good']) ids[kind] = (await enqueue(db, kind)).id
  work({ ...handlers, good() {} }, { retry: [[RangeError, () => { throw new Error('no outcome') }], ['X', discard()]] })
  await until(async () => {
    const { completed, retryable } = await states(db)
    return completed === 1 && retryable === 4
  }, 'four to fail and one to complete')
  assert.match((await job(db, ids.rule)).error, /^RangeError: rule\n[^]*The rule for it has failed: Error: no outcome/)
  assert.match((await job(db, ids.cyclic)).error, /Caused by: Error: cyclic/)
}))

test('a hook that looks away while the handler fails', withDatabase(async ({ db, work }) => {
  const slow = { log() {}, around: async (run, handler) => { const over = handler(); await setTimeout(50); await over } }
  const { id } = await enqueue(db, 'bad', {}, { maxAttempts: 1 })
  const warnings = await warningsOf(async () => {
    work({ bad() { throw new Error('bad') } }, { hooks: slow })
    await until(async () => (await state(db, id)) === 'discarded')
  })
  assert.deepEqual(warnings, [])
  assert.match((await job(db, id)).error, /^Error: bad/)
}))

test('sleeping again and again leaves nothing behind at signals', withDatabase(async ({ db, work }) => {
  const { id } = await enqueue(db, 'never', {}, { queue: 'other' })
  let idle = 0
  const warnings = await warningsOf(async () => {
    work({}, { bindToConnection: true, wait: 20, hooks: { log() {}, idle: () => (idle += 1) } })
    await until(() => idle > 15)
    const waits = new AbortController()
    const waiting = awaitResult((text, values) => db.query(text.replace('CALL turnstile.wait_for_end($1::text::bigint, $2::text::interval)',
      "SELECT pg_sleep(0.01) WHERE $1 <> $2"), values).then(({ rows }) => rows), id, { timeout: '1 hour', signal: waits.signal })
    await setTimeout(500)
    waits.abort(new Error('enough'))
    await assert.rejects(waiting, /enough/)
  })
  assert.deepEqual(warnings, [])
}))

test('a run that was told that it is lost keeps its job no longer', withDatabase(async ({ db, work }) => {
  let isAway = false
  const over = gate()
  const connection = () => {
    if (isAway) throw new Error('away')
    return { database: db.database }
  }
  const stopped = gate()
  work({ deaf: (run) => { run.signal.addEventListener('abort', stopped.open); return over.opened } }, { connection, lease: 1000, concurrency: 1 })
  const { id } = await enqueue(db, 'deaf')
  await until(async () => (await state(db, id)) === 'running')
  isAway = true
  await db.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()')
  await stopped.opened
  isAway = false
  await until(async () => (await db.query('SELECT turnstile.rescue()')).rows[0].rescue === 1 || (await state(db, id)) !== 'running')
  over.open()
}))

test('what was lost in a stall does not begin', withDatabase(async ({ db, work }) => {
  const began = []
  // The first handler blocks the loop, and with it the heartbeats, for longer than the lease.
  const blocks = (run) => {
    const until = performance.now() + (run.job.attempt === 1 ? 1500 : 0)
    began.push(['blocks', run.job.attempt])
    while (performance.now() < until);
  }
  await db.query("SELECT turnstile.set_queue('*', retry_base => '10 milliseconds')")
  await enqueueMany(db, [{ kind: 'blocks' }, { kind: 'late' }])
  work({ blocks, late: (run) => { began.push(['late', run.job.attempt]) } }, { lease: '1 second' })
  await until(async () => (await db.query('SELECT turnstile.rescue()')) && (await states(db)).completed === 2)
  assert.deepEqual([began[0], began.filter(([kind]) => kind === 'late')], [['blocks', 1], [['late', 2]]])
}))

test('one process, several workers, and no job twice', withDatabase(async ({ db, work }) => {
  const ran = new Map()
  const short = async (run) => { ran.set(run.job.id, (ran.get(run.job.id) ?? 0) + 1); if (run.payload.n % 7 === 0) await setTimeout(5) }
  await enqueueMany(db, Array.from({ length: 1000 }, (_, n) => ({ kind: 'short', payload: { n } })))
  const workers = [1, 2, 3].map((n) => work({ short }, { name: `worker ${n}`, concurrency: 20 }))
  await until(() => ran.size > 300)
  await workers[0].stop()
  await until(async () => (await states(db)).completed === 1000)
  assert.deepEqual([...new Set(ran.values())], [1])
}))
