import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { until } from '../../app/dev/processes/until.ts';
import { createAccounts } from '../../client/accounts/accounts.ts';
import { createHttp, type Http } from '../../client/http/http.ts';
import type { RetryPolicy } from '../../client/http/retry.ts';
import { createDeviceKey } from '../../client/keys/device-key.ts';
import { createNodeHash } from '../../client/node/hash.ts';
import { createInMemoryStore } from '../../client/sync/stores/in-memory-store.ts';
import { TokenPair } from '../../client/sessions/tokens.ts';
import { createVaultClient } from '../../client/vault.ts';
import { createAccount } from '../faults/vault/user.ts';
import type { Fleet } from './fleet.ts';

const paceMs = 50;

/** Sends every request once. A feed is opened again after the delay that the vault names. */
export const noRetries: RetryPolicy = {
  attempts: 1,
  baseDelaySeconds: 0.1,
  maxDelaySeconds: 60,
  sleep: (seconds, signal) => delay(seconds * 1_000, undefined, { signal }),
  random: Math.random,
};

/** Work of one user on two devices so far. */
export interface DeviceReport {
  readonly done: Record<'refreshed' | 'written' | 'read' | 'told' | 'repeated', number>;
  readonly failures: string[];
}

export interface DeviceLoad {
  readonly report: DeviceReport;
  /** Stops the load, and resolves once both devices and the feed have all that was written. */
  stop(): Promise<void>;
}

/**
 * Starts a load: refreshes of one session, an object that one device writes and another reads, its
 * change feed, and requests that are repeated under their idempotency keys.
 */
export async function startDeviceLoad(
  fleet: Pick<Fleet, 'baseUrl' | 'mailDirectory'>,
  fetch: typeof globalThis.fetch,
): Promise<DeviceLoad> {
  const { baseUrl } = fleet;
  const retry = noRetries;
  const done = { refreshed: 0, written: 0, read: 0, told: 0, repeated: 0 };
  const failures: string[] = [];
  const account = await createAccount(fleet);
  const client = createVaultClient({ baseUrl, fetch, retry, createHash: createNodeHash });
  const session = await client.login(account);
  const masterKey = await session.envelopes.openMasterKey();
  const open = async (name: string) => {
    const key = createDeviceKey();
    const { deviceId } = key;
    await session.devices.add({ ...key, name, platform: 'Linux' });
    const onDevice = await client.login({ ...account, deviceId });
    const store = createInMemoryStore();
    const sync = await onDevice.sync({ masterKey, deviceId, schemaVersion: 1, store });
    return { sync, session: onDevice, deviceId };
  };
  const [writer, reader] = [await open('Phone'), await open('Laptop')];
  const objectId = await writer.sync.create({ data: { count: 0 } });
  await writer.sync.sync();
  const http = createHttp({ baseUrl, fetch, retry, now: () => new Date() });
  let { pair } = await createAccounts({ http, retry }).login(account);

  const stopping = new AbortController();
  const closing = new AbortController();
  let toldVersion = 0;

  async function repeat(what: string, work: () => Promise<void>): Promise<void> {
    while (!stopping.signal.aborted) {
      await work().catch((error: unknown) => failures.push(`${what}: ${String(error)}`));
      await delay(paceMs);
    }
  }

  async function refresh(): Promise<void> {
    const { refreshToken } = pair;
    pair = await http.json(TokenPair, {
      method: 'POST',
      path: '/v1/auth/refresh',
      json: { refreshToken },
    });
    done.refreshed += 1;
  }

  async function write(): Promise<void> {
    await writer.sync.change(objectId, () => ({ count: done.written + 1 }));
    await writer.sync.sync();
    done.written += 1;
  }

  async function read(): Promise<void> {
    await reader.sync.sync();
    done.read += 1;
  }

  async function listen(): Promise<void> {
    const events = reader.session.syncEvents({
      deviceId: reader.deviceId,
      signal: closing.signal,
    });
    for await (const event of events) {
      if (event.type !== 'change') continue;
      if (event.version <= toldVersion) failures.push(`version ${event.version} was told twice`);
      toldVersion = event.version;
      done.told += 1;
    }
  }

  /** Opens an upload twice under one key, and ends it. */
  async function repeatUnderKey(): Promise<void> {
    const [first, again] = await openTwice(session.http, session.http);
    if (again.headers.get('idempotency-replayed') !== 'true') failures.push('not replayed');
    const { sessionId } = Opened.parse(first.body);
    if (Opened.parse(again.body).sessionId !== sessionId)
      failures.push('two uploads under one key');
    await session.http.send({ method: 'DELETE', path: `/v1/uploads/${sessionId}` });
    done.repeated += 1;
  }

  const feed = listen().catch((error: unknown) => failures.push(`feed: ${String(error)}`));
  const running = Promise.all([
    repeat('refresh', refresh),
    repeat('write', write),
    repeat('read', read),
    repeat('key', repeatUnderKey),
  ]);
  return {
    report: { done, failures },
    async stop() {
      stopping.abort();
      await running;
      await reader.sync.sync();
      const [written, seen] = await Promise.all([
        writer.sync.get(objectId),
        reader.sync.get(objectId),
      ]);
      if (seen?.data['count'] !== done.written || seen.version !== written?.version) {
        failures.push(`the other device has ${JSON.stringify(seen)}`);
      }
      await until(() => toldVersion === written?.version, {
        what: `version ${written?.version} in the feed`,
        timeoutMs: 30_000,
      }).catch((error: unknown) => failures.push(`${String(error)}, which has ${toldVersion}`));
      closing.abort();
      await feed;
    },
  };
}

/** Opens an upload by way of `first`, and repeats the request under its key by way of `second`. */
export async function openTwice(first: Http, second: Http) {
  const request = {
    method: 'POST',
    path: '/v1/uploads',
    json: { fileName: 'a', fileSize: 1, mimeType: 'application/octet-stream', totalParts: 1 },
    idempotencyKey: randomUUID(),
  } as const;
  return [await first.send(request), await second.send(request)] as const;
}

const Opened = z.looseObject({ sessionId: z.string() });
