/** JSON as text, for what JavaScript has no exact value for. See rawJson. */
export class RawJson {
  constructor(readonly text: string) {}
}

/** A payload, metadata or a result that goes to the server as this text: numbers keep all their digits. */
export function rawJson(text: string): RawJson {
  return new RawJson(text)
}

/** Undefined: there is no value. Whatever JSON cannot say is a TypeError. */
export function toJson(value: unknown): string | undefined {
  if (value === undefined) return undefined
  const text = value instanceof RawJson ? value.text : JSON.stringify(value)
  if (text === undefined) throw new TypeError(`${typeof value} has no form in JSON`)
  return text
}
