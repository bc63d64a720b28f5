/** Which errors of the server a worker survives. */

interface Told {
  readonly message: string
  readonly code?: string
  readonly severity?: string
  readonly detail?: string
  readonly hint?: string
}

/** What is to be done about a call that has failed. */
export type Remedy =
  /** The connection is of no use any more. */
  | 'reconnect'
  /** The call may work a moment later. */
  | 'again'
  /** The same, but the server may be one that takes no writes. */
  | 'elsewhere'
  /** It is likely to fail each time. */
  | 'never'

/** The SQLSTATE, if it is the server that says so. Errors of Node have codes, too, such as EPIPE. */
export function sqlstate(error: unknown): string | undefined {
  const told = error as Partial<Told> | null | undefined
  return typeof told?.severity === 'string' ? told.code : undefined
}

/** What a statement says that leaves the connection open is no loss of it, whatever the SQLSTATE: triggers raise any. */
export function remedyFor(error: unknown, isLost: boolean): Remedy {
  const code = sqlstate(error)
  const severity = (error as Partial<Told>).severity
  if (isLost || severity === 'FATAL' || severity === 'PANIC') return 'reconnect'
  // The driver itself refuses to send the call.
  return code === undefined ? 'never' : remedyByCode(code)
}

const OF_THE_MOMENT = /^(57014|40001|40P01|55P03|53200|53300|25P03|25P04|08|57P)/

export function remedyByCode(code: string): Remedy {
  if (OF_THE_MOMENT.test(code)) return 'again'
  return code === '25006' ? 'elsewhere' : 'never'
}

/** Whether another attempt to connect may do better. Without a word of the server it was not reached. */
export function isWorthWaiting(error: unknown): boolean {
  const code = sqlstate(error)
  if (code !== undefined) return remedyByCode(code) !== 'never'
  return !(error instanceof TypeError || error instanceof RangeError)
}

export const isLocked = (error: unknown): boolean => sqlstate(error) === '55P03'
export const isCancelled = (error: unknown): boolean => sqlstate(error) === '57014'

/** No second attempt would make the server take such a value, or the driver send it. */
export function isHopeless(error: unknown): boolean {
  const code = sqlstate(error)
  return code === undefined || code === '54000' || code.startsWith('22')
}

/** Whether the server says that the run has ended. Triggers may raise the same SQLSTATE, so the message has to be that of the run. */
export function isSuperseded(error: unknown, { id, attempt }: { id: string; attempt: number }): boolean {
  const { message } = error as Told
  switch (sqlstate(error)) {
    case '55000':
      return message === `attempt ${attempt} of job ${id} is not running`
    case 'P0002':
      return message === `job ${id} does not exist`
    default:
      return false
  }
}

/** Claims are refused where SERIALIZABLE is the default of the role or the database. */
export const isRefusedByIsolation = (error: unknown): boolean =>
  sqlstate(error) === '0A000' && (error as Told).message.includes('SERIALIZABLE')

/** In one line: what the server says, with its detail and its hint. */
export function described(error: unknown): string {
  const { message, code, detail, hint } = error as Partial<Told>
  // Of several addresses that were tried: the message is empty then.
  const first = message || code || String(error)
  if (sqlstate(error) === undefined) return first
  return [`${first} (${code})`, detail, hint].filter(Boolean).join('. ')
}
