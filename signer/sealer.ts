import { hash } from 'node:crypto';
import { encodeDerSignature, P256_SIGNATURE_BYTES } from './ecdsa.ts';
import { EntryError, parseEntry } from './entry.ts';
import type { Hsm } from './hsm.ts';
import type { SigningKey } from './keyring.ts';
import { mapInLanes } from './lanes.ts';
import type { Metrics } from './metrics.ts';
import { CKM_ECDSA } from './pkcs11.ts';
import { MAX_ENTRY_BYTES } from './protocol.ts';
import type { EntryFault, EntryToSeal, Seal, SealResult } from './protocol.ts';
import { SignerUnavailable } from './signer-error.ts';
import type { Verifier } from './verifier.ts';

export type Sealer = (
  entries: readonly EntryToSeal[],
  signal: AbortSignal,
) => Promise<SealResult[]>;

export type SealerOptions = {
  hsm: Pick<Hsm, 'run'>;
  verifier: Pick<Verifier, 'verify'>;
  metrics: Pick<Metrics, 'sealed' | 'refusedEntries' | 'unverified'>;
  /** Entries of one batch in the HSM at once: as many as there are sessions. */
  lanes: number;
};

type SignedEntry = { seal: Seal; text: string; key: SigningKey };

/**
 * Seals entries: SHA3-256, ECDSA in the HSM, verified in software before it is answered. A text
 * that is no entry gets its fault as its result; an HSM failure (SignerUnavailable) fails them all.
 */
export function createSealer({ hsm, verifier, metrics, lanes }: SealerOptions): Sealer {
  return async (entries, signal) => {
    const outcomes = await mapInLanes(entries, lanes, async (entry) => {
      signal.throwIfAborted();
      const fault = findFault(entry);
      return fault ? { id: entry.id, error: fault } : sign(entry);
    });
    await verifyAll(outcomes.filter((outcome) => 'seal' in outcome));
    return outcomes.map((outcome) => {
      if ('seal' in outcome) return outcome.seal;
      metrics.refusedEntries.inc({ fault: outcome.error });
      return outcome;
    });
  };

  async function sign({ id, text }: EntryToSeal): Promise<SignedEntry> {
    const digest = hash('sha3-256', text, 'buffer');
    const { compact, key } = await hsm.run(async (session, { audit }) => ({
      compact: await session.sign(CKM_ECDSA, audit.handle, digest, P256_SIGNATURE_BYTES),
      key: audit,
    }));
    const signature = encodeDerSignature(compact).toString('base64');
    return { seal: { id, hash: digest.toString('hex'), signature, keyId: key.keyId }, text, key };
  }

  async function verifyAll(signed: readonly SignedEntry[]): Promise<void> {
    const valid = await verifier.verify(
      signed.map(({ seal: { signature }, text, key: { publicKey } }) => ({
        text,
        signature,
        publicKey,
      })),
    );
    if (!valid.every(Boolean)) {
      metrics.unverified.inc({ purpose: 'audit' });
      throw new SignerUnavailable('hsm_unavailable', 'the HSM made a signature that is not valid');
    }
    metrics.sealed.inc(signed.length);
  }
}

function findFault({ id, text }: EntryToSeal): EntryFault | undefined {
  if (Buffer.byteLength(text) > MAX_ENTRY_BYTES) return 'too_large';
  try {
    return parseEntry(text).id === id ? undefined : 'id_mismatch';
  } catch (error) {
    if (error instanceof EntryError) return error.code;
    throw error;
  }
}
