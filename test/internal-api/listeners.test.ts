import { readFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { listRoutes } from '../../app/wiring/routes.ts';
import { freePort } from '../../app/dev/processes/free-port.ts';
import { until } from '../../app/dev/processes/until.ts';
import { insertExpired, sqlOn } from '../support/accounts/purge-vault.ts';
import { connectAs } from '../support/accounts/two-tenants.ts';
import { query } from '../faults/audit/audit-check.ts';
import { startVaultProcesses, type VaultProcesses } from '../support/processes/vault-processes.ts';
import { assertError } from '../support/http/error-body.ts';
import { openSocket, readAnswer, type RawAnswer } from '../support/http/raw-http.ts';
import { send } from '../support/http/send.ts';
import { testStack } from '../support/vault/stack.ts';
import { createKeyFile, type KeyFile } from '../support/vault/key-file.ts';

interface Production {
  readonly vault: VaultProcesses;
  /** Base URL of the internal listener. */
  readonly internalUrl: string;
  readonly keys: KeyFile;
}

/** Starts the app as in production, with a separate listener for the internal routes. */
async function startProduction(t: ExecutionContext): Promise<Production> {
  const keys = await createKeyFile();
  t.teardown(() => keys.remove());
  const port = await freePort();
  const vault = await startVaultProcesses(testStack(), {
    settings: {
      NODE_ENV: 'production',
      HTTP_INTERNAL_PORT: String(port),
      INTERNAL_API_KEYS_FILE: keys.path,
    },
  });
  t.teardown(() => vault[Symbol.asyncDispose]());
  return { vault, internalUrl: `http://127.0.0.1:${port}`, keys };
}

/**
 * Sends a request to a listener without the route, whose answer the description of the route cannot
 * describe: `send` would compare the two.
 */
async function sendAstray(method: string, url: string, key?: string): Promise<RawAnswer> {
  const { host, origin, pathname } = new URL(url);
  const socket = await openSocket(origin);
  try {
    const header = key === undefined ? '' : `X-Internal-Api-Key: ${key}\r\n`;
    socket.write(`${method} ${pathname} HTTP/1.1\r\nHost: ${host}\r\n${header}\r\n`);
    return await readAnswer(socket);
  } finally {
    socket.destroy();
  }
}

const purge = ['POST', '/v1/auth/purge/expired'] as const;
const internalRoutes = [purge, ['GET', '/v1/auth/purge/status'] as const];

const publicRoutes = listRoutes().filter(
  ({ access, isProbe }) =>
    isProbe !== true && (access === 'public' || (access !== 'internal' && !access.orInternal)),
);

test('in production internal routes are only on their own listener, with the probes', async (t) => {
  const { vault, internalUrl, keys } = await startProduction(t);
  const notFound = { status: 404, code: 'not_found' };
  for (const [method, path] of internalRoutes) {
    for (const key of [keys.admin, keys.plain, 'jam']) {
      assertError(t, await sendAstray(method, vault.baseUrl + path, key), notFound);
    }
    assertError(t, await sendAstray(method, vault.baseUrl + path), notFound);
    const other = await sendAstray('DELETE', vault.baseUrl + path);
    assertError(t, other, notFound, 'its methods are not listed either');

    const ask = (key: string) =>
      send(method, internalUrl + path, { headers: { 'X-Internal-Api-Key': key } });
    t.is((await ask(keys.admin)).status, 200);
    assertError(t, await ask(keys.plain), { status: 403, code: 'access_denied' });
    assertError(t, await ask('jam'), { status: 401, code: 'invalid_api_key' });
    assertError(t, await send(method, internalUrl + path), {
      status: 401,
      code: 'invalid_api_key',
    });
  }

  t.true(publicRoutes.length > 20);
  for (const { method, path, aliases = [] } of publicRoutes) {
    for (const name of [path, ...aliases]) {
      const url = internalUrl + name.replace(/:\w+/g, randomUUID());
      const answer = await sendAstray(method.toUpperCase(), url, keys.admin);
      assertError(t, answer, notFound, name);
    }
  }
  for (const path of ['/nowhere', '/api/docs', '/api/docs/openapi.json', '/metrics']) {
    assertError(t, await sendAstray('GET', internalUrl + path, keys.admin), notFound, path);
  }
  for (const path of ['/health', '/health/live', '/health/ready']) {
    t.is((await send('GET', internalUrl + path)).status, 200, path);
  }
  const log = await readFile(vault.logFile, 'utf8');
  for (const key of [keys.admin, keys.plain]) t.false(log.includes(key));
});

test('SIGTERM finishes the purge batch and open requests, and the next run the rest', async (t) => {
  const { vault, internalUrl, keys } = await startProduction(t);
  const holder = await connectAs(vault.databases.admin);
  t.teardown(() => holder.end());
  await insertExpired(sqlOn(holder), 500);
  await holder.query('begin');
  await holder.query('select from outbox for update');

  const headers = { 'X-Internal-Api-Key': keys.admin };
  const answer = send(purge[0], internalUrl + purge[1], { headers });
  const blocked = `select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  await until(async () => (await query(vault, blocked)).length > 0, {
    what: 'the purge to be in its first batch',
    timeoutMs: 60_000,
  });
  const socket = await openSocket(vault.baseUrl);
  t.teardown(() => socket.destroy());
  const body = '{"token":"jam"}';
  socket.write(
    'POST /v1/auth/validate-email HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n' +
      `Content-Length: ${body.length}\r\n\r\n{`,
  );
  // This connection is newer than the first one, so the first request has been accepted by now.
  t.is((await send('GET', `${vault.baseUrl}/health/live`)).status, 200);
  process.kill(vault.app.pid, 'SIGTERM');
  await until(async () => (await readFile(vault.logFile, 'utf8')).includes('"msg":"draining"'), {
    what: 'the drain to begin',
    timeoutMs: 60_000,
  });
  await holder.query('rollback');
  const validated = readAnswer(socket);
  socket.write(body.slice(1));

  assertError(t, await answer, { status: 503, code: 'shutting_down' });
  t.is((await validated).status, 200);
  await until(async () => (await readFile(vault.logFile, 'utf8')).includes('"msg":"stopped"'), {
    what: 'the process to stop',
    timeoutMs: 60_000,
  });
  const runs = `select counts::json ->> 'purgedAccounts' as purged, error from maintenance_runs`;
  t.deepEqual(await query(vault, runs), [{ purged: '200', error: 'shutting_down' }]);
  t.is((await query(vault, 'select 1 from accounts')).length, 300);

  await vault.app.start();
  const next = await send(purge[0], internalUrl + purge[1], { headers });
  t.like(next.body, { purgedAccounts: 300, removedAuditTraces: 300, removedEmails: 300 });
});
