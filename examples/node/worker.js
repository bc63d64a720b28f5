// usage: DATABASE_URL=postgresql://localhost/mydb node worker.js [queue]
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'

const CLAIM_NEXT = 'SELECT id, attempt, payload FROM turnstile.claim_next($1)'
const COMPLETE_AND_CLAIM_NEXT = 'SELECT id, attempt, payload FROM turnstile.complete_and_claim_next($1, $2)'
const COMPLETE = 'SELECT turnstile.complete($1, $2)'
const FAIL = 'SELECT turnstile.fail($1, $2, $3)'
const RELEASE = 'SELECT turnstile.release($1, $2)'
const WAIT = "CALL turnstile.wait_for_job(ARRAY[$1], '1 minute')"

const db = new pg.Client(process.env.DATABASE_URL)
let stopping = false
let asleep = false

async function work(queue) {
  let job
  while (!stopping) {
    job ??= await first(CLAIM_NEXT, queue)
    if (!job) {
      await sleep(queue)
      continue
    }
    const { id, attempt, payload } = job
    const error = await failureOf(handle(payload, attempt))
    job = undefined
    if (error) await first(FAIL, id, attempt, String(error))
    else if (stopping) await first(COMPLETE, id, attempt)
    else job = await first(COMPLETE_AND_CLAIM_NEXT, id, attempt)
  }
  if (job) await first(RELEASE, job.id, job.attempt) // claimed, not started
}

// Stands for your own work: takes so many seconds, and fails on its first so many attempts.
async function handle(payload, attempt) {
  console.log('attempt %d: %j', attempt, payload)
  await setTimeout((payload.seconds ?? 0) * 1000)
  if (attempt <= (payload.failures ?? 0)) throw new Error('was told to fail')
}

// At work SIGTERM lets the job in hand end. Who sleeps holds no job and hangs up at once, which the server sees.
process.on('SIGTERM', () => {
  stopping = true
  if (asleep) db.end()
})

async function sleep(queue) {
  if (stopping) return
  asleep = true
  const error = await failureOf(first(WAIT, queue))
  asleep = false
  if (error && !stopping) throw error
}

const first = async (statement, ...values) => (await db.query(statement, values)).rows[0]
const failureOf = (promise) => promise.then(() => null, (reason) => reason ?? new Error('without a reason'))

await db.connect()
await work(process.argv[2] ?? 'default')
await db.end()
