import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type DatabaseConnection,
  type Dialect,
} from 'kysely';
import type { Schema } from './schema.ts';

const dialect: Dialect = {
  createAdapter: () => new PostgresAdapter(),
  createDriver: () => new DummyDriver(),
  createIntrospector: (db) => new PostgresIntrospector(db),
  createQueryCompiler: () => new PostgresQueryCompiler(),
};

/** Builds and compiles statements, and can send none. */
export const unconnected = new Kysely<Schema>({ dialect });

/** Members that Kysely wants of every instance, and uses only to make and end connections. */
const unused = { config: { dialect }, dialect, driver: new DummyDriver() };

/** Is told of the statements of a pipeline. */
interface Observer {
  /** Called before a statement is sent, which it can refuse by an error. */
  readonly begins: () => void;
  /** Called once a statement has succeeded. */
  readonly succeeds: () => void;
}

/**
 * Returns a form of a connection that sends each statement at once, without waiting for the result
 * of the one before. Postgres executes them in their order; once one has failed in a transaction,
 * it refuses all later ones.
 */
export function createPipeline(
  connection: DatabaseConnection,
  { begins, succeeds }: Observer,
): Kysely<Schema> {
  const executor = unconnected.getExecutor().withConnectionProvider({
    async provideConnection(send) {
      begins();
      const result = await send(connection);
      succeeds();
      return result;
    },
  });
  return new Kysely<Schema>({ ...unused, executor });
}

/**
 * Resolves with the results of promises. Waits for one after the other, and throws what the first
 * of them throws that fails: of statements in the order in which they were sent, the first failure
 * is the reason for all others.
 */
export async function inTurn<T extends readonly unknown[]>(
  ...promises: { readonly [N in keyof T]: Promise<T[N]> }
): Promise<T> {
  const results = Promise.all(promises);
  results.catch(() => undefined);
  for (const promise of promises) await promise;
  return results;
}
