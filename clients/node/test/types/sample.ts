// Compiled, not run: what the types allow, and what they do not.
import pg from 'pg'
import {
  awaitResult, discard, enqueue, enqueueBatch, enqueueMany, rawJson, retry, Worker, type Database, type Handler, type Hooks, type Job, type StopReason,
} from 'turnstile-client'
import { metrics, tracing, withContext } from 'turnstile-client/otel'
import { assertEnqueued, drain, inline, inTransaction } from 'turnstile-client/testing'

interface Mail {
  to: string
}

const hooks: Hooks = { log: (level, message) => console.log(level, message), stopping: (run, reason) => console.log(run.job.id, reason) }
const maybe: string | undefined = process.env['NAME']
const worker = new Worker({
  connection: () => ({ host: 'a', port: 5432 }),
  name: maybe,
  lease: '1 minute',
  retry: [[TypeError, discard('a bug', { errorClass: 'bug' })], ['ECONNRESET', retry({ in: 5, errorClass: 'gone' })], [(error) => error === 1, (error) => retry({ error })]],
  hooks: [hooks, tracing(), metrics()],
})
worker.handle<Mail>('send', async (run) => {
  const to: string = run.payload.to
  const id: string = run.job.id
  const why: StopReason | undefined = run.stopped
  const signal: AbortSignal = run.signal
  // @ts-expect-error no such field
  run.payload.subject
  // @ts-expect-error the payload is not written to
  run.payload = { to }
  // @ts-expect-error ids are no numbers
  const wrong: number = run.job.id
  return { to, id, why, signal, wrong }
})
const handler: Handler<Mail> = ({ payload }) => payload.to
new Worker({ handlers: { send: handler } })
// @ts-expect-error no such setting
new Worker({ concurency: 8 })
// @ts-expect-error queues is an array
new Worker({ queues: 'mail' })
// @ts-expect-error no such reason
const reason: StopReason = 'tired'

export async function produce(pool: pg.Pool, client: pg.PoolClient, database: Database): Promise<void> {
  const { id, created } = await enqueue(pool, 'send', { to: 'a' }, { queue: 'mail', uniqueFor: '1 day', parent: 7n })
  const text: string = id
  const isNew: boolean = created
  await enqueueMany(client, [{ kind: 'send', payload: rawJson('1e400'), after: [text] }])
  const batch: string = await enqueueBatch(database, 'all', {}, { children: [{ kind: 'part' }], onEnd: 'complete' })
  const result: number = await awaitResult<number>((sql, values) => client.query(sql, values).then(({ rows }) => rows), batch, { timeout: 5 })
  await enqueue(pool, 'send', {}, { metadata: withContext({ isNew, result, reason }) })
  // @ts-expect-error no such option
  await enqueue(pool, 'send', {}, { prioritty: 1 })
  // @ts-expect-error no such mode
  await enqueue(pool, 'send', {}, { uniqueMode: 'once' })
  await enqueue(pool, 'send', {}, { uniqueKey: 'a', uniqueStates: ['available', 'completed'], uniqueFor: '1 day' })
  // @ts-expect-error no such state
  await enqueue(pool, 'send', {}, { uniqueKey: 'a', uniqueStates: ['done'] })
  // @ts-expect-error a job has a kind
  await enqueueMany(pool, [{ payload: {} }])
  // @ts-expect-error nothing to enqueue on
  await enqueue(42, 'send')
  await worker.run({ signals: ['SIGTERM'] })
  await worker.stop({ grace: '1s' })
}

export const tested: Promise<Job[]> = inTransaction({ database: 'test' }, async (client) => {
  await inline({ send: () => 1 }, () => enqueue(client, 'send'))
  const [first] = await assertEnqueued(client, 'send', { payload: { to: 'a' }, count: 1 })
  // @ts-expect-error there may be none
  first.id
  return drain(client, { send: (run) => run.payload.to }, { queues: ['mail'], raises: false })
})
