import { readFile } from 'node:fs/promises';
import test from 'ava';
import { z } from 'zod';
import { createPasswordVerifier } from '../../../app/auth/reauth/password-verifier.ts';
import { AppError } from '../../../app/errors/app-error.ts';

const Vectors = z.array(z.object({ password: z.string(), salt: z.string(), verifier: z.string() }));
const vectors = Vectors.parse(
  JSON.parse(await readFile(new URL('../../vectors/srp.json', import.meta.url), 'utf8')),
);

test('a password matches the verifier that other SRP programs compute, and no other', async (t) => {
  const passwords = createPasswordVerifier();
  t.true(vectors.length > 0);
  for (const vector of vectors) {
    t.true(await passwords.matches(vector.password, vector), vector.password);
  }
  for (const { password, salt, verifier } of vectors.slice(0, 1)) {
    const last = verifier.endsWith('0') ? '1' : '0';
    t.false(await passwords.matches(`${password}.`, { salt, verifier }));
    t.false(await passwords.matches(password, { salt: `${salt}00`, verifier }));
    t.false(await passwords.matches(password, { salt, verifier: verifier.replace(/.$/, last) }));
  }
});

test('two passwords are checked concurrently; a third is refused until one is done', async (t) => {
  const passwords = createPasswordVerifier();
  const [vector = t.fail()] = vectors;
  const check = () => passwords.matches(vector.password, vector);
  const running = [check(), check()];
  const refused = await t.throwsAsync(check(), { instanceOf: AppError });
  t.is(refused?.code, 'reauth_busy');
  t.is(refused?.retryAfterSeconds, 1);
  t.deepEqual(await Promise.all(running), [true, true]);
  t.true(await check());
});

test('a check that fails releases its place', async (t) => {
  const passwords = createPasswordVerifier();
  const [vector = t.fail()] = vectors;
  for (let i = 0; i < 3; i += 1) {
    await t.throwsAsync(passwords.matches(vector.password, { ...vector, verifier: '00' }));
  }
  t.true(await passwords.matches(vector.password, vector));
});
