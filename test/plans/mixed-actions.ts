import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { certify, removeDocument, replaceMetadata } from '../support/documents/documents.ts';
import {
  abort,
  bytesOf,
  fileOf,
  openSession,
  putPart,
  upload,
} from '../support/documents/files.ts';
import { askKey, share, strangersAddress } from '../support/documents/people.ts';
import type { Api } from '../support/documents/uploads.ts';
import { change, type SyncDevice } from '../support/sync/devices.ts';

/** The user of a run, and the ids of what they have made so far. */
export interface Actor {
  readonly t: ExecutionContext;
  readonly api: Api;
  readonly device: SyncDevice;
  readonly sessions: string[];
  readonly documents: string[];
  readonly objects: Map<string, number>;
}

const keyword = () => randomBytes(32).toString('hex');
const pick = <T>(from: readonly T[]): T | undefined => from[randomInt(Math.max(from.length, 1))];
const metadata = () => randomBytes(randomInt(1, 2_000)).toString('base64');
const isKept = () => randomInt(2) === 0;
const keyed = (): Record<string, string> => (isKept() ? { 'idempotency-key': randomUUID() } : {});

/** Each action may also be refused: refused actions must count nothing. */
const actions: readonly ((actor: Actor) => Promise<unknown>)[] = [
  async ({ t, api, sessions }) => {
    sessions.push(await openSession(t, api, randomInt(1, 10_000)));
  },
  async ({ api }) => {
    const json = fileOf(randomInt(1, 1_000));
    return api.send('POST', '/v1/uploads', { json, headers: keyed() });
  },
  async ({ api, sessions }) => putPart(api, pick(sessions) ?? randomUUID(), 1, bytesOf(5)),
  async ({ api, sessions }) => abort(api, pick(sessions) ?? randomUUID()),
  (actor) => storeOne(actor),
  (actor) => storeOne(actor),
  async ({ t, api, documents }) => {
    const { fileKey } = await upload(t, api, bytesOf(randomInt(1, 100)));
    const json = { storagePath: fileKey, ...(isKept() ? { encryptedMetadata: metadata() } : {}) };
    const path = `/v1/documents/${pick(documents) ?? randomUUID()}/versions`;
    return api.send('POST', path, { json, headers: keyed() });
  },
  async ({ api, documents }) => {
    const id = pick(documents) ?? randomUUID();
    const { headers } = await api.send('GET', `/v1/documents/${id}`);
    const json = { encryptedMetadata: metadata(), keywordDeterministic: [keyword()] };
    return replaceMetadata(api, id, json, { 'if-match': headers.get('etag') ?? '"1"' });
  },
  async ({ api, documents }) => removeDocument(api, pick(documents) ?? randomUUID()),
  async ({ api, documents }) => {
    if (randomInt(4) === 0) await certify(api, pick(documents) ?? randomUUID());
  },
  async ({ api }) => askKey(api, strangersAddress()),
  async ({ api, documents }) => {
    const id = pick(documents) ?? randomUUID();
    const { body } = await share(api, id, { recipientEmail: strangersAddress() });
    if (isKept()) await api.send('DELETE', `/v1/documents/${id}/shares/${String(body['id'])}`);
  },
  createOne,
  createOne,
  writeOne,
  writeOne,
  writeOne,
  async ({ device, objects }) => {
    const objectId = pick([...objects.keys()]) ?? randomUUID();
    const baseVersion = Math.max((objects.get(objectId) ?? 1) - randomInt(2), 0);
    const body = { objectId, version: baseVersion + 1, baseVersion, deleted: true };
    return device.write(body, { 'x-sync-request-id': randomUUID() });
  },
];

async function storeOne({ t, api, documents }: Actor, keywords = randomInt(5)): Promise<void> {
  const { fileKey } = await upload(t, api, bytesOf(randomInt(1, 100)));
  const json = {
    encryptedMetadata: metadata(),
    keywordDeterministic: Array.from({ length: keywords }, keyword),
    storagePath: fileKey,
  };
  const { body } = await api.send('POST', '/v1/documents', { json, headers: keyed() });
  if (typeof body['id'] === 'string') documents.push(body['id']);
}

async function createOne({ device, objects }: Actor): Promise<void> {
  const objectId = isKept() ? randomUUID() : (pick([...objects.keys()]) ?? randomUUID());
  const data = { a: metadata(), b: { c: null, d: [1] } };
  const { status } = await device.create({ objectId, data }, requestId());
  if (status === 201) objects.set(objectId, 1);
}

/** Writes on the newest version or on the one before, which conflicts. */
async function writeOne({ device, objects }: Actor): Promise<void> {
  const objectId = pick([...objects.keys()]) ?? randomUUID();
  const baseVersion = Math.max((objects.get(objectId) ?? 1) - randomInt(2), 1);
  const delta = isKept() ? { a: metadata(), b: null } : { a: metadata(), b: { c: 1 } };
  const { status, body } = await device.write(change(objectId, baseVersion, delta), requestId());
  if (status === 200) objects.set(objectId, Number(body['version']));
}

const requestId = (): Record<string, string> =>
  isKept() ? { 'x-sync-request-id': randomUUID() } : {};

/** Makes something of each kind that is counted, since random actions may leave none of a kind. */
export async function makeOfEachKind({ t, api, device, ...made }: Actor): Promise<void> {
  await openSession(t, api, 1);
  await storeOne({ t, api, device, ...made }, 1);
  const document = String(made.documents.at(-1));
  await share(api, document, { recipientEmail: strangersAddress() });
  await device.create({ objectId: randomUUID(), data: {} }, { 'x-sync-request-id': randomUUID() });
}

/** Performs `count` random actions, `lanes` of them at a time. */
export async function actAtRandom(actor: Actor, count: number, lanes: number): Promise<void> {
  const lane = async () => {
    for (let done = 0; done < count / lanes; done += 1) await pick(actions)?.(actor);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
