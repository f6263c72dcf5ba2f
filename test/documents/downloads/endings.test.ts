import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { createApi, type Api } from '../../support/documents/uploads.ts';
import { bytesOf, MiB } from '../../support/documents/files.ts';
import { createSql } from '../../support/vault/sql.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import { removeDocument, storeDocument } from '../../support/documents/documents.ts';

const endings = 'its reader may no longer read the file';

const countEnded = ({ logLines }: TestVault) =>
  logLines.filter((line) => line.includes(endings)).length;

/** Starts a download and does not read it: the file is far larger than the socket buffers. */
async function begin(t: ExecutionContext, { baseUrl }: TestVault, { token }: Api, id: string) {
  const response = await fetch(`${baseUrl}/v1/documents/${id}/download`, {
    headers: { authorization: `Bearer ${token}` },
  });
  t.is(response.status, 200);
  return response;
}

test('a download in progress ends with its share, its login session or its document', async (t) => {
  const vault = await startVault();
  t.teardown(() => vault.stop());
  const sql = createSql(vault);
  const owner = await createApi(vault);
  const [reader, longer] = [await createApi(vault), await createApi(vault)];
  const later = await createApi(vault, { ...owner.caller, sessionId: randomUUID() });
  const bytes = bytesOf(32 * MiB);
  const { id } = await storeDocument(t, owner, bytes);
  const removed = await storeDocument(t, owner, bytesOf(32 * MiB));
  for (const { caller } of [reader, longer]) {
    await sql(
      `insert into document_shares (id, user_id, tenant_id, document_id, recipient_ref,
         recipient_user_id, wrapped_key, permissions, expires_at)
       values ($1, $2, 'default', $3, $4, $5, 'AAAA', '{read}', now() + interval '1 hour')`,
      [randomUUID(), owner.caller.userId, id, randomUUID(), caller.userId],
    );
  }
  const broken = await Promise.all([
    begin(t, vault, reader, id),
    begin(t, vault, later, id),
    begin(t, vault, owner, removed.id),
  ]);
  const whole = await Promise.all([begin(t, vault, owner, id), begin(t, vault, longer, id)]);

  await sql('update document_shares set expires_at = now() where recipient_user_id = $1', [
    reader.caller.userId,
  ]);
  await sql(
    `insert into login_sessions (id, user_id, tenant_id, last_used_at, expires_at, revoked_at)
     values ($1, $2, 'default', now(), now() + interval '1 hour', now())`,
    [later.caller.sessionId, later.caller.userId],
  );
  t.is((await removeDocument(owner, removed.id)).status, 204);

  await until(() => countEnded(vault) === 3, { what: 'three downloads to end', timeoutMs: 60_000 });
  for (const response of broken) {
    await t.throwsAsync(response.arrayBuffer(), { message: /terminated/ });
  }
  for (const response of whole) t.true(Buffer.from(await response.arrayBuffer()).equals(bytes));
  t.is(countEnded(vault), 3);
});
