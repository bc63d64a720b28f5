// Adds a call, waits for its end, and prints its answer. usage: node request.mjs CUSTOMER ACCOUNT URL JSON
import pg from 'pg'
import { awaitResult, enqueue } from 'turnstile-client'

const [tenant, account, url, body] = process.argv.slice(2)
const client = new pg.Client(process.env.DATABASE_URL)
await client.connect()
const options = { queue: 'calls', tenant, account, concurrencyKey: new URL(url).host }
const { id } = await enqueue(client, 'call', { url, body: JSON.parse(body) }, options)
console.log(JSON.stringify(await awaitResult(client, id)))
await client.end()
