/** One connection to the server. */
import pg from 'pg'
import { CONNECT, FAREWELL, KEEPALIVE_IDLE } from './fixed.js'
import type { Hearer } from './hooks.js'
import { isObject, refuseUnless } from './options.js'

/** Columns in order, as the texts that the server sends. */
export type Row = (string | null)[]

/** What a worker is told of the way to the server. As node-postgres takes it; in a URL there may be several hosts, as host:port,host:port. */
export type Connection = string | pg.ClientConfig
/** Several: they are tried in turn, and one that takes no writes is passed over. A function is asked each time that a connection is made. */
export type Connections =
  | Connection
  | readonly Connection[]
  | (() => Connection | readonly Connection[] | Promise<Connection | readonly Connection[]>)

// What users of the process tell node-postgres about types stays theirs.
const AS_TEXT = { getTypeParser: () => (value: string) => value } as unknown as pg.CustomTypesConfig

/** The types do not name the connection. */
type Client = pg.Client & { readonly connection?: { readonly stream: { destroy(): void } } }

export class Session {
  isLost = false
  #isHungUp = false
  readonly #client: Client
  readonly #answer: number
  /** Calls that have no answer yet, and the end of the last one. */
  #calls = 0
  #last: Promise<void> = Promise.resolve()

  constructor(client: Client, answer: number, hear: Hearer) {
    this.#client = client
    this.#answer = answer
    client.on('error', () => (this.isLost = true))
    client.on('end', () => (this.isLost = true))
    client.on('notice', (notice) => hear.log('info', 'the server says', { notice: notice.message }))
  }

  /**
   * One call follows the other, as node-postgres wants it. It is waited for so long, in milliseconds, and then the connection counts as
   * lost.
   */
  rows(text: string, values: unknown[] = [], longest = this.#answer): Promise<Row[]> {
    const own = this.#calls === 0 ? this.#send(text, values, longest) : this.#last.then(() => this.#send(text, values, longest))
    this.#calls += 1
    this.#last = own.then(() => {}, () => {}).then(() => void (this.#calls -= 1))
    return own
  }

  async #send(text: string, values: unknown[], longest: number): Promise<Row[]> {
    const timer = setTimeout(() => this.hangUp(), longest)
    try {
      const { rows } = await this.#client.query<Row>({ text, values, rowMode: 'array', types: AS_TEXT })
      return rows
    } finally {
      clearTimeout(timer)
    }
  }

  /** Also in the middle of a call. The server sees that at once. */
  hangUp(): void {
    this.isLost = true
    if (this.#isHungUp) return
    this.#isHungUp = true
    this.#client.end().catch(() => {})
    // A server that is gone never says that it has closed the connection, which would keep the process.
    setTimeout(() => this.#client.connection?.stream.destroy(), FAREWELL).unref()
  }
}

export async function connect(connections: Connections, answer: number, hear: Hearer): Promise<Session> {
  const given = typeof connections === 'function' ? await connections() : connections
  const hosts = waysOf(given).flatMap((each) => (typeof each === 'string' ? hostsOf(each) : [each]))
  let reason: unknown
  for (const host of hosts) {
    try {
      return await connectTo(host, hosts.length > 1, answer, hear)
    } catch (error) {
      reason = error
    }
  }
  throw reason
}

/** Of anything else node-postgres would take nothing, and go where the PG variables say. */
export function waysOf(given: Connection | readonly Connection[]): Connection[] {
  const ways = [given].flat() as Connection[]
  const areWays = ways.length > 0 && ways.every((way) => typeof way === 'string' || isObject(way))
  refuseUnless(areWays, 'connection must be a URL or a configuration of node-postgres, an array of these, or a function that returns them')
  return ways
}

async function connectTo(config: pg.ClientConfig, hasOthers: boolean, answer: number, hear: Hearer): Promise<Session> {
  const client = new pg.Client({
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_IDLE,
    connectionTimeoutMillis: Math.min(answer, CONNECT),
    fallback_application_name: 'turnstile',
    ...config,
  })
  const session = new Session(client, answer, hear)
  try {
    await client.connect()
    if (hasOthers && (await session.rows('SHOW transaction_read_only'))[0]?.[0] !== 'off') throw new Error('the server takes no writes')
  } catch (error) {
    session.hangUp()
    throw error
  }
  return session
}

/** node-postgres knows a URL of one host only. */
function hostsOf(url: string): pg.ClientConfig[] {
  const [, before, hosts, after] = /^(\w+:\/\/(?:[^@/]*@)?)([^/?]*,[^/?]*)(.*)$/.exec(url) ?? []
  if (hosts === undefined) return [url === '' ? {} : { connectionString: url }]
  return hosts.split(',').map((host) => ({ connectionString: `${before}${host}${after}` }))
}
