import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { createObjectStore } from '../../../app/storage/create-store.ts';
import { createTokenFixture, startSigner } from '../../support/audit/token-fixture.ts';
import { storeDocument } from '../../support/documents/documents.ts';
import { mayMount, mountSmallVolume } from '../../support/documents/tmpfs.ts';
import { createApi } from '../../support/documents/uploads.ts';
import { startMailServer } from '../../mail/mail-server.ts';
import { startTcpProxy } from '../../support/network/tcp-proxy.ts';
import { startOwnSigner } from '../../support/vault/own-signer.ts';
import { connectAs } from '../../support/accounts/two-tenants.ts';
import {
  changeUrl,
  mailUrl,
  set,
  startDoctorVault,
  textOf,
  troubles,
  type DoctorVault,
} from './doctor-vault.ts';

const test = (anyTest as TestFn<DoctorVault>).serial;

const ends: (() => unknown)[] = [];

test.before(async (t) => {
  t.context = await startDoctorVault({ teardown: (end) => void ends.unshift(end) });
});
test.after.always(async () => {
  for (const end of ends) await end();
});

/** Examines with other settings, and asserts which checks are not ok. */
async function assertTroubles(
  t: ExecutionContext<DoctorVault>,
  changed: Readonly<Record<string, string>>,
  expected: readonly string[],
) {
  const examined = await t.context.examine(changed);
  t.deepEqual(troubles(examined), expected, examined.printed);
  t.is(examined.code, expected.some((trouble) => trouble.startsWith('fail')) ? 2 : 1);
  return examined;
}

test('weak settings and variables that are no settings are worth a warning', async (t) => {
  const changed = { KEYS_RAW_FORM: 'allow', STORAGE_COLOUR_OF_DISKS: 'red' };
  const { checks } = await assertTroubles(t, changed, ['warn settings', 'warn settings']);
  const texts = checks.filter(({ name }) => name === 'settings').map(({ text }) => text);
  t.regex(texts[0] ?? '', /^STORAGE_COLOUR_OF_DISKS: is no setting/);
  t.regex(texts[1] ?? '', /^KEYS_RAW_FORM: .*weaker than recommended$/);
});

test('a wrong database password fails alone, with what depends on that login', async (t) => {
  const url = changeUrl(t.context.settings['DATABASE_URL'] ?? '', { password: 'jam' });
  const examined = await assertTroubles(t, { DATABASE_URL: url }, [
    'fail database.app',
    'fail database.isolation',
  ]);
  t.regex(textOf(examined, 'database.app'), /refuses access: correct DATABASE_URL/);
});

test('logins that are exchanged are found, with the remedy', async (t) => {
  const { DATABASE_URL: app = '', DATABASE_SERVICE_URL: service = '' } = t.context.settings;
  const examined = await t.context.examine({ DATABASE_URL: service, DATABASE_SERVICE_URL: app });
  t.true(troubles(examined).includes('fail database.isolation'));
  t.regex(textOf(examined, 'database.isolation'), /DATABASE_URL logs in as .*: use the URL of/);
});

test('a database of another version is found, with the remedy', async (t) => {
  const owner = await connectAs(t.context.vault.databases.owner);
  t.teardown(() => owner.end());
  await owner.query('alter index upload_sessions_open rename to aside');
  const older = await t.context.examine();
  await owner.query('alter index aside rename to upload_sessions_open');
  t.deepEqual(troubles(older), ['fail database.schema', 'fail signer.keys']);
  t.regex(textOf(older, 'database.schema'), /upload_sessions_open: run probatio migrate/);

  await owner.query('alter table maintenance_runs add column later int');
  const newer = await t.context.examine();
  await owner.query('alter table maintenance_runs drop column later');
  t.deepEqual(troubles(newer), ['fail database.schema', 'fail signer.keys']);
  t.regex(textOf(newer, 'database.schema'), /the column later of another version/);
});

test('a Redis that evicts keys is worth a warning', async (t) => {
  const { redisUrl } = t.context;
  await set(redisUrl, 'maxmemory-policy', 'allkeys-lru');
  await set(redisUrl, 'maxmemory', '100mb');
  const examined = await assertTroubles(t, {}, ['warn redis.eviction']);
  await set(redisUrl, 'maxmemory', '0');
  await set(redisUrl, 'maxmemory-policy', 'noeviction');
  t.regex(textOf(examined, 'redis.eviction'), /set maxmemory-policy noeviction/);
});

test('dependencies that hang are reported as such, and hide no other', async (t) => {
  const { redis, settings } = t.context;
  const postgres = await startTcpProxy(settings['DATABASE_URL'] ?? '');
  t.teardown(() => postgres.close());
  postgres.freeze();
  const mute = createServer(() => undefined);
  await once(mute.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => mute.close());
  const { port } = mute.address() as AddressInfo;
  const host = new URL(postgres.url).host;
  redis.hang();
  const startedAt = performance.now();
  const examined = await t.context.examine({
    DATABASE_URL: changeUrl(settings['DATABASE_URL'] ?? '', { host }),
    DATABASE_SERVICE_URL: changeUrl(settings['DATABASE_SERVICE_URL'] ?? '', { host }),
    MAIL_URL: `smtp://127.0.0.1:${port}`,
  });
  const seconds = (performance.now() - startedAt) / 1_000;
  redis.resume();
  t.true(seconds < 90, `${seconds} s`);
  t.is(examined.code, 2);
  for (const name of ['database.app', 'database.service', 'redis.write', 'mail.connection']) {
    t.regex(textOf(examined, name), /does not answer in time/, name);
  }
  for (const name of ['storage.write', 'signer.token']) {
    t.true(troubles(examined).every((trouble) => !trouble.includes(name)));
  }
});

test('a directory without a store is new, or lost once the vault has files', async (t) => {
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-empty-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const fresh = await assertTroubles(t, { STORAGE_DIRECTORY: directory }, [
    'warn storage.write',
    'warn storage.read',
  ]);
  t.regex(textOf(fresh, 'storage.write'), /the first start of the app creates it/);
  await storeDocument(t, await createApi(t.context.vault));
  const lost = await assertTroubles(t, { STORAGE_DIRECTORY: directory }, [
    'fail storage.write',
    'fail storage.read',
    'fail storage.versioning',
  ]);
  t.regex(textOf(lost, 'storage.write'), /no such store: create or mount it/);
});

(mayMount ? test : test.skip)('a full store and little room are reported', async (t) => {
  const { directory, exhaust } = await mountSmallVolume(t);
  const other = await startDoctorVault(t);
  await createObjectStore({ driver: 'filesystem', directory });
  await exhaust('space');
  const examined = await other.examine({ STORAGE_DIRECTORY: directory });
  t.deepEqual(troubles(examined), [
    'fail storage.write',
    'fail storage.read',
    'warn storage.room',
    'fail storage.versioning',
  ]);
  t.regex(textOf(examined, 'storage.write'), /has no room or connection left: free some/);
  t.regex(textOf(examined, 'storage.room'), /^0 % .*less than STORAGE_ALERT_FREE_PERCENT/);
});

test('a signer without its token, and a token of another vault, are reported', async (t) => {
  const signer = await startOwnSigner();
  t.teardown(() => signer[Symbol.asyncDispose]());
  await signer.kill();
  await signer.restart({ SIGNER_TOKEN_LABEL: 'absent' });
  const without = await assertTroubles(t, { SIGNER_SOCKET_PATH: signer.socketPath }, [
    'fail signer.token',
    'fail signer.keys',
  ]);
  t.regex(textOf(without, 'signer.token'), /cannot reach the HSM/);

  const fixture = await createTokenFixture();
  t.teardown(() => fixture.remove());
  await fixture.tool('init');
  const stranger = await startSigner(fixture);
  t.teardown(() => stranger.stop());
  const { SIGNER_SOCKET_PATH } = fixture.environment;
  const strange = await assertTroubles(t, { SIGNER_SOCKET_PATH }, ['fail signer.keys']);
  t.regex(
    textOf(strange, 'signer.keys'),
    /the token lacks the active key audit-1 \([0-9a-f]{32}\)/,
  );
});

test('a refused mail login, a foreign certificate and missing TLS are reported', async (t) => {
  const { mail } = t.context;
  const refused = await assertTroubles(t, { MAIL_URL: mailUrl(mail, 'jam') }, ['fail mail.login']);
  t.regex(
    textOf(refused, 'mail.login'),
    /refuses access: correct the user and password in MAIL_URL/,
  );

  const foreign = await assertTroubles(t, { MAIL_CA_FILE: '' }, [
    'fail mail.connection',
    'fail mail.tls',
    'fail mail.login',
  ]);
  t.regex(textOf(foreign, 'mail.connection'), /no trusted TLS connection/);

  const plain = await startMailServer({ hideSTARTTLS: true });
  t.teardown(() => plain[Symbol.asyncDispose]());
  const open = await assertTroubles(t, { MAIL_URL: `smtp://${plain.host}`, MAIL_CA_FILE: '' }, [
    'warn mail.tls',
  ]);
  t.regex(textOf(open, 'mail.tls'), /sent without TLS: use smtps/);
});
