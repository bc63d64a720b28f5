// A database of its own for each test, on the server that the PG variables name.
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { Worker } from 'turnstile-client'

const PATIENCE = 30_000

if (!process.env.PGHOST) throw new Error('no server to test: the PG variables must name one')

/** Calls `work` with a connected client of a new database that has the extension, and drops the database in the end. */
export function withDatabase(work) {
  return async (t) => {
    const database = `turnstile_node_${randomBytes(6).toString('hex')}`
    const admin = new pg.Client()
    await admin.connect()
    await admin.query(`CREATE DATABASE ${database}`)
    const db = new pg.Client({ database })
    const workers = []
    try {
      await db.connect()
      await db.query('CREATE EXTENSION turnstile')
      const work_ = (handlers, options = {}) => {
        const worker = new Worker({ connection: { database }, handlers, hooks: QUIET, ...options })
        const over = worker.run()
        over.catch(() => {})
        workers.push(worker)
        return Object.assign(worker, { over })
      }
      await work({ t, db, database, work: work_ })
    } finally {
      await Promise.all(workers.map((worker) => worker.stop({ hard: true, grace: 500 })))
      await db.end()
      await admin.query(`DROP DATABASE ${database} WITH (FORCE)`)
      await admin.end()
    }
  }
}

const QUIET = { log: (level, message, about) => process.env.VERBOSE && console.log(level, message, about) }

/** Waits until the condition holds, and returns what it has found. */
export async function until(condition, what = String(condition)) {
  const deadline = performance.now() + PATIENCE
  for (;;) {
    const found = await condition()
    if (found) return found
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export async function states(db) {
  const { rows } = await db.query('SELECT state, count(*)::int FROM turnstile.jobs GROUP BY 1 ORDER BY 1')
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]))
}

export async function job(db, id) {
  const { rows } = await db.query(
    `SELECT state, result, errors -> -1 ->> 'error' AS error, errors -> -1 ->> 'class' AS class, attempt FROM turnstile.jobs
     WHERE id = $1 ORDER BY finished_at DESC NULLS FIRST`, [id])
  return rows[0]
}

/** For programs, which know their database from DATABASE_URL alone. */
export function urlOf(database) {
  const url = new URL(`postgresql://localhost/${database}`)
  for (const [name, variable] of [['host', 'PGHOST'], ['port', 'PGPORT'], ['user', 'PGUSER']]) {
    if (process.env[variable]) url.searchParams.set(name, process.env[variable])
  }
  return url.href
}

export const state = async (db, id) => (await job(db, id)).state

export function gate() {
  let open
  const opened = new Promise((resolve) => (open = resolve))
  return { opened, open }
}
