import { randomBytes, type DiffieHellman } from 'node:crypto';
import test from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { group, prime, toBigInt } from '../../app/srp/group.ts';
import { power } from '../../app/srp/modular-power.ts';
import { createPowers } from '../../app/srp/powers.ts';

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
  compute: (base: bigint, exponent: Uint8Array) => Buffer | Promise<Buffer>,
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

test('the last exponent is forgotten', (t) => {
  power(5n, randomBytes(32));
  t.deepEqual((group as DiffieHellman).getPrivateKey(), Buffer.of(1));
});

test('more powers than the threads may have waiting are the same', async (t) => {
  const powers = createPowers({ threads: 1, threadsAfter: 1, perThread: 2 });
  t.teardown(() => powers.close());
  await powers.power(2n, Buffer.of(1));
  await until(() => powers.onThreads(), { what: 'the thread', timeoutMs: 60_000 });
  const counts = Array.from({ length: 20 }, (_, index) => index + 1);
  const results = await Promise.all(counts.map((count) => powers.power(3n, Buffer.of(count))));
  t.deepEqual(
    results.map(toBigInt),
    counts.map((count) => 3n ** BigInt(count)),
  );
  t.true(powers.onThreads());
});

test('a power whose thread dies is computed here, and other threads are started', async (t) => {
  const powers = createPowers({ threads: 1, threadsAfter: 2 });
  t.teardown(() => powers.close());
  await powers.power(2n, Buffer.of(1));
  await powers.power(2n, Buffer.of(1));
  await until(() => powers.onThreads(), { what: 'the thread', timeoutMs: 60_000 });
  // OpenSSL refuses the base 1, which ends the thread.
  await t.throwsAsync(powers.power(1n, Buffer.of(2)));
  t.false(powers.onThreads());
  t.is(toBigInt(await powers.power(2n, Buffer.of(10))), 1024n);
  await powers.power(2n, Buffer.of(1));
  await until(() => powers.onThreads(), { what: 'another thread', timeoutMs: 60_000 });
  t.is(toBigInt(await powers.power(2n, Buffer.of(10))), 1024n);
});

test('powers are computed without threads once these have ended', async (t) => {
  const powers = createPowers({ threads: 1, threadsAfter: 1 });
  await powers.power(2n, Buffer.of(1));
  await until(() => powers.onThreads(), { what: 'the thread', timeoutMs: 60_000 });
  await powers.close();
  t.is(toBigInt(await powers.power(2n, Buffer.of(10))), 1024n);
  t.false(powers.onThreads());
});
