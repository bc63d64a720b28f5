/** Which ends go together in one call, and what the call is. */
import { MOST_RESULTS } from './fixed.js'
import type { HeldRun } from './held.js'
import type { Ending } from './outcome.js'
import { COMPLETE_MANY, FAIL_MANY, RELEASE_MANY, SNOOZE_MANY } from './statements.js'

export interface Call {
  readonly text: string
  readonly values: unknown[]
  /** The call leaves alone what is not the worker's to end, and says how many it has ended. */
  readonly isCounted: boolean
}

const TOGETHER: Record<Ending['verb'], string | undefined> = {
  complete: 'complete',
  fail: 'fail',
  discard: 'fail',
  snooze: 'snooze',
  release: 'release',
  awaitChildren: undefined,
}

export function groupsOf(runs: readonly HeldRun[]): HeldRun[][] {
  const groups: HeldRun[][] = []
  const open = new Map<string, { group: HeldRun[]; size: number }>()
  for (const held of runs) {
    const name = held.ending && !held.isPutOff ? TOGETHER[held.ending.verb] : undefined
    const size = held.ending?.result?.length ?? 0
    let last = name === undefined ? undefined : open.get(name)
    if (!last || last.size + size > MOST_RESULTS) {
      last = { group: [], size: 0 }
      groups.push(last.group)
      if (name !== undefined) open.set(name, last)
    }
    last.group.push(held)
    last.size += size
  }
  return groups
}

/** For runs that go together. */
export function callFor(group: readonly HeldRun[]): Call {
  const values: unknown[] = runsOf(group)
  const endings = group.map((held) => held.ending)
  switch (endings[0]?.verb) {
    case 'fail':
    case 'discard': {
      const errors = endings.map((ending) => ending?.error ?? null)
      const times = endings.map((ending) => (ending?.after === undefined ? null : `${ending.after} milliseconds`))
      const discards = endings.map((ending) => ending?.verb === 'discard')
      const classes = endings.map((ending) => ending?.errorClass ?? null)
      return { text: FAIL_MANY, values: [...values, errors, times, discards, classes], isCounted: true }
    }
    case 'snooze':
      return { text: SNOOZE_MANY, values: [...values, endings.map((ending) => (ending?.after ?? 0) / 1000)], isCounted: false }
    case 'release':
      return { text: RELEASE_MANY, values, isCounted: false }
    default:
      return { text: COMPLETE_MANY, values: [...values, resultsOf(group)], isCounted: true }
  }
}

export function runsOf(runs: readonly HeldRun[]): [string[], number[]] {
  return [runs.map(({ id }) => id), runs.map(({ attempt }) => attempt)]
}

/** Null: none of them has one. */
export function resultsOf(runs: readonly HeldRun[]): (string | null)[] | null {
  const results = runs.map((held) => held.ending?.result ?? null)
  return results.some((result) => result !== null) ? results : null
}
