// Enqueue on the caller's own connection, with the libraries that applications use.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { PrismaPg } from '@prisma/adapter-pg'
import knex from 'knex'
import pg from 'pg'
import { awaitResult, enqueue, enqueueBatch, enqueueMany, JobFailed, rawJson, TimedOut } from 'turnstile-client'
import { job, states, until, withDatabase } from './support.js'

const require = createRequire(import.meta.url)
const generated = new URL('./.prisma/', import.meta.url)
const rollback = new Error('rolled back')
let PrismaClient

// The client needs none of the engines of Prisma, which its program would get from the network: it takes those that are named for granted.
before(async () => {
  await mkdir(generated, { recursive: true })
  const schema = new URL('schema.prisma', generated)
  await writeFile(schema, `generator client {\n  provider = "prisma-client-js"\n  engineType = "client"\n  output = "./client"\n}
datasource db {\n  provider = "postgresql"\n  url = "postgresql://unused"\n}\n`)
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: '/bin/true', PRISMA_QUERY_ENGINE_LIBRARY: '/bin/true', CHECKPOINT_DISABLE: '1' }
  await promisify(execFile)(process.execPath, [require.resolve('prisma/build/index.js'), 'generate', '--schema', schema.pathname], { env })
  PrismaClient = require('./.prisma/client').PrismaClient
})

// Each gives `work` what takes statements, within a transaction that commits or is rolled back; and the same outside of any.
const LIBRARIES = {
  'pg Client': async (database) => {
    const client = new pg.Client({ database })
    await client.connect()
    return { bare: client, transaction: (work) => inTransaction(client, work), end: () => client.end() }
  },
  'pg Pool': async (database) => {
    const pool = new pg.Pool({ database })
    const transaction = async (work) => {
      const client = await pool.connect()
      await inTransaction(client, work).finally(() => client.release())
    }
    return { bare: pool, transaction, end: () => pool.end() }
  },
  Knex: (database) => {
    const bare = knex({ client: 'pg', connection: { database } })
    return { bare, transaction: (work) => bare.transaction(work), end: () => bare.destroy() }
  },
  Prisma: (database) => {
    const bare = new PrismaClient({ adapter: new PrismaPg({ database }) })
    return { bare, transaction: (work) => bare.$transaction(work), end: () => bare.$disconnect() }
  },
  'a function': async (database) => {
    const pool = new pg.Pool({ database, max: 1 })
    const bare = async (text, values) => (await pool.query(text, values)).rows
    return { bare, transaction: (work) => inTransaction(pool, () => work(bare)), end: () => pool.end() }
  },
  'a method that returns rows': async (database) => {
    const pool = new pg.Pool({ database, max: 1 })
    const bare = { query: async (text, values) => (await pool.query(text, values)).rows }
    return { bare, transaction: (work) => inTransaction(pool, () => work(bare)), end: () => pool.end() }
  },
}

async function inTransaction(client, work) {
  await client.query('BEGIN')
  try {
    await work(client)
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  }
}

const ALL = {
  queue: 'q', tenant: 't"{', account: 'a', session: "s'", concurrencyKey: 'c', priority: -3, runAt: new Date('2100-01-01T00:00:00.123Z'),
  maxAttempts: 7, metadata: { m: 'ä?$1' },
}

for (const [name, open] of Object.entries(LIBRARIES)) {
  describe(name, () => {
    test('all options arrive, alone, among many and with children', withDatabase(async ({ db, database }) => {
      const { bare, end } = await open(database)
      try {
        const payload = { text: `it's "so" \\ ? :x`, list: [1, null] }
        const ids = [
          (await enqueue(bare, 'all', payload, ALL)).id,
          ...(await enqueueMany(bare, [{ kind: 'all', payload, ...ALL }])).map(({ id }) => id),
          await enqueueBatch(bare, 'all', payload, { ...ALL, children: [{ kind: 'child', priority: 5 }], slots: 2, ratePer: 500, rate: 3, onEnd: 'run' }),
        ]
        const { rows } = await db.query(
          `SELECT queue, tenant, account, session, concurrency_key AS "concurrencyKey", priority, run_at AS "runAt", max_attempts AS "maxAttempts",
           metadata, payload FROM turnstile.job WHERE kind = 'all' ORDER BY id`)
        assert.deepEqual(rows, Array(3).fill({ ...ALL, payload }))
        assert.ok(ids.every((id) => typeof id === 'string'))
      } finally {
        await end()
      }
    }))

    test('the states in which a key is held arrive', withDatabase(async ({ db, database }) => {
      const { bare, end } = await open(database)
      try {
        const uniqueStates = ['available', 'running']
        await enqueue(bare, 'a', {}, { uniqueKey: '1', uniqueStates })
        await enqueueMany(bare, [{ kind: 'a', uniqueKey: '2', uniqueStates }])
        await enqueueBatch(bare, 'a', {}, { uniqueKey: '3', uniqueStates, children: [{ kind: 'b', uniqueKey: '4', uniqueStates }] })
        const { rows } = await db.query('SELECT states::text[] FROM turnstile.unique_key')
        assert.deepEqual(rows.map(({ states }) => states), Array(4).fill(uniqueStates))
      } finally {
        await end()
      }
    }))

    test('jobs are there if the transaction commits, and are not if it is rolled back', withDatabase(async ({ db, database }) => {
      const { transaction, end } = await open(database)
      try {
        await transaction((tx) => enqueue(tx, 'kept'))
        await transaction((tx) => enqueueMany(tx, [{ kind: 'kept' }, { kind: 'kept' }]))
        await assert.rejects(transaction(async (tx) => {
          await enqueue(tx, 'lost')
          await enqueueMany(tx, [{ kind: 'lost' }])
          await enqueueBatch(tx, 'lost', null, { children: [{ kind: 'lost' }] })
          throw rollback
        }), rollback)
        const { rows } = await db.query('SELECT kind, count(*)::int FROM turnstile.job GROUP BY 1')
        assert.deepEqual(rows, [{ kind: 'kept', count: 3 }])
      } finally {
        await end()
      }
    }))

    test('a duplicate is told, and so is a result', withDatabase(async ({ database, work }) => {
      const { bare, end } = await open(database)
      try {
        const first = await enqueue(bare, 'a', { n: 1 }, { uniqueKey: 'k', uniqueFor: '1 day' })
        const second = await enqueue(bare, 'a', { n: 2 }, { uniqueKey: 'k' })
        assert.deepEqual([first.created, second], [true, { id: first.id, created: false }])
        assert.deepEqual(await enqueueMany(bare, [{ kind: 'a', uniqueKey: 'k' }]), [second])
        work({ a: (run) => ({ got: run.payload.n }) })
        assert.deepEqual(await awaitResult(bare, first.id), { got: 1 })
      } finally {
        await end()
      }
    }))
  })
}

test('jobs of one call refer to each other, and to jobs that were there', withDatabase(async ({ db }) => {
  await db.query("SELECT setval('turnstile.job_id_seq', 9007199254740993)")
  const { id } = await enqueue(db, 'first', null)
  const added = await enqueueMany(db, [
    { kind: 'a', ref: 'a', after: [id], afterAnyEnd: true }, { kind: 'b', afterRefs: ['a'], parent: BigInt(await enqueueBatch(db, 'parent', {}, { children: [{ kind: 'c' }] })) },
    { kind: 'u', uniqueBy: ['kind', 'payload'], payload: rawJson('{"n": 1.10}'), uniqueMode: 'until_executing' },
  ])
  assert.equal(added.length, 3)
  await enqueue(db, 'd', undefined, { after: [id, BigInt(added[0].id)], uniqueBy: ['kind', 'tenant'] })
  assert.deepEqual(await states(db), { available: 3, blocked: 4 })
  const { rows } = await db.query("SELECT payload::text FROM turnstile.job WHERE kind IN ('u', 'first', 'd') ORDER BY id")
  assert.deepEqual(rows.map(({ payload }) => payload), ['null', '{"n": 1.10}', '{}'])
}))

test('what is no job is refused, and nothing is added', withDatabase(async ({ db }) => {
  await assert.rejects(enqueue(db, 'a', {}, { prioritty: 1 }), /no option prioritty/)
  await assert.rejects(enqueueMany(db, [{ kind: 'a', toString: 1 }]), /no option toString/)
  await assert.rejects(enqueue(db, 'a', {}, { parent: 2 ** 53 }), TypeError)
  await assert.rejects(enqueue(db, 'a', {}, { parent: '1; SELECT' }), TypeError)
  await assert.rejects(enqueue(db, 'a', () => {}), TypeError)
  await assert.rejects(enqueue(db, 'a', { n: 1n }), TypeError)
  await assert.rejects(enqueue(db, 'a', {}, { runAt: Date.now() }), /runAt must be a Date or a text/)
  await assert.rejects(enqueueMany(db, [{ kind: 'a', runAt: Date.now() }]), /runAt must be a Date or a text/)
  await assert.rejects(enqueue(db, 'a', {}, { uniqueFor: '1 parsec', uniqueKey: 'a' }), { code: '22007' })
  for (const kind of [undefined, null, 5]) {
    const refused = { name: 'TypeError', message: /a job needs a kind/ }
    await assert.rejects(enqueue(db, kind), refused)
    await assert.rejects(enqueueBatch(db, kind), refused)
    await assert.rejects(enqueueMany(db, [{ kind: 'a' }, { kind }]), refused)
    await assert.rejects(enqueueBatch(db, 'a', {}, { children: [{ kind }] }), refused)
  }
  await assert.rejects(enqueue(db, ''), { code: '22023' })
  await assert.rejects(enqueueMany(db, [{ kind: 'a' }, { kind: '' }]), { code: '22023' })
  await assert.rejects(enqueue({}, 'a'), /client of pg, Knex or Prisma/)
  await assert.rejects(enqueue(undefined, 'a'), /client of pg, Knex or Prisma/)
  assert.deepEqual(await states(db), {})
}))

test('a job that fails, or does not end, has no result', withDatabase(async ({ db, work }) => {
  work({ bad: () => { throw new Error('bad') }, nothing: () => {}, null: () => null })
  const bad = await enqueue(db, 'bad', {}, { maxAttempts: 1 })
  await assert.rejects(awaitResult(db, bad.id), (error) => error instanceof JobFailed && error.state === 'discarded' && /^Error: bad/.test(error.errors.at(-1).error))
  assert.equal(await awaitResult(db, (await enqueue(db, 'nothing')).id), undefined)
  assert.equal(await awaitResult(db, (await enqueue(db, 'null')).id), null)
  const later = (await enqueue(db, 'later', {}, { queue: 'other' })).id
  await assert.rejects(awaitResult(db, later, { timeout: 200 }), TimedOut)
  await assert.rejects(awaitResult(db, later, { timeout: '1 hour', signal: AbortSignal.timeout(200) }), { name: 'TimeoutError' })
  await assert.rejects(awaitResult(db, '999999'), { code: 'P0002' })
}))

test('a job that was brought back is waited for again', withDatabase(async ({ db, work }) => {
  let isBad = true
  work({ a: () => { if (isBad) throw new Error('bad'); return 'good' } })
  const { id } = await enqueue(db, 'a', {}, { maxAttempts: 1 })
  await until(async () => (await job(db, id)).state === 'discarded')
  isBad = false
  await db.query('SELECT turnstile.retry($1)', [id])
  assert.equal(await awaitResult(db, id), 'good')
}))
