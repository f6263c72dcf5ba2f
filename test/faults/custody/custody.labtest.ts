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
import { startCountingProxy, type CountingProxy } from './counting-proxy.ts';
import { assertRecorded } from './check.ts';
import { read, type Asked, type Reading } from './reading.ts';

const random = seededRandom(seed);
const downloads = numberFrom('DOWNLOADS', 100);
const lanes = 8;
/** Far more than the buffers of two sockets. */
const largeBytes = 24 * MiB;
const mediumBytes = 300_000;
const smallBytes = 1_000;
const slowMs = 7_000;

interface Scene {
  readonly t: ExecutionContext;
  readonly vault: TestVault;
  readonly sql: Sql;
  readonly proxy: CountingProxy;
  readonly owner: Api;
  readonly readers: readonly Api[];
  readonly files: readonly { readonly documentId: string; readonly bytes: number }[];
  /** Times at which the process behind the proxy was killed. */
  readonly kills: number[];
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
  for (let round = 0; round < rounds; round++) readings.push(...(await playRound(scene)));
  await untilRecorded(scene);
  await assertRecorded(t, scene, readings);
});

async function startScene(t: ExecutionContext): Promise<Scene> {
  const vault = await startReadyVault();
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
  return { t, vault, sql, proxy, owner, readers, files, kills, kill };
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

/** Makes downloads of every kind at a time, while their process is killed once. */
async function playRound(scene: Scene): Promise<Reading[]> {
  const readings: Reading[] = [];
  let left = downloads;
  const work = async () => {
    while (left > 0) {
      const asked = random() < 0.1 ? await askRanges(scene) : [askOnce(scene)];
      left -= asked.length;
      for (const each of asked) readings.push(await readPatiently(scene, each));
    }
  };
  const ended = endShare(scene, readings);
  const killAt = upTo(downloads);
  const killed = until(async () => readings.length >= killAt, {
    what: 'the downloads before the kill',
    timeoutMs: 60_000,
    intervalMs: 5,
  }).then(scene.kill);
  await Promise.all([ended, killed, ...Array.from({ length: lanes }, work)]);
  return readings;
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
async function askRanges({ t, owner }: Scene): Promise<Asked[]> {
  const { id: documentId } = await storeDocument(t, owner, bytesOf(mediumBytes));
  return Array.from({ length: 2 + upTo(4) }, () => {
    const first = upTo(mediumBytes - 1);
    return { documentId, reader: owner, first, bytes: 1 + upTo(mediumBytes - first) };
  });
}

/** Ends a share while its reader is slowly downloading. */
async function endShare(scene: Scene, readings: Reading[]): Promise<void> {
  const { t, vault, sql, owner } = scene;
  const reader = await createApi(vault);
  const { id: documentId } = await storeDocument(t, owner, bytesOf(largeBytes));
  const shareId = await share(sql, owner, documentId, reader);
  const asked = { documentId, reader, bytes: largeBytes, plan: { slowMs } };
  const reading = readPatiently(scene, asked);
  await pause(500);
  await sql('update document_shares set expires_at = now() where id = $1', [shareId]);
  readings.push(await reading);
}

/** Asks for a file, again while no process answers. */
async function readPatiently({ proxy }: Scene, asked: Asked): Promise<Reading> {
  for (;;) {
    const reading = await read(proxy, asked);
    if (reading.seen.status !== undefined) return reading;
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
