#!/usr/bin/env node
// The driver that the conformance suite starts: see clients/README.md. Prints JSON lines.
import { writeSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { awaitChildren, discard, enqueue, enqueueMany, rawJson, retry, snooze, Worker } from 'turnstile-client'

const CAPABILITIES = [
  'concurrency', 'heartbeats', 'told', 'hard_stop', 'results', 'retry', 'discard', 'snooze', 'rules', 'progress', 'children', 'transactions',
  'exact_numbers', 'reconnects', 'error_class',
]
const text = { type: 'string' }
const { values: given } = parseArgs({
  options: {
    capabilities: { type: 'boolean' }, queues: { ...text, default: 'default' }, concurrency: text, lease: text, heartbeat: text, drain: text,
    grace: text, name: text,
  },
})
const print = (line) => writeSync(1, `${JSON.stringify(line)}\n`)

if (given.capabilities) {
  print(CAPABILITIES)
  process.exit()
}

class Ruled extends Error {}

const connection = process.env.DATABASE_URL
const seconds = (value) => (value === undefined ? undefined : Number(value) * 1000)
const stopped = (run) =>
  new Promise((resolve) => {
    const told = () => {
      print({ event: 'stopping', ...named(run), reason: run.stopped })
      resolve()
    }
    if (run.signal.aborted) told()
    else run.signal.addEventListener('abort', told)
  })
const named = ({ job: { id, attempt } }) => ({ id, attempt })

async function withClient(work) {
  const client = new pg.Client({ connectionString: connection })
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

function badResult({ job: { attempt } }) {
  const cycle = {}
  cycle.cycle = cycle
  return [{ text: '\0' }, cycle, () => {}, { big: 1n }][(attempt - 1) % 4]
}

const handlers = {
  ok() {},
  echo: (run) => rawJson(run.job.payloadText),
  info: (run) => {
    const { id, attempt, queue, kind, priority, tenant, maxAttempts, attemptsLeft } = run.job
    return { id, attempt, queue, kind, priority, tenant, max_attempts: maxAttempts, attempts_left: attemptsLeft, metadata: run.metadata }
  },
  sleep: ({ payload }) => setTimeout(payload.seconds * 1000, undefined),
  fail({ payload, job }) {
    if (job.attempt <= (payload.times ?? Infinity)) throw new Error(`was told to fail: ${payload.error}`)
  },
  fail_text() {
    throw new Error('odd \0 \ud800 \udfff end')
  },
  fail_oddly() {
    throw undefined
  },
  bad_result: badResult,
  retry({ payload }) {
    throw retry({ in: seconds(payload.seconds), error: payload.error, errorClass: payload.error_class })
  },
  discard({ payload }) {
    throw discard(payload.error, { errorClass: payload.error_class })
  },
  snooze({ payload }) {
    if (payload.until === undefined || payload.until * 1000 > Date.now()) throw snooze({ in: payload.seconds * 1000 })
  },
  rule() {
    throw new Ruled('a rule of the worker')
  },
  async listen(run) {
    await stopped(run)
    throw new Error('interrupted')
  },
  async finish(run) {
    await stopped(run)
    return run.stopped
  },
  async deaf(run) {
    await stopped(run)
    for (;;) await setTimeout(60_000)
  },
  async progress(run) {
    const { done, total, message, seconds } = run.payload
    run.progress(done, total ?? undefined, message ?? undefined)
    await setTimeout(seconds * 1000)
  },
  async parent(run) {
    const { children, id: parent, queue } = run.job
    if (children !== null) return children
    await withClient((client) => enqueueMany(client, Array.from({ length: run.payload.children }, () => ({ kind: 'ok', queue, parent }))))
    throw awaitChildren()
  },
  transfer: ({ payload }) =>
    withClient(async (client) => {
      await client.query('BEGIN')
      const { id } = await enqueue(client, 'transferred', payload.payload, { queue: 'elsewhere' })
      await client.query(payload.keep ? 'COMMIT' : 'ROLLBACK')
      return id
    }),
}

const told = (handler) => async (run) => {
  print({ event: 'started', ...named(run), kind: run.job.kind })
  try {
    return await handler(run)
  } finally {
    print({ event: 'ended', ...named(run) })
  }
}

const worker = new Worker({
  connection,
  queues: given.queues.split(','),
  concurrency: given.concurrency === undefined ? undefined : Number(given.concurrency),
  lease: seconds(given.lease),
  heartbeat: seconds(given.heartbeat),
  drain: seconds(given.drain),
  grace: seconds(given.grace),
  name: given.name,
  retry: [[Ruled, discard()]],
  hooks: { log: (level, message, about) => console.error(level, message, about) },
})
for (const [kind, handler] of Object.entries(handlers)) worker.handle(kind, told(handler))
const over = worker.run({ signals: true })
print({ event: 'ready' })
await over
// A handler that is deaf is at work still.
process.exit()
