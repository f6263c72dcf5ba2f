import { Client, type ClientConfig } from 'pg';
import { valueOf, type Secret } from '../secrets/secret.ts';
import { createStatementNames } from './statement-names.ts';

interface PoolClientOptions {
  /** The URL of the database, which each connection asks for anew. */
  readonly url: Secret;
  /**
   * Limit on a response, after which the connection counts as lost; above the statement timeout.
   */
  readonly answerMs: number;
}

/**
 * Creates the `pg.Client` class of one pool. It lets Postgres prepare frequent statements, which
 * are then parsed, rewritten for row-level security and planned once per connection instead of at
 * each use. It also closes a connection whose peer vanished silently, which TCP alone would notice
 * only after about 15 minutes: pending queries fail then, and the pool discards the connection.
 */
export function createPoolClient({ url, answerMs }: PoolClientOptions): typeof Client {
  const nameOf = createStatementNames();
  return class PoolClient extends Client {
    constructor(config: ClientConfig) {
      // The URL comes before the members of `config` with the same meaning, which lack its sslmode.
      super({ ...config, connectionString: valueOf(url) });
    }

    override query(...[statement, values, ...rest]: unknown[]): never {
      const isPlain = typeof statement === 'string' && Array.isArray(values);
      const named = isPlain
        ? { name: nameOf(statement, values.length), text: statement }
        : statement;
      const answer: unknown = Reflect.apply(super.query, this, [named, values, ...rest]);
      if (answer instanceof Promise) {
        const timer = setTimeout(() => void this.end(), answerMs);
        const stop = () => clearTimeout(timer);
        answer.then(stop, stop);
      }
      return answer as never;
    }
  };
}
