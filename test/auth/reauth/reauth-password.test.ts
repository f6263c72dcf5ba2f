import { readFile } from 'node:fs/promises';
import test from 'ava';
import { z } from 'zod';
import { createPasswordTurns } from '../../../app/auth/reauth/password-turns.ts';
import { matchesVerifier } from '../../../app/auth/reauth/password-verifier.ts';
import { AppError } from '../../../app/errors/app-error.ts';

const Vectors = z.array(z.object({ password: z.string(), salt: z.string(), verifier: z.string() }));
const vectors = Vectors.parse(
  JSON.parse(await readFile(new URL('../../vectors/srp.json', import.meta.url), 'utf8')),
);

test('a password matches the verifier that other SRP programs compute, and no other', async (t) => {
  t.true(vectors.length > 0);
  for (const vector of vectors) {
    t.true(await matchesVerifier(vector.password, vector), vector.password);
  }
  for (const { password, salt, verifier } of vectors.slice(0, 1)) {
    const last = verifier.endsWith('0') ? '1' : '0';
    t.false(await matchesVerifier(`${password}.`, { salt, verifier }));
    t.false(await matchesVerifier(password, { salt: `${salt}00`, verifier }));
    t.false(await matchesVerifier(password, { salt, verifier: verifier.replace(/.$/, last) }));
  }
});

/** Takes a turn that lasts until `end` is called. */
function holdTurn(turns: ReturnType<typeof createPasswordTurns>, userId: string) {
  const { promise, resolve: end } = Promise.withResolvers<void>();
  return { done: turns.take(userId, () => promise), end };
}

test('three checks of a user run or wait; a fourth is refused', async (t) => {
  const turns = createPasswordTurns();
  const held = [1, 2, 3].map(() => holdTurn(turns, 'one'));
  const refused = await t.throwsAsync(holdTurn(turns, 'one').done, { instanceOf: AppError });
  t.is(refused?.code, 'rate_limited');
  t.is(refused?.retryAfterSeconds, 1);
  t.is(await turns.take('two', async () => 'in between'), 'in between');
  for (const { end } of held) end();
  await Promise.all(held.map(({ done }) => done));
  t.is(await turns.take('one', async () => 'again'), 'again');
});

test('40 checks run or wait; more are refused, whoever asks', async (t) => {
  const turns = createPasswordTurns();
  const held = Array.from({ length: 40 }, (_, n) => holdTurn(turns, `user ${n}`));
  const refused = await t.throwsAsync(holdTurn(turns, 'one more').done, { instanceOf: AppError });
  t.is(refused?.code, 'reauth_busy');
  t.is(refused?.retryAfterSeconds, 5);
  for (const { end } of held) end();
  await Promise.all(held.map(({ done }) => done));
});
