import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { verifyProof } from '../../../client/proofs/verify-proof.ts';
import { askOpenssl } from '../../support/audit/openssl.ts';
import { appendEntries, openTrail } from '../../support/audit/entries.ts';
import { createApi } from '../../support/documents/uploads.ts';
import { startOwnSigner } from '../../support/vault/own-signer.ts';
import { createSql } from '../../support/vault/sql.ts';
import { startReadyVault } from '../../support/vault/vault.ts';
import type { AuditProof } from '../../../client/proofs/proof-format.ts';

const preload = new URL('../../support/processes/shifted-clock.ts', import.meta.url).href;
const hour = 3_600_000;

/** Starts a vault with a signer whose clock a test shifts. */
async function start(t: ExecutionContext) {
  const directory = await mkdtemp(join(tmpdir(), 'probatio-clock-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const file = join(directory, 'shift');
  const shift = (ms: number) => writeFile(file, String(ms));
  await shift(0);
  const signer = await startOwnSigner();
  t.teardown(() => signer[Symbol.asyncDispose]());
  const restart = async () =>
    signer.restart({ NODE_OPTIONS: `--import=${preload}`, CLOCK_SHIFT_FILE: file });
  await signer.kill();
  await restart();
  const vault = await startReadyVault({
    SIGNER_SOCKET_PATH: signer.socketPath,
    AUDIT_ALERT_PAUSE_SECONDS: '1',
  });
  t.teardown(() => vault.stop());
  const sql = createSql(vault);
  const open = await openTrail(vault);
  t.teardown(() => open.close());
  const auditor = await createApi(vault, { roles: ['platform_auditor', 'platform_operator'] });
  const untilSealed = (ids: readonly string[]) =>
    until(
      async () => {
        const query = `select 1 from audit_entries where id = any($1) and state = 'SEALED'`;
        return (await sql(query, [ids])).length === ids.length;
      },
      { what: 'the seals', timeoutMs: 60_000 },
    );
  const alerts = async () => {
    const { body } = await auditor.send('GET', '/v1/audit/proof/dlq/alerts');
    return (body['alerts'] as { code: string; message: string }[]).map(
      ({ code, message }) => `${code}: ${message}`,
    );
  };
  const proofOf = async (id: string) => {
    const { status, body } = await auditor.send('GET', `/v1/audit/proof/${id}`);
    t.is(status, 200, JSON.stringify(body));
    return body as unknown as AuditProof;
  };
  await until(
    async () => (await sql(`select 1 from audit_entries where state = 'PENDING'`)).length === 0,
    {
      what: 'the records of the keys to be sealed',
      timeoutMs: 60_000,
    },
  );
  return { sql, signer, restart, shift, open, untilSealed, alerts, proofOf };
}

interface Times {
  readonly timestamp: string;
  readonly sealedAt: string;
  readonly late?: boolean;
}

const timesOf = ({ entryCanonical }: AuditProof) => JSON.parse(entryCanonical) as Times;

test('a signer that is an hour behind seals nothing, and no entry is lost for it', async (t) => {
  const { sql, shift, open, untilSealed, alerts, proofOf } = await start(t);
  await shift(-hour);
  const ids = await appendEntries(open, 5);
  await until(
    async () => {
      const messages = (await alerts()).join('\n');
      return (
        /clock_skew: /.test(messages) && /sealing_paused: .* reason clock_skew;/.test(messages)
      );
    },
    { what: 'the alerts', timeoutMs: 60_000 },
  );
  const attempts = 'select distinct attempts from audit_queue where entry_id = any($1)';
  t.deepEqual(await sql(attempts, [ids]), [{ attempts: 0 }]);
  t.deepEqual(await sql('select 1 from audit_dead_letters'), []);
  await shift(0);
  await untilSealed(ids);
  t.is(timesOf(await proofOf(ids[0] ?? '')).late, undefined);
});

test('a signer that is an hour ahead raises an alert, and its proofs show it', async (t) => {
  const { shift, open, untilSealed, alerts, proofOf } = await start(t);
  await shift(hour);
  const ids = await appendEntries(open, 3);
  await untilSealed(ids);
  await until(async () => (await alerts()).some((alert) => alert.startsWith('clock_skew: ')), {
    what: 'the alert',
    timeoutMs: 60_000,
  });
  const { timestamp, sealedAt, late } = timesOf(await proofOf(ids[0] ?? ''));
  t.true(Date.parse(sealedAt) - Date.parse(timestamp) > hour - 60_000);
  t.true(late);
});

test('what waited an hour for the HSM is sealed late, and verifies', async (t) => {
  const { sql, signer, restart, open, untilSealed, proofOf } = await start(t);
  await signer.kill();
  const ids = await appendEntries(open, 3);
  await sql(
    `update audit_log set created_at = created_at - interval '1 hour',
       canonical = replace(canonical, canonical::json ->> 'timestamp',
         to_char((canonical::json ->> 'timestamp')::timestamptz at time zone 'UTC'
           - interval '1 hour', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
     where id = any($1)`,
    [ids],
  );
  await restart();
  await untilSealed(ids);
  for (const id of ids) {
    const proof = await proofOf(id);
    const { timestamp, sealedAt, late } = timesOf(proof);
    t.true(late);
    t.true(Date.parse(sealedAt) - Date.parse(timestamp) > hour - 60_000);
    t.true(verifyProof(proof, { trustedKeys: [proof.hsmKeyId] }).valid);
    t.is(await askOpenssl(proof), 'Verified OK');
  }
});

test('a signer of another vault pauses sealing, and says which setting is wrong', async (t) => {
  const { sql, signer, restart, open, untilSealed, alerts } = await start(t);
  await signer.kill();
  await signer.restart({ SIGNER_ISSUERS: 'https://elsewhere.example' });
  const ids = await appendEntries(open, 3);
  await until(
    async () =>
      (await alerts()).some((alert) => /sealing_paused.* reason wrong_issuer;/.test(alert)),
    { what: 'the alert', timeoutMs: 60_000 },
  );
  t.deepEqual(await sql('select 1 from audit_queue where attempts > 0'), []);
  await signer.kill();
  await restart();
  await untilSealed(ids);
});
