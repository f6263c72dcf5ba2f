import test from 'ava';
import { createAlerts } from '../../../app/audit/dlq/alerts.ts';
import { createQueueCursor } from '../../../app/audit/sealing/queue-cursor.ts';
import { countFaults } from '../../../app/documents/fixity/file-faults.ts';
import { createObjectStore } from '../../../app/storage/create-store.ts';
import { watchStore } from '../../../app/storage/store-watch.ts';
import { createSql } from '../../support/vault/sql.ts';
import { startVault } from '../../support/vault/vault.ts';
import { appendEntries, openTrail } from '../../support/audit/entries.ts';

const thresholds = {
  deadLetters: 100,
  deadLetterAgeSeconds: 1_000,
  backlog: 100,
  backlogAgeSeconds: 300,
  pauseSeconds: 1_000,
  storageFreePercent: 1,
};

test('the age in an alert is right although the clock of the process is minutes off', async (t) => {
  const vault = await startVault({ SIGNER_SOCKET_PATH: '/nowhere/signer.sock' });
  t.teardown(() => vault.stop());
  const open = await openTrail(vault);
  t.teardown(() => open.close());
  const { watch: storage } = watchStore(
    await createObjectStore(vault.config.storage),
    vault.services.clock,
  );
  const agesAt = async (minutesOff: number) => {
    const clock = () => new Date(Date.now() + minutesOff * 60_000);
    const { db } = open;
    const list = createAlerts({
      cursor: createQueueCursor(),
      db,
      isolation: { breach: undefined },
      clocks: { skewTo: () => undefined },
      pause: () => undefined,
      storage,
      countFaults,
      sharedAddress: () => undefined,
      thresholds,
      clock,
    });
    const alerts = await list('all tenants');
    return alerts.map(({ code, value }) => ({ code, minutes: Math.floor(value / 60) }));
  };

  await appendEntries(open, 1);
  t.deepEqual(await agesAt(10), []);

  await createSql(vault)(
    `with leased as (
       update audit_queue
       set claim_id = gen_random_uuid(), claimed_until = now() + interval '1 hour'
       returning entry_id
     )
     update audit_log set created_at = now() - interval '7.5 minutes'
     where id in (select entry_id from leased)`,
  );
  for (const minutesOff of [-10, 0, 10]) {
    t.deepEqual(await agesAt(minutesOff), [{ code: 'backlog_old', minutes: 7 }]);
  }
});
