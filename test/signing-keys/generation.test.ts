import test from 'ava';
import { assertError } from '../support/http/error-body.ts';
import { send } from '../support/http/send.ts';
import { startOwnKeysVault, type KeysVault } from './keys-vault.ts';

const heldBy = async ({ vault, internalKey }: KeysVault) => {
  const headers = { 'X-Internal-Api-Key': internalKey };
  return (await send('GET', `${vault.baseUrl}/v1/internal/signer`, { headers })).body as {
    readonly tokenState: string;
    readonly keyIds: readonly string[] | null;
  };
};

test('a generation is made once, however often and by whom it is asked for', async (t) => {
  const keys = await startOwnKeysVault(t);
  for (const purpose of ['audit', 'token'] as const) {
    const ask = (generation: unknown) => keys.send('POST', '', { purpose, generation });
    const answers = await Promise.all([ask(2), ask(2), ask(2)]);
    t.deepEqual(
      answers.map(({ status }) => status),
      [201, 201, 201],
    );
    const ids = new Set(answers.map(({ body }) => (body as { keyId: string }).keyId));
    t.is(ids.size, 1);
    const first = await keys.activeKey(purpose);
    t.like((await ask(1)).body, { keyId: first.keyId, state: 'ACTIVE' });
    assertError(t, await ask(4), { status: 409, code: 'key_generation_differs' });
    for (const wrong of [0, -1, 1.5, '2', 1_000_000]) {
      assertError(t, await ask(wrong), { status: 400, code: 'validation_failed' });
    }
    const made = (await keys.list()).filter((key) => key.purpose === purpose);
    t.deepEqual(
      made.map(({ generation }) => generation),
      [1, 2],
    );
  }
});

test('each process tells what its own token holds, and that its signer is away', async (t) => {
  const keys = await startOwnKeysVault(t);
  const { keyId } = await keys.create('audit');
  const { tokenState, keyIds } = await heldBy(keys);
  t.is(tokenState, 'ready');
  t.deepEqual([...(keyIds ?? [])].sort(), (await keys.list()).map((key) => key.keyId).sort());
  t.true(keyIds?.includes(keyId));
  await keys.signer.stop();
  t.deepEqual(await heldBy(keys), { tokenState: 'unreachable', keyIds: null });
});
