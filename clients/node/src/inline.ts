import { AsyncLocalStorage } from 'node:async_hooks'
import type { Database } from './database.js'

/** In tests, what runs new jobs at once: see inline in testing. */
export const inlineRunner = new AsyncLocalStorage<(database: Database) => Promise<void>>()

export async function runsInline(database: Database): Promise<void> {
  await inlineRunner.getStore()?.(database)
}
