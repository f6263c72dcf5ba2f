import { bytesToHex, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import test from 'ava';
import { z } from 'zod';
import { findNodeArgon2id, portableArgon2id } from '../../../client/login/argon2id.ts';
import { derivePasswordKey, srpAuthLabel } from '../../../client/login/password.ts';
import { readVectors } from '../../support/client/vectors.ts';

const Vectors = z.array(
  z.object({
    password: z.string(),
    salt: z.string().transform(hexToBytes),
    label: z.string(),
    key: z.string(),
  }),
);

test('keys equal those of OpenSSL’s Argon2id', async (t) => {
  for (const { password, salt, label, key } of await readVectors('argon2.json', Vectors)) {
    t.is(bytesToHex(await derivePasswordKey(password, salt, label)), key);
  }
});

test('the fallback without Node’s own Argon2id derives the same keys', async (t) => {
  const own = findNodeArgon2id();
  t.truthy(own);
  const [password, salt] = [utf8ToBytes('a password'), new Uint8Array(16).fill(7)];
  t.deepEqual(await portableArgon2id(password, salt), await own?.(password, salt));
});

test('every Unicode form of a password gives the same key', async (t) => {
  const salt = new Uint8Array(32);
  const composed = await derivePasswordKey('\u00c5\ufb01', salt, srpAuthLabel);
  const decomposed = await derivePasswordKey('A\u030afi', salt, srpAuthLabel);
  t.deepEqual(composed, decomposed);
});

test('an empty, ill-formed or unassigned-character password is refused', async (t) => {
  for (const password of ['', '\ud800', 'jam\u0378']) {
    await t.throwsAsync(derivePasswordKey(password, new Uint8Array(32), srpAuthLabel), {
      instanceOf: TypeError,
    });
  }
});
