import { randomUUID } from 'node:crypto';
import test from 'ava';
import { SignerRefused } from '../../../signer/protocol/signer-error.ts';
import { importKey, importSecretKey } from '../../support/audit/imported-key.ts';
import {
  createTokenFixture,
  startSigner,
  until,
  type RunningSigner,
  type TokenFixture,
} from '../../support/audit/token-fixture.ts';
import { testIssuer } from '../../support/vault/stack.ts';
import { sampleText } from '../sample-entry.ts';

let fixture: TokenFixture;
let signer: RunningSigner;

test.beforeEach(async () => {
  fixture = await createTokenFixture();
  await fixture.tool('init');
  signer = await startSigner(fixture);
});

test.afterEach.always(async () => {
  await signer?.stop();
  await fixture?.remove();
});

const signWith = {
  audit: ({ client }: RunningSigner, keyId: string) => client.seal(keyId, [sampleText()]),
  token({ client }: RunningSigner, keyId: string) {
    const iat = Math.floor(Date.now() / 1000);
    const claims = { iss: testIssuer, sub: 'b', aud: 'c', jti: randomUUID(), iat, exp: iat + 60 };
    return client.signToken({ keyId, typ: 'at+jwt', claims });
  },
};

for (const purpose of ['audit', 'token'] as const) {
  test.serial(`an imported ${purpose} key signs nothing, and one line says why`, async (t) => {
    const own = await signer.keyId(purpose);
    const { keyId } = await importKey(fixture, purpose, 2);
    for (let round = 0; round < 3; round += 1) {
      t.is(await signer.keyId(purpose), own);
      const refused = { instanceOf: SignerRefused, code: 'not_permitted' };
      await t.throwsAsync(signWith[purpose](signer, keyId), refused);
    }
    t.like(await signer.client.listUnadopted(), [{ keyId, purpose, imported: true }]);
    const isSaid = () => signer.output().includes('a key is not used');
    await until(isSaid);
    await signer.client.listKeys();
    t.is(signer.output().split('a key is not used').length, 2);
    t.regex(signer.output(), new RegExp(`"key":"${keyId}","label":"${purpose}-2"`));

    const next = await signer.client.createKey(purpose);
    t.like(next, { generation: 3, imported: false });
    await t.notThrowsAsync(signWith[purpose](signer, next.keyId));
  });

  test.serial(`an adopted ${purpose} key signs, for every signer of the token`, async (t) => {
    const { keyId, publicKey } = await importKey(fixture, purpose, 2);
    for (let round = 0; round < 2; round += 1) {
      const adopted = await signer.client.adoptKey(keyId);
      t.like(adopted, { keyId, publicKey, generation: 2, imported: true, contested: false });
    }
    const SIGNER_SOCKET_PATH = `${fixture.directory}/other.sock`;
    const other = await startSigner(fixture, { SIGNER_SOCKET_PATH });
    for (const each of [signer, other]) {
      await t.notThrowsAsync(signWith[purpose](each, keyId));
      t.deepEqual(await each.client.listUnadopted(), []);
    }
    await other.stop();
    t.notRegex(await fixture.tool('self-test'), /FAILED/);
  });

  test.serial(`an imported ${purpose} key takes no label from a key of the token`, async (t) => {
    const own = await signer.keyId(purpose);
    const { keyId } = await importKey(fixture, purpose, 1);
    t.like(
      (await signer.client.listKeys()).filter((key) => key.purpose === purpose),
      [{ keyId: own, contested: false }],
    );
    await t.notThrowsAsync(signWith[purpose](signer, own));
    const refused = { instanceOf: SignerRefused, code: 'not_permitted' };
    await t.throwsAsync(signer.client.adoptKey(keyId), refused);
  });
}

test.serial('an imported secret key is never the one that derives keys', async (t) => {
  const before = await signer.client.mac('decoy');
  await signer.stop();
  for (const label of ['mac-1', 'mac-2']) await importSecretKey(fixture, label);
  signer = await startSigner(fixture);
  t.deepEqual(await signer.client.mac('decoy'), before);
});

test.serial('a token whose only audit key is imported gets one of its own by keygen', async (t) => {
  for (const half of ['private', 'public']) await fixture.operate('destroy', half, 'audit-1');
  await importKey(fixture, 'audit', 1);
  await signer.stop();
  signer = await startSigner(fixture);
  t.like(await signer.client.health(), { token: 'keys_missing' });
  await until(() => signer.output().includes('no audit key that it generated itself'));
  t.regex(await fixture.tool('keygen audit'), /"generation":2/);
  await until(async () => (await signer.client.health()).token === 'ready');
  t.like(await signer.client.listUnadopted(), [{ generation: 1, imported: true }]);
});

test.serial('a key that the token does not hold cannot be adopted', async (t) => {
  await t.throwsAsync(signer.client.adoptKey('0'.repeat(32)), { code: 'key_missing' });
  const keyId = await signer.keyId('audit');
  t.like(await signer.client.adoptKey(keyId), { keyId, imported: false });
});
