import { timingSafeEqual } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { AppError } from '../errors/app-error.ts';
import type { InternalCaller } from '../http/requests/caller.ts';
import type { Log } from '../telemetry/log.ts';
import { hashApiKey, type ApiKey } from './api-key-format.ts';
import { readApiKeys } from './api-key-file.ts';

export type InternalKeys = ReturnType<typeof createInternalKeys>;

const recheckMs = 1_000;

interface InternalKeysOptions {
  /** File of the API keys; undefined if there are none. */
  readonly file: string | undefined;
  readonly log: Log;
}

/**
 * Checks internal API keys against a file. The file is checked for changes at most once a second,
 * when a key is presented, so that keys can be changed without a restart. While the file is
 * unusable, the last valid keys stay in force.
 */
export function createInternalKeys({ file, log }: InternalKeysOptions) {
  let keys: readonly ApiKey[] = [];
  /** Every set of keys that was in force since the last `takeSets`, the oldest first. */
  let sets: (readonly ApiKey[])[] = file === undefined ? [[]] : [];
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
      sets.push(keys);
      loadedState = state;
      complaint = '';
      log.info({ keys: keys.map(({ name }) => name) }, 'internal API keys loaded');
    } catch (error) {
      const news = `${state} ${String(error)}`;
      if (news === complaint) return;
      complaint = news;
      log.error(
        { err: error },
        'the file of internal API keys is unusable; the last keys stay in force',
      );
    }
  }

  async function refresh(): Promise<void> {
    if (file === undefined) return;
    if (performance.now() - checkedAt >= recheckMs) {
      checkedAt = performance.now();
      check = load(file);
    }
    await check;
  }

  return {
    /**
     * Resolves with the holder of a key. Throws invalid_api_key if the key is missing or unknown,
     * or access_denied if it has no admin right.
     */
    async admit(key = ''): Promise<InternalCaller> {
      await refresh();
      const known = find(keys, key);
      if (known === undefined || key === '') throw new AppError('invalid_api_key');
      if (!known.admin) throw new AppError('access_denied');
      return { internalKey: known.name };
    },

    /**
     * Removes and returns the sets of keys that came into force since the last call, the oldest
     * first; without a file, the first call returns one empty set.
     */
    async takeSets(): Promise<readonly (readonly ApiKey[])[]> {
      await refresh();
      const taken = sets;
      sets = [];
      return taken;
    },
  };
}

/** Finds a key in constant time: the work does not depend on whether or where the key is listed. */
function find(keys: readonly ApiKey[], key: string): ApiKey | undefined {
  const shown = Buffer.from(hashApiKey(key), 'hex');
  let known: ApiKey | undefined;
  for (const one of keys) {
    if (timingSafeEqual(Buffer.from(one.sha256, 'hex'), shown)) known = one;
  }
  return known;
}

/**
 * Returns a text that changes whenever the file is written or replaced, whatever its mtime says.
 */
async function stateOf(path: string): Promise<string> {
  const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
}
