import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { z } from 'zod';
import { AppError } from '../errors.ts';
import type { InternalCaller } from '../http/caller.ts';
import { Digest } from '../http/wire.ts';
import type { Log } from '../telemetry/log.ts';

/** The file of internal API keys: their SHA-256, never the keys. */
export const ApiKeyFile = z.array(
  z.strictObject({ name: z.string().min(1).max(64), sha256: Digest, admin: z.boolean() }),
);

type ApiKey = z.output<typeof ApiKeyFile>[number];

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

/** Reads the file again when it has changed, so that keys are exchanged without a restart. */
export function createInternalKeys({ file, log }: InternalKeysOptions): InternalKeys {
  let keys = new Map<string, ApiKey>();
  let modifiedMs = -1;
  let checkedAt = -Infinity;

  async function load(path: string): Promise<void> {
    if (performance.now() - checkedAt < recheckMs) return;
    checkedAt = performance.now();
    try {
      const { mtimeMs } = await stat(path);
      if (mtimeMs === modifiedMs) return;
      const listed = ApiKeyFile.parse(JSON.parse(await readFile(path, 'utf8')));
      keys = new Map(listed.map((key) => [key.sha256, key]));
      modifiedMs = mtimeMs;
    } catch (error) {
      log.error({ err: error }, 'the file of internal API keys cannot be used; the last one holds');
    }
  }

  return {
    async admit(key) {
      if (file !== undefined) await load(file);
      const known = key === undefined ? undefined : keys.get(hashApiKey(key));
      if (known === undefined) throw new AppError('invalid_api_key');
      if (!known.admin) throw new AppError('access_denied');
      return { internalKey: known.name };
    },
  };
}

/** Keys are random and long: one hash is enough. Hex. */
export function hashApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
