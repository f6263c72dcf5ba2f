import { Client, DatabaseError, type ClientConfig } from 'pg';
import { startDeadline } from '../../async/deadline.ts';
import { valueOf, type Secret } from '../../secrets/secret.ts';
import { findStatementMs } from './limits.ts';
import type { Silence } from './silence.ts';
import { createStatementNames } from './statement-names.ts';
import { startStatementSpan } from './statement-span.ts';

interface PoolClientOptions {
  /** The URL of the database, which each connection asks for anew. */
  readonly url: Secret;
  /** Milliseconds after which a login without a response makes Postgres silent. */
  readonly loginMs: number;
  /**
   * Milliseconds that a statement of most transactions may take. A statement of a transaction with
   * a higher limit is given up as soon if Postgres is silent.
   */
  readonly statementMs: number;
  readonly silence: Silence;
  /** Called for each statement once it has its response, or will have none. */
  readonly onAnswered: (statement: AnsweredStatement) => void;
  /** Called once if a pooler turns out not to support prepared statements. */
  readonly onUnprepared: () => void;
}

/** A statement that has its response, or that will have none. */
export interface AnsweredStatement {
  /** The SQL text, without the values of parameters. */
  readonly text: string;
  /** Seconds from sending the statement to its response. */
  readonly seconds: number;
  /** The error of Postgres or of the connection; undefined after a success. */
  readonly error: unknown;
}

/**
 * Milliseconds between the limit that Postgres enforces on a statement and that on its response.
 */
export const responseMarginMs = 1_000;
const checkEveryMs = 1_000;

/**
 * SQLSTATEs of a pooler that gives each transaction any connection and does not keep track of
 * prepared statements: the statement is unknown there, or known already.
 */
const lostStatement: ReadonlySet<string | undefined> = new Set(['26000', '42P05']);

/**
 * Creates the `pg.Client` class of one pool. It lets Postgres prepare frequent statements, which
 * are then parsed, rewritten for row-level security and planned once per connection instead of at
 * each use. It also closes a connection on which a response takes longer than Postgres lets the
 * statement take: Postgres or the network hangs, which TCP alone would notice only after about 15
 * minutes. Pending queries fail then, and the pool discards the connection.
 */
export function createPoolClient(options: PoolClientOptions): typeof Client {
  const { url, loginMs, statementMs: usualMs, silence, onAnswered, onUnprepared } = options;
  const names = createStatementNames();

  return class PoolClient extends Client {
    /** The limit of the transaction under way. */
    #statementMs = usualMs;
    #isGathering = false;
    /** Whether a statement of the transaction under way has failed. */
    #hasFailed = false;
    /** The monotonic time of the last response, in milliseconds. */
    #answeredAt = 0;

    constructor(config: ClientConfig) {
      // The URL comes before the members of `config` with the same meaning, which lack its sslmode.
      super({ ...config, connectionString: valueOf(url), pipeline: true });
      const stop = startDeadline(loginMs, () => silence.begin());
      this.once('connect', () => (stop(), silence.end())).once('end', stop);
    }

    override query(...[statement, values, ...rest]: unknown[]): never {
      const isPlain = typeof statement === 'string' && Array.isArray(values);
      if (isPlain) this.#observeBeginning(statement);
      const named = isPlain
        ? { name: names.find(statement, values.length), text: statement }
        : statement;
      this.#gather();
      const response: unknown = Reflect.apply(super.query, this, [named, values, ...rest]);
      if (response instanceof Promise) this.#limit(isPlain ? statement : '', response);
      return response as never;
    }

    /**
     * Sends the statements of one turn of the event loop in one write, such as `begin` and the
     * first statement: each write wakes Postgres.
     */
    #gather(): void {
      if (this.#isGathering) return;
      this.#isGathering = true;
      const { stream } = this.connection;
      stream.cork();
      setImmediate(() => {
        this.#isGathering = false;
        stream.uncork();
      });
    }

    #observeBeginning(statement: string): void {
      const statementMs = findStatementMs(statement);
      if (statementMs === undefined) return;
      this.#statementMs = statementMs;
      this.#hasFailed = false;
    }

    /**
     * Takes an error as one of a pooler only if it is the first of its transaction: Postgres
     * prepares no statement after a failed one, and does not know it when it is used again in the
     * same round trip.
     */
    #observeError(error: unknown): void {
      if (!(error instanceof DatabaseError)) return;
      silence.end();
      const isLost = lostStatement.has(error.code) && !this.#hasFailed;
      this.#hasFailed = true;
      if (isLost && names.stop()) onUnprepared();
    }

    /** Closes the connection at once: an orderly end would wait for the responses. */
    #abandon(): void {
      void this.end();
      this.connection.stream.destroy();
    }

    /**
     * Closes the connection if the response to a statement is late. Postgres begins with a
     * statement once it has answered all earlier ones.
     */
    #limit(text: string, response: Promise<unknown>): void {
      const limitMs = this.#statementMs + responseMarginMs;
      const sentAt = performance.now();
      const endSpan = startStatementSpan(text);
      const check = () => {
        const isLate = performance.now() - Math.max(sentAt, this.#answeredAt) >= limitMs;
        if (isLate) silence.begin();
        if (isLate || silence.isSilent) this.#abandon();
        else stop = startDeadline(checkEveryMs, check);
      };
      let stop = startDeadline(Math.min(limitMs, usualMs + responseMarginMs), check);
      const report = (error?: unknown) => {
        this.#answeredAt = performance.now();
        stop();
        endSpan(error);
        onAnswered({ text, seconds: (performance.now() - sentAt) / 1_000, error });
      };
      response.then(
        () => (report(), silence.end()),
        (error: unknown) => (report(error), this.#observeError(error)),
      );
    }
  };
}
