import test from 'ava';
import type { Bytes } from '../../../client/bytes/bytes.ts';
import { sharedVault } from '../../support/vault/shared-vault.ts';
import { pathOf } from '../../support/client/recording-fetch.ts';
import { storeBytes } from '../../support/client/stored.ts';
import { connect, createUser } from '../../support/client/user.ts';

const vault = sharedVault();

/** Creates a user whose requests call `before` first, with a text such as `POST /v1/uploads`. */
async function createWatched() {
  const sent: string[] = [];
  const watch = { before: (_request: string): void => undefined };
  const user = await createUser(
    vault,
    connect(vault, async (input, init) => {
      const request = `${init?.method} ${pathOf(input)}`;
      sent.push(request);
      watch.before(request);
      return fetch(input, init);
    }),
  );
  sent.length = 0;
  return { user, sent, watch };
}

test('an upload that is aborted before it begins sends nothing to the vault', async (t) => {
  const { user, sent } = await createWatched();
  const reason = new Error('the user gave up');
  const signal = AbortSignal.abort(reason);
  await t.throwsAsync(storeBytes(user, 10, { signal }), { is: reason });
  t.deepEqual(sent, []);
});

const stages: [string, RegExp][] = [
  ['asks for the limits', /^GET .*\/config$/],
  ['begins', /^POST \/v1\/uploads$/],
  ['sends', /^PUT .*\/parts\//],
  ['completes', /\/complete$/],
];
for (const [stage, pattern] of stages) {
  test(`an upload that is aborted while it ${stage} creates no document`, async (t) => {
    const { user, sent, watch } = await createWatched();
    const giveUp = new AbortController();
    const reason = new Error('the user gave up');
    watch.before = (request) => {
      if (pattern.test(request)) giveUp.abort(reason);
    };
    await t.throwsAsync(storeBytes(user, 10, { signal: giveUp.signal }), { is: reason });
    t.false(sent.includes('POST /v1/documents'));
  });
}

test('upload sessions that nobody can resume do not count as open', async (t) => {
  const { user, watch } = await createWatched();
  const source = { size: 10, read: async (): Promise<Bytes> => new Uint8Array(3) };
  for (let count = 0; count < 25; count += 1) {
    await t.throwsAsync(storeBytes(user, 10, { source }), { code: 'source_changed' });
  }
  for (let count = 0; count < 25; count += 1) {
    const giveUp = new AbortController();
    watch.before = (request) => {
      if (request.startsWith('PUT')) giveUp.abort(new Error('the user gave up'));
    };
    const given = storeBytes(user, 10, { signal: giveUp.signal });
    await t.throwsAsync(given, { message: 'the user gave up' });
  }
  await t.notThrowsAsync(storeBytes(user, 10));
});
