// How a worker stops, and what becomes of its runs.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { enqueue, release, Undelivered } from 'turnstile-client'
import { gate, job, state, states, until, urlOf, withDatabase } from './support.js'

test('a soft stop lets runs end', withDatabase(async ({ db, work }) => {
  const over = gate()
  const worker = work({ long: () => over.opened }, { concurrency: 1 })
  const first = (await enqueue(db, 'long')).id
  await until(async () => (await state(db, first)) === 'running')
  const second = (await enqueue(db, 'long')).id
  const stopped = worker.stop()
  await setTimeout(100)
  over.open()
  await stopped
  assert.deepEqual([await state(db, first), await state(db, second)], ['completed', 'available'])
  await worker.over
}))

test('a worker that sleeps stops at once', withDatabase(async ({ db, work }) => {
  const idle = gate()
  const worker = work({}, { hooks: { log() {}, idle: idle.open } })
  await idle.opened
  await until(async () => (await db.query("SELECT FROM pg_stat_activity WHERE query LIKE 'CALL turnstile.wait_for_job%' AND state = 'active' AND datname = current_database()")).rowCount === 1)
  await worker.stop()
  await worker.over
  await until(async () => (await db.query('SELECT FROM pg_stat_activity WHERE datname = current_database()')).rowCount === 1)
}))

test('a hard stop tells runs, and gives back what goes on', withDatabase(async ({ db, work }) => {
  const over = gate()
  const told = []
  const listens = async (run) => {
    await new Promise((resolve) => run.signal.addEventListener('abort', resolve))
    told.push(run.stopped)
    throw run.payload.released ? release() : new Error('interrupted')
  }
  const worker = work({ listens, deaf: () => over.opened })
  await enqueue(db, 'listens')
  await enqueue(db, 'listens', { released: true })
  await enqueue(db, 'deaf')
  await until(async () => (await states(db)).running === 3)
  await worker.stop({ hard: true, grace: 300 })
  assert.deepEqual(await states(db), { available: 3 })
  assert.deepEqual(told, ['shutdown', 'shutdown'])
  const { rows } = await db.query('SELECT bool_and(attempt = uncounted) AS uncounted FROM turnstile.job')
  assert.equal(rows[0].uncounted, true)
  over.open()
  await setTimeout(50)
  assert.deepEqual(await states(db), { available: 3 })
}))

test('what is given back or cancelled is not logged as failed', withDatabase(async ({ db, work }) => {
  const logged = []
  const ended = []
  const interrupted = (run) => new Promise((_, reject) => run.signal.addEventListener('abort', () => reject(new Error('interrupted'))))
  const hooks = {
    log: (level, message, about) => about.attempt === 1 && logged.push([about.kind, level, message, about.error]),
    ended: (run, { verb }) => ended.push([run.job.kind, verb]),
  }
  const worker = work({ '*': interrupted }, { hooks, heartbeat: 100 })
  const cancelled = (await enqueue(db, 'cancelled')).id
  await enqueue(db, 'stopped')
  await until(async () => (await states(db)).running === 2)
  await db.query('SELECT turnstile.cancel($1)', [cancelled])
  await until(async () => (await state(db, cancelled)) === 'cancelled')
  await worker.stop({ hard: true })
  assert.deepEqual(await states(db), { available: 1, cancelled: 1 })
  assert.deepEqual(logged, [['cancelled', 'info', 'a run is cancelled', undefined], ['stopped', 'info', 'a run is given back', undefined]])
  assert.deepEqual(ended, [['cancelled', 'fail'], ['stopped', 'release']])
}))

test('a second stop is harder than the first, and never softer', withDatabase(async ({ db, work }) => {
  const worker = work({ deaf: () => new Promise(() => {}) })
  await enqueue(db, 'deaf')
  await until(async () => (await states(db)).running === 1)
  const soft = worker.stop({ drain: '1 hour' })
  worker.stop({ hard: true, grace: 100 })
  worker.stop({ drain: '1 hour' })
  await soft
  assert.deepEqual(await states(db), { available: 1 })
}))

test('a worker that stops while the server is away says what it could not tell', withDatabase(async ({ db, work }) => {
  let isAway = false
  const over = gate()
  const connection = () => {
    if (isAway) throw new Error('away')
    return { database: db.database }
  }
  const worker = work({ long: () => over.opened }, { connection, lastEnds: 300 })
  await enqueue(db, 'long')
  await until(async () => (await states(db)).running === 1)
  isAway = true
  await db.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()')
  over.open()
  await worker.stop()
  await assert.rejects(worker.over, (error) => error instanceof Undelivered && error.runs === 1)
}))

test('runs that are bound to the connection go on through a soft stop', withDatabase(async ({ db, work }) => {
  const over = gate()
  const worker = work({ long: () => over.opened }, { bindToConnection: true })
  const { id } = await enqueue(db, 'long')
  await until(async () => (await state(db, id)) === 'running')
  await until(async () => (await db.query("SELECT FROM pg_stat_activity WHERE query LIKE 'CALL turnstile.wait_for_job%' AND state = 'active' AND datname = current_database()")).rowCount === 1)
  const stopped = worker.stop()
  await setTimeout(300)
  over.open()
  await stopped
  assert.deepEqual([await state(db, id), (await job(db, id)).attempt], ['completed', 1])
}))

test('a missing permission ends the worker', withDatabase(async ({ db, database, work }) => {
  await db.query('CREATE ROLE turnstile_node_nobody LOGIN')
  try {
    const worker = work({}, { connection: { database, user: 'turnstile_node_nobody' } })
    await assert.rejects(worker.over, { code: '42501' })
  } finally {
    await db.query('DROP ROLE turnstile_node_nobody')
  }
}))

test('a server that refuses the first connection ends the worker, and a second run() is refused', withDatabase(async ({ work }) => {
  const worker = work({}, { connection: { database: 'turnstile_no_such_database' } })
  await assert.rejects(worker.over, { code: '3D000' })
  await assert.rejects(worker.run(), /once/)
}))

test('a host that takes no writes, or is not there, is passed over', withDatabase(async ({ db, database, work }) => {
  const away = { host: '127.0.0.1', port: 1, database }
  const standby = { database, options: '-c default_transaction_read_only=on' }
  work({ a: () => {} }, { connection: [away, standby, { database }] })
  await enqueue(db, 'a')
  await until(async () => (await states(db)).completed === 1)
}))

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
  test(`${signal} lets runs end`, withDatabase(async ({ db, database }) => {
    const program = `import { setTimeout } from 'node:timers/promises'; import { Worker } from 'turnstile-client'
      await new Worker({ connection: process.env.DATABASE_URL, handlers: { slow: () => setTimeout(500) } }).run({ signals: true })`
    const worker = spawn(process.execPath, ['--input-type=module', '--eval', program], { env: { ...process.env, DATABASE_URL: urlOf(database) } })
    const exited = once(worker, 'exit')
    try {
      await enqueue(db, 'slow')
      await until(async () => (await states(db)).running === 1)
      worker.kill(signal)
      assert.deepEqual([await exited, await states(db)], [[0, null], { completed: 1 }])
    } finally {
      worker.kill('SIGKILL')
    }
  }))
}

test('the driver of the conformance suite stops on a signal, and tells of its runs', withDatabase(async ({ db, database }) => {
  const driver = spawn(process.execPath, ['conformance-driver.js', '--grace', '0.3', '--drain', '60'], {
    env: { ...process.env, DATABASE_URL: urlOf(database) },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const events = []
  createInterface({ input: driver.stdout }).on('line', (line) => events.push(JSON.parse(line)))
  const exited = once(driver, 'exit')
  try {
    await until(() => events.some(({ event }) => event === 'ready'))
    const echo = (await enqueue(db, 'echo', { a: [1] })).id
    const finish = (await enqueue(db, 'finish')).id
    const deaf = (await enqueue(db, 'deaf')).id
    await until(async () => (await state(db, echo)) === 'completed' && (await states(db)).running === 2)
    driver.kill('SIGTERM')
    await setTimeout(200)
    assert.equal((await states(db)).running, 2)
    driver.kill('SIGTERM')
    assert.deepEqual(await exited, [0, null])
    assert.deepEqual([(await job(db, echo)).result, (await job(db, finish)).result, await state(db, deaf)], [{ a: [1] }, 'shutdown', 'available'])
    const stopping = events.filter(({ event }) => event === 'stopping')
    assert.deepEqual(stopping.map(({ id, reason }) => [id, reason]).sort(), [[finish, 'shutdown'], [deaf, 'shutdown']].sort())
  } finally {
    driver.kill('SIGKILL')
  }
}))
