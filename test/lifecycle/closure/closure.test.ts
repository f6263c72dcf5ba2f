import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import anyTest, { type TestFn } from 'ava';
import { decodeJwt } from 'jose';
import { until } from '../../../app/dev/processes/until.ts';
import { AppError } from '../../../app/errors/app-error.ts';
import { refresh, tryToken } from '../../support/accounts/sessions.ts';
import {
  certify,
  createDocument,
  storeDocument,
  storeVersion,
} from '../../support/documents/documents.ts';
import { expireDocument } from '../../support/documents/rows.ts';
import { assertError } from '../../support/http/error-body.ts';
import { getJson, postJson, send } from '../../support/http/send.ts';
import { createApi } from '../../support/documents/uploads.ts';
import {
  abort,
  bytesOf,
  minPart,
  openSession as openUpload,
  putPart,
  upload,
} from '../../support/documents/files.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { hasObject, sessionDirectory } from '../../support/documents/stored-files.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';
import { close, createEnvelope, createMember, rowsOf } from '../../support/accounts/closing.ts';
import { mailsTo, validationMails } from '../../support/accounts/mails.ts';
import {
  beginLogin,
  inventAccount,
  logIn,
  register,
  validate,
} from '../../support/accounts/test-account.ts';
import { serviceRequest } from '../../support/http/service-request.ts';

const test = anyTest as TestFn<{ vault: TestVault; sql: Sql }>;

test.before(async (t) => {
  const vault = await startReadyVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

const invalidToken = { status: 401, code: 'invalid_token' };
const patience = { timeoutMs: 60_000 };

test('a closed account leaves only its sealed documents and their proofs', async (t) => {
  const { vault, sql } = t.context;
  const member = await createMember(vault);
  const { userId, api } = member;
  const sealed = await storeDocument(t, api);
  const { proofId } = (await certify(api, sealed.id)).body;
  const pending = await storeDocument(t, api);
  const expired = await storeDocument(t, api);
  await expireDocument(sql, expired.id);
  await sql(
    `insert into document_keywords (user_id, keyword_hash, place, document_id, tenant_id)
     values ($1, '00', $2, $2, 'default')`,
    [userId, pending.id],
  );
  const unused = await upload(t, api, bytesOf(10));
  const open = await openUpload(t, api, minPart + 1, 2);
  await putPart(api, open, 1, bytesOf(minPart));
  const parts = await sessionDirectory(vault, open);
  await abort(api, await openUpload(t, api, 10));
  await createEnvelope(t, api);

  t.is((await close(vault, member)).status, 204);

  t.deepEqual(await rowsOf(vault, userId), { sealed: 1, uploads: 1, parts: 1 });
  const [account] = await sql('select * from accounts where id = $1', [userId]);
  t.like(account, { status: 'CLOSED', email: null });
  t.true(account?.['closed_at'] instanceof Date);
  for (const { fileKey } of [pending, expired, unused]) {
    await until(async () => !(await hasObject(vault, fileKey)), {
      what: 'the object to be deleted',
      ...patience,
    });
  }
  await until(() => !existsSync(parts), { what: 'the parts to be deleted', ...patience });
  t.true(await hasObject(vault, sealed.fileKey));
  const auditor = await createApi(vault, { roles: ['auditor'] });
  t.is((await auditor.send('GET', `/v1/audit/proof/${String(proofId)}`)).status, 200);
  const [entry] = await sql(
    `select canonical from audit_entries
     where user_id = $1 and resource_type = 'account' and action = 'account.closed'`,
    [userId],
  );
  t.like(JSON.parse(String(entry?.['canonical'])), {
    actor: { type: 'user', id: userId },
    outcome: 'success',
    resource: { type: 'account', id: userId, owner: userId },
    data: { documents: 2, uploads: 5, envelopes: 1 },
  });
});

test('a closure keeps the sealed versions of a document, and no others', async (t) => {
  const { vault, sql } = t.context;
  const member = await createMember(vault);
  const { api, userId } = member;
  const first = await storeDocument(t, api);
  const second = await storeVersion(t, api, first.id);
  t.is((await certify(api, first.id)).status, 200);
  const third = await storeVersion(t, api, first.id);
  t.is((await close(vault, member)).status, 204);

  t.deepEqual(await rowsOf(vault, userId), { sealed: 1, uploads: 1, parts: 1 });
  const [document] = await sql('select version from documents where id = $1', [first.id]);
  t.deepEqual(document, { version: 2 });
  for (const { fileKey } of [first, third]) {
    await until(async () => !(await hasObject(vault, fileKey)), {
      what: 'the object to be deleted',
      ...patience,
    });
  }
  t.true(await hasObject(vault, second.fileKey));
});

test('a closed account cannot be used to log in or refresh', async (t) => {
  const { vault } = t.context;
  const member = await createMember(vault);
  const elsewhere = await logIn(vault, member.account);
  const { sessionId, A, M1 } = await beginLogin(vault, member.account);
  t.is((await close(vault, member)).status, 204);

  assertError(t, await tryToken(vault, member.token), invalidToken);
  const proof = { sessionId, A, M1 };
  const late = await postJson(`${vault.baseUrl}/v1/auth/login/verify`, proof);
  assertError(t, late, { status: 401, code: 'invalid_proof' });
  const challenge = { email: member.account.email, A };
  const unknown = await postJson(`${vault.baseUrl}/v1/auth/login/challenge`, challenge);
  assertError(t, unknown, { status: 404, code: 'user_not_found' });
  const refreshed = await refresh(vault, member.refreshToken);
  assertError(t, refreshed, { status: 401, code: 'invalid_refresh_token' });
  await until(async () => (await tryToken(vault, elsewhere)).status === 401, {
    what: 'the other session to end',
    ...patience,
  });
});

test('an account that is closed twice is closed and recorded once', async (t) => {
  const { vault, sql } = t.context;
  const { userId, api } = await createMember(vault);
  const caller = {
    ...api.caller,
    issuer: vault.config.auth.issuer,
    expiresAt: new Date(),
  };
  const reauthToken = await vault.tokens.reauth(caller);
  const headers = { 'X-Reauth-Token': reauthToken };
  const answers = await Promise.all(
    Array.from({ length: 5 }, () =>
      send('DELETE', `${vault.baseUrl}/v1/auth/account`, { token: api.token, headers }),
    ),
  );
  t.is(answers.filter(({ status }) => status === 204).length, 1);
  for (const answer of answers.filter(({ status }) => status !== 204)) {
    assertError(t, answer, invalidToken);
  }
  const closed = await sql(
    `select 1 from audit_entries where user_id = $1 and action = 'account.closed'`,
    [userId],
  );
  t.is(closed.length, 1);
});

test('the owner is notified by mail, and the e-mail address can be registered again', async (t) => {
  const { vault } = t.context;
  const member = await createMember(vault);
  const { email } = member.account;
  const mine = await storeDocument(t, member.api);
  await certify(member.api, mine.id);
  t.is((await close(vault, member, '/api/v1/auth/account')).status, 204);
  await until(
    async () => (await mailsTo(vault, email)).some(({ subject }) => /closed/.test(subject)),
    { what: 'the mail', ...patience },
  );
  const again = inventAccount(email);
  await register(vault, again);
  await validate(vault, (await validationMails(vault, email, 2)).at(-1)?.token ?? '');
  const token = await logIn(vault, again);
  t.not(decodeJwt(token).sub, member.userId);
  const document = await getJson(`${vault.baseUrl}/v1/documents/${mine.id}`, token);
  assertError(t, document, { status: 404, code: 'not_found' });
});

test('unsent mails to the e-mail address are discarded', async (t) => {
  const { vault, sql } = t.context;
  const member = await createMember(vault);
  const { email } = member.account;
  const promise = async (to: string, userId: string | null) => {
    const [row] = await sql(
      `insert into outbox (id, kind, payload, user_id, available_at)
       values ($1, 'email', $2, $3, now() + interval '1 hour') returning id`,
      [randomUUID(), JSON.stringify({ to, template: 'already-registered', values: {} }), userId],
    );
    return String(row?.['id']);
  };
  const [toAddress, toUser, toOther] = [
    await promise(email, null),
    await promise('an.earlier@example.org', member.userId),
    await promise(`x${email}`, null),
  ];
  t.is((await close(vault, member)).status, 204);
  const left = await sql('select id from outbox where id = any($1)', [
    [toAddress, toUser, toOther],
  ]);
  t.deepEqual(left, [{ id: toOther }]);
});

test('a closure leaves other accounts untouched', async (t) => {
  const { vault } = t.context;
  const [member, neighbour] = [await createMember(vault), await createMember(vault)];
  const document = await storeDocument(t, neighbour.api);
  await openUpload(t, neighbour.api, 10);
  await createEnvelope(t, neighbour.api);
  const before = await rowsOf(vault, neighbour.userId);
  t.is((await close(vault, member)).status, 204);
  t.deepEqual(await rowsOf(vault, neighbour.userId), before);
  t.is((await certify(neighbour.api, document.id)).status, 200);
  t.is((await tryToken(vault, neighbour.token)).status, 200);
});

test('a closure that fails changes nothing', async (t) => {
  const { sql, vault } = t.context;
  const member = await createMember(vault);
  const { fileKey } = await storeDocument(t, member.api);
  await createEnvelope(t, member.api);
  const before = await rowsOf(vault, member.userId);
  await sql(`
    create function break_closures() returns trigger language plpgsql as
    $$ begin if new.user_id = '${member.userId}' then raise 'broken'; end if; return new; end $$;
    create trigger broken before insert on audit_log for each row
    when (new.action = 'account.closed') execute function break_closures()`);
  // Dropped alone, the trigger would lock the partitions before the table, unlike everybody else.
  t.teardown(() =>
    sql('lock table audit_log; drop trigger broken on audit_log; drop function break_closures'),
  );
  assertError(t, await close(vault, member), { status: 500, code: 'internal_error' });
  t.deepEqual(await rowsOf(vault, member.userId), before);
  const [account] = await sql('select status, email from accounts where id = $1', [member.userId]);
  t.deepEqual(account, { status: 'ACTIVE', email: member.account.email });
  t.true(await hasObject(vault, fileKey));
  t.is((await tryToken(vault, member.token)).status, 200, 'the session goes on');
});

test('users of other issuers have no account to close', async (t) => {
  const { vault } = t.context;
  const { userId, api } = await createMember(vault);
  await createEnvelope(t, api);
  const stranger = {
    ...api.caller,
    issuer: 'https://elsewhere.test',
    expiresAt: new Date(),
  };
  const refused = vault.services.closure.close(serviceRequest(stranger));
  t.is((await t.throwsAsync(refused, { instanceOf: AppError }))?.code, 'access_denied');
  t.is((await rowsOf(vault, userId)).envelopes, 1);
});

test('an upload of a closed account does not become a document', async (t) => {
  const { vault } = t.context;
  const member = await createMember(vault);
  const { fileKey } = await upload(t, member.api, bytesOf(10));
  t.is((await close(vault, member)).status, 204);
  t.is((await createDocument(member.api, fileKey)).body.code, 'stored_file_not_found');
});
