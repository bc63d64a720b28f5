/** What a worker tells of itself: for logs, metrics and traces. */
import { isObject, refuseUnless } from './options.js'
import type { Ending } from './outcome.js'
import type { Run, StopReason } from './run.js'

export type Level = 'debug' | 'info' | 'warn' | 'error'

/** All are optional. What one throws is logged, and changes nothing else. */
export interface Hooks {
  /** Takes what would be logged. Where no hook does, warnings and errors go to the console. */
  log?(level: Level, message: string, about: Record<string, unknown>): void
  /** Goes around a handler, which it must call: its context is that of the handler. What it returns makes no difference. */
  around?(run: Run, handler: () => Promise<unknown>): Promise<unknown>
  /** A claim has brought so many jobs, in so many milliseconds. */
  claimed?(jobs: number, milliseconds: number): void
  /** The handler is done, after so many milliseconds. ending: what becomes of the run, which a stop may decide. */
  ended?(run: Run, ending: Ending, milliseconds: number): void
  /** The run was told to stop. */
  stopping?(run: Run, reason: StopReason): void
  /** The server did not take the end of the run: it was superseded, or a trigger has raised an error. It is told again unless isGivenUp. */
  refused?(run: Run, ending: Ending, error: unknown, isGivenUp: boolean): void
  /** There is no work: the worker sleeps in the server. */
  idle?(): void
  /** A connection could not be made, or was lost. The next attempt follows after so many milliseconds. */
  disconnected?(error: unknown, pause: number): void
  /** There is a connection again. */
  reconnected?(): void
}

/** Tells all hooks. */
export class Hearer {
  readonly #hooks: readonly Hooks[]
  readonly #logs: readonly Hooks[]
  readonly #arounds: readonly Hooks[]

  constructor(hooks: Hooks | readonly Hooks[] = []) {
    this.#hooks = [hooks].flat() as Hooks[]
    refuseUnless(this.#hooks.every(isObject), 'hooks must be an object with functions, or an array of such')
    const logs = this.#hooks.filter((hook) => hook.log)
    this.#logs = logs.length > 0 ? logs : [CONSOLE]
    this.#arounds = this.#hooks.filter((hook) => hook.around)
  }

  log(level: Level, message: string, about: Record<string, unknown> = {}): void {
    for (const hook of this.#logs) {
      try {
        hook.log?.(level, message, about)
      } catch (error) {
        CONSOLE.log('error', 'a hook has failed', { hook: 'log', error })
      }
    }
  }

  tell<N extends Exclude<keyof Hooks, 'log' | 'around'>>(name: N, ...about: Parameters<NonNullable<Hooks[N]>>): void {
    for (const hook of this.#hooks) {
      try {
        const told = (hook[name] as ((...about: unknown[]) => unknown) | undefined)?.apply(hook, about)
        if (told instanceof Promise) told.catch((error) => this.#hasFailed(name, error))
      } catch (error) {
        this.#hasFailed(name, error)
      }
    }
  }

  /** The handler is called once, whatever the hooks do. */
  async around(run: Run, handler: () => unknown): Promise<unknown> {
    if (this.#arounds.length === 0) return handler()
    let called: Promise<unknown> | undefined
    const call = () => {
      called ??= (async () => handler())()
      // A hook may wait for something else meanwhile, and nobody hears of the error until then.
      called.catch(() => {})
      return called
    }
    const all = this.#arounds.reduceRight<() => Promise<unknown>>((inner, hook) => async () => hook.around?.(run, inner), call)
    try {
      await all()
    } catch (error) {
      const own = await (called ?? Promise.resolve()).then(() => undefined, (reason: unknown) => reason)
      if (called === undefined || own !== error) this.#hasFailed('around', error)
    }
    return call()
  }

  #hasFailed(hook: string, error: unknown): void {
    this.log('error', 'a hook has failed', { hook, error })
  }
}

const CONSOLE = {
  log(level: Level, message: string, about: Record<string, unknown>): void {
    if (level === 'warn' || level === 'error') console[level](`turnstile: ${message}`, about)
  },
}
