import test from 'ava';
import type { AuditProof } from '../../app/proof/proof.ts';
import { until } from '../../app/dev/processes/until.ts';
import { createKeyRegistry } from '../../app/signing-keys/registry.ts';
import { noMark } from '../../app/restore/high-water-marks/mark.ts';
import { startMarkWriter } from '../../app/restore/mark-writer.ts';
import { createLog } from '../../app/telemetry/log.ts';
import { appendEntries, openTrail } from '../support/audit/entries.ts';
import { startOwnKeysVault } from '../signing-keys/keys-vault.ts';
import { testIssuer } from '../support/vault/stack.ts';

test('a key retired while a mark is being signed signs no mark', async (t) => {
  const own = await startOwnKeysVault(t);
  const open = await openTrail(own.vault);
  t.teardown(() => open.close());
  const { db, trail: audit } = open;
  const clock = () => new Date();
  const { client } = own.signer;
  const registry = createKeyRegistry({ db, signer: client, audit, clock });
  const first = await own.activeKey('audit');
  const second = await own.create('audit');
  await appendEntries(open, 1);

  const marks: AuditProof[] = [];
  let isExchanged = false;
  const writer = startMarkWriter({
    issuer: testIssuer,
    db,
    audit,
    clock,
    registry,
    signer: {
      async sealMark(keyId, entry) {
        if (!isExchanged) {
          t.is(keyId, first.keyId);
          await own.activate(second.keyId);
          isExchanged = true;
        }
        return client.sealMark(keyId, entry);
      },
    },
    objects: {
      list: async () => [],
      read: async () => undefined,
      write: async (proof) => void marks.push(proof),
      remove: async () => undefined,
    },
    record: {
      newest: async () => noMark,
      take: async () => noMark,
      written: async () => undefined,
    },
    admission: {
      admitted: { markIds: [], restoration: undefined },
      assertAdmitted: () => undefined,
    },
    log: createLog('silent'),
  });
  t.teardown(() => writer.stop());
  await until(() => marks.length > 0, { what: 'a mark', timeoutMs: 60_000 });
  t.is(marks[0]?.hsmKeyId, second.keyId);
});
