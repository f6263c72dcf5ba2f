import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import anyTest, { type TestFn } from 'ava';
import { loadConfig } from '../../app/config/config.ts';
import { ConfigError } from '../../signer/protocol/process/config-error.ts';
import { startVault, type TestVault } from '../support/vault/vault.ts';
import { createApi, type Api } from '../support/documents/uploads.ts';
import {
  abort,
  bytesOf,
  countStatuses,
  fileOf,
  MiB,
  openSession,
  upload,
} from '../support/documents/files.ts';
import { createSql } from '../support/vault/sql.ts';

const test = anyTest as TestFn<{ readonly vault: TestVault; readonly directory: string }>;

async function plansFile(directory: string, content: unknown): Promise<string> {
  const file = path.join(directory, `${randomUUID()}.json`);
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

test.before(async (t) => {
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-plans-'));
  const vault = await startVault({
    PLANS_STANDARD_OPEN_UPLOADS: '2',
    PLANS_STANDARD_STORAGE_BYTES: String(30 * MiB),
    PLANS_FILE: await plansFile(directory, {
      large: { openUploads: 5, storageBytes: 100 * MiB },
      'small.1': { openUploads: 1, storageBytes: 10 },
    }),
  });
  t.context = { vault, directory };
});
test.after.always(async (t) => {
  await t.context.vault.stop();
  await rm(t.context.directory, { recursive: true });
});

const open = (api: Api, fileSize: number, totalParts = 1) =>
  api.send('POST', '/v1/uploads', { json: fileOf(fileSize, totalParts) });

const openMany = async (api: Api, times: number, fileSize: number) =>
  countStatuses(await Promise.all(Array.from({ length: times }, () => open(api, fileSize))));

test('each plan has its own limits of concurrent upload sessions and of bytes', async (t) => {
  const { vault } = t.context;
  const as = (plan: string) => createApi(vault, { plan });
  t.deepEqual(await openMany(await as('standard'), 8, 10), { 201: 2, 429: 6 });
  t.deepEqual(await openMany(await as('large'), 8, 10), { 201: 5, 429: 3 });
  t.deepEqual(await openMany(await as('small.1'), 8, 10), { 201: 1, 429: 7 });
  t.deepEqual(await openMany(await as('small.1'), 8, 11), { 429: 8 });
  t.deepEqual(await openMany(await as('standard'), 8, 20 * MiB), { 201: 1, 429: 7 });
  t.deepEqual(await openMany(await as('large'), 8, 40 * MiB), { 201: 2, 429: 6 });
});

test('an unknown plan has the limits of the standard plan and is logged once', async (t) => {
  const { vault } = t.context;
  for (const plan of ['gold', 'gold', 'constructor', '__proto__', 'standard']) {
    t.deepEqual(await openMany(await createApi(vault, { plan }), 4, 10), { 201: 2, 429: 2 }, plan);
  }
  const logged = vault.logLines.filter((line) => line.includes('a plan is not configured'));
  t.deepEqual(
    logged.map((line) => (JSON.parse(line) as { readonly plan: string }).plan),
    ['gold', 'constructor', '__proto__'],
  );
});

test('stored and uploading bytes count together, and an abort releases its bytes', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault, { plan: 'small.1' });
  await upload(t, api, bytesOf(6));
  t.is((await open(api, 5)).status, 429);
  const sessionId = await openSession(t, api, 4);
  t.is((await open(api, 1)).status, 429);
  await abort(api, sessionId);
  t.is((await open(api, 4)).status, 201);
});

test('an upload that expires during its completion still counts', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault, { plan: 'small.1' });
  const sql = createSql(vault);
  await openSession(t, api, 6);
  const end = (completing: string) =>
    sql(
      `update upload_sessions set expires_at = now(), completing_until = ${completing}
      where user_id = $1`,
      [api.caller.userId],
    );
  await end("now() + interval '1 minute'");
  t.is((await open(api, 5)).status, 429);
  await end('now()');
  t.is((await open(api, 5)).status, 201);
});

test('an invalid file of plans is reported at start, with every other problem', async (t) => {
  const { directory } = t.context;
  const problemsOf = (file: string) => {
    const error = t.throws(() => loadConfig({ PORT: 'jam', PLANS_FILE: file }), {
      instanceOf: ConfigError,
    });
    t.regex(error?.message ?? '', /^ {2}PORT: /m);
    t.notRegex(error?.message ?? '', /secret/);
    return (error?.message ?? '').split('\n').filter((line) => line.startsWith('  PLANS_FILE: '));
  };
  t.deepEqual(problemsOf('/nowhere'), [
    '  PLANS_FILE: names a file that does not exist; create it or correct the path',
  ]);
  t.deepEqual(problemsOf(await plansFile(directory, '{"secret')), [
    '  PLANS_FILE: names a file that is not JSON; correct its content',
  ]);
  t.regex(problemsOf(await plansFile(directory, [])).join(), /expected record/);
  const problems = problemsOf(
    await plansFile(directory, {
      'a b': { openUploads: 1, storageBytes: 1 },
      free: { openUploads: 0, storageBytes: 1.5 },
      gold: { openUploads: 'secret' },
      iron: { openUploads: 1, storageBytes: 1, extra: 'secret' },
    }),
  );
  t.deepEqual(
    problems.map((line) => line.split(': ')[1]),
    [
      'a b',
      'free.openUploads',
      'free.storageBytes',
      'gold.openUploads',
      'gold.storageBytes',
      'iron',
    ],
  );
  t.deepEqual(
    problemsOf(await plansFile(directory, { standard: { openUploads: 1, storageBytes: 1 } })),
    ['  PLANS_FILE: standard: is set by PLANS_STANDARD_…'],
  );
});
