/** A row of a claim as a job. */
import type { Job } from './run.js'
import type { Row } from './session.js'

/** Where the server names no end of a lease, and the worker no lease of its own. */
const USUAL_LEASE = 300_000

export function readJob(row: Row, lease?: number): { job: Job; lease: number } {
  const [id, attempt, queue, kind, payload, metadata, priority, tenant, account, session, most, left, children, created, ends] = row
  const job = {
    id: id ?? '',
    attempt: Number(attempt),
    queue: queue ?? '',
    kind: kind ?? '',
    priority: Number(priority),
    tenant: tenant ?? null,
    account: account ?? null,
    session: session ?? null,
    maxAttempts: Number(most),
    attemptsLeft: Number(left),
    createdAt: new Date(Number(created)),
    children: children == null ? null : JSON.parse(children),
    payloadText: payload ?? 'null',
    metadataText: metadata ?? null,
  }
  return { job, lease: ends == null ? (lease ?? USUAL_LEASE) : Math.max(1, Number(ends)) }
}
