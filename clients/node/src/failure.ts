/** What is kept of an error: its text, and the class that retry curves go by. An error may be any value, and what it says of itself may throw. */
import { LONGEST_CLASS, LONGEST_ERROR, MOST_CAUSES } from './fixed.js'

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

// Errors of JavaScript itself, such as that of fetch, whose cause says what has happened.
const SAYS_LITTLE = new Set(['Error', 'TypeError', 'AggregateError'])

/** Its `code`, the most stable thing that an error says of itself; else its name. Undefined: it has none. */
export function classOf(error: unknown): string | undefined {
  try {
    const name = nameOf(error)
    const [code] = name === undefined || SAYS_LITTLE.has(name) ? codesOf(error) : [codeOf(error)]
    return className(code ?? name)
  } catch {
    return undefined
  }
}

/** The server refuses a longer class, and the end with it. */
export function className(text: string | undefined): string | undefined {
  if (!text) return undefined
  const bytes = new TextEncoder().encode(printable(text)).subarray(0, LONGEST_CLASS)
  // A stream keeps back half a character.
  return new TextDecoder().decode(bytes, { stream: true })
}

/** PostgreSQL keeps no NUL. */
export function printable(text: string): string {
  return text.slice(0, LONGEST_ERROR).replaceAll('\0', '\\0')
}

/** Those of the error, and of what it wraps: its causes, and the errors of an AggregateError. */
export function codesOf(error: unknown): string[] {
  const codes: string[] = []
  // What is added meanwhile is gone through, too; and nothing twice, as causes may go round.
  const found = new Set([error])
  for (const each of found) {
    const code = codeOf(each)
    if (code !== undefined) codes.push(code)
    if (each instanceof AggregateError) for (const one of each.errors) found.add(one)
    if (each instanceof Error) found.add(each.cause)
  }
  return codes
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : undefined
}

/** That of its class, unless it says another. A class that says none inherits the name of its base, which says little. */
function nameOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const saysIt = Object.hasOwn(error, 'name') || Object.hasOwn(Object.getPrototypeOf(error), 'name')
  const name: unknown = saysIt ? error.name : error.constructor.name
  return typeof name === 'string' ? name : undefined
}

function causeOf(error: unknown): unknown {
  try {
    return error instanceof Error ? error.cause : undefined
  } catch {
    return undefined
  }
}

function describe(error: unknown): string {
  try {
    if (!(error instanceof Error)) return typeof error === 'object' && error !== null ? JSON.stringify(error) : String(error)
    const name = nameOf(error) ?? 'Error'
    const first = error.message === '' ? name : `${name}: ${error.message}`
    const stack = typeof error.stack === 'string' ? error.stack.slice(error.stack.search(/\n\s+at /)) : ''
    return stack.startsWith('\n') ? first + stack : first
  } catch {
    return 'an error that cannot be described'
  }
}
