/** A row of a claim as a job. */
import { NO_LEASE } from './fixed.js'
import type { Job } from './run.js'
import type { Row } from './session.js'

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
  return { job, lease: ends == null ? (lease ?? NO_LEASE) : Math.max(1, Number(ends)) }
}
