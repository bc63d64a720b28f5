/** How a run ends, other than by returning its result or by any other error. Handlers throw outcomes, or return them. */
import { milliseconds, type Duration } from './duration.js'
import { LONGEST_ERROR, MOST_CAUSES } from './fixed.js'
import { toJson } from './json.js'

/** Ends a run in a way of its own. */
export abstract class Outcome extends Error {
  abstract readonly ending: Ending
}

/** What the server is told of a run. */
export interface Ending {
  readonly verb: 'complete' | 'fail' | 'discard' | 'snooze' | 'release' | 'awaitChildren'
  /** JSON as text. */
  readonly result?: string | undefined
  readonly error?: string | undefined
  /** Milliseconds until the job can be claimed again. */
  readonly after?: number | undefined
  /** A failure that the handler asked for, and not one of the moment: it stands, also where the worker stops. */
  readonly isMeant?: boolean
}

export class Retry extends Outcome {
  override name = 'Retry'
  readonly ending: Ending
  constructor({ in: after, error }: { in?: Duration | undefined; error?: unknown } = {}) {
    super('the run fails, and another attempt follows')
    this.ending = { verb: 'fail', error: given(error), after: after === undefined ? undefined : milliseconds(after), isMeant: true }
  }
}

export class Discard extends Outcome {
  override name = 'Discard'
  readonly ending: Ending
  constructor(error?: unknown) {
    super('the run fails, and no other attempt follows')
    this.ending = { verb: 'discard', error: given(error), isMeant: true }
  }
}

export class Snooze extends Outcome {
  override name = 'Snooze'
  readonly ending: Ending
  constructor({ in: after }: { in: Duration }) {
    super('the job is put off')
    this.ending = { verb: 'snooze', after: milliseconds(after) }
  }
}

export class Release extends Outcome {
  override name = 'Release'
  readonly ending: Ending = { verb: 'release' }
  constructor() {
    super('the job is given back')
  }
}

export class AwaitChildren extends Outcome {
  override name = 'AwaitChildren'
  readonly ending: Ending = { verb: 'awaitChildren' }
  constructor() {
    super('the run waits for its children')
  }
}

/** The run fails; the next attempt is due after this time, or after the backoff of the queue. */
export const retry = (options?: { in?: Duration | undefined; error?: unknown }): Retry => new Retry(options)
/** The run fails, and no other attempt follows. */
export const discard = (error?: unknown): Discard => new Discard(error)
/** The job can be claimed again after this time. The attempt does not count. */
export const snooze = (options: { in: Duration }): Snooze => new Snooze(options)
/** The job can be claimed again at once. The attempt does not count. */
export const release = (): Release => new Release()
/** The run steps aside until the children that it has added have ended. Then the job runs again. */
export const awaitChildren = (): AwaitChildren => new AwaitChildren()

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type ErrorClass = abstract new (...args: any[]) => Error

/**
 * What an error of a handler means. The error is of this class, its `code` is this text, or it is one that the function accepts; what
 * follows is an outcome, or a function that makes one.
 */
export type RetryRule = readonly [
  ErrorClass | string | ((error: unknown) => boolean),
  Outcome | ((error: unknown) => Outcome | undefined | void),
]

export function endingOfResult(result: unknown): Ending {
  if (result === undefined) return { verb: 'complete' }
  if (result instanceof Outcome) return result.ending
  try {
    return { verb: 'complete', result: toJson(result) }
  } catch (error) {
    return { verb: 'fail', error: `the result is no JSON: ${textOf(error)}`, isMeant: true }
  }
}

/** The first rule that fits and has an outcome for the error counts. Whatever was thrown, and whatever rules do, the run has an end. */
export function endingOfError(error: unknown, rules: readonly RetryRule[]): Ending {
  try {
    if (error instanceof Outcome) return error.ending
    for (const [pattern, means] of rules) {
      if (!fits(error, pattern)) continue
      const outcome = means instanceof Outcome ? means : means(error)
      if (outcome) return { ...outcome.ending, error: outcome.ending.error ?? textOf(error) }
    }
    return { verb: 'fail', error: textOf(error) }
  } catch (reason) {
    return { verb: 'fail', error: printable(`${textOf(error)}\nThe rule for it has failed: ${textOf(reason)}`) }
  }
}

function fits(error: unknown, pattern: RetryRule[0]): boolean {
  if (typeof pattern === 'string') return (error as { code?: unknown } | null | undefined)?.code === pattern
  if (isErrorClass(pattern)) return error instanceof pattern
  return pattern(error)
}

const isErrorClass = (pattern: ErrorClass | ((error: unknown) => boolean)): pattern is ErrorClass =>
  (pattern as unknown) === Error || pattern.prototype instanceof Error || /^class\b/.test(Function.prototype.toString.call(pattern))

const given = (error: unknown): string | undefined =>
  error === undefined ? undefined : typeof error === 'string' ? printable(error) : textOf(error)

/** The stack and the causes. The first line says what it is, so that failures can be grouped by it. */
export function textOf(error: unknown): string {
  const parts: string[] = []
  let cause = error
  do {
    parts.push(describe(cause))
    cause = causeOf(cause)
  } while (cause !== undefined && parts.length < MOST_CAUSES)
  return printable(parts.join('\nCaused by: '))
}

function causeOf(error: unknown): unknown {
  try {
    return error instanceof Error ? error.cause : undefined
  } catch {
    return undefined
  }
}

// An error may be any value, and what it says of itself may throw.
function describe(error: unknown): string {
  try {
    if (!(error instanceof Error)) return typeof error === 'object' && error !== null ? JSON.stringify(error) : String(error)
    const first = error.message === '' ? error.name : `${error.name}: ${error.message}`
    const stack = typeof error.stack === 'string' ? error.stack.slice(error.stack.search(/\n\s+at /)) : ''
    return stack.startsWith('\n') ? first + stack : first
  } catch {
    return 'an error that cannot be described'
  }
}

/** PostgreSQL keeps no NUL. */
export function printable(text: string): string {
  return text.slice(0, LONGEST_ERROR).replaceAll('\0', '\\0')
}
