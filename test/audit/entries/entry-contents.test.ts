import { randomBytes } from 'node:crypto';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { eventKinds } from '../../../app/audit-trail/event.ts';
import type { EventKind } from '../../../app/audit-trail/kinds/kind.ts';
import { recordDownloads } from '../../../app/audit/custody/recorder.ts';
import { recordTallies } from '../../../app/audit/tallies/recorder.ts';
import { close, createMember, sweepNow, type Member } from '../../support/accounts/closing.ts';
import { refresh, replay } from '../../support/accounts/sessions.ts';
import { proofHeader } from '../../support/accounts/reauth-account.ts';
import { recoveryFields } from '../../support/accounts/recovery-account.ts';
import {
  beginLogin,
  inventAccount,
  openSession as logInAgain,
} from '../../support/accounts/test-account.ts';
import {
  addVersion,
  certify,
  etagOf,
  replaceMetadata,
  storeDocument,
  removeDocument,
} from '../../support/documents/documents.ts';
import { postJson, send } from '../../support/http/send.ts';
import { askKey, createRecipient, share } from '../../support/documents/people.ts';
import { newSharingKey, putKey } from '../../support/documents/sharing-keys.ts';
import { abort, bytesOf, openSession, upload } from '../../support/documents/files.ts';
import type { Api } from '../../support/documents/uploads.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';
import { openTrail } from '../../support/audit/entries.ts';
import { download } from '../../documents/downloads/downloads.ts';

const test = anyTest as TestFn<{ vault: TestVault; sql: Sql }>;
type Context = ExecutionContext<{ vault: TestVault; sql: Sql }>;

/** Texts that no entry may contain, by their names. */
type Secrets = Map<string, string>;

interface Text {
  readonly action: string;
  readonly resource: { readonly type: string };
  readonly data: Readonly<Record<string, unknown>>;
}

test.before(async (t) => {
  const vault = await startReadyVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

/** Logs in successfully and with a wrong proof, refreshes, and replays a used refresh token. */
async function useSessions({ context: { vault } }: Context, member: Member, secrets: Secrets) {
  const { account } = member;
  const login = await logInAgain(vault, account);
  secrets.set('access token', login.accessToken).set('refresh token', login.refreshToken);
  await refresh(vault, login.refreshToken);
  await replay(vault, login.refreshToken);
  const { sessionId, A, M1 } = await beginLogin(vault, account);
  secrets.set('A', A).set('M1', M1);
  await postJson(`${vault.baseUrl}/v1/auth/login/verify`, { sessionId, A, M1: '0'.repeat(64) });
  const { accessToken } = await logInAgain(vault, account);
  await send('POST', `${vault.baseUrl}/v1/auth/logout`, { token: accessToken });
}

/** Performs every operation on documents that leaves an audit entry. */
async function useDocuments(t: Context, { api }: Member, secrets: Secrets) {
  const encryptedEnvelope = randomBytes(40).toString('base64');
  const encryptedMetadata = randomBytes(60).toString('base64');
  const [keyword, wrappedKey] = [
    randomBytes(32).toString('hex'),
    randomBytes(80).toString('base64'),
  ];
  secrets.set('envelope', encryptedEnvelope).set('metadata', encryptedMetadata);
  secrets.set('keyword', keyword).set('wrapped key', wrappedKey);
  await api.send('POST', '/v1/crypto/keys/master-envelope', { json: { encryptedEnvelope } });
  const key = newSharingKey();
  secrets.set('sharing key', key.wrappedPrivateKey);
  await putKey(api, key);
  await abort(api, await openSession(t, api, 10));
  const { id } = await storeDocument(t, api);
  t.is((await download(t.context.vault, api, `${id}/download`)).status, 200);
  const change = { encryptedMetadata, keywordDeterministic: [keyword] };
  await replaceMetadata(api, id, change, { 'if-match': await etagOf(api, id) });
  const recipient = await createRecipient(t, t.context.vault);
  secrets.set('email of the recipient', recipient.email);
  const { recipientId } = (await askKey(api, recipient.email)).body;
  const { body } = await share(api, id, { recipientId: String(recipientId), wrappedKey });
  await refuseShares(recipient.api, String(body.id), api.caller.userId);
  await api.send('DELETE', `/v1/documents/${id}/shares/${String(body.id)}`);
  await certify(api, id);
  await addVersion(api, id, (await upload(t, api, bytesOf(10))).fileKey);
  await api.send('GET', `/v1/documents/${id}/proof`);
  await removeDocument(api, (await storeDocument(t, api)).id);
}

/** Replaces the recovery words and the sharing key, and restores both. */
async function restoreKeys({ context: { vault } }: Context, { api }: Member, secrets: Secrets) {
  const keys = '/v1/crypto/keys';
  const headers = { ...(await proofHeader(vault, api.caller)), 'If-Match': '*' };
  const words = inventAccount();
  secrets.set('words salt', words.saltHex).set('words verifier', words.verifierHex);
  const encryptedEnvelope = randomBytes(40).toString('base64');
  secrets.set('recovery envelope', encryptedEnvelope);
  await api.send('POST', `${keys}/recovery-envelope`, { json: { encryptedEnvelope } });
  const json = { encryptedEnvelope, ...recoveryFields(words) };
  await api.send('PUT', `${keys}/recovery-envelope`, { json, headers });
  await putKey(api, newSharingKey(), headers);
  const { body } = await api.send('GET', `${keys}/replaced`);
  for (const { id } of body as unknown as { readonly id: string }[]) {
    await api.send('POST', `${keys}/replaced/${id}/restore`, { headers });
  }
}

/** Removes a share as its recipient, and blocks and unblocks its sender. */
async function refuseShares(recipient: Api, shareId: string, senderId: string) {
  const shared = '/v1/documents/shared';
  await recipient.send('DELETE', `${shared}/${shareId}`);
  for (const method of ['PUT', 'DELETE']) {
    await recipient.send(method, `${shared}/blocked-senders/${senderId}`);
  }
}

test('no entry contains an e-mail address or a secret; its fields are documented', async (t) => {
  const { vault, sql } = t.context;
  const secrets: Secrets = new Map();
  const member = await createMember(vault);
  const { email, saltHex, verifierHex } = member.account;
  secrets.set('email', email).set('salt', saltHex).set('verifier', verifierHex);
  await useSessions(t, member, secrets);
  await useDocuments(t, member, secrets);
  await restoreKeys(t, member, secrets);
  t.is((await close(vault, member)).status, 204);
  await upload(t, member.api, bytesOf(10));
  await sweepNow(vault);
  // Stopping waits until the vault's own worker has recorded the tallies that it took.
  await vault.services.tallies.stop();
  const { db, trail, readRoom, close: closeTrail } = await openTrail(vault);
  t.teardown(closeTrail);
  await vault.services.custody.stop();
  await recordDownloads({ db, audit: trail, readRoom }, { endsAbandoned: false });
  await recordTallies(db, trail, () => new Date(Date.now() + 120_000), readRoom);

  const rows = await sql('select canonical from audit_entries');
  const texts = rows.map(({ canonical }) => String(canonical));
  const all = texts.join('\n');
  t.false(all.includes('@'), all.slice(Math.max(0, all.indexOf('@') - 300), all.indexOf('@') + 50));
  t.false(all.includes('evidence.bin'), 'the name of a file is in an entry');
  for (const [name, secret] of secrets) {
    t.true(secret.length >= 10 && !all.includes(secret), name);
  }

  const entries = texts.map((text) => JSON.parse(text) as Text);
  t.deepEqual(
    Object.keys(eventKinds)
      .filter((action) => !entries.some((entry) => entry.action === action))
      .filter((action) => !elsewhere.test(action)),
    [],
    'these actions left no entry',
  );
  for (const { action, resource, data } of entries) {
    const kind = new Map<string, EventKind>(Object.entries(eventKinds)).get(action);
    t.is(kind?.resource, resource.type, action);
    t.is(kind?.data.safeParse(data).error, undefined, action);
  }
});

/**
 * Actions that are tested elsewhere: those of operators, internal API keys, CronJobs and expiry, of
 * devices, of what they remember, of synchronisation, of second factors and of jobs.
 */
const elsewhere = new RegExp(
  `^(${[
    String.raw`auth\.token_issued`,
    String.raw`credentials\.changed`,
    String.raw`(device|memory|sync)\.\w+`,
    String.raw`envelope\.(replaced|removed)`,
    String.raw`account\.(granted|revoked|purged|token_renewed)`,
    String.raw`(mfa|jobs?)\.\w+`,
    String.raw`encryption_key\.\w+`,
    String.raw`upload\.expired`,
    String.raw`document\.(expired|exported|fixity_failed)`,
    String.raw`internal_keys?\.\w+`,
    String.raw`key\.(activated|retired|compromised)`,
    String.raw`audit\.(retried|abandoned)`,
    String.raw`maintenance\.ran`,
    String.raw`vault\.(marked|restored)`,
  ].join('|')})$`,
);
