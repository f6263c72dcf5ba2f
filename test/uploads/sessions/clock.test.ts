import { randomUUID } from 'node:crypto';
import test from 'ava';
import { openDatabase } from '../../../app/db/database.ts';
import { createOutbox } from '../../../app/outbox/outbox.ts';
import { expireOverdue } from '../../../app/uploads/sessions/overdue.ts';
import { assertNotExpired, lockOpenSession } from '../../../app/uploads/sessions/session-rows.ts';
import { openSession } from '../../support/documents/files.ts';
import { createApi } from '../../support/documents/uploads.ts';
import { createSql } from '../../support/vault/sql.ts';
import { startVault } from '../../support/vault/vault.ts';

const dayMs = 86_400_000;

test('an upload expires when both the app’s clock and that of Postgres say so', async (t) => {
  const vault = await startVault();
  t.teardown(() => vault.stop());
  const sql = createSql(vault);
  const db = await openDatabase({ ...vault.config.database, poolSize: 1 });
  t.teardown(() => db.close());
  const api = await createApi(vault);
  const { caller } = api;
  const id = await openSession(t, api, 10);
  const outbox = createOutbox({ onCommitted: () => undefined });
  const lock = (now: Date) => db.asUser(caller, (tx) => lockOpenSession(tx, caller, id, now));
  const expire = (now: Date) =>
    db.asUser(caller, (tx) => expireOverdue(tx, { outbox, now, limit: 10 }));

  const ahead = new Date(Date.now() + 30 * dayMs);
  t.is((await lock(ahead)).id, id);
  t.deepEqual(await expire(ahead), []);

  await sql(`update upload_sessions set expires_at = now() - interval '1 minute' where id = $1`, [
    id,
  ]);
  const behind = new Date(Date.now() - 30 * dayMs);
  const session = await lock(behind);
  t.deepEqual(await expire(behind), []);
  t.throws(() => assertNotExpired(session, new Date()), { code: 'session_expired' });
  await t.throwsAsync(lock(new Date()), { code: 'session_expired' });
  t.is((await expire(new Date())).length, 1);
  t.is((await api.send('POST', `/v1/uploads/${id}/complete`)).body.code, 'session_expired');
  t.is((await api.send('GET', `/v1/uploads/${randomUUID()}`)).status, 404);
});
