import type { KeyObject } from 'node:crypto';
import type { Clock } from '../async/clock.ts';
import { AppError } from '../errors/app-error.ts';
import type { RegisteredKey } from '../proof/registered-key.ts';
import type { KeyRegistry } from '../signing-keys/registry.ts';
import { accessTokenSeconds, clockSkewSeconds } from './token-rules.ts';

/** Seconds for which a process may still sign with a key that another process has just retired. */
const lagSeconds = 10;

/** Seconds after the retirement of a key for which its tokens may still be valid. */
const lastSeconds = accessTokenSeconds + clockSkewSeconds + lagSeconds;

/** The properties of a key that decide whether it serves tokens. */
type Validity = Pick<RegisteredKey, 'purpose' | 'state' | 'activatedAt' | 'retiredAt'>;

/**
 * Returns whether a key signs tokens now or may sign tokens later, or whether tokens that the key
 * signed may still be valid. Tokens of a compromised key are not.
 */
export function servesTokens(
  { purpose, state, activatedAt, retiredAt }: Validity,
  now: Date,
): boolean {
  if (purpose !== 'token' || state === 'COMPROMISED') return false;
  if (retiredAt === null) return true;
  return activatedAt !== null && now.getTime() < retiredAt.getTime() + lastSeconds * 1000;
}

interface OwnKeysOptions {
  readonly registry: Pick<KeyRegistry, 'find'>;
  readonly clock: Clock;
}

/** Creates the function that finds the vault's own token keys. */
export function createOwnKeys({ registry, clock }: OwnKeysOptions) {
  async function lookUp(keyId: string) {
    try {
      return await registry.find(keyId);
    } catch (cause) {
      throw new AppError('jwks_unavailable', { cause });
    }
  }

  /**
   * Finds the vault's own token key that a JWS header names. Throws invalid_token if the header
   * names no such key, and jwks_unavailable if the key cannot be looked up.
   */
  return async function findOwnKey(header: { readonly kid?: string }): Promise<KeyObject> {
    const key = header.kid === undefined ? undefined : await lookUp(header.kid);
    if (key === undefined || !servesTokens(key, clock())) throw new AppError('invalid_token');
    return key.key;
  };
}

export type FindOwnKey = ReturnType<typeof createOwnKeys>;
