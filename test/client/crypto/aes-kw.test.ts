import { hexToBytes } from '@noble/hashes/utils.js';
import test from 'ava';
import { z } from 'zod';
import { unwrapKey, wrapKey } from '../../../client/crypto/aes-kw.ts';
import { readVectors } from '../../support/client/vectors.ts';

const Bytes = z.string().transform(hexToBytes);
const Vectors = z.array(z.object({ kek: Bytes, keyData: Bytes, ciphertext: Bytes }));
const vectors = await readVectors('aes-kw-rfc3394.json', Vectors);

test('keys are wrapped as in the examples of RFC 3394', async (t) => {
  for (const { kek, keyData, ciphertext } of vectors) {
    t.deepEqual(await wrapKey(kek, keyData), ciphertext);
    t.deepEqual(await unwrapKey(kek, ciphertext), keyData);
  }
});

test('an envelope with any bit changed does not open', async (t) => {
  const { kek, ciphertext } = vectors.at(-1) ?? t.fail();
  for (const index of ciphertext.keys()) {
    const changed = ciphertext.with(index, (ciphertext[index] ?? 0) ^ 1);
    await t.throwsAsync(unwrapKey(kek, changed), { code: 'invalid_envelope' });
  }
});

test('an envelope does not open under another key, nor when truncated', async (t) => {
  const { kek, ciphertext } = vectors.at(-1) ?? t.fail();
  const wrong = [unwrapKey(kek.with(0, 1), ciphertext), unwrapKey(kek, ciphertext.slice(0, 32))];
  for (const opening of wrong) await t.throwsAsync(opening, { code: 'invalid_envelope' });
});
