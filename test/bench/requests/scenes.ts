import { randomBytes, randomUUID } from 'node:crypto';
import type { SingleVault } from '../../support/processes/vault-processes.ts';
import { jsonMessage, type Ask, type Message } from '../harness/sender.ts';
import { createLoginSender } from '../login/login-sender.ts';

/** Sends the request of a user, or the two that belong together. */
export type Action = (ask: Ask) => Promise<void>;

/** One kind of request. */
export interface Scene {
  /** Number of modular exponentiations of each message of an action. */
  readonly powers: readonly number[];
  /** Number of actions whose cost is measured together. */
  readonly perChunk: number;
  /** Makes what the actions need, and returns `count` of them. */
  prepare(count: number): Promise<Action[]>;
}

const partBytes = 2 ** 20;
const metadata = randomBytes(300).toString('base64');

/** Returns the kinds of requests that the bench measures, by name. */
export async function createScenes(
  vault: SingleVault,
  ask: Ask,
  headers: Message['headers'],
): Promise<Record<string, Scene>> {
  const get = (path: string): Message => ({ method: 'GET', path, headers, body: undefined });
  const post = (path: string, json: unknown) => jsonMessage('POST', path, json, headers);
  /** Uploads a file of one part and returns its path. */
  const upload = async (by: Ask, bytes: Buffer): Promise<string> => {
    const file = {
      fileName: 'a',
      fileSize: bytes.length,
      mimeType: 'application/octet-stream',
      totalParts: 1,
    };
    const opened = await by(post('/v1/uploads', file));
    const path = `/v1/uploads/${String(opened.body['sessionId'])}`;
    const contentType = { 'content-type': 'application/octet-stream' };
    await by({
      method: 'PUT',
      path: `${path}/parts/1`,
      headers: { ...headers, ...contentType },
      body: bytes,
    });
    return String((await by(post(`${path}/complete`, {}))).body['fileKey']);
  };
  const creation = async (): Promise<Message> => {
    const keywords = Array.from({ length: 3 }, () => randomBytes(32).toString('hex'));
    const storagePath = await upload(ask, randomBytes(100));
    return post('/v1/documents', {
      encryptedMetadata: metadata,
      keywordDeterministic: keywords,
      storagePath,
    });
  };
  const storeDocument = async () => String((await ask(await creation())).body['id']);

  /** Returns a scene whose actions are one message each. */
  const single = (perChunk: number, make: () => Promise<Message>): Scene => ({
    powers: [0],
    perChunk,
    async prepare(count) {
      const messages: Message[] = [];
      while (messages.length < count) messages.push(await make());
      return messages.map((message) => async (by) => void (await by(message)));
    },
  });

  const documentIds: string[] = [];
  while (documentIds.length < 30) documentIds.push(await storeDocument());
  let reads = 0;
  const sender = await createLoginSender(vault, ask);
  return {
    get: single(200, async () => get(`/v1/documents/${documentIds[reads++ % documentIds.length]}`)),
    list: single(200, async () => get('/v1/documents?limit=20')),
    create: single(60, creation),
    certify: single(60, async () => ({
      method: 'POST',
      path: `/v1/documents/${await storeDocument()}/certify`,
      headers,
      body: undefined,
    })),
    login: {
      powers: [1, 2],
      perChunk: 60,
      prepare: async (count) => Array.from({ length: count }, () => (by: Ask) => sender.login(by)),
    },
    upload: {
      powers: [0, 0, 0],
      perChunk: 40,
      prepare: async (count) =>
        Array.from({ length: count }, () => async (by: Ask) => {
          await upload(by, randomBytes(partBytes));
        }),
    },
    sync: await syncScene(ask, post),
  };
}

/** Each action writes the next version of one object. */
async function syncScene(ask: Ask, post: (path: string, json: unknown) => Message): Promise<Scene> {
  const objectId = randomUUID();
  await ask(post('/v1/sync/create', { objectId, data: { a: 0, b: 2 } }));
  let version = 1;
  return {
    powers: [0],
    perChunk: 200,
    prepare: async (count) =>
      Array.from({ length: count }, () => async (by: Ask) => {
        const change = { version: version + 1, baseVersion: version, delta: { a: version } };
        await by(post('/v1/sync', { objectId, ...change }));
        version += 1;
      }),
  };
}
