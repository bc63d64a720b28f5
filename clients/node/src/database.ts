/** The caller's own connection or transaction, of whatever library: it is told by what it can do, and none is imported. */

export type Value = string | null

/** Runs a statement whose parameters are $1, $2, … and are all texts or null. Returns its rows. */
export type Query = (text: string, values: Value[]) => PromiseLike<readonly Record<string, any>[]>

/** node-postgres: Client, PoolClient, Pool. Also others with such a method that return rows, as TypeORM does. */
interface WithQuery {
  query(text: string, values: any[]): PromiseLike<any>
}
/** Knex: a transaction, or the instance itself. */
interface WithRaw {
  raw(text: string, values: readonly any[]): PromiseLike<any>
}
/** Prisma: a client, or what $transaction gives. */
interface WithQueryRaw {
  $queryRawUnsafe(text: string, ...values: any[]): PromiseLike<any>
}

/** Where statements go. Nothing is committed there. For other libraries pass a function. */
export type Database = WithQuery | WithRaw | WithQueryRaw | Query

export type Rows = readonly Record<string, any>[]

export async function rowsOf(database: Database, text: string, values: Value[] = []): Promise<Rows> {
  if (has(database, '$queryRawUnsafe')) return (database as WithQueryRaw).$queryRawUnsafe(text, ...values)
  if (has(database, 'raw')) return rowsIn(await (database as WithRaw).raw(...withQuestionMarks(text, values)))
  if (has(database, 'query')) return rowsIn(await (database as WithQuery).query(text, values))
  if (typeof database === 'function') return database(text, values)
  throw new TypeError('where to enqueue must be a client of pg, Knex or Prisma, or a function that runs a statement')
}

const has = (database: unknown, name: string): boolean =>
  typeof (database as Record<string, unknown> | null | undefined)?.[name] === 'function'

const rowsIn = (found: { rows?: Rows } | Rows): Rows => (Array.isArray(found) ? found : ((found as { rows?: Rows }).rows ?? []))

function withQuestionMarks(text: string, values: readonly Value[]): [string, Value[]] {
  const inOrder: Value[] = []
  const marked = text.replace(/\$(\d+)/g, (_, number: string) => {
    inOrder.push(values[Number(number) - 1] ?? null)
    return '?'
  })
  return [marked, inOrder]
}

/** A text[] as text. */
export const arrayOf = (names: readonly string[]): string => `{${names.map((name) => `"${name.replace(/["\\]/g, '\\$&')}"`)}}`
