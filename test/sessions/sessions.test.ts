import { randomUUID } from 'node:crypto';
import test from 'ava';
import { createAccount, openSession } from '../support/accounts/test-account.ts';
import { nextCursor } from '../../client/http/pages.ts';
import { assertError } from '../support/http/error-body.ts';
import { getJson, send } from '../support/http/send.ts';
import { createApi } from '../support/documents/uploads.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';
import type { Vault } from '../support/vault/vault.ts';
import {
  entriesOf,
  logOut,
  refresh,
  revoke,
  sessionIdOf,
  tryToken,
} from '../support/accounts/sessions.ts';

let vault: Vault;
let sql: Sql;

test.before(async () => {
  vault = sharedVault();
  sql = createSql(vault);
});

const invalidToken = { status: 401, code: 'invalid_token' };
const invalidRefresh = { status: 401, code: 'invalid_refresh_token' };
const notFound = { status: 404, code: 'not_found' };

const list = (token: string, query = '') =>
  getJson(`${vault.baseUrl}/v1/auth/sessions${query}`, token);

async function idsOf(token: string): Promise<string[]> {
  return ((await list(token)).body as { id: string }[]).map(({ id }) => id);
}

/** Opens this many sessions of one new account, newest first. */
async function openSessions(count: number) {
  const account = await createAccount(vault);
  const sessions = [];
  for (let i = 0; i < count; i += 1) {
    const pair = await openSession(vault, account);
    sessions.unshift({ ...pair, id: sessionIdOf(pair.accessToken) });
  }
  return sessions;
}

test('sessions are listed as the contract says, newest first', async (t) => {
  const [newest, oldest] = await openSessions(2);
  const { status, headers, body } = await list(oldest?.accessToken ?? '');
  t.is(status, 200);
  t.is(headers.get('cache-control'), 'no-store');
  const sessions = body as Record<string, unknown>[];
  t.deepEqual(
    sessions.map(({ id, current, deviceId }) => ({ id, current, deviceId })),
    [
      { id: newest?.id, current: false, deviceId: null },
      { id: oldest?.id, current: true, deviceId: null },
    ],
  );
  for (const session of sessions) {
    t.deepEqual(Object.keys(session).sort(), [
      'createdAt',
      'current',
      'deviceId',
      'expiresAt',
      'id',
      'lastUsedAt',
    ]);
    for (const time of ['createdAt', 'lastUsedAt', 'expiresAt']) {
      t.regex(String(session[time]), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    }
    const lifeMs =
      Date.parse(String(session['expiresAt'])) - Date.parse(String(session['createdAt']));
    t.is(lifeMs, 30 * 86_400_000);
  }
});

test('only a user’s own open sessions are listed', async (t) => {
  const [current, expired, revoked, living] = await openSessions(4);
  await openSessions(1);
  await sql('update login_sessions set expires_at = now() where id = $1', [expired?.id]);
  await revoke(vault, revoked?.id ?? '', current?.accessToken ?? '');
  t.deepEqual(await idsOf(current?.accessToken ?? ''), [current?.id ?? '', living?.id ?? '']);
});

test('sessions are listed page by page', async (t) => {
  const sessions = await openSessions(5);
  const token = sessions[0]?.accessToken ?? '';
  const read: string[][] = [];
  let query: string | undefined = '?limit=2';
  while (query !== undefined) {
    const { headers, body } = await list(token, query);
    read.push((body as { id: string }[]).map(({ id }) => id));
    const cursor = nextCursor(headers.get('link'));
    query = cursor === undefined ? undefined : `?limit=2&cursor=${cursor}`;
  }
  t.deepEqual(
    read.map(({ length }) => length),
    [2, 2, 1],
  );
  t.deepEqual(
    read.flat(),
    sessions.map(({ id }) => id),
  );
  for (const bad of ['?limit=0', '?limit=1001', '?cursor=jam', '?state=live']) {
    assertError(t, await list(token, bad), { status: 400, code: 'validation_failed' }, bad);
  }
});

test('a logout ends the session of the token and no other', async (t) => {
  const [one, other] = await openSessions(2);
  const answer = await logOut(vault, one?.accessToken ?? '');
  t.is(answer.status, 204);
  t.is(answer.text, '');
  t.is(answer.headers.get('cache-control'), 'no-store');
  assertError(t, await tryToken(vault, one?.accessToken ?? ''), invalidToken);
  assertError(t, await refresh(vault, one?.refreshToken ?? ''), invalidRefresh);
  assertError(t, await logOut(vault, one?.accessToken ?? ''), invalidToken);
  t.is((await tryToken(vault, other?.accessToken ?? '')).status, 200);
  t.is((await refresh(vault, other?.refreshToken ?? '')).status, 200);
});

test('a session revoked by another one of the same user is refused', async (t) => {
  const [one, other] = await openSessions(2);
  const token = one?.accessToken ?? '';
  t.is((await revoke(vault, other?.id.toUpperCase() ?? '', token)).status, 204);
  assertError(t, await tryToken(vault, other?.accessToken ?? ''), invalidToken);
  assertError(t, await refresh(vault, other?.refreshToken ?? ''), invalidRefresh);
  t.is((await tryToken(vault, token)).status, 200);
  t.deepEqual(await idsOf(token), [one?.id ?? '']);
});

test('revoking a session again changes and records nothing', async (t) => {
  const [one, other] = await openSessions(2);
  for (let round = 0; round < 3; round += 1) {
    t.is((await revoke(vault, other?.id ?? '', one?.accessToken ?? '')).status, 204);
  }
  const entries = await entriesOf(vault, other?.id ?? '');
  t.deepEqual(
    entries.map(({ action, outcome, data }) => ({ action, outcome, data })),
    [
      { action: 'auth.login', outcome: 'success', data: { method: 'srp' } },
      { action: 'auth.session_revoked', outcome: 'success', data: { bySession: one?.id } },
    ],
  );
});

test('one of concurrent revocations takes effect, and all succeed', async (t) => {
  const [one, other] = await openSessions(2);
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => revoke(vault, other?.id ?? '', one?.accessToken ?? '')),
  );
  t.true(answers.every(({ status }) => status === 204));
  t.is((await entriesOf(vault, other?.id ?? '')).length, 2);
});

test('a refresh concurrent with a logout leaves no session open', async (t) => {
  for (let round = 0; round < 5; round += 1) {
    const [session] = await openSessions(1);
    const [refreshed] = await Promise.all([
      refresh(vault, session?.refreshToken ?? ''),
      logOut(vault, session?.accessToken ?? ''),
    ]);
    const { refreshToken = '', accessToken = '' } = refreshed.body as Record<string, string>;
    assertError(t, await refresh(vault, refreshToken), invalidRefresh);
    if (refreshed.status === 200) {
      assertError(t, await tryToken(vault, accessToken), invalidToken);
    }
  }
});

test('a session of another user is not found and stays open', async (t) => {
  const [mine] = await openSessions(1);
  const [theirs] = await openSessions(1);
  const token = mine?.accessToken ?? '';
  assertError(t, await revoke(vault, theirs?.id ?? '', token), notFound);
  assertError(t, await revoke(vault, randomUUID(), token), notFound);
  const invalid = { status: 400, code: 'validation_failed' };
  assertError(t, await revoke(vault, 'jam', token), invalid);
  t.is((await tryToken(vault, theirs?.accessToken ?? '')).status, 200);
});

test('a token without a session of the vault cannot log out and stays valid', async (t) => {
  for (const sessionId of [randomUUID(), 'a name that another issuer gave']) {
    const { token } = await createApi(vault, { sessionId });
    assertError(t, await logOut(vault, token), notFound);
    t.is((await tryToken(vault, token)).status, 200);
  }
});

test('a token that names another user’s session ends nothing', async (t) => {
  const [theirs] = await openSessions(1);
  const { token } = await createApi(vault, { sessionId: theirs?.id ?? '' });
  assertError(t, await logOut(vault, token), notFound);
  t.is((await tryToken(vault, theirs?.accessToken ?? '')).status, 200);
});

test('the session routes have their aliases', async (t) => {
  const [one, other] = await openSessions(2);
  const token = one?.accessToken ?? '';
  const at = (path: string) => `${vault.baseUrl}/api/v1/auth/${path}`;
  t.is((await getJson(at('sessions'), token)).status, 200);
  t.is((await send('DELETE', at(`sessions/${other?.id}`), { token })).status, 204);
  t.is((await send('POST', at('logout'), { token })).status, 204);
  assertError(t, await tryToken(vault, token), invalidToken);
});
