// What users get: a tarball that works where nothing of this folder is, with types that hold under --strict.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const here = fileURLToPath(new URL('..', import.meta.url))
const OTHERS = ['@opentelemetry', '@types', 'pg', 'pg-connection-string', 'pg-pool', 'pg-protocol', 'pg-types', 'pgpass', 'undici-types']

async function inApplication(work) {
  const folder = await mkdtemp(`${tmpdir()}/turnstile-`)
  const own = `${folder}/node_modules/turnstile-client`
  try {
    // prepare would build it anew under the eyes of other tests.
    const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], { cwd: here })
    await mkdir(own, { recursive: true })
    await run('tar', ['xzf', `${folder}/${stdout.trim()}`, '--strip-components=1', '-C', own])
    for (const name of OTHERS) await symlink(`${here}node_modules/${name}`, `${folder}/node_modules/${name}`)
    await writeFile(`${folder}/package.json`, '{"type": "module"}')
    await work(folder, own)
  } finally {
    await rm(folder, { recursive: true })
  }
}

test('the tarball has all that it names, and works', () => inApplication(async (folder, own) => {
  const { exports, files } = JSON.parse(await readFile(`${own}/package.json`))
  for (const { types, default: code } of Object.values(exports)) await Promise.all([types, code].map((name) => readFile(`${own}/${name}`)))
  for (const name of ['README.md', 'LICENSE', ...files.map((name) => `${name}/index.${name === 'src' ? 'ts' : 'js'}`)]) await readFile(`${own}/${name}`)
  for (const name of ['test', 'conformance-driver.js', 'node_modules']) await assert.rejects(readFile(`${own}/${name}`), { code: 'ENOENT' })
  const code = "import { Worker } from 'turnstile-client'; import 'turnstile-client/testing'; import 'turnstile-client/otel'; console.log(new Worker().settings.concurrency)"
  assert.equal((await run(process.execPath, ['--input-type=module', '--eval', code], { cwd: folder })).stdout, '8\n')
}))

test('CommonJS can import it, and require it where Node can', () => inApplication(async (folder) => {
  const ways = ["import('turnstile-client')", "Promise.resolve(require('turnstile-client'))"]
  for (const way of process.features.require_module ? ways : ways.slice(0, 1)) {
    const code = `${way}.then(({ Worker }) => console.log(new Worker().settings.concurrency))`
    const { stdout } = await run(process.execPath, ['--no-warnings', '--input-type=commonjs', '--eval', code], { cwd: folder })
    assert.equal(stdout, '8\n')
  }
}))

test('the types hold', () => inApplication(async (folder) => {
  await copyFile(`${here}test/types/sample.ts`, `${folder}/sample.ts`)
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--noEmit', '--skipLibCheck', '--target', 'es2022', '--module', 'nodenext', '--types', 'node']
  await run(process.execPath, [`${here}node_modules/typescript/bin/tsc`, ...strict, 'sample.ts'], { cwd: folder }).catch(({ stdout }) => assert.fail(stdout))
}))
