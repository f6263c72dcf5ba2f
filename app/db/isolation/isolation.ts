import type { Clock } from '../../async/clock.ts';
import { sleep } from '../../async/wake-signal.ts';
import { within } from '../../async/within.ts';
import { AppError } from '../../errors/app-error.ts';
import { StartRefused } from '../../errors/start-refused.ts';
import type { Log } from '../../telemetry/log.ts';
import type { DatabaseRoles } from '../columns/roles.ts';
import type { Database } from '../database.ts';
import { findMissing } from '../migrating/missing-migrations.ts';
import { createIsolationCheck, type Problem } from './check.ts';

const checkEveryMs = 5_000;
/** Milliseconds between checks while no check has been completed yet. */
const retryEveryMs = 1_000;
/** Milliseconds for which a start waits for the first check. */
const patienceMs = 10_000;

/** A breach of the isolation, found while the vault was running. */
export interface Breach {
  /** The problem and its remedy, in one line, for operators. */
  readonly problem: string;
  readonly since: Date;
}

/** The knowledge of this process whether the database keeps the rows of users apart. */
export interface Isolation {
  /** Undefined while the isolation holds, as far as the last check could tell. */
  readonly breach: Breach | undefined;
  /** Whether the database lacks migrations of this release, so that nothing is served yet. */
  readonly isBehind: boolean;
  /**
   * Throws database_unavailable unless a check has shown that the isolation holds, and no later
   * check has shown the contrary.
   */
  assertKept(): void;
  /** Resolves if the first check to be completed, after the start, refuses this start. */
  readonly refused: Promise<StartRefused>;
  /** Ends the checks, and waits for the check under way. */
  stop(): Promise<void>;
}

interface IsolationOptions {
  readonly db: Database;
  readonly roles: DatabaseRoles;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Checks at the start and then every 5 s that the logins, their rights and the policies keep the
 * rows of users apart. Throws StartRefused, with one line in the log that names the remedy, if they
 * do not. Returns without a result if the database is away, or lacks migrations of this release: a
 * result then follows.
 */
export async function startIsolation(options: IsolationOptions): Promise<Isolation> {
  const { db, roles, clock, log } = options;
  const findProblem = createIsolationCheck(db, roles);
  const refusal = Promise.withResolvers<StartRefused>();
  const stopping = new AbortController();
  let refused: StartRefused | undefined;
  let isKnown = false;
  let breach: Breach | undefined;
  let missing: readonly string[] = [];

  function refuse({ text }: Problem): void {
    log.fatal(`refused to start: ${text}`);
    refused = new StartRefused(text);
    refusal.resolve(refused);
    stopping.abort();
  }

  function keep(problem: Problem | undefined): void {
    if (problem === undefined) {
      if (breach !== undefined) log.warn('users are isolated again');
      breach = undefined;
    } else if (breach?.problem !== problem.text) {
      breach = { problem: problem.text, since: breach?.since ?? clock() };
      log.fatal(`users are not isolated, so nothing is served: ${problem.text}`);
    }
  }

  async function lookForMissing(): Promise<void> {
    const found = await findMissing(db);
    // While somebody migrates, each look finds fewer.
    if (found.length > 0 && missing.length === 0) log.error(describeMissing(found));
    if (found.length === 0 && missing.length > 0) {
      log.info('the database has every migration of this release now');
    }
    missing = found;
  }

  async function check(): Promise<void> {
    try {
      const unread: unknown = isKnown ? undefined : await lookForMissing().catch(asValue);
      if (missing.length > 0) return;
      // If the migrations could not be read, this may say why.
      const problem = await findProblem();
      if (!isKnown && problem !== undefined) return refuse(problem);
      if (unread !== undefined) throw unread;
      isKnown = true;
      // A login that Postgres refuses while the vault runs, as after a change of its password, is
      // like a database that is away.
      if (problem?.isRefusal !== true) keep(problem);
    } catch (error) {
      if (!isAway(error)) log.error({ err: error }, 'the isolation of users cannot be checked');
    }
  }

  async function run(first: Promise<void>): Promise<void> {
    await first;
    while (!stopping.signal.aborted) {
      await sleep(isKnown ? checkEveryMs : retryEveryMs, stopping.signal);
      if (!stopping.signal.aborted) await check();
    }
  }

  const first = check();
  await within(patienceMs, first);
  if (refused !== undefined) throw refused;
  const running = run(first);
  return {
    get breach() {
      return breach;
    },
    get isBehind() {
      return missing.length > 0;
    },
    assertKept() {
      if (!isKnown || breach !== undefined) {
        const reason = missing.length > 0 ? 'migrations are missing' : 'users are not isolated';
        throw new AppError('database_unavailable', { cause: new Error(reason) });
      }
    },
    refused: refusal.promise,
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

const asValue = (error: unknown) => error;

function describeMissing(missing: readonly string[]): string {
  const names = missing.join(', ');
  return `nothing is served until probatio migrate has run: the database lacks ${names}`;
}

function isAway(error: unknown): boolean {
  return error instanceof AppError && error.code === 'database_unavailable';
}
