import { createPublicKey, randomBytes } from 'node:crypto';
import test from 'ava';
import { prime } from '../../app/srp/group.ts';
import {
  exponentKey,
  generateEphemeral,
  importExponent,
  power,
  readPublicValue,
} from '../../app/srp/modular-power.ts';

function slowPower(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (const bit of exponent.toString(2)) {
    result = (result * result) % prime;
    if (bit === '1') result = (result * base) % prime;
  }
  return result;
}

test('powers equal those of plain arithmetic, for residues and non-residues', async (t) => {
  const bases = [2n, 3n, 5n, 7n, prime - 2n, BigInt(`0x${randomBytes(380).toString('hex')}`)];
  for (const base of bases) {
    for (const exponent of [Buffer.of(1), Buffer.of(0, 2), randomBytes(32), randomBytes(48)]) {
      const expected = slowPower(base, BigInt(`0x${exponent.toString('hex')}`));
      t.is(await power(base, exponentKey(exponent)), expected);
    }
  }
});

test('a public value with leading zero bytes is read from its SPKI in full', (t) => {
  for (const exponent of [9, 1000, 3063, 3071]) {
    const bytes = Buffer.from(exponent.toString(16).padStart(4, '0'), 'hex');
    const spki = createPublicKey(exponentKey(bytes)).export({ type: 'spki', format: 'der' });
    t.is(readPublicValue(spki), 2n ** BigInt(exponent) % prime, `2^${exponent}`);
  }
});

test('an ephemeral is a secret exponent and its power', async (t) => {
  const { privateKey, publicValue } = await generateEphemeral();
  t.is(await power(2n, importExponent(privateKey)), publicValue);
});
