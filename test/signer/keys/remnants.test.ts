import test, { type ExecutionContext } from 'ava';
import { SignerRefused } from '../../../signer/protocol/signer-error.ts';
import { sampleText } from '../sample-entry.ts';
import { countOf } from '../signer-metrics.ts';
import {
  createTokenFixture,
  startSigner,
  until,
  type RunningSigner,
  type TokenFixture,
} from '../../support/audit/token-fixture.ts';

// These tests cover what signers that were killed at the worst moment leave behind in a token, and
// the cost of a token with many keys.

async function withFixture(use: (fixture: TokenFixture) => Promise<void>): Promise<void> {
  const fixture = await createTokenFixture();
  try {
    await fixture.tool('init');
    await use(fixture);
  } finally {
    await fixture.remove();
  }
}

async function withSigner(
  fixture: TokenFixture,
  use: (signer: RunningSigner) => Promise<void>,
): Promise<void> {
  const signer = await startSigner(fixture);
  try {
    await use(signer);
  } finally {
    await signer.stop();
  }
}

async function assertWrongGeneration(t: ExecutionContext, call: Promise<unknown>): Promise<void> {
  const error = await t.throwsAsync(call, { instanceOf: SignerRefused });
  t.is(error?.code, 'wrong_generation');
}

async function seals({ client }: RunningSigner, keyId: string): Promise<boolean> {
  return 'hash' in ((await client.seal(keyId, [sampleText()]))[0] ?? {});
}

for (const purpose of ['audit', 'token'] as const) {
  test.serial(`half a pair of ${purpose} keys is not listed and blocks no other key`, (t) =>
    withFixture(async (fixture) => {
      await fixture.operate('make', purpose, '2', '4');
      await fixture.operate('destroy', 'public', `${purpose}-3`);
      await fixture.operate('destroy', 'private', `${purpose}-4`);
      await withSigner(fixture, async ({ client }) => {
        const generations = async () =>
          (await client.listKeys())
            .filter((key) => key.purpose === purpose)
            .map(({ generation }) => generation);
        t.deepEqual(await generations(), [1, 2]);
        // A public half alone was never a usable key, so its generation is free.
        t.is((await client.createKey(purpose)).generation, 4);
        t.is((await client.createKey(purpose)).generation, 5);
        t.deepEqual(await generations(), [1, 2, 4, 5]);
      });
    }),
  );
}

test.serial('a generation that two killed signers both used is skipped and stays contested', (t) =>
  withFixture(async (fixture) => {
    await fixture.operate('make', 'audit', '2');
    await fixture.operate('make', 'audit', '2');
    await withSigner(fixture, async (signer) => {
      const contestedIds = async () =>
        (await signer.client.listKeys())
          .flatMap(({ keyId, contested }) => (contested ? [keyId] : []))
          .sort();
      const before = await contestedIds();
      t.is(before.length, 2);
      const { keyId, generation, contested } = await signer.client.createKey('audit');
      t.deepEqual({ generation, contested }, { generation: 3, contested: false });
      t.is((await signer.client.createKey('audit')).generation, 4);
      t.deepEqual(await contestedIds(), before);
      for (const each of [...before, keyId]) t.true(await seals(signer, each));
    });
  }),
);

test.serial('a generation is not used again, even if the token has lost its key', (t) =>
  withFixture(async (fixture) => {
    t.regex(await fixture.tool('keygen audit 4'), /"generation":5/);
    await withSigner(fixture, async ({ client }) => {
      t.is((await client.createKey('audit', { after: 7 })).generation, 8);
      t.is((await client.createKey('audit', { after: 2 })).generation, 9);
    });
  }),
);

test.serial('a generation is made once, however often it is asked for; others are refused', (t) =>
  withFixture(async (fixture) => {
    await withSigner(fixture, async ({ client }) => {
      const SIGNER_SOCKET_PATH = `${fixture.directory}/other.sock`;
      const second = await startSigner(fixture, { SIGNER_SOCKET_PATH });
      t.teardown(() => second.stop());
      for (const purpose of ['audit', 'token'] as const) {
        const answers = await Promise.all(
          [client, second.client, client].map((one) => one.createKey(purpose, { generation: 2 })),
        );
        t.is(new Set(answers.map(({ keyId }) => keyId)).size, 1);
        t.deepEqual(await client.createKey(purpose, { generation: 2 }), answers[0]);
        for (const request of [{ generation: 4 }, { generation: 3, after: 5 }]) {
          await assertWrongGeneration(t, client.createKey(purpose, request));
        }
        t.is((await client.createKey(purpose, { generation: 6, after: 5 })).generation, 6);
      }
    });
  }),
);

test.serial('a contested generation is neither answered nor made', (t) =>
  withFixture(async (fixture) => {
    await fixture.operate('make', 'audit', '2');
    await fixture.operate('make', 'audit', '2');
    await withSigner(fixture, async ({ client }) => {
      await assertWrongGeneration(t, client.createKey('audit', { generation: 2 }));
      t.is((await client.createKey('audit', { generation: 3 })).generation, 3);
    });
  }),
);

test.serial('a generation that other signers are creating is waited for', (t) =>
  withFixture((fixture) =>
    withSigner(fixture, async ({ client }) => {
      await fixture.operate('make', 'audit', '2');
      await fixture.operate('make', 'audit', '2');
      const [key] = await Promise.all([
        client.createKey('audit', { generation: 2 }),
        fixture.operate('destroy', 'private', 'audit-2'),
      ]);
      t.is(key.generation, 2);
    }),
  ),
);

test.serial('a key that another signer still destroys is not the answer', (t) =>
  withFixture((fixture) =>
    withSigner(fixture, async ({ client }) => {
      await fixture.operate('make', 'audit', '2');
      await fixture.operate('make', 'audit', '2');
      const destroyAll = async () => {
        for (let key = 1; key <= 2; key += 1) {
          await fixture.operate('destroy', 'private', 'audit-2', '1');
        }
      };
      const [key] = await Promise.all([client.createKey('audit', { generation: 2 }), destroyAll()]);
      t.true((await client.listKeys()).some(({ keyId }) => keyId === key.keyId));
    }),
  ),
);

test.serial('a key destroyed while a signer runs is no longer listed after a request for it', (t) =>
  withFixture(async (fixture) => {
    await fixture.operate('make', 'audit', '2');
    await withSigner(fixture, async (signer) => {
      const keyId = await signer.keyId('audit');
      t.true(await seals(signer, keyId));
      for (const half of ['private', 'public']) await fixture.operate('destroy', half, 'audit-2');
      await t.throwsAsync(signer.client.seal(keyId, [sampleText()]));
      await until(async () =>
        (await signer.client.listKeys()).every((listed) => listed.keyId !== keyId),
      );
    });
  }),
);

test.serial('the keys of a token are read by a few searches and one call per half', (t) =>
  withFixture(async (fixture) => {
    const generations = 40;
    await fixture.operate('make', 'audit', '2', String(generations));
    await withSigner(fixture, async (signer) => {
      await until(async () => countOf(await signer.metrics(), 'C_FindObjects') > 0);
      const metrics = await signer.metrics();
      t.is((await signer.client.listKeys()).length, generations + 1);
      t.is(countOf(metrics, 'C_GetAttributeValue'), 2 * (generations + 1) + 2);
      t.is(countOf(metrics, 'C_FindObjects'), 5);
    });
  }),
);
