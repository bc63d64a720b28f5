// usage: DATABASE_URL=postgresql://localhost/mydb node worker.js [queue]
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'

const CLAIM_NEXT = 'SELECT id, attempt, payload FROM turnstile.claim_next($1)'
const COMPLETE_AND_CLAIM_NEXT = 'SELECT id, attempt, payload FROM turnstile.complete_and_claim_next($1, $2)'
const COMPLETE = 'SELECT turnstile.complete($1, $2)'
const FAIL = 'SELECT turnstile.fail($1, $2, $3)'
const RELEASE = 'SELECT turnstile.release($1, $2)'
// Leaves alone what was completed before, or superseded.
const COMPLETE_AGAIN = 'SELECT turnstile.complete_many(ARRAY[$1::bigint], ARRAY[$2::int])'
const WAIT = "CALL turnstile.wait_for_job(ARRAY[$1], '1 minute')"

const FIRST_PAUSE = 500
const LONGEST_PAUSE = 5000

const [, user, hosts, database] = /^(\w+:\/\/(?:[^@/]*@)?)([^/]*)(.*)$/.exec(process.env.DATABASE_URL)
let db
let done // the run of which it is not known yet whether the server knows that it is completed
let stopping = false
let idle = false

async function work(queue) {
  if (done) await first(COMPLETE_AGAIN, ...done)
  done = undefined
  let job
  while (!stopping) {
    job ??= await first(CLAIM_NEXT, queue)
    if (!job) {
      if (!stopping) await idly(first(WAIT, queue))
      continue
    }
    const { id, attempt, payload } = job
    job = undefined
    const error = await failureOf(handle(payload, attempt))
    if (error) {
      await first(FAIL, id, attempt, String(error))
      continue
    }
    done = [id, attempt]
    if (stopping) await first(COMPLETE, ...done)
    else job = await first(COMPLETE_AND_CLAIM_NEXT, ...done)
    done = undefined
  }
  if (job) await first(RELEASE, job.id, job.attempt) // claimed, not started
}

// Stands for your own work: takes so many seconds, and fails on its first so many attempts.
async function handle(payload, attempt) {
  console.log('attempt %d: %j', attempt, payload)
  await setTimeout((payload.seconds ?? 0) * 1000)
  if (attempt <= (payload.failures ?? 0)) throw new Error('was told to fail')
}

// At work SIGTERM lets the job in hand end. Who holds no job goes at once, and the server sees that the connection ends.
process.on('SIGTERM', () => {
  stopping = true
  if (idle) process.exit()
})

async function idly(promise) {
  idle = !done
  try {
    return await promise
  } finally {
    idle = false
  }
}

// A lost connection is made anew, to whichever of the hosts is the primary then.
async function main(queue) {
  let pause = FIRST_PAUSE
  while (!stopping || done) {
    try {
      db = await idly(connect())
      pause = FIRST_PAUSE
      return await work(queue)
    } catch (error) {
      if (!isLost(error)) throw error
      console.error(error.message || error.code)
    } finally {
      db?.end()
    }
    await idly(setTimeout(pause))
    pause = Math.min(2 * pause, LONGEST_PAUSE)
  }
}

// The driver knows one host only, so those of postgresql://user@a,b/mydb are tried in turn.
async function connect() {
  let reason
  for (const host of hosts.split(',')) {
    const connectionString = user + host + database
    // Where no answer comes for longer than a worker sleeps, nobody is there.
    const client = new pg.Client({ connectionString, connectionTimeoutMillis: 5000, query_timeout: 90000 })
    client.on('error', () => {}) // the call that is under way fails, too, or the next one
    try {
      await client.connect()
      const { rows } = await client.query('SHOW transaction_read_only')
      if (rows[0].transaction_read_only === 'off') return client
      reason = new Error(`${host} does not allow writes`)
    } catch (error) {
      reason = error
    }
    client.end()
  }
  throw reason
}

// Whether it is the connection that failed, and not the call.
const isLost = (error) => !(error instanceof pg.DatabaseError) || /^(08|57P|53300)/.test(error.code)
const first = async (statement, ...values) => (await db.query(statement, values)).rows[0]
const failureOf = (promise) => promise.then(() => null, (reason) => reason ?? new Error('without a reason'))

await main(process.argv[2] ?? 'default')
