export { awaitResult, JobFailed, TimedOut, type AwaitOptions } from './await_result.js'
export type { Database, Query } from './database.js'
export type { Duration } from './duration.js'
export type { Handler, Handlers } from './handler.js'
export type { Hooks, Level } from './hooks.js'
export type { JobId, JobIdLike } from './id.js'
export { rawJson, RawJson } from './json.js'
export {
  awaitChildren, AwaitChildren, discard, Discard, Outcome, release, Release, retry, Retry, snooze, Snooze, type Ending,
  type FailureOptions, type RetryOptions, type RetryRule,
} from './outcome.js'
export {
  enqueue, enqueueBatch, enqueueMany, type Added, type BatchOptions, type JobOptions, type JobState, type NewJob, type UniqueMode,
} from './producer.js'
export { Run, Stopped, type Children, type Job, type StopReason } from './run.js'
export type { Connection, Connections } from './session.js'
export { DEFAULTS, type Settings } from './settings.js'
export { Undelivered, Worker, type StopOptions, type WorkerOptions } from './worker.js'
