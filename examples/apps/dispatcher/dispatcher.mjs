// Takes jobs and calls HTTP endpoints. usage: node dispatcher.mjs
import { discard, snooze, Worker } from 'turnstile-client'

const LONGEST = 30_000
const MOST_KEPT = 10_000

async function call(run) {
  const { url, body } = run.payload
  const response = await fetch(url, {
    method: 'POST',
    // The other side may know by it what it has done already.
    headers: { 'content-type': 'application/json', 'idempotency-key': run.job.id },
    body: JSON.stringify(body),
    signal: AbortSignal.any([run.signal, AbortSignal.timeout(LONGEST)]),
  })
  const text = (await response.text()).slice(0, MOST_KEPT)
  if (response.status === 429) throw snooze({ in: `${Number(response.headers.get('retry-after')) || 60} seconds` })
  if (response.status >= 500) throw new Error(`${response.status}: ${text}`)
  if (!response.ok) throw discard(`${response.status}: ${text}`)
  return { status: response.status, text }
}

const worker = new Worker({
  connection: process.env.DATABASE_URL,
  queues: ['calls'],
  concurrency: 500,
  // A call that is cancelled ends within a second.
  heartbeat: '1 second',
  handlers: { call },
})
await worker.run({ signals: true })
