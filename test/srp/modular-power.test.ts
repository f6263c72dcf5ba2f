import { randomBytes } from 'node:crypto';
import test from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { prime, toBigInt } from '../../app/srp/group.ts';
import { power } from '../../app/srp/modular-power.ts';
import { createPowers, type Powers } from '../../app/srp/powers.ts';

const bases = [2n, 3n, 5n, 7n, prime - 2n, BigInt(`0x${randomBytes(380).toString('hex')}`)];
const exponents = [Buffer.of(1), Buffer.of(0, 2), randomBytes(32), randomBytes(48)];

function slowPower(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (const bit of exponent.toString(2)) {
    result = (result * result) % prime;
    if (bit === '1') result = (result * base) % prime;
  }
  return result;
}

async function assertPowers(
  t: { readonly is: (value: unknown, expected: unknown) => void },
  compute: Powers['power'],
): Promise<void> {
  for (const base of bases) {
    for (const exponent of exponents) {
      const before = exponent.toString('hex');
      const result = await compute(base, exponent);
      t.is(result.length, 384);
      t.is(toBigInt(result), slowPower(base, toBigInt(exponent)));
      t.is(exponent.toString('hex'), before);
    }
  }
}

test('powers equal those of plain arithmetic, for residues and non-residues', async (t) => {
  await assertPowers(t, power);
});

test('powers on threads are the same, before and after the threads are ready', async (t) => {
  const powers = createPowers({ threads: 2, threadsAfter: 2 });
  t.teardown(() => powers.close());
  await assertPowers(t, powers.power);
  await until(() => powers.onThreads(), { what: 'the threads', timeoutMs: 60_000 });
  await assertPowers(t, powers.power);
  const results = await Promise.all(
    Array.from({ length: 40 }, (_, index) => powers.power(3n, Buffer.of(index + 1))),
  );
  t.deepEqual(
    results.map(toBigInt),
    results.map((_, index) => 3n ** BigInt(index + 1)),
  );
});

test('powers are computed by keys once the threads have ended', async (t) => {
  const powers = createPowers({ threads: 1, threadsAfter: 1 });
  await powers.power(2n, Buffer.of(1));
  await until(() => powers.onThreads(), { what: 'the thread', timeoutMs: 60_000 });
  await powers.close();
  t.is(toBigInt(await powers.power(2n, Buffer.of(10))), 1024n);
  t.false(powers.onThreads());
});
