import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { storeDocument } from '../../support/documents/documents.ts';
import { bytesOf, MiB } from '../../support/documents/files.ts';
import { startReplica } from '../../support/documents/replica.ts';
import { createApi, type Api } from '../../support/documents/uploads.ts';
import { numberFrom, rounds, seed, seededRandom } from '../../support/runs/rounds.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';
import type { OwnPostgres } from '../vault/own-postgres.ts';
import { startOwnStack } from '../vault/own-stack.ts';
import { startCountingProxy, type CountingProxy } from './counting-proxy.ts';
import { assertRecorded, type Outage } from './check.ts';
import { read, type Asked, type Reading } from './reading.ts';

const random = seededRandom(seed);
const downloads = numberFrom('DOWNLOADS', 100);
const lanes = 8;
/** Far more than the buffers of two sockets. */
const largeBytes = 24 * MiB;
const mediumBytes = 300_000;
const smallBytes = 1_000;
const slowMs = 7_000;
/** The longest time for which Postgres is away, before it recovers. */
const awayMs = 2_000;
/** The share of downloads whose file is stored for them, and read by ranges. */
const rangedShare = 0.03;

interface Scene {
  readonly t: ExecutionContext;
  readonly vault: TestVault;
  readonly sql: Sql;
  readonly proxy: CountingProxy;
  readonly owner: Api;
  readonly readers: readonly Api[];
  readonly files: readonly { readonly documentId: string; readonly bytes: number }[];
  readonly postgres: OwnPostgres;
  /** Times at which the process behind the proxy was killed. */
  readonly kills: number[];
  /** Times for which Postgres was away. */
  readonly outages: Outage[];
  /** Kills that process, and starts another one. */
  readonly kill: () => Promise<void>;
}

const upTo = (most: number) => Math.floor(random() * most);
const pick = <T>(of: readonly T[]): T => of[upTo(of.length)] as T;

test('every download has its entry, with what was handed over, whatever is killed', async (t) => {
  t.timeout(300_000 + rounds * 60_000);
  t.log(`SEED=${seed} ROUNDS=${rounds} DOWNLOADS=${downloads}`);
  const scene = await startScene(t);
  const readings: Reading[] = [];
  for (let round = 0; round < rounds; round++) {
    readings.push(...(await playRound(await renewTokens(scene))));
  }
  await untilRecorded(scene);
  await assertRecorded(t, scene, readings);
});

async function startScene(t: ExecutionContext): Promise<Scene> {
  const own = await startOwnStack();
  t.teardown(() => own[Symbol.asyncDispose]());
  const vault = await startReadyVault({}, own.stack);
  t.teardown(() => vault.stop());
  const sql = createSql(vault);
  const [owner, ...readers] = await Promise.all([0, 1, 2].map(() => createApi(vault)));
  if (owner === undefined) throw new Error('there is no owner');
  const files = [];
  for (const bytes of [smallBytes, mediumBytes, largeBytes]) {
    const { id: documentId } = await storeDocument(t, owner, bytesOf(bytes));
    files.push({ documentId, bytes });
    for (const reader of readers) await share(sql, owner, documentId, reader);
  }
  const kills: number[] = [];
  let replica = await startReplica(vault);
  const proxy = await startCountingProxy(() => Number(new URL(replica.baseUrl).port));
  t.teardown(async () => {
    await proxy.stop();
    await replica.process.stop();
  });
  async function kill(): Promise<void> {
    replica.process.kill('SIGKILL');
    kills.push(performance.now());
    await replica.process.exited;
    replica = await startReplica(vault);
  }
  const { postgres } = own;
  return { t, vault, sql, proxy, owner, readers, files, postgres, kills, outages: [], kill };
}

/** Issues new tokens for the same users, since all rounds take longer than a token is valid. */
async function renewTokens(scene: Scene): Promise<Scene> {
  const renew = ({ caller }: Api) => createApi(scene.vault, caller);
  return {
    ...scene,
    owner: await renew(scene.owner),
    readers: await Promise.all(scene.readers.map(renew)),
  };
}

/** Shares a document. Resolves with the share's id. */
async function share(sql: Sql, owner: Api, documentId: string, reader: Api): Promise<string> {
  const id = randomUUID();
  await sql(
    `insert into document_shares (id, user_id, tenant_id, document_id, recipient_ref,
       recipient_user_id, wrapped_key, permissions)
     values ($1, $2, 'default', $3, $4, $5, 'AAAA', '{read}')`,
    [id, owner.caller.userId, documentId, randomUUID(), reader.caller.userId],
  );
  return id;
}

/** Makes downloads of every kind at a time, while their process and Postgres are killed once. */
async function playRound(scene: Scene): Promise<Reading[]> {
  const readings: Reading[] = [];
  const ranged: Asked[][] = [];
  for (let n = 0; n < downloads * rangedShare; n += 1) ranged.push(await storeRanges(scene));
  const slow = await prepareSlow(scene);
  let left = downloads;
  const work = async () => {
    while (left > 0) {
      const asked = (random() < 0.1 ? ranged.pop() : undefined) ?? [askOnce(scene)];
      left -= asked.length;
      for (const each of asked) await readPatiently(scene, each, readings);
    }
  };
  const [killAt, awayAt] = [upTo(downloads), upTo(downloads)];
  const after = (count: number, fault: () => Promise<void>) =>
    until(async () => readings.length >= count, {
      what: 'the downloads before a fault',
      timeoutMs: 120_000,
      intervalMs: 5,
    }).then(fault);
  await Promise.all([
    endShare(scene, slow, readings),
    after(killAt, scene.kill),
    after(awayAt, () => killPostgres(scene)),
    ...Array.from({ length: lanes }, work),
  ]);
  return readings;
}

async function killPostgres({ postgres, outages }: Scene): Promise<void> {
  const beganAt = performance.now();
  await postgres.kill();
  await pause(upTo(awayMs));
  await postgres.start();
  outages.push({ beganAt, endedAt: performance.now() });
}

/** Chooses a whole file; large ones are often cut off. */
function askOnce({ owner, readers, files }: Scene): Asked {
  const place = random();
  const file = files[place < 0.6 ? 0 : place < 0.85 ? 1 : 2];
  if (file === undefined) throw new Error('there is no file');
  const isCut = file.bytes === largeBytes && random() < 0.8;
  const plan = isCut ? { cutAfter: upTo(2 * MiB) } : {};
  return { ...file, reader: pick([owner, ...readers]), plan };
}

/** Stores a file and chooses ranges of it. */
async function storeRanges({ t, owner }: Scene): Promise<Asked[]> {
  const { id: documentId } = await storeDocument(t, owner, bytesOf(mediumBytes));
  return Array.from({ length: 2 + upTo(4) }, () => {
    const first = upTo(mediumBytes - 1);
    return { documentId, reader: owner, first, bytes: 1 + upTo(mediumBytes - first) };
  });
}

/** A slow download by a share. */
interface SlowDownload {
  readonly asked: Asked;
  readonly shareId: string;
}

async function prepareSlow({ t, vault, sql, owner }: Scene): Promise<SlowDownload> {
  const reader = await createApi(vault);
  const { id: documentId } = await storeDocument(t, owner, bytesOf(largeBytes));
  const shareId = await share(sql, owner, documentId, reader);
  return { asked: { documentId, reader, bytes: largeBytes, plan: { slowMs } }, shareId };
}

/** Ends a share while its reader is slowly downloading. */
async function endShare(
  scene: Scene,
  { asked, shareId }: SlowDownload,
  readings: Reading[],
): Promise<void> {
  const reading = readPatiently(scene, asked, readings);
  await pause(500);
  const end = 'update document_shares set expires_at = now() where id = $1 returning id';
  const what = 'the share to end';
  await until(async () => (await scene.sql(end, [shareId]).catch(() => []))[0], {
    what,
    timeoutMs: 60_000,
  });
  await reading;
}

/** Asks for a file, again while no process answers, or Postgres is away. */
async function readPatiently({ proxy }: Scene, asked: Asked, readings: Reading[]): Promise<void> {
  let triedAt: number | undefined;
  for (;;) {
    const reading = await read(proxy, asked, triedAt);
    triedAt = reading.triedAt;
    const { status } = reading.seen;
    if (status !== undefined) readings.push(reading);
    if (status !== undefined && status !== 503) return;
    await pause(100);
  }
}

/** Waits until every download is an entry, and every entry is sealed. */
async function untilRecorded({ sql }: Scene): Promise<void> {
  const what = 'every download to be a sealed entry';
  await until(
    async () => {
      // No reader asks for further ranges.
      await sql(`update downloads set began_at = began_at - interval '1 minute',
        ended_at = ended_at - interval '1 minute' where ended_at > now() - interval '1 minute'`);
      const waiting = await sql(
        `select 1 from downloads
         union all select 1 from audit_entries where state = 'PENDING' limit 1`,
      );
      return waiting.length === 0;
    },
    { what, timeoutMs: 240_000, intervalMs: 500 },
  );
}
