/** A connection that comes back: it is made when it is first needed, and anew when it was lost. */
import { Backoff } from './backoff.js'
import { pause, unlessAborted } from './bell.js'
import { described, isWorthWaiting } from './errors.js'
import type { Hearer } from './hooks.js'
import { connect, type Connections, type Session } from './session.js'
import { IS_READ_ONLY } from './statements.js'

/** A connection was waited for, and is needed no more. */
export class Closed extends Error {
  override name = 'Closed'
}

export class Link {
  #session: Session | undefined
  #connecting: Promise<Session> | undefined
  readonly #closing = new AbortController()
  readonly #backoff = new Backoff()
  #wasConnected = false
  #isMissed = false
  /** The reason that was told last: each is told once for as long as it stays the same. */
  #told: string | undefined

  /** mayBeRefused: for what a worker begins with. A server that refuses it at once would do so later, too. */
  constructor(
    readonly name: string,
    readonly connections: Connections,
    readonly answer: number,
    readonly hear: Hearer,
    readonly mayBeRefused = false,
  ) {}

  /** Waits for the server for as long as it takes. Errors: Closed; and what the server says, where the first connection may be refused. */
  async session(signal?: AbortSignal): Promise<Session> {
    if (this.#session && !this.#session.isLost) return this.#session
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = undefined))
    if (!signal) return this.#connecting
    const session = await unlessAborted(this.#connecting, signal)
    if (!session) throw new Closed()
    return session
  }

  async #connect(): Promise<Session> {
    if (this.#session) {
      this.#session = undefined
      await this.#missed(new Error('the connection to the server was lost'))
    }
    for (;;) {
      this.#refuseIfClosed()
      try {
        const session = await connect(this.connections, this.answer, this.hear)
        if (this.#closing.signal.aborted) session.hangUp()
        this.#refuseIfClosed()
        if (this.#isMissed) {
          this.hear.log('info', 'connected to the server again', { connection: this.name })
          this.hear.tell('reconnected')
        }
        this.#isMissed = false
        this.#wasConnected = true
        return (this.#session = session)
      } catch (error) {
        this.#refuseIfClosed()
        if (this.mayBeRefused && !this.#wasConnected && !isWorthWaiting(error)) throw error
        await this.#missed(error)
      }
    }
  }

  #refuseIfClosed(): void {
    if (this.#closing.signal.aborted) throw new Closed()
  }

  async #missed(error: unknown): Promise<void> {
    const length = this.#backoff.next()
    this.#isMissed = true
    this.tell('no connection to the server, trying again', error)
    this.hear.tell('disconnected', error, length)
    await pause(length, this.#closing.signal)
  }

  /** A call was answered, so the next loss is a new one. */
  works(): void {
    this.#told = undefined
    this.#backoff.reset()
  }

  /** Logs why calls fail, if that is news. */
  tell(what: string, error: unknown): void {
    const reason = described(error)
    if (this.#told === reason) return
    this.#told = reason
    this.hear.log('warn', what, { connection: this.name, error: reason })
  }

  /** The next call gets another connection. */
  async giveUp(lost: Session, error: unknown): Promise<void> {
    lost.hangUp()
    if (this.#session !== lost) return
    this.#session = undefined
    if (!this.#closing.signal.aborted) await this.#missed(error)
  }

  /** After 25006: whether it is the server that takes no writes, and not a trigger that has raised it. */
  async isReadOnly(session: Session): Promise<boolean> {
    const rows = await session.rows(IS_READ_ONLY).catch(() => [])
    return rows[0]?.[0] === 't'
  }

  close(): void {
    this.#closing.abort()
    this.#session?.hangUp()
  }
}
