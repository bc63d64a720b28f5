/** The id of a job, as digits. Ids are bigint in the server: as strings they stay exact beyond 2^53, and JSON can carry them. */
export type JobId = string

/** What is taken for an id. A number must be a safe integer. */
export type JobIdLike = string | bigint | number

export function toId(id: JobIdLike): JobId {
  if (typeof id === 'number' ? Number.isSafeInteger(id) : /^-?\d{1,19}$/.test(String(id))) return String(id)
  throw new TypeError(`${String(id)} is no id of a job: it must be a string of digits, a bigint or a safe integer`)
}
