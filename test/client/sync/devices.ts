import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { randomBytes } from '@noble/hashes/utils.js';
import { createHttp } from '../../../client/http/http.ts';
import type { RetryPolicy } from '../../../client/http/retry.ts';
import { createSessionHttp } from '../../../client/sessions/session-http.ts';
import { createInMemoryStore } from '../../../client/sync/stores/in-memory-store.ts';
import { openSync } from '../../../client/sync/sync-client.ts';
import type { Sync, SyncOptions } from '../../../client/sync/sync.ts';
import { noMemory } from '../../support/client/no-memory.ts';
import { createDevice, type SyncDevice } from '../../support/sync/devices.ts';
import { startVault, type TestVault, type Vault } from '../../support/vault/vault.ts';

export const impatient: RetryPolicy = {
  attempts: 3,
  baseDelaySeconds: 0,
  maxDelaySeconds: 0,
  sleep: async () => {},
  random: () => 0,
};

export interface User {
  readonly userId: string;
  readonly masterKey: Uint8Array<ArrayBuffer>;
}

let latest = 0;

/** Returns the time of all devices here. No two readings are equal, so writes have an order. */
function readClock(): Date {
  latest = Math.max(Date.now(), latest + 1);
  return new Date(latest);
}

export const createUser = (): User => ({ userId: randomUUID(), masterKey: randomBytes(32) });

export interface TestDevice {
  readonly sync: Sync;
  /** Sends the requests of the same device without the client. */
  readonly raw: SyncDevice;
  /** Opens another client of the same device, as after a crash. */
  reopen(options?: DeviceOptions): Promise<Sync>;
}

export type DeviceOptions = Partial<SyncOptions> & { readonly fetch?: typeof globalThis.fetch };

export async function openDevice(
  vault: Vault,
  { userId, masterKey }: User,
  options: DeviceOptions = {},
): Promise<TestDevice> {
  const raw = await createDevice(vault, { userId });
  const store = createInMemoryStore();
  const tokens = { current: async () => raw.api.token, renew: async () => raw.api.token, end() {} };
  const open = ({ fetch = globalThis.fetch, now = readClock, ...others }: DeviceOptions) => {
    const inner = createHttp({ baseUrl: vault.baseUrl, fetch, retry: impatient, now });
    const http = createSessionHttp({ http: inner, tokens });
    const { deviceId } = raw;
    return openSync({
      http,
      memory: noMemory,
      masterKey,
      deviceId,
      schemaVersion: 1,
      store,
      now,
      ...others,
    });
  };
  return { raw, sync: await open(options), reopen: (other) => open({ ...options, ...other }) };
}

const publicFields = { note: ['/tags', '/count'] };
const rules = {
  note: {
    public: publicFields.note,
    rules: { '/title': 'LAST_WRITE_WINS', '/tags': 'UNION', '/count': 'MAX' },
  },
};

/** Starts a vault with rules for notes, which the devices below know. */
export async function startRulesVault(): Promise<TestVault> {
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-rules-'));
  const file = path.join(directory, 'rules.json');
  await writeFile(file, JSON.stringify(rules));
  try {
    return await startVault({ SYNC_RULES_FILE: file });
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** Creates two devices of one user and an object that both have. */
export async function shareObject(
  vault: Vault,
  data: Record<string, unknown>,
  options: DeviceOptions = {},
  objectType?: string,
): Promise<{ one: TestDevice; two: TestDevice; id: string }> {
  const user = createUser();
  const one = await openDevice(vault, user, { publicFields });
  const two = await openDevice(vault, user, { publicFields, ...options });
  const id = await one.sync.create({ data, ...(objectType === undefined ? {} : { objectType }) });
  await one.sync.sync();
  await two.sync.sync();
  return { one, two, id };
}

export const set = (sync: Sync, id: string, fields: Record<string, unknown>) =>
  sync.change(id, (data) => ({ ...data, ...fields }));

export const dataOf = async (sync: Sync, id: string) => (await sync.get(id))?.data;
