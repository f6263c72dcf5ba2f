import test from 'ava';
import { findStep } from '../../app/mfa/one-time-codes.ts';

// RFC 6238, Appendix B: the codes of SHA-1 have 8 digits there, whose last 6 are ours.
const secret = Buffer.from('12345678901234567890');
const vectors: readonly (readonly [seconds: number, code: string])[] = [
  [59, '94287082'],
  [1_111_111_109, '07081804'],
  [1_111_111_111, '14050471'],
  [1_234_567_890, '89005924'],
  [2_000_000_000, '69279037'],
  [20_000_000_000, '65353130'],
];

const at = (seconds: number) => new Date(seconds * 1000);

test('the codes of RFC 6238 are those of their step and its neighbours alone', (t) => {
  for (const [seconds, digits] of vectors) {
    const code = digits.slice(2);
    const step = Math.floor(seconds / 30);
    for (const away of [-1, 0, 1]) {
      t.is(findStep(secret, code, at(seconds + away * 30)), step, `${seconds} ${away}`);
    }
    for (const away of [-2, 2]) {
      t.is(findStep(secret, code, at(seconds + away * 30)), undefined, `${seconds} ${away}`);
    }
  }
});

test('a secret stays as it is while it is used', (t) => {
  const copy = Buffer.from(secret);
  findStep(copy, '000000', at(59));
  t.deepEqual(copy, secret);
});
