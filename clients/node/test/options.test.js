// What a worker is given that could never work is refused when it is given.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { discard, Discard, Worker } from 'turnstile-client'
import { drain } from 'turnstile-client/testing'

const refused = (wrong, message) => {
  for (const options of wrong) assert.throws(() => new Worker(options), { name: 'TypeError', message }, String(Object.values(options)[0]))
}

test('an option that is not known, or is of another type', () => {
  refused([{ concurency: 3 }, { Queues: ['a'] }, { toString: 1 }, 'postgresql://'], /a worker has no option/)
  refused([{ bindToConnection: 'no' }], /bindToConnection must be/)
  refused([{ parse: 5 }], /parse must be a function/)
  assert.equal(new Worker({ concurrency: undefined, handlers: undefined, hooks: undefined, retry: undefined, connection: undefined }).settings.concurrency, 8)
})

test('connections', () => {
  refused([5, null, true, [], [5], ['postgresql://', null]].map((connection) => ({ connection })), /connection must be a URL/)
  for (const connection of ['', 'postgresql://a,b/c', {}, ['postgresql://a', { host: 'b' }], () => 5]) new Worker({ connection })
})

test('a function that returns no connection ends the worker', async () => {
  await assert.rejects(new Worker({ connection: () => 5, hooks: { log() {} } }).run(), /connection must be a URL/)
})

test('handlers', () => {
  refused([5, null, 'a', [() => {}], new Map([['a', () => {}]])].map((handlers) => ({ handlers })), /handlers must be an object/)
  refused([5, undefined, null, 'a'].map((handler) => ({ handlers: { a: handler } })), /the handler of a must be a function/)
  assert.throws(() => new Worker().handle('a'), /the handler of a must be a function/)
  assert.throws(() => new Worker().handle(() => {}), /needs the kind of its jobs/)
})

test('hooks', () => {
  refused([5, null, [null], [5], class {}].map((hooks) => ({ hooks })), /hooks must be an object/)
  new Worker({ hooks: [{}, new (class { idle() {} })()] })
})

test('rules', async () => {
  refused([5, 'ECONNRESET', {}, null].map((retry) => ({ retry })), /retry must be an array/)
  const wrong = [5, [], [Error], [Error, 5], [Error, Discard], [5, discard()], [undefined, discard()], [Error, discard(), 1]]
  refused(wrong.map((rule) => ({ retry: [rule] })), /retry\[0\] must be a pair/)
  for (const rule of wrong) await assert.rejects(drain(() => [], {}, { retry: [[Error, discard()], rule] }), /retry\[1\] must be a pair/)
  new Worker({ retry: [[Error, discard], ['EPIPE', discard()], [() => true, () => {}], [pg.DatabaseError, (error) => discard(error)]] })
})

test('run and stop', async () => {
  assert.throws(() => new Worker().run({ signal: true }), /run has no option signal/)
  for (const signals of ['SIGTERM', 5, {}]) assert.throws(() => new Worker().run({ signals }), /signals must be/)
  await assert.rejects(new Worker().stop({ drian: 0 }), /stop has no option drian/)
})
