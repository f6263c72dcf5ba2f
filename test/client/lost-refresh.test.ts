import test from 'ava';
import { defaultRetry } from '../../client/http/retry.ts';
import { startReadyVault } from '../support/vault/vault.ts';
import { createBreakingLine } from '../support/client/breaking-fetch.ts';
import { pathOf } from '../support/client/recording-fetch.ts';
import { connect, createUser } from '../support/client/user.ts';

const vault = await startReadyVault();
const user = await createUser(vault);
test.after.always(() => vault.stop());

// The tests are serial, because deriving keys from passwords keeps a whole processor busy.

const minuteMs = 60_000;
const isRefresh = (what: string) => what.endsWith('/auth/refresh');

/** Opens a login session over a line that can break, with control over the client's clock. */
async function openSession(wrap = (fetch: typeof globalThis.fetch) => fetch) {
  const line = createBreakingLine();
  let aheadMs = 0;
  const session = await connect(vault, wrap(line.fetch), {
    now: () => new Date(Date.now() + aheadMs),
    retry: { ...defaultRetry, baseDelaySeconds: 0.01 },
  }).login(user.credentials);
  return {
    line,
    /** Sends a request that needs a token. */
    work: () => session.uploads.config(),
    refreshes: () => line.sent.filter(isRefresh).length,
    advanceMinutes(minutes: number) {
      aheadMs += minutes * minuteMs;
    },
  };
}

for (const [title, minutes] of [
  ['an access token that has expired', 16],
  ['an access token that is about to expire', 14.5],
] as const) {
  test.serial(`a session goes on after a lost response to a refresh of ${title}`, async (t) => {
    const { line, work, refreshes, advanceMinutes } = await openSession();
    for (let round = 0; round < 3; round += 1) {
      line.loseFirstAnswers(/refresh/);
      advanceMinutes(minutes);
      await t.notThrowsAsync(work());
      t.is(refreshes(), 2);
    }
  });
}

test.serial('a session whose refreshes are all lost for a while uses its token up', async (t) => {
  const { line, work, refreshes, advanceMinutes } = await openSession();
  line.loseAnswers(/refresh/);
  advanceMinutes(14.5);
  await t.notThrowsAsync(work());
  t.is(refreshes(), 3);
  line.mend();
  await t.notThrowsAsync(work());
  t.is(refreshes(), 1);
  advanceMinutes(16);
  await t.notThrowsAsync(work());
});

test.serial(
  'a refresh that gets no response is sent again while the vault repeats it',
  async (t) => {
    let hangs = false;
    const { work, refreshes, line, advanceMinutes } = await openSession((fetch) => {
      return async (input, init) => {
        const response = await fetch(input, init);
        if (!hangs || !isRefresh(pathOf(input))) return response;
        hangs = false;
        const { signal } = init ?? {};
        return new Promise((_, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason));
        });
      };
    });
    line.mend();
    hangs = true;
    advanceMinutes(16);
    await t.notThrowsAsync(work());
    t.is(refreshes(), 2);
    advanceMinutes(16);
    await t.notThrowsAsync(work());
  },
);
