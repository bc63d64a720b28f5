// A worker that cannot have both of its connections.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { enqueue } from 'turnstile-client'
import { job, state, states, until, withDatabase } from './support.js'

/** So many connections are let in. */
function slots(database, free) {
  const own = {
    free,
    refused: 0,
    connection() {
      if (own.free === 0) {
        own.refused += 1
        throw new Error('sorry, too many clients already')
      }
      own.free -= 1
      return { database }
    },
  }
  return own
}

test('nothing is claimed while no run could say that it is alive', withDatabase(async ({ db, database, work }) => {
  const door = slots(database, 1)
  const worker = work({ long: () => setTimeout(2000) }, { connection: door.connection, lease: '1 second' })
  const { id } = await enqueue(db, 'long')
  await until(() => door.refused > 2)
  const { state: waiting, attempt } = await job(db, id)
  assert.deepEqual([waiting, attempt], ['available', 0])
  door.free = 1
  await until(async () => (await state(db, id)) === 'completed')
  assert.equal((await job(db, id)).attempt, 1)
  await worker.stop()
  await worker.over
}))

test('the same where the way is lost later', withDatabase(async ({ db, database, work }) => {
  const door = slots(database, 2)
  work({ long: () => setTimeout(6000) }, { connection: door.connection, lease: '5 seconds' })
  const first = (await enqueue(db, 'long')).id
  const lose = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%heartbeat%' AND datname = current_database() AND pid <> pg_backend_pid()"
  await until(async () => (await db.query(lose)).rowCount === 1)
  await until(() => door.refused > 0)
  // The loop that claims sleeps in the server, and looks for its way back when it is woken.
  const second = (await enqueue(db, 'long')).id
  await setTimeout(500)
  assert.deepEqual([await state(db, second), (await job(db, second)).attempt], ['available', 0])
  door.free = 1
  await until(async () => (await states(db)).completed === 2)
  assert.deepEqual([(await job(db, first)).attempt, (await job(db, second)).attempt], [1, 1])
}))

test('a worker that waits for its way back stops at once', withDatabase(async ({ database, work }) => {
  const door = slots(database, 1)
  const worker = work({}, { connection: door.connection })
  await until(() => door.refused > 5)
  const began = performance.now()
  await worker.stop()
  await worker.over
  assert.ok(performance.now() < began + 1000)
}))
