import { mkdir, rename, rm } from 'node:fs/promises';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import {
  certify,
  getDocument,
  removeDocument,
  storeDocument,
  type Stored,
} from '../../support/documents/documents.ts';
import { bytesOf } from '../../support/documents/files.ts';
import { damages, objectDirectory, partFile } from '../../support/documents/stored-files.ts';
import { createApi, type Api } from '../../support/documents/uploads.ts';
import { assertError } from '../../support/http/error-body.ts';
import { serviceRequest } from '../../support/http/service-request.ts';
import {
  entriesOf,
  startMaintenanceVault,
  type MaintenanceVault,
} from '../../support/vault/maintenance-vault.ts';

const test = anyTest as TestFn<MaintenanceVault & { readonly api: Api }>;

test.beforeEach(async (t) => {
  const vault = await startMaintenanceVault();
  t.context = { ...vault, api: await createApi(vault.vault) };
});
test.afterEach.always((t) => t.context.stop());

const none = { checkedFiles: 0, damagedFiles: 0, unreadableFiles: 0 };

async function storeSealed(
  t: ExecutionContext<MaintenanceVault & { readonly api: Api }>,
  bytes?: Parameters<typeof storeDocument>[2],
): Promise<Stored> {
  const { api } = t.context;
  const stored = await storeDocument(t, api, bytes);
  t.is((await certify(api, stored.id)).status, 200);
  return stored;
}

/** Makes it look as if every check were older by this time. */
const age = ({ sql }: MaintenanceVault, interval: string) =>
  sql(
    `update object_checks set checked_at = checked_at - $1::interval,
       available_at = available_at - $1::interval,
       unreadable_since = unreadable_since - $1::interval`,
    [interval],
  );

async function alertsOf({ vault }: MaintenanceVault) {
  const alerts = await vault.services.dlq.alerts(serviceRequest({ internalKey: 'test' }));
  return alerts
    .filter(({ code }) => code.startsWith('files'))
    .map(({ code, value }) => ({ code, value }));
}

const failures = ({ sql }: MaintenanceVault) =>
  entriesOf(sql, { action: 'document.fixity_failed' });

test.serial('each sealed file is checked once in a cycle, and no other', async (t) => {
  const { api, counts } = t.context;
  const sealed = await storeSealed(t);
  const pending = await storeDocument(t, api);
  t.deepEqual(await counts('verify-files', '?dryRun=true'), { ...none, checkedFiles: 1 });
  t.is((await getDocument(api, sealed.id)).body.fixityVerifiedAt, null);
  t.deepEqual(await counts('verify-files'), { ...none, checkedFiles: 1 });
  t.deepEqual(await counts('verify-files'), none);
  const { fixityVerifiedAt } = (await getDocument(api, sealed.id)).body;
  t.regex(String(fixityVerifiedAt), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  t.is((await getDocument(api, pending.id)).body.fixityVerifiedAt, null);

  await age(t.context, '80 days');
  t.deepEqual(await counts('verify-files'), none);
  await age(t.context, '5 days');
  t.deepEqual(await counts('verify-files', '?dryRun=true'), { ...none, checkedFiles: 1 });
  t.deepEqual(await counts('verify-files'), { ...none, checkedFiles: 1 });
  t.deepEqual(await failures(t.context), []);
});

test.serial('forty damaged files are found in one run, each once, and no other', async (t) => {
  const { api, counts, vault } = t.context;
  const stored: Stored[] = [];
  for (let n = 0; n < 80; n += 1) stored.push(await storeSealed(t));
  t.deepEqual(await counts('verify-files'), { ...none, checkedFiles: 80 });
  await age(t.context, '90 days');
  const expected: Record<string, string> = {};
  for (const [index, { id, fileKey }] of stored.filter((_, n) => n % 2 === 0).entries()) {
    const { damage, state } = damages[index % damages.length] ?? {};
    await damage?.(vault, fileKey);
    expected[id] = state ?? '';
  }
  t.deepEqual(await counts('verify-files'), { ...none, checkedFiles: 80, damagedFiles: 40 });

  const found = await failures(t.context);
  t.is(found.length, 40);
  const states = found.map(({ resourceId, data }) => [resourceId, data['state']]);
  t.deepEqual(Object.fromEntries(states), expected);
  const [entry] = found;
  t.like(entry, { owner: api.caller.userId, actor: { type: 'system', id: 'test-admin' } });
  t.deepEqual(await alertsOf(t.context), [{ code: 'files_damaged', value: 40 }]);
  const lines = vault.logLines.filter((line) => line.includes('is not the one that was hashed'));
  t.is(lines.length, 40);

  // Known damage is looked at again, and not reported again.
  t.deepEqual(await counts('verify-files'), none);
  await age(t.context, '25 hours');
  t.deepEqual(await counts('verify-files'), { ...none, checkedFiles: 40 });
  t.is((await failures(t.context)).length, 40);
});

test.serial('a restored file ends its alert, and another damage has its own entry', async (t) => {
  const { counts, vault } = t.context;
  const { id, fileKey } = await storeSealed(t);
  const directory = objectDirectory(vault, fileKey);
  const kept = `${directory}.kept`;
  await counts('verify-files');
  for (const round of [1, 2]) {
    await rename(directory, kept);
    await age(t.context, '90 days');
    t.deepEqual(await counts('verify-files'), { ...none, checkedFiles: 1, damagedFiles: 1 });
    t.deepEqual(await alertsOf(t.context), [{ code: 'files_damaged', value: 1 }]);
    await rename(kept, directory);
    await age(t.context, '25 hours');
    t.deepEqual(await counts('verify-files'), { ...none, checkedFiles: 1 });
    t.deepEqual(await alertsOf(t.context), []);
    t.is((await failures(t.context)).length, round);
  }
  t.true((await failures(t.context)).every(({ resourceId }) => resourceId === id));
});

test.serial('while the store is away a run fails and finds nothing', async (t) => {
  const { counts, run, vault, sql } = t.context;
  await storeSealed(t);
  await storeSealed(t);
  const away = `${vault.storeDirectory}.away`;
  await rename(vault.storeDirectory, away);
  assertError(t, await run('verify-files'), { status: 503, code: 'storage_unavailable' });
  await rename(away, vault.storeDirectory);
  const touched = 'select 1 from object_checks where checked_at is not null or damage is not null';
  t.deepEqual(await sql(touched), []);
  t.deepEqual(await counts('verify-files'), { ...none, checkedFiles: 2 });
  t.deepEqual(await failures(t.context), []);
});

test.serial('a file that cannot be read is put off and told, and others are checked', async (t) => {
  const { counts, vault } = t.context;
  const { fileKey } = await storeSealed(t);
  await storeSealed(t);
  const file = await partFile(vault, fileKey);
  await rename(file, `${file}.kept`);
  // A directory in the place of the file fails as a disk that cannot read a sector.
  await mkdir(file);
  t.deepEqual(await counts('verify-files'), { ...none, checkedFiles: 1, unreadableFiles: 1 });
  t.deepEqual(await counts('verify-files'), none);
  t.deepEqual(await alertsOf(t.context), []);
  await age(t.context, '25 hours');
  t.deepEqual(await counts('verify-files'), { ...none, unreadableFiles: 1 });
  t.deepEqual(await alertsOf(t.context), [{ code: 'files_unreadable', value: 1 }]);

  await rm(file, { recursive: true });
  await rename(`${file}.kept`, file);
  await age(t.context, '7 hours');
  t.deepEqual(await counts('verify-files'), { ...none, checkedFiles: 1 });
  t.deepEqual(await alertsOf(t.context), []);
  t.deepEqual(await failures(t.context), []);
});

test.serial('a removed document leaves the queue', async (t) => {
  const { counts, sql, vault } = t.context;
  const { id } = await storeSealed(t);
  const admin = await createApi(vault, { roles: ['probatio_admin'] });
  const reauth = await vault.tokens.reauth(admin.caller);
  const removed = await removeDocument(admin, id, { 'X-Reauth-Token': reauth });
  t.is(removed.status, 204, JSON.stringify(removed.body));
  t.deepEqual(await sql('select 1 from object_checks'), []);
  t.deepEqual(await counts('verify-files'), none);
});

test.serial('files are read no faster than the budget allows', async (t) => {
  const slow = await startMaintenanceVault({ MAINTENANCE_FIXITY_BYTES_PER_SECOND: '1000000' });
  t.teardown(() => slow.stop());
  const api = await createApi(slow.vault);
  for (let n = 0; n < 2; n += 1) {
    const { id } = await storeDocument(t, api, bytesOf(600_000));
    await certify(api, id);
  }
  const startedAt = performance.now();
  t.deepEqual(await slow.counts('verify-files'), { ...none, checkedFiles: 2 });
  t.true(performance.now() - startedAt >= 1_150);
});
