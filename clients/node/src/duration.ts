/** A span of time: a number of milliseconds, as in setTimeout, or a text such as '500ms', '30 seconds', '5 min', '1h', '2 days'. */
export type Duration = number | string

const UNITS: Record<string, number> = {}
for (const [names, milliseconds] of [
  ['ms msec msecs millisecond milliseconds', 1],
  ['s sec secs second seconds', 1000],
  ['m min mins minute minutes', 60_000],
  ['h hour hours', 3_600_000],
  ['d day days', 86_400_000],
] as const) {
  for (const name of names.split(' ')) UNITS[name] = milliseconds
}

/** In milliseconds. */
export function milliseconds(duration: Duration): number {
  if (typeof duration === 'number') {
    if (Number.isFinite(duration) && duration >= 0) return duration
  } else {
    const [, number, name] = /^\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*$/i.exec(duration) ?? []
    const unit = UNITS[name?.toLowerCase() ?? '']
    if (unit !== undefined) return Number(number) * unit
  }
  throw new TypeError(`${String(duration)} is no span of time: it must be milliseconds, or a text such as '30 seconds'`)
}

/** For the server. A text goes there as it is: PostgreSQL knows more of them, such as '1 month'. */
export function interval(duration: Duration): string {
  return typeof duration === 'string' ? duration : `${milliseconds(duration)} milliseconds`
}
