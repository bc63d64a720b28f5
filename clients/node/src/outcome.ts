/** How a run ends, other than by returning its result or by any other error. Handlers throw outcomes, or return them. */
import { milliseconds, type Duration } from './duration.js'
import { classOf, className, codesOf, printable, textOf } from './failure.js'
import { toJson } from './json.js'
import { refuseUnless } from './options.js'

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
  /** What retry curves go by. */
  readonly errorClass?: string | undefined
  /** Milliseconds until the job can be claimed again. */
  readonly after?: number | undefined
  /** A failure that the handler asked for, and not one of the moment: it stands, also where the worker stops. */
  readonly isMeant?: boolean
}

/** Of a run that fails. */
export interface FailureOptions {
  /** What retry curves go by. Undefined: the class of the error, if it is one and not a text. */
  errorClass?: string | undefined
}

export interface RetryOptions extends FailureOptions {
  in?: Duration | undefined
  error?: unknown
}

export class Retry extends Outcome {
  override name = 'Retry'
  readonly ending: Ending
  constructor({ in: after, error, errorClass }: RetryOptions = {}) {
    super('the run fails, and another attempt follows')
    this.ending = { verb: 'fail', ...given(error, errorClass), after: after === undefined ? undefined : milliseconds(after), isMeant: true }
  }
}

export class Discard extends Outcome {
  override name = 'Discard'
  readonly ending: Ending
  constructor(error?: unknown, { errorClass }: FailureOptions = {}) {
    super('the run fails, and no other attempt follows')
    this.ending = { verb: 'discard', ...given(error, errorClass), isMeant: true }
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

/** The run fails; the next attempt is due after this time, or when a retry curve or the backoff of the queue says. */
export const retry = (options?: RetryOptions): Retry => new Retry(options)
/** The run fails, and no other attempt follows. */
export const discard = (error?: unknown, options?: FailureOptions): Discard => new Discard(error, options)
/** The job can be claimed again after this time. The attempt does not count. */
export const snooze = (options: { in: Duration }): Snooze => new Snooze(options)
/** The job can be claimed again at once. The attempt does not count. */
export const release = (): Release => new Release()
/** The run steps aside until the children that it has added have ended. Then the job runs again. */
export const awaitChildren = (): AwaitChildren => new AwaitChildren()

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type ErrorClass = abstract new (...args: any[]) => Error

/**
 * What an error of a handler means. The error is of this class, its `code` is this text, or that of what it wraps (a cause, or an error of
 * an AggregateError), or it is one that the function accepts; what follows is an outcome, or a function that makes one.
 */
export type RetryRule = readonly [
  ErrorClass | string | ((error: unknown) => boolean),
  Outcome | ((error: unknown) => Outcome | undefined | void),
]

/** A rule that could never be followed is refused. */
export function checkedRules(rules: readonly RetryRule[]): readonly RetryRule[] {
  refuseUnless(Array.isArray(rules), 'retry must be an array of pairs')
  rules.forEach((rule, at) => refuseUnless(isRule(rule), `retry[${at}] must be a pair: a class of errors, code or function, and an outcome or function`))
  return rules
}

function isRule(rule: unknown): boolean {
  if (!Array.isArray(rule) || rule.length !== 2) return false
  const [pattern, means] = rule
  const makesOne = typeof means === 'function' && !(means.prototype instanceof Outcome)
  return (typeof pattern === 'string' || typeof pattern === 'function') && (means instanceof Outcome || makesOne)
}

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
      if (outcome) return completed(outcome.ending, error)
    }
    return completed({ verb: 'fail' }, error)
  } catch (reason) {
    return completed({ verb: 'fail', error: printable(`${textOf(error)}\nThe rule for it has failed: ${textOf(reason)}`) }, error)
  }
}

/** With what it leaves open, which is that of the error. */
const completed = (ending: Ending, error: unknown): Ending => ({
  ...ending,
  error: ending.error ?? textOf(error),
  errorClass: ending.errorClass ?? classOf(error),
})

function fits(error: unknown, pattern: RetryRule[0]): boolean {
  if (typeof pattern === 'string') return codesOf(error).includes(pattern)
  if (isErrorClass(pattern)) return error instanceof pattern
  return pattern(error)
}

const isErrorClass = (pattern: ErrorClass | ((error: unknown) => boolean)): pattern is ErrorClass =>
  (pattern as unknown) === Error || pattern.prototype instanceof Error || /^class\b/.test(Function.prototype.toString.call(pattern))

function given(error: unknown, errorClass: string | undefined): Pick<Ending, 'error' | 'errorClass'> {
  const own = className(errorClass)
  if (error === undefined) return { error: undefined, errorClass: own }
  if (typeof error === 'string') return { error: printable(error), errorClass: own }
  return { error: textOf(error), errorClass: errorClass === undefined ? classOf(error) : own }
}
