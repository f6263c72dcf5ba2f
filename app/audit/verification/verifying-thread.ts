import { parentPort } from 'node:worker_threads';
import { verifyProof } from '../../proof/proof.ts';
import type { VerifiableProof } from './verifying-threads.ts';

parentPort?.on('message', (proofs: readonly VerifiableProof[]) => {
  const verdicts = proofs.map(({ proof, key }) => verifyProof(proof, key));
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(verdicts);
});
