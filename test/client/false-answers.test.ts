import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import { ClientError } from '../../client/errors/client-error.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';
import { pathOf } from '../support/client/recording-fetch.ts';
import { connect, createUser } from '../support/client/user.ts';

const vault = sharedVault();

/** Responses of something that takes requests in the vault's place, as a captive portal does. */
const answers: Record<string, () => Response> = {
  nothing: () => new Response(null, { status: 204 }),
  'an empty object': () => Response.json({}),
  'another key': () =>
    Response.json({ encryptedEnvelope: randomBytes(40).toString('base64') }, { status: 201 }),
};

test('a key counts as stored only if the response repeats it', async (t) => {
  let answer: (() => Response) | undefined;
  const client = connect(vault, (input, init) => {
    const isReplaced = pathOf(input).endsWith('-envelope') && init?.method !== 'GET';
    return isReplaced && answer !== undefined ? Promise.resolve(answer()) : fetch(input, init);
  });
  const { session, credentials } = await createUser(vault, client);
  const { password } = credentials;
  const words = session.recovery.draft();
  const operations: Record<string, () => Promise<unknown>> = {
    'the master key': () => session.envelopes.createMasterKey(),
    'a device’s': () =>
      session.devices.add({
        deviceId: randomUUID(),
        deviceKey: randomBytes(32),
        name: 'mine',
        platform: 'test',
      }),
    'recovery words': () => words.confirm({ words: words.words, password }),
  };
  for (const [what, give] of Object.entries(answers)) {
    for (const [operation, store] of Object.entries(operations)) {
      answer = give;
      const error = await t.throwsAsync(
        store,
        { instanceOf: ClientError },
        `${operation}: ${what}`,
      );
      t.is(error?.code, 'invalid_response', `${operation}: ${what}`);
      answer = undefined;
    }
  }
  await words.confirm({ words: words.words, password });
  t.true(await session.recovery.check(words.words));
});
