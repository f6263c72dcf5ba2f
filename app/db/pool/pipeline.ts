import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type Dialect,
} from 'kysely';
import type { Schema } from '../schema.ts';

const dialect: Dialect = {
  createAdapter: () => new PostgresAdapter(),
  createDriver: () => new DummyDriver(),
  createIntrospector: (db) => new PostgresIntrospector(db),
  createQueryCompiler: () => new PostgresQueryCompiler(),
};

/** Members that Kysely wants of every instance, and uses only to make and end connections. */
const unused = { config: { dialect }, dialect, driver: new DummyDriver() };

/**
 * Runs `work` with a form of a connection that sends each statement at once, without waiting for
 * the result of the one before. Postgres executes them in their order; once one has failed in a
 * transaction, it refuses all later ones.
 */
export function openPipeline<T>(
  connection: Kysely<Schema>,
  work: (pipeline: Kysely<Schema>) => Promise<T>,
): Promise<T> {
  const executor = connection.getExecutor();
  return executor.provideConnection((client) => {
    const immediate = executor.withConnectionProvider({
      provideConnection: (consumer) => consumer(client),
    });
    return work(new Kysely<Schema>({ ...unused, executor: immediate }));
  });
}

/**
 * Resolves with the results of promises. Waits for one after the other, and throws what the first of them throws that fails: of
 * statements in the order in which they were sent, the first failure is the reason for all others.
 */
export async function inTurn<T extends readonly unknown[]>(
  ...promises: { readonly [N in keyof T]: Promise<T[N]> }
): Promise<T> {
  const results = Promise.all(promises);
  results.catch(() => undefined);
  for (const promise of promises) await promise;
  return results as unknown as Promise<T>;
}
