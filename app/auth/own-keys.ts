import type { KeyObject } from 'node:crypto';
import { AppError } from '../errors.ts';
import type { KeyRegistry } from '../keys/registry.ts';

/**
 * Finds the vault's own token key that a JWS header names. Throws invalid_token for any other key,
 * and jwks_unavailable where it cannot be looked up: that is no unknown key.
 */
export function createOwnKeys(registry: KeyRegistry) {
  async function lookUp(keyId: string) {
    try {
      return await registry.find(keyId);
    } catch (cause) {
      throw new AppError('jwks_unavailable', { cause });
    }
  }

  return async function findOwnKey(header: { kid?: string }): Promise<KeyObject> {
    const key = header.kid === undefined ? undefined : await lookUp(header.kid);
    if (key?.purpose !== 'token') throw new AppError('invalid_token');
    return key.key;
  };
}

export type FindOwnKey = ReturnType<typeof createOwnKeys>;
