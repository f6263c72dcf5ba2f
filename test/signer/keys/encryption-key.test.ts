import test from 'ava';
import { createTokenFixture, startSigner } from '../../support/audit/token-fixture.ts';

test('the key of encryption has generations, which every signer derives alike', async (t) => {
  const fixture = await createTokenFixture();
  t.teardown(() => fixture.remove());
  await fixture.tool('init');
  const signer = await startSigner(fixture);
  t.teardown(async () => void (await signer.stop()));
  const { client } = signer;
  const decoy = await client.mac('decoy');
  const first = await client.encryptionKey();
  t.is(first.generation, 1);
  t.is(first.key.length, 32);
  t.is(await client.createEncryptionKey({ after: 0 }), 2);
  t.is(await client.createEncryptionKey({ after: 6 }), 7);
  const newest = await client.encryptionKey();
  t.is(newest.generation, 7);
  t.notDeepEqual(newest.key, first.key);
  t.deepEqual(await client.encryptionKey(1), first);
  t.deepEqual(await client.mac('decoy'), decoy, 'what is stored for ever is derived from one key');

  const again = await fixture.tool('keygen encryption');
  t.deepEqual(JSON.parse(again), { purpose: 'encryption', generation: 8 });
  const socket = { SIGNER_SOCKET_PATH: `${fixture.environment.SIGNER_SOCKET_PATH}2` };
  const other = await startSigner(fixture, socket);
  t.teardown(async () => void (await other.stop()));
  t.is((await other.client.encryptionKey()).generation, 8);
  t.deepEqual(await other.client.encryptionKey(7), newest);
  t.regex(await fixture.tool('self-test'), /^ok encryption$/m);
});

test('signers that create keys of encryption concurrently get different generations', async (t) => {
  const fixture = await createTokenFixture();
  t.teardown(() => fixture.remove());
  await fixture.tool('init');
  const socket = { SIGNER_SOCKET_PATH: `${fixture.environment.SIGNER_SOCKET_PATH}2` };
  const signers = await Promise.all([startSigner(fixture), startSigner(fixture, socket)]);
  t.teardown(() => Promise.all(signers.map((signer) => signer.stop())));
  const made = await Promise.all(
    signers.flatMap(({ client }) => [
      client.createEncryptionKey({ after: 0 }),
      client.createEncryptionKey({ after: 0 }),
    ]),
  );
  t.is(new Set(made).size, made.length);
  for (const generation of made) {
    const [a, b] = await Promise.all(signers.map(({ client }) => client.encryptionKey(generation)));
    t.deepEqual(a, b);
  }
});

test('a missing generation, or one of a label that has none, is refused', async (t) => {
  const fixture = await createTokenFixture();
  t.teardown(() => fixture.remove());
  await fixture.tool('init');
  const signer = await startSigner(fixture);
  t.teardown(async () => void (await signer.stop()));
  await t.throwsAsync(signer.client.encryptionKey(2), { code: 'key_missing' });
  await fixture.operate('destroy', 'secret', 'encryption-1');
  await t.throwsAsync(signer.client.encryptionKey(), { code: 'key_missing' });
  t.truthy(await signer.client.mac('decoy'));
  const failed = await t.throwsAsync<Error & { stdout: string }>(fixture.tool('self-test'));
  t.regex(failed.stdout, /^FAILED encryption: the token does not hold/m);
});

test('a token that takes the place of a lost one begins after its generations', async (t) => {
  const fixture = await createTokenFixture();
  t.teardown(() => fixture.remove());
  await fixture.tool('init 4');
  t.deepEqual(
    (await fixture.keys()).map(({ generation }) => generation),
    [5, 5],
  );
  t.is((await fixture.tool('init 4')).trim(), 'nothing to do');
});
