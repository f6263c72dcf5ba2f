import { hexToBytes } from '@noble/hashes/utils.js';
import test from 'ava';
import { z } from 'zod';
import { createRegistration } from '../../../client/accounts/registration.ts';
import { startSrpLogin } from '../../../client/srp/login.ts';
import { readVectors } from '../../support/client/vectors.ts';

const Bytes = z.string().transform(hexToBytes);
const Vectors = z.array(
  z.object({
    password: z.string(),
    salt: Bytes,
    authKey: Bytes,
    verifier: z.string(),
    fingerprint: z.string(),
    a: Bytes,
    A: z.string(),
    B: z.string(),
    M1: z.string(),
    M2: z.string(),
  }),
);

const vectors = await readVectors('srp.json', Vectors);

for (const [index, vector] of vectors.entries()) {
  test(`registration and login match an independent SRP computation, ${index}`, async (t) => {
    const { salt, authKey, B } = vector;
    const registration = await createRegistration(vector.password, salt);
    t.is(registration.verifier, vector.verifier);
    t.is(registration.fingerprint, vector.fingerprint);

    const login = startSrpLogin(vector.a);
    t.is(login.A, vector.A);
    const proof = login.prove({ salt, B, authKey });
    t.is(proof.M1, vector.M1);
    t.notThrows(() => proof.verifyServer(vector.M2));
  });
}

test('a server that does not know the verifier is refused', (t) => {
  const vector = vectors[0] ?? t.fail();
  const proof = startSrpLogin(vector.a).prove(vector);
  for (const M2 of ['00'.repeat(32), vector.M1, vector.M2.slice(2)]) {
    t.throws(() => proof.verifyServer(M2), { code: 'server_proof_invalid' });
  }
});

test('every registration has its own salt, and every login its own public value', async (t) => {
  const [first, second] = [await createRegistration('same'), await createRegistration('same')];
  t.not(first.salt, second.salt);
  t.not(first.verifier, second.verifier);
  t.not(startSrpLogin().A, startSrpLogin().A);
});
