import { hash } from 'node:crypto';
import test from 'ava';
import { SignerRefused, SignerUnavailable } from '../../../signer/protocol/signer-error.ts';
import { testIssuer } from '../../support/vault/stack.ts';
import { sampleText } from '../sample-entry.ts';
import { countOf } from '../signer-metrics.ts';
import {
  createTokenFixture,
  startSigner,
  until,
  type RunningSigner,
  type TokenFixture,
} from '../../support/audit/token-fixture.ts';

let fixture: TokenFixture;
/** Two signers on one token, as in a deployment with two pods. */
let signer: RunningSigner;
let other: RunningSigner;

test.before(async () => {
  fixture = await createTokenFixture();
  await fixture.tool('init');
  const SIGNER_SOCKET_PATH = `${fixture.directory}/other.sock`;
  [signer, other] = await Promise.all([
    // Without keep-alive, since it probes sessions and `countRefreshes` counts the probes.
    startSigner(fixture, { SIGNER_KEEP_ALIVE_MS: '3600000' }),
    startSigner(fixture, { SIGNER_SOCKET_PATH }),
  ]);
});

test.after.always(async () => {
  await Promise.all([signer?.stop(), other?.stop()]);
  await fixture?.remove();
});

function sampleClaims(): Record<string, unknown> {
  const iat = Math.floor(Date.now() / 1000);
  return { iss: testIssuer, sub: 'b', aud: 'c', jti: 'd', iat, exp: iat + 60 };
}

/** Counts how often `work` refreshes the keys: each refresh probes a session once. */
async function countRefreshes(work: () => Promise<void>) {
  const keyId = await signer.keyId('audit');
  await untilReported(keyId);
  const before = countOf(await signer.metrics(), 'C_GetSessionInfo');
  const startedAt = performance.now();
  await work();
  const seconds = (performance.now() - startedAt) / 1000;
  await untilReported(keyId);
  return { seconds, refreshes: countOf(await signer.metrics(), 'C_GetSessionInfo') - before };
}

/** Waits until the metrics show all calls so far, which they do in order and with a delay. */
async function untilReported(keyId: string): Promise<void> {
  const signed = countOf(await signer.metrics(), 'C_Sign');
  await signWith.audit(signer, keyId);
  await until(async () => countOf(await signer.metrics(), 'C_Sign') > signed);
}

async function succeeds(call: () => Promise<unknown>): Promise<boolean> {
  return call().then(
    () => true,
    () => false,
  );
}

const signWith = {
  audit: ({ client }: RunningSigner, keyId: string) => client.seal(keyId, [sampleText()]),
  token: ({ client }: RunningSigner, keyId: string) =>
    client.signToken({ keyId, typ: 'at+jwt', claims: sampleClaims() }),
};

for (const purpose of ['audit', 'token'] as const) {
  test.serial(
    `a new ${purpose} key is the next generation, and both the old and the new key sign`,
    async (t) => {
      const old = await signer.keyId(purpose);
      const key = await signer.client.createKey(purpose);
      t.like(key, { purpose, generation: 2 });
      t.is(key.keyId, hash('sha256', Buffer.from(key.publicKey, 'base64')).slice(0, 32));
      t.deepEqual(
        (await signer.client.listKeys()).filter((listed) => listed.keyId === key.keyId),
        [key],
      );
      for (const keyId of [old, key.keyId])
        await t.notThrowsAsync(signWith[purpose](signer, keyId));
    },
  );

  test.serial(`a ${purpose} key that another signer created can sign`, async (t) => {
    const { keyId } = await signer.client.createKey(purpose);
    await until(() => succeeds(() => signWith[purpose](other, keyId)));
    t.true((await other.client.listKeys()).some((key) => key.keyId === keyId));
  });

  test.serial(`a missing ${purpose} key refreshes the keys at most once a second`, async (t) => {
    const { seconds, refreshes } = await countRefreshes(async () => {
      const calls = Array.from({ length: 20 }, () => signWith[purpose](signer, '0'.repeat(32)));
      for (const call of calls) {
        const error = await t.throwsAsync(call, { instanceOf: SignerUnavailable });
        t.is(error?.code, 'key_missing');
      }
    });
    t.true(refreshes <= 1 + seconds, `${refreshes} refreshes in ${seconds} s`);
  });

  test.serial(`the ${purpose} key does not sign for another purpose`, async (t) => {
    const wrong = purpose === 'audit' ? 'token' : 'audit';
    const call = signWith[wrong](signer, await signer.keyId(purpose));
    const error = await t.throwsAsync(call, { instanceOf: SignerRefused });
    t.is(error?.code, 'not_permitted');
  });
}

test.serial(
  'keys that signers create concurrently each have a generation of their own',
  async (t) => {
    const before = (await fixture.keys()).filter(({ purpose }) => purpose === 'audit').length;
    const made = await Promise.all(
      [signer, other, signer, other, signer].map(({ client }) => client.createKey('audit')),
    );
    const generations = made.map(({ generation }) => generation).sort((a, b) => a - b);
    t.deepEqual(
      generations,
      made.map((_, index) => before + 1 + index),
    );
    for (const { keyId } of made) await until(() => succeeds(() => signWith.audit(signer, keyId)));
  },
);

test.serial('a MAC is always computed with the oldest MAC key', async (t) => {
  const before = await signer.client.mac('decoy');
  await fixture.operate('make', 'mac', '2');
  const SIGNER_SOCKET_PATH = `${fixture.directory}/third.sock`;
  const third = await startSigner(fixture, { SIGNER_SOCKET_PATH });
  t.deepEqual(await third.client.mac('decoy'), before);
  await third.stop();
});
