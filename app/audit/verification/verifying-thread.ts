import { parentPort } from 'node:worker_threads';
import { verifyProof, type AuditProof } from '../../proof/proof.ts';
import type { RegisteredKey } from '../../proof/registered-key.ts';

/** An audit proof, and the registered key that it names; undefined if that is not registered. */
export interface VerifiableProof {
  readonly proof: AuditProof;
  readonly key: RegisteredKey | undefined;
  /** When the vault stored the entry. */
  readonly heldSince: Date;
}

parentPort?.on('message', (proofs: readonly VerifiableProof[]) => {
  const verdicts = proofs.map(({ proof, key, heldSince }) => verifyProof(proof, key, heldSince));
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(verdicts);
});
