import type { z } from 'zod';
import type { SignerClient } from '../../signer/protocol/client.ts';
import type { HeldKeys } from './schema.ts';

interface HeldKeysOptions {
  readonly signer: Pick<SignerClient, 'health' | 'listKeys'>;
}

export type ReadHeldKeys = ReturnType<typeof createHeldKeys>;

/**
 * Creates the function that tells what the token behind this process holds. The registry cannot
 * tell: another replica may have registered a key that has not been replicated to this token. It
 * resolves in every state of the signer.
 */
export function createHeldKeys({ signer }: HeldKeysOptions) {
  return async (): Promise<z.output<typeof HeldKeys>> => {
    const [health, keys] = await Promise.all([
      signer.health().catch(() => undefined),
      signer.listKeys().catch(() => undefined),
    ]);
    return {
      tokenState: health?.token ?? 'unreachable',
      keyIds: keys?.map(({ keyId }) => keyId) ?? null,
    };
  };
}
