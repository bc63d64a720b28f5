// The code of README.md runs as it is printed.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { DEFAULTS, enqueue } from 'turnstile-client'
import { states, until, urlOf, withDatabase } from './support.js'

const README = await readFile(new URL('../README.md', import.meta.url), 'utf8')
const BLOCKS = [...README.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code)

const block = (name) => {
  const found = BLOCKS.filter((code) => code.includes(name))
  assert.equal(found.length, 1, name)
  return found[0]
}

/** Starts blocks as programs, which look for the package where it is: in a folder of it. */
const withPrograms = (work) => withDatabase(async (given) => {
  const folder = await mkdtemp(fileURLToPath(new URL('readme-', import.meta.url)))
  const started = []
  const start = async (name, ...options) => {
    const file = `${folder}/program${started.length}.mjs`
    await writeFile(file, block(name))
    const { NODE_TEST_CONTEXT: _, ...env } = process.env
    const process_ = spawn(process.execPath, [...options, file], { env: { ...env, DATABASE_URL: urlOf(given.database) }, stdio: ['ignore', 'pipe', 'inherit'] })
    started.push(process_)
    const output = text(process_.stdout)
    const ended = new Promise((resolve) => process_.once('close', resolve))
    return { stop: () => process_.kill('SIGTERM'), ended: async () => ({ status: await ended, output: await output }) }
  }
  try {
    await work({ ...given, start })
  } finally {
    for (const each of started) each.kill('SIGKILL')
    await rm(folder, { recursive: true })
  }
})

test('all blocks are run here', () => {
  const known = ["'mail'],", "'report'", 'enqueueBatch(', 'knex(', 'awaitResult(', 'node:test', 'tracing()']
  assert.deepEqual(BLOCKS.filter((code) => !known.some((name) => code.includes(name))), [])
})

test('the worker, and those who give it work', withPrograms(async ({ db, start }) => {
  for (const name of ['enqueueBatch(', 'knex(']) assert.equal((await (await start(name)).ended()).status, 0)
  assert.deepEqual((await db.query("SELECT kind FROM turnstile.job WHERE queue = 'mail' ORDER BY id")).rows.map(({ kind }) => kind), ['send', 'welcome'])
  const worker = await start("'mail'],")
  await until(async () => (await states(db)).completed === 1)
  worker.stop()
  assert.equal((await worker.ended()).status, 0)
}))

test('the worker that shows how far it is', withPrograms(async ({ db, start }) => {
  await enqueue(db, 'report', { pages: 3 }, { queue: 'reports' })
  const worker = await start("'report'")
  await until(async () => (await states(db)).completed === 1)
  worker.stop()
  assert.equal((await worker.ended()).status, 0)
}))

test('the result', withPrograms(async ({ start, work }) => {
  work({ add: ({ payload: { a, b } }) => a + b })
  assert.deepEqual(await (await start('awaitResult(')).ended(), { status: 0, output: '3\n' })
}))

test('the test', withPrograms(async ({ db, start }) => {
  const { status, output } = await (await start('node:test', '--test')).ended()
  assert.equal(status, 0, output)
  assert.match(output, /pass 1/)
  assert.deepEqual(await states(db), {})
}))

test('the traces', withPrograms(async ({ db, start }) => {
  const worker = await start('tracing()')
  await until(async () => (await states(db)).completed === 1)
  worker.stop()
  assert.equal((await worker.ended()).status, 0)
}))

test('the settings are those that the page names', () => {
  const [, section] = README.split('## Settings')
  assert.deepEqual([...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name), Object.keys(DEFAULTS))
})
