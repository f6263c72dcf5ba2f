import { timingSafeEqual } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { AppError } from '../errors/app-error.ts';
import type { InternalCaller } from '../http/requests/caller.ts';
import type { Log } from '../telemetry/log.ts';
import { hashApiKey, type ApiKey } from './api-key.ts';
import { readApiKeys } from './api-key-file.ts';

export interface InternalKeys {
  /** Throws invalid_api_key, or access_denied for a key without the admin right. */
  admit(key: string | undefined): Promise<InternalCaller>;
}

const recheckMs = 1_000;

interface InternalKeysOptions {
  /** Left out, there are no keys. */
  readonly file: string | undefined;
  readonly log: Log;
}

/**
 * Looks at the file again every second that a key is shown, so that keys are exchanged without a
 * restart. While the file cannot be used, the last good one holds.
 */
export function createInternalKeys({ file, log }: InternalKeysOptions): InternalKeys {
  let keys: readonly ApiKey[] = [];
  let loadedState = '';
  let complaint = '';
  let checkedAt = -Infinity;
  let check = Promise.resolve();

  async function load(path: string): Promise<void> {
    let state = '';
    try {
      state = await stateOf(path);
      if (state === loadedState) return;
      keys = await readApiKeys(path);
      loadedState = state;
      complaint = '';
      log.info({ keys: keys.map(({ name }) => name) }, 'internal API keys are loaded');
    } catch (error) {
      const news = `${state} ${String(error)}`;
      if (news === complaint) return;
      complaint = news;
      log.error({ err: error }, 'the file of internal API keys is unusable; the last one holds');
    }
  }

  async function refresh(path: string): Promise<void> {
    if (performance.now() - checkedAt >= recheckMs) {
      checkedAt = performance.now();
      check = load(path);
    }
    await check;
  }

  return {
    async admit(key = '') {
      if (file !== undefined) await refresh(file);
      const known = find(keys, key);
      if (known === undefined || key === '') throw new AppError('invalid_api_key');
      if (!known.admin) throw new AppError('access_denied');
      return { internalKey: known.name };
    },
  };
}

/** Does the same work whether or not the key is among them. */
function find(keys: readonly ApiKey[], key: string): ApiKey | undefined {
  const shown = Buffer.from(hashApiKey(key), 'hex');
  let known: ApiKey | undefined;
  for (const one of keys) {
    if (timingSafeEqual(Buffer.from(one.sha256, 'hex'), shown)) known = one;
  }
  return known;
}

/** Another one whenever the file was written or replaced, whatever its clock says. */
async function stateOf(path: string): Promise<string> {
  const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
}
