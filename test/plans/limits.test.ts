import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { counters, type Counter } from '../../app/db/usage/quota.ts';
import { standardLimits } from '../../app/plans/plan.ts';
import {
  addVersion,
  certify,
  createDocument,
  documentAt,
  etagOf,
  metadataOf,
  removeDocument,
  replaceMetadata,
  storeDocument,
} from '../support/documents/documents.ts';
import { abort, bytesOf, fileOf, openSession, upload } from '../support/documents/files.ts';
import { askKey, share, strangersAddress } from '../support/documents/people.ts';
import { createApi, type Answer, type Api } from '../support/documents/uploads.ts';
import { change, createDevice, deviceOf, type SyncDevice } from '../support/sync/devices.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { shownUsage } from '../support/vault/usage.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';

const test = anyTest as TestFn<{
  readonly vault: TestVault;
  readonly sql: Sql;
  readonly directory: string;
}>;

const roomy = { openUploads: 1_000, storageBytes: 2 ** 40 };
/** The plan `no-<counter>` has almost no room for what this counter counts. */
const plans = Object.fromEntries(
  counters.map((counter) => [`no-${counter}`, { ...roomy, [counter]: 2 }]),
);

test.before(async (t) => {
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-limits-'));
  const file = path.join(directory, 'plans.json');
  await writeFile(file, JSON.stringify({ ...plans, full: { ...roomy, historyEntries: 3 } }));
  const vault = await startReadyVault({ PLANS_FILE: file });
  t.context = { vault, sql: createSql(vault), directory };
});
test.after.always(async (t) => {
  await t.context.vault.stop();
  await rm(t.context.directory, { recursive: true });
});

interface User {
  readonly t: ExecutionContext;
  readonly vault: TestVault;
  readonly api: Api;
  readonly device: SyncDevice;
}

/** Repeats an action until it is refused. Each action keeps at least one of what is counted. */
const actions: Record<Counter, (user: User) => Promise<Answer>> = {
  openUploads: openOne,
  storageBytes: openOne,
  uploads: async ({ api }) => {
    const opened = await openOne({ api });
    if (opened.status === 201) await abort(api, String(opened.body['sessionId']));
    return opened;
  },
  uploadParts: openOne,
  documents: storeOne,
  metadataBytes: storeOne,
  keywords: storeOne,
  devices: ({ api }) =>
    api.send('POST', '/v1/crypto/keys/device-envelope', {
      json: { deviceId: randomUUID(), encryptedEnvelope: randomBytes(40).toString('base64') },
    }),
  shares: async (user) => {
    const { id } = await storeDocument(user.t, user.api);
    return share(user.api, id, { recipientEmail: strangersAddress() });
  },
  shareRecipients: ({ api }) => askKey(api, strangersAddress()),
  syncObjects: createOne,
  syncObjectBytes: createOne,
  historyEntries: createOne,
  historyBytes: createOne,
  keptAnswers: createOne,
  keptAnswerBytes: createOne,
};

function openOne({ api }: Pick<User, 'api'>): Promise<Answer> {
  return api.send('POST', '/v1/uploads', { json: fileOf(1) });
}

async function storeOne({ t, api }: User): Promise<Answer> {
  const { fileKey } = await upload(t, api, bytesOf(9));
  const json = { ...documentAt(fileKey), keywordDeterministic: [randomBytes(32).toString('hex')] };
  return api.send('POST', '/v1/documents', { json });
}

function createOne({ device }: User): Promise<Answer> {
  const body = { objectId: randomUUID(), data: { a: 1 } };
  return device.create(body, { 'x-sync-request-id': randomUUID() });
}

async function createUser(t: ExecutionContext, vault: TestVault, plan: string): Promise<User> {
  const { api, deviceId } = await createDevice(vault);
  const { userId, sessionId } = api.caller;
  const scopes = 'documents:read documents:write uploads:write keys:manage sync:read sync:write';
  const planned = await createApi(vault, { userId, plan, scopes: scopes.split(' '), sessionId });
  return { t, vault, api: planned, device: deviceOf(planned, deviceId) };
}

for (const counter of counters) {
  test(`beyond the plan's ${counter}, 429 quota_exceeded names the limit`, async (t) => {
    const user = await createUser(t, t.context.vault, `no-${counter}`);
    let answer = await actions[counter](user);
    for (let more = 0; more < 3 && answer.status < 300; more += 1) {
      answer = await actions[counter](user);
    }
    t.is(answer.status, 429, JSON.stringify(answer.body));
    const used = (await shownUsage(user.api))[counter];
    t.like(answer.body, {
      code: 'quota_exceeded',
      details: [{ path: counter, message: `is at ${used} of 2` }],
    });
    t.truthy(answer.headers.get('retry-after'));
    t.true(used <= 2);
  });
}

test('concurrent requests stay within each limit', async (t) => {
  for (const counter of ['documents', 'keptAnswers', 'shareRecipients'] as const) {
    const user = await createUser(t, t.context.vault, `no-${counter}`);
    const answers = await Promise.all(Array.from({ length: 8 }, () => actions[counter](user)));
    t.is(answers.filter(({ status }) => status < 300).length, 2, counter);
    t.is((await shownUsage(user.api))[counter], 2);
  }
});

test('a refused action leaves nothing behind', async (t) => {
  const { vault, sql } = t.context;
  const user = await createUser(t, vault, 'no-keywords');
  const { fileKey } = await upload(t, user.api, bytesOf(9));
  const keywordDeterministic = Array.from({ length: 3 }, () => randomBytes(32).toString('hex'));
  const create = (keywords: string[]) =>
    user.api.send('POST', '/v1/documents', {
      json: { ...documentAt(fileKey), keywordDeterministic: keywords },
      headers: { 'idempotency-key': 'one' },
    });
  t.is((await create(keywordDeterministic)).status, 429);
  t.like(await shownUsage(user.api), { documents: 0, keywords: 0, metadataBytes: 0 });
  const [left] = await sql(
    `select (select count(*)::int from documents where user_id = $1) as documents,
       (select count(*)::int from idempotency_keys where user_id = $1) as keys,
       (select count(*)::int from audit_entries
          where user_id = $1 and action = 'document.created') as entries`,
    [user.api.caller.userId],
  );
  t.deepEqual(left, { documents: 0, keys: 0, entries: 0 });
  t.is((await create(keywordDeterministic.slice(1))).status, 201);
});

test('what frees space, seals or withdraws access works beyond every limit', async (t) => {
  const { vault, sql } = t.context;
  const { device, ...user } = await createUser(t, vault, 'standard');
  const stored = [await storeDocument(t, user.api), await storeDocument(t, user.api)];
  const [sealed, removed] = stored as [(typeof stored)[number], (typeof stored)[number]];
  const sessionId = await openSession(t, user.api, 10);
  const { body } = await share(user.api, sealed.id, { recipientEmail: strangersAddress() });
  const objectId = randomUUID();
  await device.create({ objectId, data: { a: 'b'.repeat(100), b: 1 } });
  // The user is now far beyond each limit, as after a change to a smaller plan.
  await sql(
    `update usage set ${counters.map((name) => `${columnOf(name)} = 1000000000000000`).join()}
     where user_id = $1`,
    [user.api.caller.userId],
  );
  const headers = { 'x-sync-request-id': randomUUID() };
  const gone = { objectId, version: 2, baseVersion: 1, deleted: true };
  const { caller } = user.api;
  const { api } = await createDevice(vault, { userId: caller.userId });
  const manager = await createApi(vault, {
    userId: caller.userId,
    sessionId: api.caller.sessionId,
  });
  const freeing: Record<string, Answer> = {
    abort: await abort(user.api, sessionId),
    remove: await removeDocument(user.api, removed.id),
    certify: await certify(user.api, sealed.id),
    unshare: await user.api.send(
      'DELETE',
      `/v1/documents/${sealed.id}/shares/${String(body['id'])}`,
    ),
    deletion: await device.write(gone, headers),
    replay: await device.write(gone, headers),
    revocation: await manager.send('DELETE', `/v1/crypto/keys/devices/${device.deviceId}`),
  };
  for (const [name, { status, body }] of Object.entries(freeing)) {
    t.true(status < 300, `${name}: ${JSON.stringify(body)}`);
  }
});

test('shorter metadata is accepted at the limit, and longer metadata is not', async (t) => {
  const { vault, sql } = t.context;
  const { api } = await createUser(t, vault, 'standard');
  const { id } = await storeDocument(t, api);
  await sql('update usage set metadata_bytes = $2 where user_id = $1', [
    api.caller.userId,
    standardLimits.metadataBytes.standard,
  ]);
  const replace = async (text: string) =>
    replaceMetadata(
      api,
      id,
      { encryptedMetadata: metadataOf(text) },
      { 'if-match': await etagOf(api, id) },
    );
  t.is((await replace('x'.repeat(500))).status, 429);
  t.is((await replace('x')).status, 200);
  t.is((await addVersion(api, id, (await upload(t, api, bytesOf(3))).fileKey)).status, 201);
});

test('deletions that conflict are bounded like other writes', async (t) => {
  const { device } = await createUser(t, t.context.vault, 'full');
  const objectId = randomUUID();
  t.is((await device.create({ objectId, data: { a: 1 } })).status, 201);
  t.is((await device.write(change(objectId, 1, { a: 2 }))).status, 200);
  const conflicting = { objectId, version: 2, baseVersion: 1, deleted: true };
  t.is((await device.write(conflicting)).status, 409);
  t.is((await device.write(conflicting)).status, 429);
  t.is((await device.write({ ...conflicting, version: 3, baseVersion: 2 })).status, 200);
});

test('an upload session that no document used counts until its document is removed', async (t) => {
  const { api } = await createUser(t, t.context.vault, 'standard');
  const { fileKey } = await upload(t, api, bytesOf(9));
  const { body } = await createDocument(api, fileKey);
  t.like(await shownUsage(api), { openUploads: 0, storageBytes: 9, uploads: 1, documents: 1 });
  await removeDocument(api, String(body['id']));
  t.like(await shownUsage(api), { storageBytes: 0, uploads: 0, documents: 0, metadataBytes: 0 });
});

test('usage shows the plan that applies and every limit', async (t) => {
  const { vault } = t.context;
  for (const [plan, shown] of [
    ['standard', 'standard'],
    ['gold', 'standard'],
    ['full', 'full'],
  ]) {
    const { body } = await (await createApi(vault, { plan: plan ?? '' })).send('GET', '/v1/usage');
    t.is(body['plan'], shown);
    const usage = body['usage'] as Record<string, { readonly limit: number }>;
    t.deepEqual(Object.keys(usage), [...counters]);
    t.is(usage['historyEntries']?.limit, plan === 'full' ? 3 : 2_000_000);
    t.is(usage['keywords']?.limit, standardLimits.keywords.standard);
  }
});

function columnOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
