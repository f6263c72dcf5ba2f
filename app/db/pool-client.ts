import { Client } from 'pg';
import { createStatementNames } from './statement-names.ts';

interface PoolClientOptions {
  /** A connection over which an answer takes longer is lost: no statement may run as long. */
  readonly answerMs: number;
}

/**
 * The `pg.Client` of a pool, one class a pool. Postgres prepares what is sent again and again: it is
 * parsed, checked against the policies of row-level security and planned once a connection instead of
 * at every use. And a connection whose other end is gone without a word is closed, which TCP alone
 * does after a quarter of an hour; what waits for it fails then, and the pool keeps it no more.
 */
export function createPoolClient({ answerMs }: PoolClientOptions): typeof Client {
  const nameOf = createStatementNames();
  return class PoolClient extends Client {
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
