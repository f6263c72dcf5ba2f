import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { createSender, type Sender } from './sender.ts';
import type { SyncDevice } from '../../support/sync/devices.ts';

/** The requests of honest users over some time. */
export interface HonestReport {
  /** Milliseconds that each answered request took. */
  readonly times: number[];
  /** Requests that failed, with their status or error. */
  readonly failures: string[];
}

/** Milliseconds between two requests of a user. */
const paceMs = 100;

/**
 * Lets each user list, read, search, synchronize and begin uploads, one request at a time, until
 * `stop` aborts.
 */
export async function useHonestly(
  baseUrl: string,
  users: readonly SyncDevice[],
  stop: AbortSignal,
): Promise<HonestReport> {
  const report: HonestReport = { times: [], failures: [] };
  await Promise.all(users.map((user) => useAlone(baseUrl, user, report, stop)));
  return report;
}

async function useAlone(
  baseUrl: string,
  { api, deviceId }: SyncDevice,
  report: HonestReport,
  stop: AbortSignal,
): Promise<void> {
  const headers = {
    authorization: `Bearer ${api.token}`,
    'x-device-id': deviceId,
    'x-schema-version': '1',
  };
  using sender = createSender({ baseUrl, headers, from: '127.0.0.1' });
  // Users do not begin all at the same moment.
  await delay(Math.random() * paceMs);
  for (let turn = 0; !stop.aborted; turn += 1) {
    const action = actions[turn % actions.length] as Action;
    try {
      const { status, code, ms } = await action.send(sender);
      report.times.push(ms);
      if (status >= 300) report.failures.push(`${action.name}: ${status} ${code}`);
    } catch (error) {
      report.failures.push(`${action.name}: ${(error as Error).message}`);
    }
    await delay(paceMs);
  }
}

interface Action {
  readonly name: string;
  send(sender: Sender): ReturnType<Sender['send']>;
}

const actions: readonly Action[] = [
  { name: 'list', send: (sender) => sender.send('GET', '/v1/documents?limit=20') },
  {
    name: 'create an object',
    send: (sender) =>
      sender.send('POST', '/v1/sync/create', {
        body: { objectId: randomUUID(), data: { title: 'evidence', pages: 3 } },
      }),
  },
  {
    name: 'search',
    send: (sender) =>
      sender.send('POST', '/v1/documents/search', { body: { any: ['ab'.repeat(32)] } }),
  },
  { name: 'list objects', send: (sender) => sender.send('GET', '/v1/sync?limit=20') },
  { name: 'read the configuration', send: (sender) => sender.send('GET', '/v1/uploads/config') },
];

/** Returns the time in milliseconds below which 95 of 100 requests stayed. */
export function p95(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length * 0.95)] ?? Number.NaN;
}
