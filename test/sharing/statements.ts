import type { KyselyPlugin } from 'kysely';
import type { Database, Tx } from '../../app/db/database.ts';

/** A database that records the statements of its transactions without their values. */
export interface RecordedDatabase {
  readonly db: Database;
  /** Returns the statements since the last call. */
  take(): string[];
}

export function recordStatements(db: Database): RecordedDatabase {
  let statements: string[] = [];

  function recorded<T>(login: string, work: (tx: Tx) => Promise<T>) {
    return (tx: Tx) => {
      const plugin: KyselyPlugin = {
        transformQuery({ node, queryId }) {
          statements.push(`${login}: ${tx.getExecutor().compileQuery(node, queryId).sql}`);
          return node;
        },
        transformResult: async ({ result }) => result,
      };
      return work(tx.withPlugin(plugin));
    };
  }

  return {
    db: {
      ...db,
      asUser: (owner, work) => db.asUser(owner, recorded('user', work)),
      asService: (work) => db.asService(recorded('service', work)),
    },
    take() {
      const taken = statements;
      statements = [];
      return taken;
    },
  };
}
