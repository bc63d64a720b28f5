// The helpers for tests of applications.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import knex from 'knex'
import pg from 'pg'
import { awaitChildren, discard, enqueue, enqueueBatch, enqueueMany, retry, snooze } from 'turnstile-client'
import { assertEnqueued, drain, enqueued, inline, inTransaction } from 'turnstile-client/testing'
import { states, withDatabase } from './support.js'

const inRolledBack = (work) => withDatabase(async ({ db, database }) => {
  await inTransaction({ database }, work)
  assert.deepEqual(await states(db), {})
})

test('drain runs what was enqueued, in order, and what comes of it', inRolledBack(async (client) => {
  await enqueueMany(client, [{ kind: 'b', priority: 5 }, { kind: 'a', payload: { n: 1 } }, { kind: 'batch', priority: 9 }])
  const ran = []
  const done = await drain(client, {
    a: async (run) => { ran.push(['a', run.payload.n]); await enqueue(client, 'c', {}, { priority: 1 }) },
    batch: async (run) => {
      ran.push(['batch', run.job.children])
      if (run.job.children) return
      await enqueueMany(client, [{ kind: 'c', parent: run.job.id }])
      throw awaitChildren()
    },
    '*': (run) => { ran.push([run.job.kind]) },
  })
  const children = { completed: 1, discarded: 0, cancelled: 0 }
  assert.deepEqual(ran, [['a', 1], ['c'], ['b'], ['batch', null], ['c'], ['batch', children]])
  assert.deepEqual(done.map(({ kind }) => kind), ran.map(([kind]) => kind))
  assert.equal(done[0].attemptsLeft, done[0].maxAttempts - 1)
  assert.ok(done[0].createdAt instanceof Date && !Number.isNaN(done[0].createdAt.getTime()))
}))

test('a batch and its callback', inRolledBack(async (client) => {
  await enqueueBatch(client, 'all', {}, { children: [{ kind: 'part' }, { kind: 'part' }] })
  const done = await drain(client, { part: () => 1, all: (run) => run.job.children.completed })
  assert.deepEqual(done.map(({ kind }) => kind), ['part', 'part', 'all'])
}))

test('errors of handlers surface; outcomes do what they say', inRolledBack(async (client) => {
  await enqueueMany(client, [{ kind: 'retry' }, { kind: 'snooze' }, { kind: 'discard' }, { kind: 'rule' }])
  await drain(client, {
    retry() { throw retry({ in: '1 hour', error: 'later' }) },
    snooze: () => snooze({ in: '1 hour' }),
    discard: () => discard('no'),
    rule() { throw new TypeError('rule') },
  }, { retry: [[TypeError, discard()]] })
  const { rows } = await client.query("SELECT kind, state, errors -> -1 ->> 'error' AS error FROM turnstile.jobs ORDER BY kind")
  assert.deepEqual(rows.map(({ kind, state }) => [kind, state]), [['discard', 'discarded'], ['retry', 'retryable'], ['rule', 'discarded'], ['snooze', 'scheduled']])
  assert.match(rows[2].error, /^TypeError: rule/)
  const own = new Error('own')
  await enqueue(client, 'bad')
  await assert.rejects(drain(client, { bad() { throw own } }), (error) => error === own)
  await enqueue(client, 'worse')
  await assert.rejects(drain(client, { worse: () => 1n }), /no JSON/)
  await enqueue(client, 'constructor')
  await assert.rejects(drain(client, {}), /no handler for jobs of kind 'constructor'/)
}))

test('with raises: false an error fails the run', inRolledBack(async (client) => {
  await enqueue(client, 'bad', {}, { maxAttempts: 1 })
  await drain(client, { bad() { throw new Error('bad') } }, { raises: false })
  assert.deepEqual(await states(client), { discarded: 1 })
}))

test('retry curves go by the class of the error there, too', inRolledBack(async (client) => {
  await client.query("SELECT turnstile.set_retry_curve('*', 'RangeError', discard => true)")
  await enqueueMany(client, [{ kind: 'error' }, { kind: 'named' }, { kind: 'over' }])
  await drain(client, {
    error() { throw new RangeError('far') },
    named: () => retry({ in: '1 hour', errorClass: 'busy' }),
    over: () => discard('no', { errorClass: 'gone' }),
  }, { raises: false })
  const { rows } = await client.query("SELECT state, errors -> -1 ->> 'class' AS class FROM turnstile.jobs ORDER BY kind")
  assert.deepEqual(rows.map((row) => [row.state, row.class]), [['discarded', 'RangeError'], ['retryable', 'busy'], ['discarded', 'gone']])
}))

test('what adds itself again and again is an error', inRolledBack(async (client) => {
  await enqueue(client, 'again')
  await assert.rejects(drain(client, { again: () => enqueue(client, 'again').then(() => {}) }, { most: 5 }), { code: 'ERR_ASSERTION', message: /adds? itself/ })
}))

test('only the queues that were named are drained', inRolledBack(async (client) => {
  await enqueueMany(client, [{ kind: 'a', queue: 'x"' }, { kind: 'a', queue: 'y' }])
  assert.equal((await drain(client, { a() {} }, { queues: ['x"'] })).length, 1)
  await assertEnqueued(client, 'a', { count: 1, queue: 'y' })
}))

test('a run that waits for children that are not there is an error', inRolledBack(async (client) => {
  await enqueue(client, 'alone')
  await assert.rejects(drain(client, { alone: () => awaitChildren() }), /has no live ones/)
}))

test('assertEnqueued finds jobs by what they contain, and says what there is', inRolledBack(async (client) => {
  const runAt = new Date('2100-01-01T00:00:00Z')
  await enqueueMany(client, [{ kind: 'a', payload: { to: 'x', more: 1 }, tenant: 't', runAt, metadata: { m: 1 } }, { kind: 'a', payload: { to: 'y' } }])
  const [found] = await assertEnqueued(client, 'a', { payload: { to: 'x' }, tenant: 't', runAt, metadata: { m: 1 }, count: 1 })
  assert.deepEqual([found.payload, found.state, typeof found.id, found.runAt], [{ to: 'x', more: 1 }, 'scheduled', 'string', runAt])
  await assertEnqueued(client, 'a', { count: 2 })
  await assertEnqueued(client, 'b', { count: 0 })
  await assert.rejects(assertEnqueued(client, 'a', { payload: { to: 'z' } }), { code: 'ERR_ASSERTION', message: /"to": "x"/ })
  await assert.rejects(assertEnqueued(client, 'a', { count: 1 }), { actual: 2, expected: 1 })
  await assert.rejects(assertEnqueued(client, 'b'), /at least one of kind 'b'/)
  await assert.rejects(enqueued(client, 'a', { to: 'x' }), /no column to/)
}))

test('inline runs jobs at once, those that handlers add among them', inRolledBack(async (client) => {
  const ran = []
  const handlers = { a: async () => { ran.push('a'); await enqueue(client, 'b'); ran.push('a ends') }, b: () => { ran.push('b') } }
  await inline(handlers, async () => {
    await enqueue(client, 'a')
    ran.push('enqueued')
    await enqueueMany(client, [{ kind: 'b' }])
    await enqueueBatch(client, 'b', {}, { children: [{ kind: 'b' }] })
  })
  assert.deepEqual(ran, ['a', 'a ends', 'b', 'enqueued', 'b', 'b', 'b'])
  // What the driver is asked at the same time it would run one after the other; this one does so by itself.
  let last = Promise.resolve()
  const queued = (text, values) => (last = last.catch(() => {}).then(async () => (await client.query(text, values)).rows))
  await inline(handlers, () => Promise.all([1, 2, 3].map(() => enqueue(queued, 'b'))))
  assert.equal(ran.length, 10)
  await assert.rejects(inline({ a() { throw new Error('own') } }, () => enqueue(client, 'a')), /own/)
  await enqueue(client, 'b')
  assert.equal(ran.length, 10)
}))

test('in a transaction of Knex', withDatabase(async ({ database, db }) => {
  const instance = knex({ client: 'pg', connection: { database } })
  try {
    await assert.rejects(instance.transaction(async (trx) => {
      await enqueue(trx, 'a', { n: 1 })
      await assertEnqueued(trx, 'a', { payload: { n: 1 } })
      assert.equal((await drain(trx, { a: () => ({ ok: true }) })).length, 1)
      throw new Error('rolled back')
    }), /rolled back/)
    assert.deepEqual(await states(db), {})
  } finally {
    await instance.destroy()
  }
}))

test('a pool holds no transaction, and a client that fails is given back', withDatabase(async ({ database }) => {
  const pool = new pg.Pool({ database, max: 1 })
  try {
    await assert.rejects(drain(pool, {}), TypeError)
    await assert.rejects(inTransaction(pool, (client) => client.query('SELECT 1 / 0')), { code: '22012' })
    assert.equal(await inTransaction(pool, async (client) => (await client.query('SELECT 1 AS one')).rows[0].one), 1)
  } finally {
    await pool.end()
  }
}))
