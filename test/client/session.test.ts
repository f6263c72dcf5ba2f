import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import test from 'ava';
import { blobSource } from '../../client/files/byte-source.ts';
import { defaultRetry } from '../../client/http/retry.ts';
import type { VaultSession } from '../../client/session.ts';
import { trustKey } from '../support/accounts/trusted-key.ts';
import { startOwnSigner } from '../support/vault/own-signer.ts';
import { createSql } from '../support/vault/sql.ts';
import { startReadyVault } from '../support/vault/vault.ts';
import { agingTokens } from '../support/client/aging-tokens.ts';
import {
  recordingFetch,
  storedParts,
  type SentRequest,
} from '../support/client/recording-fetch.ts';
import { connect, createUser } from '../support/client/user.ts';

const vault = await startReadyVault();
const key = await trustKey(vault);
const user = await createUser(vault);
test.after.always(() => vault.stop());

const ended = { name: 'ClientError', code: 'session_ended' };
const isRefresh = ({ path }: SentRequest) => path === '/v1/auth/refresh';

// The tests are serial, because deriving keys from passwords keeps a whole processor busy.

/** Opens a login session with control over its clock, tokens and requests. */
async function openSession() {
  const { fetch, sent } = recordingFetch();
  const aging = agingTokens(key, fetch);
  let aheadMs = 0;
  const now = () => new Date(Date.now() + aheadMs);
  const session = await connect(vault, aging.fetch, { now }).login(user.credentials);
  sent.length = 0;
  const currentId = async () => {
    for await (const { id, current } of session.listSessions()) if (current) return id;
    throw new Error('the session is not in its own list');
  };
  return {
    session,
    sent,
    currentId,
    expireTokens: () => aging.expireAll(),
    expireForever: () => aging.expireForever(),
    advanceMinutes(minutes: number) {
      aheadMs += minutes * 60_000;
    },
  };
}

/** Sends a request that needs a token. */
const work = (session: VaultSession) => session.uploads.config();

test.serial(
  'the access token is renewed shortly before its end, once for all requests',
  async (t) => {
    const { session, sent, advanceMinutes } = await openSession();
    advanceMinutes(13);
    await work(session);
    t.is(sent.filter(isRefresh).length, 0);
    advanceMinutes(1.5);
    await Promise.all(Array.from({ length: 10 }, () => work(session)));
    t.is(sent.filter(isRefresh).length, 1);
    await work(session);
    t.is(sent.filter(isRefresh).length, 1);
    t.true(sent.every(({ status }) => status === 200));
  },
);

test.serial('requests whose access token expired are sent again with one new token', async (t) => {
  const { session, sent, expireTokens } = await openSession();
  await work(session);
  expireTokens();
  await Promise.all(Array.from({ length: 5 }, () => work(session)));
  t.is(sent.filter(isRefresh).length, 1);
  t.is(sent.filter(({ status }) => status === 401).length, 5);
});

test.serial(
  'a non-repeatable request is sent again too, since the vault refused it unprocessed',
  async (t) => {
    const { session, expireTokens } = await openSession();
    await work(session);
    expireTokens();
    const json = {
      fileName: 'a',
      fileSize: 1,
      mimeType: 'application/octet-stream',
      totalParts: 1,
    };
    const { body } = await session.http.send({ method: 'POST', path: '/v1/uploads', json });
    await session.uploads.abort((body as { sessionId: string }).sessionId);
    t.pass();
  },
);

test.serial('a new access token that is refused at once is an error, not a loop', async (t) => {
  const { session, sent, expireForever } = await openSession();
  expireForever();
  await t.throwsAsync(work(session), { name: 'VaultError', code: 'token_expired' });
  t.deepEqual(
    sent.map(({ path, status }) => [path, status]),
    [
      ['/v1/uploads/config', 401],
      ['/v1/auth/refresh', 200],
      ['/v1/uploads/config', 401],
    ],
  );
});

test.serial('an upload that takes longer than an access token lives goes on', async (t) => {
  const { session, sent, expireTokens, advanceMinutes } = await openSession();
  let parts = 0;
  await session.storeDocument({
    source: blobSource(new Blob([randomBytes(36 * 2 ** 20)])),
    name: 'evidence.bin',
    mediaType: 'application/octet-stream',
    masterKey: user.masterKey,
    concurrency: 2,
    onProgress() {
      parts += 1;
      if (parts % 2 === 0) advanceMinutes(16);
      else expireTokens();
    },
  });
  t.deepEqual(storedParts(sent), [1, 2, 3]);
  t.true(sent.filter(isRefresh).length >= 2);
});

test.serial(
  'a login session whose refresh is refused has ended and sends nothing more',
  async (t) => {
    const { session, sent, currentId, advanceMinutes } = await openSession();
    await createSql(vault)('update login_sessions set revoked_at = now() where id = $1', [
      await currentId(),
    ]);
    advanceMinutes(16);
    const error = await t.throwsAsync(work(session), ended);
    t.notRegex(inspect(error, { depth: 9 }), /prt_|Bearer|ey[JA]/);
    sent.length = 0;
    await t.throwsAsync(work(session), ended);
    t.deepEqual(sent, []);
  },
);

test.serial('login sessions are listed, and a revoked one fails at its next request', async (t) => {
  const [one, other] = [await openSession(), await openSession()];
  const [oneId, otherId] = [await one.currentId(), await other.currentId()];
  const listed = [];
  for await (const { id } of one.session.listSessions({ pageSize: 1 })) listed.push(id);
  t.true(listed.indexOf(otherId) < listed.indexOf(oneId), 'newest first');

  await one.session.revokeSession(otherId);
  await t.throwsAsync(work(other.session), ended);
  await t.notThrowsAsync(work(one.session));
  const strange = one.session.revokeSession(crypto.randomUUID());
  await t.throwsAsync(strange, { name: 'VaultError', code: 'not_found' });
});

test.serial(
  'after a logout the login session has ended in the client and at the vault',
  async (t) => {
    const [one, other] = [await openSession(), await openSession()];
    const id = await one.currentId();
    await one.session.logout();
    await t.throwsAsync(work(one.session), ended);
    for await (const session of other.session.listSessions()) t.not(session.id, id);
    await t.notThrowsAsync(one.session.logout(), 'a second logout is idempotent');
  },
);

test.serial(
  'a logout succeeds although the session was ended elsewhere or its token expired',
  async (t) => {
    const [one, other, late] = [await openSession(), await openSession(), await openSession()];
    await one.session.revokeSession(await other.currentId());
    await t.notThrowsAsync(other.session.logout());

    const id = await late.currentId();
    late.advanceMinutes(60);
    late.expireTokens();
    await t.notThrowsAsync(late.session.logout());
    for await (const session of one.session.listSessions()) t.not(session.id, id);
  },
);

test.serial(
  'without the signer a session uses its token up, then waits for the signer',
  async (t) => {
    const signer = await startOwnSigner();
    t.teardown(() => signer[Symbol.asyncDispose]());
    const vault = await startReadyVault({ SIGNER_SOCKET_PATH: signer.socketPath });
    t.teardown(() => vault.stop());
    const { credentials } = await createUser(vault);
    let aheadMs = 0;
    let waits = 0;
    const client = connect(vault, fetch, {
      now: () => new Date(Date.now() + aheadMs),
      retry: {
        ...defaultRetry,
        async sleep() {
          waits += 1;
          if (waits === 1) await signer.restart();
        },
      },
    });
    const session = await client.login(credentials);
    await signer.kill();
    aheadMs = 14.5 * 60_000;
    await t.notThrowsAsync(work(session));
    t.is(waits, 0);
    aheadMs = 16 * 60_000;
    await t.notThrowsAsync(work(session));
    t.is(waits, 1);
  },
);
