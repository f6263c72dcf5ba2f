import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { databaseUrls } from '../../app/dev/postgres/database.ts';
import { defaultRetry, type RetryPolicy } from '../../client/http/retry.ts';
import { createDeviceKey } from '../../client/keys/device-key.ts';
import { createNodeHash } from '../../client/node/hash.ts';
import { createInMemoryStore } from '../../client/sync/stores/in-memory-store.ts';
import { createVaultClient } from '../../client/vault.ts';
import { createAnsweredActions } from '../faults/audit/answered-actions.ts';
import { assertProofsVerify, untilSealed } from '../faults/audit/audit-check.ts';
import { assertLog } from '../faults/audit/log-check.ts';
import { startLoad } from '../faults/vault/load.ts';
import {
  startReplicatedVault,
  untilAppsReady,
  type ReplicatedVault,
} from '../faults/vault/replicated-vault.ts';
import { createAccount, logIn } from '../faults/vault/user.ts';
import { send } from '../support/http/send.ts';
import { startPgBouncer, type PgBouncer } from '../support/processes/pgbouncer.ts';
import { temporaryDirectory } from '../support/processes/processes.ts';
import { runCli } from '../support/processes/run-cli.ts';
import { runDemo } from '../support/processes/run-demo.ts';
import { numberFrom, seed, seededRandom } from '../support/runs/rounds.ts';
import { testStack } from '../support/vault/stack.ts';

/** Far fewer connections than two apps open to PgBouncer. */
const poolSize = 5;
const rounds = numberFrom('ROUNDS', 3);
const frozenMs = 15_000;
/** The promised 10 s, and as much again for a busy machine. */
const limitMs = 20_000;
const retry: RetryPolicy = { ...defaultRetry, attempts: 20, sleep: () => delay(100) };
const random = seededRandom(seed);

const test = anyTest as TestFn<{ vault: ReplicatedVault; pooler: PgBouncer }>;

test.before(async (t) => {
  const poolers: PgBouncer[] = [];
  const vault = await startReplicatedVault(testStack(), {
    async startPooler(postgres) {
      const pooler = await startPgBouncer({ postgres, poolSize });
      poolers.push(pooler);
      return pooler.access;
    },
  });
  const [pooler] = poolers;
  if (pooler === undefined) throw new Error('the vault started no pooler');
  t.context = { vault, pooler };
});
test.after.always(async (t) => {
  const { vault, pooler } = t.context;
  await vault[Symbol.asyncDispose]();
  await pooler[Symbol.asyncDispose]();
});

test.serial('registration, login, upload, proof and sharing work on either replica', async (t) => {
  const { vault, pooler } = t.context;
  t.log(`PgBouncer ${pooler.version}, ${poolSize} connections for each login, SEED=${seed}`);
  for (const baseUrl of vault.baseUrls) {
    const directory = await temporaryDirectory(t);
    await writeFile(join(directory, 'agreement.txt'), 'what was agreed');
    const { code, text } = await runDemo(t, { vault, baseUrl, directory, args: ['agreement.txt'] });
    t.is(code, 0, text);
    t.regex(text, /^openssl dgst -sha3-256 -verify .*: Verified OK$/m);
  }
  await untilSealed(vault);
  await assertProofsVerify(t, vault);
});

test.serial('what one device writes at one replica, another reads at the other', async (t) => {
  const { vault } = t.context;
  const account = await createAccount(vault);
  const { session, masterKey } = await logIn(vault, account);
  const [phone, laptop] = [createDeviceKey(), createDeviceKey()];
  await session.devices.add({ ...phone, name: 'Phone', platform: 'Android' });
  await session.devices.add({ ...laptop, name: 'Laptop', platform: 'Linux' });
  const [here = '', there = ''] = vault.baseUrls;
  const open = async (baseUrl: string, deviceId: string) => {
    const client = createVaultClient({ baseUrl, createHash: createNodeHash, retry });
    const store = createInMemoryStore();
    const onDevice = await client.login({ ...account, deviceId });
    return onDevice.sync({ masterKey, deviceId, schemaVersion: 1, store });
  };
  const one = await open(here, phone.deviceId);
  const other = await open(there, laptop.deviceId);
  const objectId = await one.create({ data: { count: 0 } });
  await one.sync();
  for (let count = 1; count <= 20; count += 1) {
    const [writer, reader] = count % 2 === 0 ? [one, other] : [other, one];
    await writer.sync();
    await writer.change(objectId, () => ({ count }));
    await writer.sync();
    await reader.sync();
    t.deepEqual((await reader.get(objectId))?.data, { count });
  }
});

test.serial('maintenance runs on either replica, once at a time', async (t) => {
  const { vault } = t.context;
  const run = (baseUrl: string, task: string) =>
    send('POST', `${baseUrl}/v1/internal/maintenance/${task}`, {
      headers: { 'X-Internal-Api-Key': vault.internalKey },
    });
  for (const task of ['expire-uploads', 'expire-documents', 'collect-garbage', 'retry-dlq']) {
    for (const baseUrl of vault.baseUrls) {
      const { status, text } = await run(baseUrl, task);
      t.is(status, 200, `${task}: ${text}`);
    }
    const both = await Promise.all(vault.baseUrls.map((baseUrl) => run(baseUrl, task)));
    const statuses = new Set(both.map(({ status }) => status));
    t.true(statuses.has(200));
    statuses.delete(200);
    statuses.delete(409);
    t.deepEqual([...statuses], []);
  }
});

test.serial('migrations need Postgres itself, and say so', async (t) => {
  const { vault, pooler } = t.context;
  const { pathname } = new URL(vault.databases.owner);
  const { code, stderr } = await runCli(['migrate'], {
    DATABASE_OWNER_URL: databaseUrls(pooler.access, pathname.slice(1)).owner,
  });
  t.is(code, 1);
  t.regex(stderr, /^DATABASE_OWNER_URL names a pooler[^\n]*\n$/);
});

test.serial('statements are prepared if PgBouncer keeps track of them', async (t) => {
  const { vault, pooler } = t.context;
  const warned = (await readFile(vault.logFile, 'utf8'))
    .split('\n')
    .filter((line) => line.includes('does not support prepared statements'));
  if (pooler.tracksStatements) {
    t.deepEqual(warned, []);
    const servers = await pooler.show('show servers');
    const counts = servers.map((server) => Number(server['prepared_statements']));
    t.true(Math.max(...counts) > 5, counts.join());
  } else {
    const { length } = warned;
    t.true(length > 0 && length <= 2 * vault.baseUrls.length, `${length} warnings`);
  }
});

/**
 * Failures that are allowed: a part was down, or the action was done but its response was lost.
 */
const expected = [
  /: The server could not be reached/,
  /: 503 /,
  /: 409 \w+_in_progress$/,
  /^certify: 409 document_sealed$/,
];

/** Asserts that everything is kept exactly once that is done under load while `fault` happens. */
async function underLoad(
  t: ExecutionContext<{ vault: ReplicatedVault; pooler: PgBouncer }>,
  fault: (watched: typeof globalThis.fetch) => Promise<void>,
): Promise<void> {
  const { vault } = t.context;
  const answered = createAnsweredActions();
  const fetch = answered.watch(globalThis.fetch);
  const loads = await Promise.all(
    vault.baseUrls.map(async (baseUrl) => {
      const account = await createAccount(vault);
      return startLoad(
        baseUrl,
        [await logIn({ ...vault, baseUrl }, account, { fetch, retry })],
        random,
      );
    }),
  );
  try {
    await delay(1_000);
    await fault(fetch);
    await untilAppsReady(vault);
    await delay(1_000);
  } finally {
    await Promise.all(loads.map((load) => load.stop()));
  }
  for (const { report } of loads) {
    for (const id of report.loginIds) answered.actions.add(`auth.login ${id}`);
    const unexpected = report.failures.filter((text) => !expected.some((one) => one.test(text)));
    t.deepEqual(unexpected, []);
    t.true(report.succeeded.store > 0 && report.succeeded.login > 0);
  }
  const entries = await untilSealed(vault);
  await assertLog(t, vault, answered, random);
  t.log(`${entries} entries, ${answered.actions.size} of them confirmed in responses`);
}

test.serial('nothing is lost or doubled while PgBouncer and Postgres restart', async (t) => {
  t.timeout(180_000 + rounds * 60_000);
  const { vault, pooler } = t.context;
  await underLoad(t, async () => {
    for (let round = 0; round < rounds; round += 1) {
      const part = round % 3 === 2 ? vault.postgres : pooler;
      await part.kill();
      await delay(1_000 * random());
      await part.start();
      await delay(2_000 + 1_000 * random());
    }
  });
});

test.serial('a Postgres that freezes behind PgBouncer is answered in time', async (t) => {
  t.timeout(180_000);
  const { vault } = t.context;
  const account = await createAccount(vault);
  const slowest = { ms: 0, statuses: new Set<number>() };
  await underLoad(t, async () => {
    await vault.postgres.freeze();
    const thawsAt = performance.now() + frozenMs;
    try {
      while (performance.now() < thawsAt) {
        const begin = performance.now();
        const answers = await Promise.all(vault.baseUrls.map((baseUrl) => ask(baseUrl, account)));
        slowest.ms = Math.max(slowest.ms, performance.now() - begin);
        for (const { status } of answers) slowest.statuses.add(status);
      }
    } finally {
      await vault.postgres.thaw();
    }
  });
  t.deepEqual([...slowest.statuses], [503]);
  t.true(slowest.ms < limitMs, `${Math.round(slowest.ms)} ms`);
  t.log(`the slowest response took ${Math.round(slowest.ms)} ms`);
});

/** Sends the first step of a login, which reads the account. */
function ask(baseUrl: string, { email }: { readonly email: string }) {
  const A = randomUUID().replaceAll('-', '').repeat(24);
  return send('POST', `${baseUrl}/v1/auth/login/challenge`, { json: { email, A } });
}
