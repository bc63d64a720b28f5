/** What a worker calls for each job. */
import type { Run } from './run.js'

/** What a handler returns is the result of the job: JSON, or undefined for none. An outcome ends the run in its way, an error fails it. */
export type Handler<P = any> = (run: Run<P>) => unknown

/** Handlers by kind. `*` takes all kinds that have none of their own. */
export type Handlers = Readonly<Record<string, Handler>>
