import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import test from 'ava';
import canonicalize from 'canonicalize';
import type { VerifiableProof } from '../../../app/audit/verification/verifying-thread.ts';
import { createVerifyingThreads } from '../../../app/audit/verification/verifying-threads.ts';
import type { RegisteredKey } from '../../../app/proof/registered-key.ts';

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const spki = publicKey.export({ type: 'spki', format: 'der' });
const key: RegisteredKey = {
  keyId: createHash('sha256').update(spki).digest('hex').slice(0, 32),
  purpose: 'audit',
  algorithm: 'ECDSA-P256-SHA3-256',
  publicKey: spki.toString('base64'),
  imported: false,
  generation: 1,
  state: 'ACTIVE',
  registeredAt: new Date(),
  activatedAt: new Date(),
  retiredAt: null,
  compromisedSince: null,
  compromiseId: null,
  recordId: null,
  key: publicKey,
};

function createProof(): VerifiableProof {
  const id = randomUUID();
  const entryCanonical = canonicalize({ v: 2, id, sealedAt: new Date().toISOString() }) ?? '';
  return {
    key,
    heldSince: new Date(),
    proof: {
      id,
      entryCanonical,
      entryHash: createHash('sha3-256').update(entryCanonical).digest('hex'),
      hsmSignature: sign('sha3-256', Buffer.from(entryCanonical), privateKey).toString('base64'),
      hsmKeyId: key.keyId,
      publicKey: key.publicKey,
    },
  };
}

test('verifying proofs does not block the event loop', async (t) => {
  const threads = createVerifyingThreads({ count: 2 });
  t.teardown(() => threads.close());
  const proofs = Array.from({ length: 1_000 }, createProof);
  let turns = 0;
  const counting = setInterval(() => {
    turns += 1;
  });
  const verdicts = await threads.verify(proofs);
  clearInterval(counting);
  t.true(verdicts.every(({ valid }) => valid));
  t.true(turns > 10, String(turns));
});

test('verdicts keep the order of their proofs across concurrent batches', async (t) => {
  const threads = createVerifyingThreads({ count: 2 });
  t.teardown(() => threads.close());
  const batches = [1, 250, 999].map((length, batch) =>
    Array.from({ length }, (_, at) => {
      const { proof } = createProof();
      const isWrong = at % (batch + 2) === 0;
      return { key: isWrong ? undefined : key, proof, heldSince: new Date() };
    }),
  );
  const verdicts = await Promise.all(batches.map((proofs) => threads.verify(proofs)));
  t.deepEqual(
    verdicts.map((of) => of.map(({ valid }) => valid)),
    batches.map((of) => of.map((one) => one.key !== undefined)),
  );
  t.deepEqual(await threads.verify([]), []);
});

test('proofs that wait when the threads are closed are rejected', async (t) => {
  const threads = createVerifyingThreads({ count: 1 });
  const proofs = Array.from({ length: 1_000 }, createProof);
  const refused = t.throwsAsync(threads.verify(proofs));
  await threads.close();
  await refused;
  await t.throwsAsync(threads.verify(proofs));
});
