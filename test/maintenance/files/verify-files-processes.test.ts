import test from 'ava';
import { pauseAt, untilWaiting } from '../../support/accounts/paused-statement.ts';
import { certify, storeDocument } from '../../support/documents/documents.ts';
import { startReplica } from '../../support/documents/replica.ts';
import { createApi } from '../../support/documents/uploads.ts';
import { assertError } from '../../support/http/error-body.ts';
import { send } from '../../support/http/send.ts';
import { startMaintenanceVault } from '../../support/vault/maintenance-vault.ts';

const running = { status: 409, code: 'maintenance_running' };

test('two processes never verify files at once', async (t) => {
  const { vault, keys, run, stop } = await startMaintenanceVault();
  t.teardown(stop);
  const api = await createApi(vault);
  const { id } = await storeDocument(t, api);
  await certify(api, id);
  const replica = await startReplica(vault, { INTERNAL_API_KEYS_FILE: keys.path });
  t.teardown(() => replica.process.stop());
  const runElsewhere = () =>
    send('POST', `${replica.baseUrl}/v1/internal/maintenance/verify-files`, {
      headers: { 'X-Internal-Api-Key': keys.admin },
    });

  // The first run waits where it records what it has read.
  const paused = await pauseAt(vault, 'insert on object_checks');
  const first = run('verify-files');
  await untilWaiting(vault, 1);
  for (let turn = 0; turn < 3; turn += 1) assertError(t, await runElsewhere(), running);
  await paused.end();
  t.like((await first).body, { checkedFiles: 1 });
  t.like((await runElsewhere()).body, { checkedFiles: 0 });
});
