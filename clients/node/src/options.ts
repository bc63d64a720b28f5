/** Options from JavaScript, where no types see to them. What is misspelt or of another type would count as left out. */

export function refuseAny(whose: string, unknown: readonly string[]): void {
  if (unknown[0] !== undefined) throw new TypeError(`${whose} has no option ${unknown[0]}`)
}

export function refuseUnless(isRight: boolean, what: string): void {
  if (!isRight) throw new TypeError(what)
}

export const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
