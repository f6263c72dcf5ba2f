import { readFile } from 'node:fs/promises';
import test from 'ava';
import { z } from 'zod';
import { wrapKey } from '../../app/envelopes/aes-kw.ts';

const Vectors = z.array(
  z.object({ section: z.string(), kek: z.string(), keyData: z.string(), ciphertext: z.string() }),
);
const vectors = Vectors.parse(
  JSON.parse(await readFile(new URL('../vectors/aes-kw-rfc3394.json', import.meta.url), 'utf8')),
);

test('keys are wrapped as in the examples of RFC 3394', (t) => {
  t.true(vectors.length > 0);
  for (const { section, kek, keyData, ciphertext } of vectors) {
    const wrapped = wrapKey(Buffer.from(kek, 'hex'), Buffer.from(keyData, 'hex'));
    t.is(wrapped.toString('hex'), ciphertext, section);
  }
});

test('a wrapping key of another length is refused', (t) => {
  for (const length of [0, 16, 24, 31, 33]) {
    t.throws(() => wrapKey(Buffer.alloc(length), Buffer.alloc(32)), undefined, String(length));
  }
});
