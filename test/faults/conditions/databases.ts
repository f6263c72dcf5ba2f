import { asAdmin, databaseUrls } from '../../../app/dev/postgres/database.ts';
import type { Condition } from './condition.ts';
import type { Stage } from './stage.ts';

/** Changes a setting of both logins of the vault, and ends their connections. */
async function limitConnections({ postgres }: Stage, limit: number): Promise<void> {
  await asAdmin(postgres.access, async (client) => {
    for (const login of ['probatio_app', 'probatio_service']) {
      await client.query(`alter role ${login} connection limit ${limit}`);
    }
    if (limit === -1) return;
    await client.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where usename in ('probatio_app', 'probatio_service')`);
  });
}

/** Lets the app reach Postgres by way of PgBouncer. */
function restarted({ pooler, vault }: Stage) {
  const { pathname } = new URL(vault.databases.app);
  const urls = databaseUrls(pooler.access, pathname.slice(1));
  return { app: { settings: { DATABASE_URL: urls.app, DATABASE_SERVICE_URL: urls.service } } };
}

const usual = { alerts: [], refusals: ['503 database_unavailable', '503 busy'] };

const frozen: Condition = {
  ...usual,
  name: 'Postgres is frozen',
  begin: ({ postgres }) => postgres.freeze(),
  end: ({ postgres }) => postgres.thaw(),
  health: ['database timeout'],
};
const killed: Condition = {
  ...usual,
  name: 'Postgres is killed and started again',
  begin: ({ postgres }) => postgres.kill(),
  end: ({ postgres }) => postgres.start(),
  health: ['database refused'],
};
const crowded: Condition = {
  ...usual,
  name: 'Postgres accepts no connection',
  begin: (stage) => limitConnections(stage, 0),
  end: (stage) => limitConnections(stage, -1),
  health: ['database full'],
};
const behind = (condition: Condition, health: readonly string[]): Condition => ({
  ...condition,
  name: `${condition.name} behind PgBouncer`,
  restarted,
  health,
});

export const databases: readonly Condition[] = [
  frozen,
  killed,
  crowded,
  behind(frozen, ['database timeout']),
  behind(killed, ['database unavailable']),
  behind(crowded, ['database unavailable']),
  {
    ...usual,
    restarted,
    name: 'PgBouncer is killed and started again',
    begin: ({ pooler }) => pooler.kill(),
    end: ({ pooler }) => pooler.start(),
    health: ['database refused'],
  },
];
