import type { SignerClient } from '../../signer/protocol/client.ts';
import { AppError } from '../errors/app-error.ts';
import type { InternalCaller } from '../http/requests/caller.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import type { Act } from '../audit-trail/act.ts';
import type { KeyRegistry } from './registry.ts';

interface KeyAdoptionOptions {
  readonly signer: Pick<SignerClient, 'listKeys' | 'listUnadopted' | 'adoptKey'>;
  readonly act: Act;
  readonly registry: KeyRegistry;
}

export type KeyAdoption = ReturnType<typeof createKeyAdoption>;

/** Creates the service that makes signing keys usable which the token did not generate. */
export function createKeyAdoption({ signer, act, registry }: KeyAdoptionOptions) {
  /** Records in the token that an imported key may be used. Returns whether the token holds it. */
  async function adoptInToken(keyId: string): Promise<boolean> {
    const key = (await signer.listUnadopted()).find((one) => one.keyId === keyId);
    if (key === undefined) return (await signer.listKeys()).some((one) => one.keyId === keyId);
    const { purpose, generation, contested } = key;
    const isTaken = (await registry.list()).some(
      (one) => one.keyId !== keyId && one.purpose === purpose && one.generation === generation,
    );
    if (isTaken || contested) throw new AppError('key_label_taken');
    await signer.adoptKey(keyId);
    return true;
  }

  return {
    /**
     * Adopts an imported key: it is registered, and can be activated like any other key, but is
     * called imported for ever. Has no effect on a key that is registered and used already. Throws
     * not_found for a key that the token does not hold, key_label_taken if another key has its
     * purpose and generation, audit_backlog_full, or SignerUnavailable.
     */
    async adopt(request: ServiceRequest<InternalCaller>, keyId: string): Promise<void> {
      const { caller, requestId } = request;
      act.assertWritable(request);
      // Registers existing keys first, so that they are not recorded as adopted by this caller.
      await registry.sync();
      const isHeld = await adoptInToken(keyId);
      if (!isHeld && (await registry.find(keyId)) === undefined) throw new AppError('not_found');
      await registry.sync({ keyId, requestedBy: caller.internalKey, requestId });
    },
  };
}
