import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import type { Keyring } from '../../../signer/pkcs11/keys/keyring.ts';
import type { Session } from '../../../signer/pkcs11/library/pkcs11.ts';
import { signInputs } from '../../../signer/pkcs11/process/batch-signing.ts';

const keyId = '0'.repeat(32);
const keyring = { signingKeys: [{ keyId, purpose: 'audit', handle: Buffer.of(1) }] };
const inputs = Array.from({ length: 100 }, (_, index) => Buffer.of(index));
const signatureOf = (input: Buffer) => Buffer.of(255 - (input[0] ?? 0));

/** The signatures on each thread, and the most sessions that were in use at once. */
type Used = Record<'sync' | 'async' | 'sessions', number>;

/** A token whose signatures take `ms` milliseconds. */
function createToken(ms: number) {
  const used: Used = { sync: 0, async: 0, sessions: 0 };
  let inUse = 0;
  const session = {
    signSync(_mechanism: number, _key: Buffer, input: Buffer) {
      used.sync += 1;
      for (const until = performance.now() + ms; performance.now() < until;);
      return signatureOf(input);
    },
    async sign(_mechanism: number, _key: Buffer, input: Buffer) {
      used.async += 1;
      await delay(ms);
      return signatureOf(input);
    },
  };
  const token = {
    async run<T>(work: (session: Session, keyring: Keyring) => Promise<T> | T): Promise<T> {
      inUse += 1;
      used.sessions = Math.max(used.sessions, inUse);
      try {
        return await work(session as unknown as Session, keyring as unknown as Keyring);
      } finally {
        inUse -= 1;
      }
    },
  };
  return { token, used };
}

const sign = (token: ReturnType<typeof createToken>['token'], of: readonly Buffer[]) =>
  signInputs({ token, lanes: 8, request: { kind: 'sign', keyId, inputs: [...of] } });

test('a quick token signs a batch on the main thread', async (t) => {
  const { token, used } = createToken(0);
  t.deepEqual(await sign(token, inputs), inputs.map(signatureOf));
  t.deepEqual(used, { sync: 100, async: 0, sessions: 1 });
});

test('a slow token signs a batch in all its sessions, but for two signatures', async (t) => {
  const { token, used } = createToken(2);
  t.deepEqual(await sign(token, inputs), inputs.map(signatureOf));
  t.deepEqual(used, { sync: 2, async: 98, sessions: 8 });
});

test('one signature is made on another thread, and a batch of none is none', async (t) => {
  const { token, used } = createToken(0);
  t.deepEqual(await sign(token, inputs.slice(0, 1)), [signatureOf(inputs[0] ?? Buffer.of())]);
  t.deepEqual(await sign(token, []), []);
  t.deepEqual(used, { sync: 0, async: 1, sessions: 1 });
});

test('while a batch is signed, other work gets its turn', async (t) => {
  const { token, used } = createToken(0);
  const signing = sign(token, inputs);
  await new Promise(setImmediate);
  t.true(used.sync < 100, `${used.sync} signatures before the first turn`);
  t.is((await signing).length, 100);
});

test('an unknown key signs nothing', async (t) => {
  const { token, used } = createToken(0);
  const request = { kind: 'sign', keyId: '1'.repeat(32), inputs } as const;
  await t.throwsAsync(signInputs({ token, lanes: 8, request }), {
    message: 'the token does not hold this key',
  });
  t.deepEqual(used, { sync: 0, async: 0, sessions: 1 });
});
