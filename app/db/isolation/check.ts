import { randomUUID } from 'node:crypto';
import type { DatabaseRoles } from '../columns/roles.ts';
import type { Database, Tx } from '../database.ts';
import { expectTables, tablesOf } from './expected-tables.ts';
import { findLaterTables } from './later-release.ts';
import { readLoginFacts, type LoginFacts } from './login-facts.ts';
import { appLogin, findLoginProblem, serviceLogin, type LoginSettings } from './login-problem.ts';
import { refusalOf } from './refusal.ts';
import { readTableFacts } from './table-facts.ts';
import { findTableProblem } from './table-problem.ts';

/** The table that lists the migrations that have run, which is no entity. */
const migrationList = 'migrations';

/** A fault that breaks the isolation of users. */
export interface Problem {
  /** The problem and its remedy, in one line. */
  readonly text: string;
  /** Whether Postgres refused a login, so that nothing else could be checked. */
  readonly isRefusal?: boolean;
}

/**
 * Returns what is wrong with the login of a command that acts for the service; undefined if it may
 * do so. Throws database_unavailable if the database is away.
 */
export async function findServiceProblem(
  db: Database,
  roles: DatabaseRoles,
): Promise<string | undefined> {
  const login = { ...serviceLogin, roles, tables: expectTables(roles) };
  const found = await findProblemOf(login, (work) => db.asService(work));
  return 'text' in found ? found.text : undefined;
}

/** A login, with the roles and tables of its vault. */
interface CheckedLogin extends LoginSettings {
  readonly roles: DatabaseRoles;
  readonly tables: ReturnType<typeof expectTables>;
}

/** Returns what is wrong with a login, or the facts about it. */
async function findProblemOf(
  login: CheckedLogin,
  run: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>,
): Promise<Problem | LoginFacts> {
  const { role, roles, tables, urlVariable } = login;
  try {
    const known = new Set(tables.map(({ name }) => name));
    const { facts, later } = await run(async (tx) => {
      const read = await readLoginFacts(tx, roles, role);
      const unknown = read.usable.filter((name) => !known.has(name) && name !== migrationList);
      return { facts: read, later: await findLaterTables(tx, unknown) };
    });
    const text = findLoginProblem(login, facts, roles, {
      needed: tablesOf(tables, roles[role]),
      allowed: [migrationList, ...later],
    });
    return text === undefined ? facts : { text };
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === undefined) throw error;
    return { text: `${urlVariable} ${refusal}`, isRefusal: true };
  }
}

/** Creates the check that a user's transactions see the rows of this user alone. */
export function createIsolationCheck(db: Database, roles: DatabaseRoles) {
  const tables = expectTables(roles);

  /** A transaction of the app login for somebody who has no row at all. */
  const asStranger = <T>(work: (tx: Tx) => Promise<T>) =>
    db.asUser({ userId: randomUUID(), tenantId: '' }, work);

  /**
   * Returns what breaks the isolation; undefined if it holds. Throws database_unavailable if the
   * database is away.
   */
  return async (): Promise<Problem | undefined> => {
    if (roles.app === roles.service) {
      return { text: 'DATABASE_APP_ROLE and DATABASE_SERVICE_ROLE name one role: name two' };
    }
    const findAppProblem = () => findProblemOf({ ...appLogin, roles, tables }, asStranger);
    const app = await findAppProblem();
    if ('text' in app) return app;
    const service = await findProblemOf({ ...serviceLogin, roles, tables }, (work) =>
      db.asService(work),
    );
    if ('text' in service) return service;
    if (app.databaseId !== service.databaseId) {
      return { text: 'DATABASE_URL and DATABASE_SERVICE_URL name two databases: name one' };
    }
    const text =
      findTableProblem(tables, await asStranger(readTableFacts)) ??
      (await findCanaryProblem(asStranger, db));
    if (text === undefined) return undefined;
    // Somebody may have altered the login since its facts were read; they name the cause.
    const cause = await findAppProblem();
    return 'text' in cause ? cause : { text };
  };
}

/** Checks with a row that belongs to nobody that the policies do what they say. */
async function findCanaryProblem(
  asStranger: (work: (tx: Tx) => Promise<number>) => Promise<number>,
  db: Database,
): Promise<string | undefined> {
  if ((await asStranger(countCanaries)) > 0) {
    return 'the app login sees a row that belongs to nobody: see to the policies of its role';
  }
  if ((await db.asService(countCanaries)) !== 1) {
    return 'the service login does not see the row of isolation_canaries: restore the database';
  }
  return undefined;
}

async function countCanaries(tx: Tx): Promise<number> {
  return (await tx.selectFrom('isolation_canaries').select('id').execute()).length;
}
