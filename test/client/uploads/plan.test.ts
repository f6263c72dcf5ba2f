import test from 'ava';
import * as fc from 'fast-check';
import { defaultSegmentBytes, headerBytes } from '../../../client/files/header.ts';
import { tagBytes } from '../../../client/crypto/aes-gcm.ts';
import { chunkRange, countSegments, encryptedSize } from '../../../client/files/layout.ts';
import { planUpload } from '../../../client/uploads/plan.ts';

const mebibyte = 1_048_576;
const limits = {
  maxFileSize: 5120 * mebibyte,
  minPartSize: 5 * mebibyte,
  maxPartSize: 100 * mebibyte,
  maxParts: 1000,
};
const largest = limits.maxFileSize - headerBytes - tagBytes * 5121;

test('every file that the vault accepts fits its limits, in whole segments', (t) => {
  fc.assert(
    fc.property(
      fc.nat({ max: largest }),
      fc.integer({ min: 55, max: 1000 }),
      (plaintextSize, maxParts) => {
        const plan = planUpload(plaintextSize, { ...limits, maxParts });
        t.true(plan.totalParts <= maxParts);
        t.true(plan.partSize >= limits.minPartSize && plan.partSize <= limits.maxPartSize);
        t.is(plan.partSize % defaultSegmentBytes, 0);
        t.true((plan.totalParts - 1) * plan.partSize < plan.encryptedSize);
        t.true(plan.totalParts * plan.partSize >= plan.encryptedSize);
      },
    ),
  );
});

test('parts have 16 MiB unless there would be too many', (t) => {
  t.is(planUpload(0, limits).partSize, 16 * mebibyte);
  t.is(planUpload(largest, limits).partSize, 16 * mebibyte);
  t.is(planUpload(largest, { ...limits, maxParts: 100 }).partSize, 52 * mebibyte);
});

test('an empty file has one part', (t) => {
  t.like(planUpload(0, limits), { totalParts: 1, encryptedSize: headerBytes + tagBytes });
});

test('a file above the limits is refused before anything is sent', (t) => {
  t.throws(() => planUpload(limits.maxFileSize, limits), { code: 'file_too_large' });
  t.throws(() => planUpload(largest, { ...limits, maxParts: 50 }), { code: 'file_too_large' });
});

test('the chunks of a file are consecutive and cover it', (t) => {
  fc.assert(
    fc.property(fc.nat({ max: 5000 }), fc.integer({ min: 128, max: 700 }), (size, segmentSize) => {
      let end = 0;
      const segments = countSegments(size, segmentSize);
      for (let index = 0; index < segments; index += 1) {
        const { offset, length } = chunkRange(index, size, segmentSize);
        t.is(offset, end);
        t.true(length > 0 || size === 0);
        end += length;
      }
      t.is(end, size);
      t.true(encryptedSize(size, segmentSize) <= segments * segmentSize);
    }),
  );
});

test('a size that is no natural number is refused, and a huge one is too large', (t) => {
  for (const size of [-1, 1.5, Number.NaN]) {
    t.throws(() => planUpload(size, limits), { instanceOf: RangeError });
  }
  t.throws(() => planUpload(Number.MAX_SAFE_INTEGER, limits), { code: 'file_too_large' });
});
