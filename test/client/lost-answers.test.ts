import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { createAccount, type OpenAccount } from '../../client/demo/steps/account.ts';
import { addVersion } from '../../client/documents/add-version.ts';
import type { ByteSource } from '../../client/files/byte-source.ts';
import { defaultRetry } from '../../client/http/retry.ts';
import { openResumeFile } from '../../client/node/resume-file.ts';
import { temporaryDirectory } from '../support/processes/processes.ts';
import { createSql } from '../support/vault/sql.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';
import { gather } from '../support/client/collect.ts';
import { firstOf, startDroppingProxy } from './dropping-proxy.ts';
import { sourceOf, toolsOf } from '../support/client/stored.ts';
import { connect, createUser } from '../support/client/user.ts';

const vault = sharedVault();
const sql = createSql(vault);

// The tests are serial, because deriving keys from passwords keeps a whole processor busy.

const evidence = { name: 'evidence.bin', mediaType: 'application/octet-stream' };
const hasty = { ...defaultRetry, baseDelaySeconds: 0.01 };
/** A policy without repetition. */
const impatient = { ...defaultRetry, attempts: 1 };

const clientAt = (baseUrl: string, retry = hasty) =>
  connect({ ...vault, baseUrl }, globalThis.fetch, { retry });

async function openJournal(t: ExecutionContext) {
  const path = join(await temporaryDirectory(t), 'evidence.resume');
  return () => openResumeFile(path);
}

/** Returns the states of all upload sessions of a user, oldest first. */
async function sessionsOf({ credentials }: OpenAccount): Promise<unknown[]> {
  const rows = await sql(
    `select upload_sessions.status from upload_sessions join accounts on accounts.id = user_id
     where email = $1 order by upload_sessions.created_at`,
    [credentials.email],
  );
  return rows.map(({ status }) => status);
}

for (const [title, loss] of [
  ['whose first responses are all lost', 'losesAnswer'],
  ['whose connections are closed between two requests', 'losesRequest'],
] as const) {
  test.serial(`an account and its documents are created once by a client ${title}`, async (t) => {
    const drops = firstOf(/^POST /);
    const proxy = await startDroppingProxy(t, vault.baseUrl, { [loss]: drops });
    const account = await createAccount(clientAt(proxy.url), vault.mailDirectory, () => {});
    const { session, masterKey } = account;
    t.deepEqual(await session.envelopes.openMasterKey(), masterKey);
    const source = sourceOf(randomBytes(10));
    const { id, fileHash } = await session.storeDocument({ ...evidence, masterKey, source });
    const { proof } = await session.certifyDocument(id);
    t.like(JSON.parse(proof.entryCanonical), { data: { fileHash } });
    const newer = { id, masterKey, source: sourceOf(randomBytes(20)) };
    t.is((await addVersion(toolsOf(session), newer)).version, 2);
    await session.reauthenticate(account.credentials.password);

    t.deepEqual(
      proxy.lost.map((what) => what.replaceAll(/[0-9a-f-]{36}/g, ':id')),
      [
        'POST /v1/auth/register',
        'POST /v1/auth/validate-email',
        'POST /v1/auth/login/challenge',
        'POST /v1/auth/login/verify',
        'POST /v1/crypto/keys/master-envelope',
        'POST /v1/uploads',
        'POST /v1/uploads/:id/complete',
        'POST /v1/documents',
        'POST /v1/documents/:id/certify',
        'POST /v1/uploads/:id/complete',
        'POST /v1/documents/:id/versions',
        'POST /v1/auth/reauth',
      ],
    );
    t.deepEqual(await sessionsOf(account), ['COMPLETED', 'COMPLETED']);
    t.is((await gather(session.documents.list())).length, 1);
    t.is((await gather(session.documents.versions(id))).length, 2);
  });
}

/**
 * Stores a document, but loses the response to the request `to`. Returns what opens the journal
 * again.
 */
async function runWithoutAnswer(
  t: ExecutionContext,
  { user, source, to }: { user: OpenAccount; source: ByteSource; to: string },
) {
  const open = await openJournal(t);
  const losesAnswer = (what: string) => what === to;
  const proxy = await startDroppingProxy(t, vault.baseUrl, { losesAnswer });
  await using resume = await open();
  const session = await clientAt(proxy.url, impatient).login(user.credentials);
  const storing = session.storeDocument({ ...evidence, masterKey: user.masterKey, source, resume });
  await t.throwsAsync(storing, { code: 'network_error' });
  return open;
}

test.serial('an upload session whose response was lost is resumed by the next run', async (t) => {
  const user = await createUser(vault);
  const { credentials, masterKey } = user;
  const source = sourceOf(randomBytes(10));
  const open = await runWithoutAnswer(t, { user, source, to: 'POST /v1/uploads' });
  t.deepEqual(await sessionsOf(user), ['IN_PROGRESS']);

  await using resume = await open();
  const second = await connect(vault).login(credentials);
  await second.storeDocument({ ...evidence, masterKey, source, resume });
  t.deepEqual(await sessionsOf(user), ['COMPLETED']);
  t.deepEqual(await resume.load(), []);
});

test.serial(
  'an upload session whose response was lost is aborted when its file changed',
  async (t) => {
    const user = await createUser(vault);
    const { masterKey } = user;
    const source = sourceOf(randomBytes(10));
    const open = await runWithoutAnswer(t, { user, source, to: 'POST /v1/uploads' });
    await using resume = await open();
    const another = sourceOf(randomBytes(11));
    await user.session.storeDocument({ ...evidence, masterKey, source: another, resume });
    t.deepEqual(await sessionsOf(user), ['ABORTED', 'COMPLETED']);
  },
);

test.serial(
  'a document whose response was lost is not created again by the next run',
  async (t) => {
    const user = await createUser(vault);
    const { masterKey } = user;
    const source = sourceOf(randomBytes(10));
    const open = await runWithoutAnswer(t, { user, source, to: 'POST /v1/documents' });
    await using resume = await open();
    const { id } = await user.session.storeDocument({ ...evidence, masterKey, source, resume });
    const documents = await gather(user.session.documents.list());
    t.deepEqual(
      documents.map((document) => document.id),
      [id],
    );
    t.deepEqual(await sessionsOf(user), ['COMPLETED']);
  },
);
