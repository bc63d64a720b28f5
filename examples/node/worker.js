// usage: DATABASE_URL=postgresql://localhost/mydb node worker.js [queue]
import { setTimeout } from 'node:timers/promises'
import { Worker } from 'turnstile-client'

// Stands for your own work: takes so many seconds, and fails on its first so many attempts.
async function handle({ payload, job: { attempt } }) {
  console.log('attempt %d: %j', attempt, payload)
  await setTimeout((payload.seconds ?? 0) * 1000)
  if (attempt <= (payload.failures ?? 0)) throw new Error('was told to fail')
}

const worker = new Worker({
  connection: process.env.DATABASE_URL,
  queues: [process.argv[2] ?? 'default'],
  handlers: { '*': handle },
  hooks: {
    log: (level, message, about) => console.log(level, message, about),
    disconnected: (error) => console.log('no connection:', error.message || error.code),
  },
})
await worker.run({ signals: true })
