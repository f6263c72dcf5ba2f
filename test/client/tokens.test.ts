import test from 'ava';
import { createTokenSource } from '../../client/tokens.ts';
import type { Tokens } from '../../client/tokens.ts';

const HOUR = 3_600_000;

function tokens(generation: number): Tokens {
  return {
    accessToken: `access ${generation}`,
    refreshToken: `refresh ${generation}`,
    expiresInSeconds: 900,
  };
}

function createFixture(initial = tokens(0)) {
  const used: string[] = [];
  const clock = { time: 0 };
  const source = createTokenSource({
    initial,
    now: () => new Date(clock.time),
    refresh: async (refreshToken) => {
      used.push(refreshToken);
      return tokens(used.length);
    },
  });
  return { used, clock, source };
}

test('a refresh token is used once, however many requests find the access token expired', async (t) => {
  const { used, source, clock } = createFixture();
  t.is(await source.current(), 'access 0');
  clock.time = HOUR;
  const renewed = await Promise.all([
    source.current(),
    source.current(),
    source.renew('access 0'),
    source.renew('access 0'),
  ]);
  t.deepEqual(new Set(renewed), new Set(['access 1']));
  t.is(await source.renew('access 0'), 'access 1');
  t.deepEqual(used, ['refresh 0']);
});

test('each renewal uses the refresh token of the one before', async (t) => {
  const { used, source, clock } = createFixture();
  clock.time = HOUR;
  await source.current();
  clock.time = 2 * HOUR;
  t.is(await source.current(), 'access 2');
  t.deepEqual(used, ['refresh 0', 'refresh 1']);
});

test('a session without a refresh token keeps its access token', async (t) => {
  const { used, source, clock } = createFixture({ ...tokens(0), refreshToken: undefined });
  clock.time = HOUR;
  t.is(await source.current(), 'access 0');
  t.deepEqual(used, []);
});
