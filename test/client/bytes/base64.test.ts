import { Buffer } from 'node:buffer';
import test from 'ava';
import * as fc from 'fast-check';
import { decodeBase64, encodeBase64 } from '../../../client/bytes/base64.ts';

test('bytes are encoded as Node encodes them, and decode from that text only', (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 20_000, size: 'max' }), (bytes) => {
      const text = Buffer.from(bytes).toString('base64');
      t.is(encodeBase64(bytes), text);
      t.deepEqual(decodeBase64(text), new Uint8Array(bytes));
    }),
    { numRuns: 30 },
  );
});

test('non-canonical spellings of base64 are refused', (t) => {
  for (const text of ['YQ', 'YR==', 'YQ==\n', ' YQ==', 'YQ=', '-_==', 'Y', '=', 'YQ==YQ==']) {
    t.throws(() => decodeBase64(text), { instanceOf: SyntaxError });
  }
});
