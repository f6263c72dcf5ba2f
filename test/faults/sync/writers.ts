import { randomUUID } from 'node:crypto';
import { send, type JsonAnswer } from '../../support/http/send.ts';

/** Sends requests to the sync routes as one device. */
export type AskSync = (path?: string, json?: object) => Promise<JsonAnswer>;

export function createAskSync(baseUrl: string, token: string, deviceId: string): AskSync {
  const headers = { 'X-Device-Id': deviceId, 'X-Schema-Version': '1' };
  return (path = '', json) =>
    send(json === undefined ? 'GET' : 'POST', `${baseUrl}/v1/sync${path}`, {
      token,
      headers,
      ...(json === undefined ? {} : { json }),
    });
}

interface WritersOptions {
  /** Number of applied writes of all writers together at which they stop. */
  readonly commits: number;
  readonly random: () => number;
}

/**
 * Runs one writer per device until there are enough commits. Each changes a few shared objects, and
 * objects of its own that it creates and deletes. Resolves with the number of applied writes.
 * Throws on any response that is neither success nor a conflict.
 */
export async function writeSteadily(
  devices: readonly AskSync[],
  { commits, random }: WritersOptions,
): Promise<number> {
  let applied = 0;
  const pick = (count: number) => Math.floor(random() * count);

  async function commit(ask: AskSync, path: string, json: object): Promise<number | undefined> {
    const { status, text, body } = await ask(path, json);
    if (status === 409) return undefined;
    if (status !== 200 && status !== 201) throw new Error(`${status}: ${text}`);
    applied += 1;
    return (body as { readonly version: number }).version;
  }

  async function create(ask: AskSync): Promise<string> {
    const objectId = randomUUID();
    await commit(ask, '/create', { objectId, data: {} });
    return objectId;
  }

  const [first] = devices;
  if (first === undefined) throw new RangeError('at least one device must write');
  const shared = [await create(first), await create(first), await create(first)];

  async function write(ask: AskSync, writer: number): Promise<void> {
    const known = new Map(shared.map((objectId) => [objectId, 1]));
    const own: string[] = [];
    while (applied < commits) {
      const chance = random();
      const mine = own[pick(own.length)];
      if (mine === undefined || chance < 0.1) {
        const objectId = await create(ask);
        own.push(objectId);
        known.set(objectId, 1);
        continue;
      }
      const objectId = chance < 0.6 ? (shared[pick(shared.length)] ?? mine) : mine;
      const baseVersion = known.get(objectId) ?? 0;
      const isLast = objectId === mine && chance > 0.95;
      const version = await commit(ask, '', {
        objectId,
        version: baseVersion + 1,
        baseVersion,
        ...(isLast ? { deleted: true } : { delta: { [`of${writer}`]: random() } }),
      });
      if (version !== undefined) known.set(objectId, version);
      if (isLast) own.splice(own.indexOf(objectId), 1);
    }
  }

  await Promise.all(devices.map(write));
  return applied;
}
