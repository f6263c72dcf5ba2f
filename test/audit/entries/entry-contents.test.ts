import { randomBytes } from 'node:crypto';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { recordTallies } from '../../../app/audit/tallies/recorder.ts';
import { close, createMember, sweepNow, type Member } from '../../support/accounts/closing.ts';
import { beginLogin, openSession as logInAgain } from '../../support/accounts/test-account.ts';
import {
  addVersion,
  certify,
  etagOf,
  replaceMetadata,
  storeDocument,
  removeDocument,
} from '../../support/documents/documents.ts';
import { postJson, send } from '../../support/http/send.ts';
import {
  askKey,
  createRecipient,
  newSharingKey,
  putKey,
  share,
} from '../../support/documents/people.ts';
import { abort, bytesOf, openSession, upload } from '../../support/documents/files.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';
import { documentedActions } from '../../trail/actions-table.ts';
import { openTrail } from '../../support/audit/entries.ts';

const test = anyTest as TestFn<{ vault: TestVault; sql: Sql }>;
type Context = ExecutionContext<{ vault: TestVault; sql: Sql }>;

/** By name: what no entry may hold. */
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

/** Logs in rightly and wrongly, refreshes, uses a refresh token twice. */
async function useSessions({ context: { vault } }: Context, member: Member, secrets: Secrets) {
  const { account } = member;
  const login = await logInAgain(vault, account);
  secrets.set('access token', login.accessToken).set('refresh token', login.refreshToken);
  const refresh = () =>
    postJson(`${vault.baseUrl}/v1/auth/refresh`, { refreshToken: login.refreshToken });
  await refresh();
  await refresh();
  const { sessionId, A, M1 } = await beginLogin(vault, account);
  secrets.set('A', A).set('M1', M1);
  await postJson(`${vault.baseUrl}/v1/auth/login/verify`, { sessionId, A, M1: '0'.repeat(64) });
  const { accessToken } = await logInAgain(vault, account);
  await send('POST', `${vault.baseUrl}/v1/auth/logout`, { token: accessToken });
}

/** Everything that can become of a document. */
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
  const change = { encryptedMetadata, keywordDeterministic: [keyword] };
  await replaceMetadata(api, id, change, { 'if-match': await etagOf(api, id) });
  const recipient = await createRecipient(t, t.context.vault);
  secrets.set('address of the recipient', recipient.email);
  const { recipientId } = (await askKey(api, recipient.email)).body;
  const { body } = await share(api, id, { recipientId: String(recipientId), wrappedKey });
  await api.send('DELETE', `/v1/documents/${id}/shares/${String(body.id ?? body.shareId)}`);
  await certify(api, id);
  await addVersion(api, id, (await upload(t, api, bytesOf(10))).fileKey);
  await api.send('GET', `/v1/documents/${id}/proof`);
  await removeDocument(api, (await storeDocument(t, api)).id);
}

test('no entry holds an e-mail address or a secret, and each holds what is documented', async (t) => {
  const { vault, sql } = t.context;
  const secrets: Secrets = new Map();
  const member = await createMember(vault);
  const { email, saltHex, verifierHex } = member.account;
  secrets.set('address', email).set('salt', saltHex).set('verifier', verifierHex);
  await useSessions(t, member, secrets);
  await useDocuments(t, member, secrets);
  t.is((await close(vault, member)).status, 204);
  await upload(t, member.api, bytesOf(10));
  await sweepNow(vault);
  // What the vault's own worker has in hand is an entry first.
  await vault.services.tallies.stop();
  const { db, trail, close: closeTrail } = await openTrail(vault);
  t.teardown(closeTrail);
  await recordTallies(db, trail, () => new Date(Date.now() + 120_000), 1_000);

  const rows = await sql('select canonical from audit_entries');
  const texts = rows.map(({ canonical }) => String(canonical));
  const all = texts.join('\n');
  t.false(all.includes('@'), all.slice(Math.max(0, all.indexOf('@') - 300), all.indexOf('@') + 50));
  t.false(all.includes('evidence.bin'), 'the name of a file');
  for (const [name, secret] of secrets) {
    t.true(secret.length >= 10 && !all.includes(secret), name);
  }

  const entries = texts.map((text) => JSON.parse(text) as Text);
  t.deepEqual(
    documentedActions
      .map(({ action }) => action)
      .filter((action) => !entries.some((entry) => entry.action === action))
      .filter((action) => !elsewhere.test(action)),
    [],
    'not walked through',
  );
  for (const { action, resource, data } of entries) {
    const documented = documentedActions.find((one) => one.action === action);
    t.is(documented?.resource, resource.type, action);
    const { fields = [], optional = [] } = documented ?? {};
    const unknown = Object.keys(data).filter((name) => !fields.includes(name));
    const missing = fields.filter((name) => !optional.includes(name) && !(name in data));
    t.deepEqual({ unknown, missing }, { unknown: [], missing: [] }, action);
  }
});

/** Left by operators, CronJobs and time, by devices and by what they synchronise. */
const elsewhere =
  /^(credentials\.changed|(device|sync)\.\w+|envelope\.(replaced|removed)|account\.(granted|revoked|purged)|upload\.expired|document\.expired|key\.(activated|retired)|audit\.(retried|abandoned)|maintenance\.ran|vault\.(marked|restored))$/;
