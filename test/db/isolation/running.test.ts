import test, { type ExecutionContext } from 'ava';
import { openDatabase, type Database } from '../../../app/db/database.ts';
import { startIsolation } from '../../../app/db/isolation/isolation.ts';
import { migrate } from '../../../app/db/migrating/migrate.ts';
import { migrationNames } from '../../../app/db/migrating/migration-names.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { AppError } from '../../../app/errors/app-error.ts';
import { createLog } from '../../../app/telemetry/log.ts';
import { createAccount, logIn } from '../../support/accounts/test-account.ts';
import { assertError } from '../../support/http/error-body.ts';
import { getJson, send } from '../../support/http/send.ts';
import { startTcpProxy } from '../../support/network/tcp-proxy.ts';
import { createKeyFile } from '../../support/vault/key-file.ts';
import {
  startReadyVault,
  startVault,
  untilReady,
  type TestVault,
} from '../../support/vault/vault.ts';
import { createOwnRoles } from './own-roles.ts';

interface Report {
  readonly status: string;
  readonly checks: { readonly database: { readonly status: string; readonly error?: string } };
}

/** A vault on a database behind a proxy, with roles that the test may alter. */
async function startScene(t: ExecutionContext, start: typeof startVault = startReadyVault) {
  const roles = await createOwnRoles();
  t.teardown(() => roles[Symbol.asyncDispose]());
  const keys = await createKeyFile();
  t.teardown(() => keys.remove());
  const { host } = new URL(roles.url(roles.app));
  const proxy = await startTcpProxy(`http://${host}`);
  t.teardown(() => proxy.close());
  const through = (login: string) => roles.url(login).replace(host, new URL(proxy.url).host);
  const settings = {
    DATABASE_URL: through(roles.app),
    DATABASE_SERVICE_URL: through(roles.service),
    DATABASE_APP_ROLE: roles.app,
    DATABASE_SERVICE_ROLE: roles.service,
    INTERNAL_API_KEYS_FILE: keys.path,
  };
  const alerts = async ({ baseUrl }: TestVault) => {
    const headers = { 'X-Internal-Api-Key': keys.admin };
    return send('GET', `${baseUrl}/v1/audit/proof/dlq/alerts`, { headers });
  };
  return { roles, proxy, settings, alerts, start: () => start(settings) };
}

async function untilDatabase(vault: TestVault, error: string | undefined): Promise<Report> {
  return until(
    async () => {
      const report = (await getJson(`${vault.baseUrl}/health`)).body as Report;
      return report.checks.database.error === error && report;
    },
    { what: `the error ${error} of the database`, timeoutMs: 60_000 },
  );
}

const fatal = ({ logLines }: TestVault) => logLines.filter((line) => /"level":"fatal"/.test(line));

test('a role altered while the vault runs stops it from serving, with an alert', async (t) => {
  const { roles, alerts, start } = await startScene(t);
  const vault = await start();
  t.teardown(() => vault.stop());
  const token = await logIn(vault, await createAccount(vault));
  t.is((await getJson(`${vault.baseUrl}/v1/documents`, token)).status, 200);

  await roles.sql(`alter role ${roles.app} bypassrls`);
  t.is((await untilDatabase(vault, 'isolation_broken')).status, 'error');
  t.is((await getJson(`${vault.baseUrl}/health`)).status, 503);
  t.is((await getJson(`${vault.baseUrl}/health/ready`)).status, 503);
  t.is((await getJson(`${vault.baseUrl}/health/live`)).status, 200);
  const refused = await getJson(`${vault.baseUrl}/v1/documents`, token);
  assertError(t, refused, { status: 503, code: 'database_unavailable' });
  const { body } = await alerts(vault);
  const [alert, ...others] = (body as { alerts: Record<string, unknown>[] }).alerts;
  t.deepEqual(others, []);
  t.like(alert, { code: 'isolation_broken', severity: 'critical', threshold: 0 });
  t.regex(String(alert?.['message']), new RegExp(`alter role ${roles.app} nobypassrls`));
  t.is(fatal(vault).length, 1);
  t.regex(fatal(vault)[0] ?? '', new RegExp(`alter role ${roles.app} nobypassrls`));

  await roles.sql(`alter role ${roles.app} nobypassrls`);
  await untilDatabase(vault, undefined);
  await untilReady(vault.baseUrl);
  t.is((await getJson(`${vault.baseUrl}/v1/documents`, token)).status, 200);
  t.deepEqual((await alerts(vault)).body, { alerts: [] });
});

test('a policy dropped while the vault runs stops it from serving', async (t) => {
  const { roles, start } = await startScene(t);
  const vault = await start();
  t.teardown(() => vault.stop());
  await roles.sql('alter table documents no force row level security');
  await untilDatabase(vault, 'isolation_broken');
  t.regex(vault.services.isolation.breach?.problem ?? '', /alter table documents force/);
});

test('a database that is away is no breach, and neither is a login that is refused', async (t) => {
  const { roles, proxy, start } = await startScene(t);
  const vault = await start();
  t.teardown(() => vault.stop());
  await proxy.close();
  await untilDatabase(vault, 'refused');
  await proxy.open();
  await untilDatabase(vault, undefined);
  await roles.sql(`alter role ${roles.app} nologin`, `alter role ${roles.service} nologin`);
  await proxy.close();
  await proxy.open();
  await untilDatabase(vault, 'auth');
  t.is(vault.services.isolation.breach, undefined);
  t.deepEqual(fatal(vault), []);
  await roles.sql(`alter role ${roles.app} login`, `alter role ${roles.service} login`);
  await untilDatabase(vault, undefined);
});

test('a start without the database serves nothing until the database was checked', async (t) => {
  const { proxy, start } = await startScene(t, startVault);
  await proxy.close();
  const vault = await start();
  t.teardown(() => vault.stop());
  t.is((await getJson(`${vault.baseUrl}/health/ready`)).status, 503);
  await t.throwsAsync(async () => vault.services.isolation.assertKept(), {
    code: 'database_unavailable',
  });
  await proxy.open();
  await untilReady(vault.baseUrl);
  t.notThrows(() => vault.services.isolation.assertKept());
});

test('a start without the database is refused once it turns out to be wrong', async (t) => {
  const { roles, proxy, start } = await startScene(t, startVault);
  await roles.sql(`alter role ${roles.app} bypassrls`);
  await proxy.close();
  const vault = await start();
  t.teardown(() => vault.stop());
  await proxy.open();
  const { message } = await vault.services.refused;
  t.regex(message, new RegExp(`alter role ${roles.app} nobypassrls`));
  t.is((await getJson(`${vault.baseUrl}/health/ready`)).status, 503);
});

test('a process waits for the migrations of its release, and then serves', async (t) => {
  const { roles, settings } = await startScene(t);
  const empty = await roles.createDatabase();
  const vault = await startVault({
    ...settings,
    DATABASE_URL: roles.url(roles.app, empty),
    DATABASE_SERVICE_URL: roles.url(roles.service, empty),
  });
  t.teardown(() => vault.stop());
  t.is((await untilDatabase(vault, 'schema_behind')).status, 'error');
  t.is((await getJson(`${vault.baseUrl}/health/live`)).status, 200);
  t.is((await getJson(`${vault.baseUrl}/health/ready`)).status, 503);
  const refused = await getJson(`${vault.baseUrl}/v1/audit/keys`);
  assertError(t, refused, { status: 503, code: 'database_unavailable' });
  const told = () => {
    const own =
      /"msg":"(?:nothing is served until probatio migrate|the database has every migration)/;
    return vault.logLines.filter((line) => own.test(line));
  };
  t.is(told().length, 1);
  t.regex(
    told()[0] ?? '',
    /"level":"error".*until probatio migrate has run: the database lacks Migration0001/,
  );

  await migrate(roles.url(roles.owner, empty), roles);
  await untilDatabase(vault, undefined);
  await untilReady(vault.baseUrl);
  t.is(told().length, 2);
  t.deepEqual(fatal(vault), []);
  t.is((await getJson(`${vault.baseUrl}/v1/audit/keys`)).status, 200);
});

test('one migration may be missing, and one of a later release is no obstacle', async (t) => {
  const { roles, start } = await startScene(t, startVault);
  const newest = migrationNames.at(-1) ?? '';
  await roles.sql(`update migrations set name = 'Migration9999Later' where name = '${newest}'`);
  const vault = await start();
  t.teardown(() => vault.stop());
  await untilDatabase(vault, 'schema_behind');
  t.true(vault.logLines.some((line) => line.includes(`the database lacks ${newest}"`)));
  await roles.sql(`insert into migrations (name) values ('${newest}')`);
  await untilReady(vault.baseUrl);
});

test('migrations that could not be read at first are read before anything is served', async (t) => {
  const { roles } = await startScene(t);
  await roles.sql(`delete from migrations where name = '${migrationNames.at(-1) ?? ''}'`);
  const db = await openDatabase({
    url: roles.url(roles.app),
    serviceUrl: roles.url(roles.service),
    poolSize: 1,
  });
  t.teardown(() => db.close());
  let isFirst = true;
  const awayAtFirst: Database = {
    ...db,
    asUser: async (...args) => {
      if (!isFirst) return db.asUser(...args);
      isFirst = false;
      throw new AppError('database_unavailable');
    },
  };
  const isolation = await startIsolation({
    db: awayAtFirst,
    roles,
    clock: () => new Date(),
    log: createLog('silent'),
  });
  t.teardown(() => isolation.stop());
  t.throws(() => isolation.assertKept(), { instanceOf: AppError });
  await until(() => isolation.isBehind, { what: 'the missing migration', timeoutMs: 60_000 });
  t.throws(() => isolation.assertKept(), { instanceOf: AppError });
});
