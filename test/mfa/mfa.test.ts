import { randomUUID } from 'node:crypto';
import test from 'ava';
import { decodeQR } from 'qr/decode.js';
import { URI } from 'otpauth';
import { assertError } from '../support/http/error-body.ts';
import { getJson, postJson, send } from '../support/http/send.ts';
import {
  assertDisabled,
  assertEnabled,
  asMfaUser,
  codeOf,
  createMfaUser,
  mfaActions,
  untilEarlyInStep,
  wrongCode,
} from '../support/mfa/mfa-user.ts';
import { createSql } from '../support/vault/sql.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';
import type { Vault } from '../support/vault/vault.ts';

let vault: Vault;

test.before(() => {
  vault = sharedVault();
});

const invalidCode = { status: 400, code: 'invalid_code' };
const alreadyEnabled = { status: 409, code: 'mfa_already_enabled' };

test('MFA is set up, has its codes replaced and is disabled, with an entry for each', async (t) => {
  const user = await createMfaUser(vault);
  await assertDisabled(t, user);

  const begun = await user.init();
  t.is(begun.status, 200);
  t.is(begun.headers.get('cache-control'), 'no-store');
  const { secret, qrCodeUri, expiresAt, ...rest } = begun.body as Record<string, string>;
  t.deepEqual(rest, {});
  t.regex(secret ?? '', /^[A-Z2-7]{32}$/);
  const remaining = new Date(expiresAt ?? '').getTime() - Date.now();
  t.true(remaining > 570_000 && remaining <= 600_000);
  const parsed = URI.parse(qrCodeUri ?? '');
  t.like(parsed, { issuer: 'Probatio', algorithm: 'SHA1', digits: 6, period: 30 });
  t.is(parsed.secret.base32, secret ?? '');
  t.regex(parsed.label, /@/);
  await assertDisabled(t, user);

  const enabled = await user.verify(codeOf(secret ?? ''));
  t.is(enabled.status, 200);
  t.is(enabled.headers.get('cache-control'), 'no-store');
  const { recoveryCodes } = enabled.body as { readonly recoveryCodes: readonly string[] };
  t.deepEqual(enabled.body, { enabled: true, recoveryCodes });
  t.is(new Set(recoveryCodes).size, 15);
  for (const code of recoveryCodes) t.regex(code, /^[A-HJ-NP-Z2-9]{4}(-[A-HJ-NP-Z2-9]{4}){2}$/);
  await assertEnabled(t, user);

  const replaced = await user.regenerate();
  t.is(replaced.status, 200);
  t.is(replaced.headers.get('cache-control'), 'no-store');
  const { recoveryCodes: newer } = replaced.body as { readonly recoveryCodes: readonly string[] };
  t.is(new Set([...newer, ...recoveryCodes]).size, 30);
  await assertEnabled(t, user);

  const disabled = await user.disable();
  t.is(disabled.status, 200);
  t.deepEqual(disabled.body, { enabled: false });
  await assertDisabled(t, user);
  t.deepEqual((await user.disable()).body, { enabled: false }, 'a repeat changes nothing');
  assertError(t, await user.regenerate(), { status: 409, code: 'mfa_not_enabled' });
  const actions = ['mfa.started', 'mfa.enabled', 'mfa.codes_regenerated', 'mfa.disabled'];
  t.deepEqual(await mfaActions(vault, user.userId), actions);

  await user.enable();
  await assertEnabled(t, user);
});

test('the QR code shows the URI', async (t) => {
  const user = await createMfaUser(vault);
  const { status, body } = await user.init('?qr=svg');
  t.is(status, 200);
  const { qrCodeUri, qrCodeSvg = '' } = body as Record<string, string>;
  t.is(decodeQR(pixelsOf(qrCodeSvg)), qrCodeUri ?? '');
  for (const query of ['?qr=png', '?qr=', '?qr=svg&qr=svg', '?size=3']) {
    assertError(t, await user.init(query), { status: 400, code: 'validation_failed' }, query);
  }
});

/** Draws an SVG whose path is a square for each dark module, eight pixels a module. */
function pixelsOf(svg: string) {
  const [, size = ''] = /viewBox="0 0 (\d+)/.exec(svg) ?? [];
  const modules = Number(size);
  const scale = 8;
  const width = modules * scale;
  const data = new Uint8ClampedArray(width * width * 4).fill(255);
  const dark = darkModules(svg);
  for (let y = 0; y < width; y += 1) {
    for (let x = 0; x < width; x += 1) {
      if (!dark.has(`${Math.floor(x / scale)} ${Math.floor(y / scale)}`)) continue;
      data.fill(0, (y * width + x) * 4, (y * width + x) * 4 + 3);
    }
  }
  return { width, height: width, data };
}

/** Returns the places of the squares. `M` names a place, `m` the way from the square before. */
function darkModules(svg: string): ReadonlySet<string> {
  const dark = new Set<string>();
  let [x, y] = [0, 0];
  for (const [, letter, first, second] of svg.matchAll(/([Mm])(-?\d+) ?(-?\d+)h1v1[Hh]-?\d+Z/g)) {
    const from = letter === 'M' ? [0, 0] : [x, y];
    [x, y] = [(from[0] ?? 0) + Number(first), (from[1] ?? 0) + Number(second)];
    dark.add(`${x} ${y}`);
  }
  return dark;
}

test('a wrong, a used and an old code are refused, and the next one is accepted', async (t) => {
  await untilEarlyInStep();
  const user = await createMfaUser(vault);
  const secret = await user.begin();
  assertError(t, await user.verify(wrongCode(secret)), invalidCode);
  assertError(t, await user.verify(codeOf(secret, -2)), invalidCode, 'two steps old');
  assertError(t, await user.verify(codeOf(secret, 2)), invalidCode, 'two steps early');
  const { status } = await user.verify(codeOf(secret, -1));
  t.is(status, 200, 'one step old');
  assertError(t, await user.verify(codeOf(secret, -1)), alreadyEnabled);
});

test('a code is accepted once, also if its answer was an error', async (t) => {
  await untilEarlyInStep();
  const user = await createMfaUser(vault);
  const secret = await user.begin();
  const sql = createSql(vault);
  const taken = 'update mfa_pending set last_step = $2 where user_id = $1';
  await sql(taken, [user.userId, Math.floor(Date.now() / 30_000)]);
  assertError(t, await user.verify(codeOf(secret)), invalidCode, 'used');
  assertError(t, await user.verify(codeOf(secret, -1)), invalidCode, 'before the used one');
  t.is((await user.verify(codeOf(secret, 1))).status, 200);
});

test('the code of another user, or of an earlier set-up, is refused', async (t) => {
  const user = await createMfaUser(vault);
  const other = await createMfaUser(vault);
  const theirs = await other.begin();
  const earlier = await user.begin();
  const secret = await user.begin();
  for (const code of [codeOf(theirs), codeOf(earlier)]) {
    assertError(t, await user.verify(code), invalidCode);
  }
  t.is((await user.verify(codeOf(secret))).status, 200);
  await assertDisabled(t, other);
});

test('a code without a set-up, after its end and while enabled has its own error', async (t) => {
  const user = await createMfaUser(vault);
  assertError(t, await user.verify('123456'), { status: 409, code: 'mfa_not_pending' });
  const secret = await user.begin();
  const ended = "update mfa_pending set expires_at = now() - interval '1 s' where user_id = $1";
  await createSql(vault)(ended, [user.userId]);
  const expired = { status: 410, code: 'mfa_expired' };
  for (const code of [codeOf(secret), wrongCode(secret)]) {
    assertError(t, await user.verify(code), expired);
  }
  await assertDisabled(t, user);
  await user.enable();
  assertError(t, await user.verify('123456'), alreadyEnabled);
  assertError(t, await user.init(), alreadyEnabled);
});

test('bad input is 400 and changes nothing', async (t) => {
  const user = await createMfaUser(vault);
  const secret = await user.begin();
  const invalid = { status: 400, code: 'validation_failed' };
  const codes = [
    '',
    '12345',
    '1234567',
    'abcde',
    'abcdef',
    ' 12345',
    '12345\n',
    '１２３４５６',
    123456,
  ];
  for (const code of [...codes, null, [], {}, undefined]) {
    assertError(t, await user.verify(code), invalid, JSON.stringify(code));
  }
  const url = `${vault.baseUrl}/v1/user/mfa/totp/verify`;
  const { token } = user;
  for (const json of [[], null, 'x', { code: '123456', secret }, { codes: ['123456'] }]) {
    const answer = await send('POST', url, { json, token });
    assertError(t, answer, invalid, JSON.stringify(json));
    t.false(answer.text.includes(secret));
  }
  t.is((await user.verify(codeOf(secret))).status, 200);
});

test('the routes answer under every prefix', async (t) => {
  const user = await createMfaUser(vault);
  const { token } = user;
  for (const prefix of ['/v1', '', '/api/v1']) {
    const base = `${vault.baseUrl}${prefix}/user/mfa`;
    t.is((await getJson(`${base}/status`, token)).status, 200);
    t.is((await send('POST', `${base}/totp/init`, { token })).status, 200);
    assertError(t, await postJson(`${base}/totp/verify`, { code: '12345' }, token), {
      status: 400,
      code: 'validation_failed',
    });
    for (const path of ['disable', 'recovery/regenerate']) {
      const answer = await send('POST', `${base}/${path}`, { token });
      assertError(t, answer, { status: 401, code: 'reauth_required' });
    }
  }
});

test('a caller without the scope manages nothing', async (t) => {
  const subject = { userId: randomUUID(), tenantId: 'default', plan: 'standard', roles: ['user'] };
  const token = await vault.tokens.access({
    ...subject,
    scopes: ['keys:manage'],
    sessionId: randomUUID(),
  });
  const user = asMfaUser(vault, { userId: subject.userId, token });
  const denied = { status: 403, code: 'access_denied' };
  for (const answer of [await user.status(), await user.init(), await user.verify('123456')]) {
    assertError(t, answer, denied);
  }
  assertError(t, await user.disable(), denied);
  assertError(t, await user.regenerate(), denied);
});
