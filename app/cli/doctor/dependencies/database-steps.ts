import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { noticedSkewSeconds, refusedSkewSeconds } from '../../../clocks/clock-watch.ts';
import { readDatabaseClock } from '../../../clocks/readings.ts';
import type { Config } from '../../../config/config.ts';
import type { Database } from '../../../db/database.ts';
import { createIsolationCheck } from '../../../db/isolation/check.ts';
import { askTime, judgeClock } from '../steps/clock-difference.ts';
import { findSchemaProblem } from './schema-problem.ts';
import { fail, ok, type Step } from '../steps/steps.ts';

/** The limits for the clocks of app, signer and Postgres, as the app keeps them. */
export const strictClock = { warn: noticedSkewSeconds, fail: refusedSkewSeconds };

/** Examines the database with both logins of the app. Reads only. */
export function databaseSteps(config: Config['database'], db: Database): readonly Step[] {
  const { appRole: app, serviceRole: service } = config;
  const login = (variable: string) => ({
    what: 'Postgres',
    address: variable,
    credentials: variable,
    part: 'database',
  });
  const of = login('DATABASE_SERVICE_URL');
  return [
    {
      name: 'database.app',
      of: login('DATABASE_URL'),
      async run() {
        const nobody = { userId: randomUUID(), tenantId: '' };
        await db.asUser(nobody, (tx) => sql`select 1`.execute(tx));
        return ok('the login for users in DATABASE_URL works');
      },
    },
    {
      name: 'database.service',
      of,
      async run() {
        await db.asService((tx) => sql`select 1`.execute(tx));
        return ok('the login for workers in DATABASE_SERVICE_URL works');
      },
    },
    {
      name: 'database.schema',
      needs: ['database.service'],
      of,
      async run() {
        const problem = await db.asService(findSchemaProblem);
        return problem === undefined
          ? ok('the database has every table, column and index of this version')
          : fail(problem);
      },
    },
    {
      name: 'database.isolation',
      needs: ['database.app', 'database.service'],
      of,
      async run() {
        const problem = await createIsolationCheck(db, { app, service })();
        return problem === undefined
          ? ok('the logins, their rights and the policies keep users apart')
          : fail(problem.text);
      },
    },
    {
      name: 'database.clock',
      needs: ['database.service'],
      of,
      async run() {
        return judgeClock('Postgres', await askTime(1, () => readDatabaseClock(db)), strictClock);
      },
    },
  ];
}
