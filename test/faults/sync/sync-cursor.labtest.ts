import { randomUUID } from 'node:crypto';
import test from 'ava';
import { trustKey } from '../../support/accounts/trusted-key.ts';
import { insertPeople, withClient } from '../../bench/sync/people.ts';
import { testStack } from '../../support/vault/stack.ts';
import { query } from '../audit/audit-check.ts';
import { rounds, seed, seededRandom } from '../../support/runs/rounds.ts';
import { createAskSync, writeSteadily, type AskSync } from './writers.ts';
import { startVaultProcesses } from '../../support/processes/vault-processes.ts';

const commits = rounds * 1_000;
const writers = 8;
const readers = 3;
const auth = { issuer: 'https://vault.test', audience: 'probatio' };

/** A change as a reader received it. */
interface Seen {
  readonly objectId: string;
  readonly version: number;
  readonly deleted?: true;
}

test('readers see each change once and skip none during concurrent commits', async (t) => {
  t.timeout(60_000 + rounds * 60_000);
  t.log(`SEED=${seed} ROUNDS=${rounds}`);
  const random = seededRandom(seed);
  await using vault = await startVaultProcesses(testStack(), {
    settings: { HTTP_PUBLIC_URL: auth.issuer, AUTH_AUDIENCE: auth.audience },
  });
  const key = await trustKey({ ...vault, config: { auth } });
  const devices = await withClient(vault.databases.service, (client) =>
    insertPeople(client, writers + readers, randomUUID()),
  );
  const exp = Math.floor(Date.now() / 1000) + 7200;
  const asks = await Promise.all(
    devices.map(async ({ userId, deviceId, sessionId }) => {
      const token = await key.sign({ sub: userId, sid: sessionId, exp });
      return createAskSync(vault.baseUrl, token, deviceId);
    }),
  );

  let isOver = false;
  const reading = asks.slice(writers).map((ask) => readAll(ask, () => isOver, random));
  const applied = await writeSteadily(asks.slice(0, writers), { commits, random }).finally(() => {
    isOver = true;
  });
  const [counted] = await query<{
    readonly history: number;
    readonly counter: number;
    readonly conflicts: number;
  }>(
    vault,
    `select (select count(*)::int from sync_history where status = 'APPLIED') as history,
       (select count(*)::int from sync_history where status = 'CONFLICT') as conflicts,
       (select last_change::int from sync_counters) as counter`,
  );
  t.like(counted, { history: applied, counter: applied });
  const objects = await query<{
    readonly id: string;
    readonly version: number;
    readonly deleted: boolean;
  }>(vault, 'select object_id as id, version, deleted from sync_objects order by change_seq');
  const gaps = await query(
    vault,
    `select object_id from sync_history where status = 'APPLIED'
     group by object_id having max(version) <> count(*)`,
  );
  t.deepEqual(gaps, [], 'the versions of an object have no gaps');

  for (const changes of await Promise.all(reading)) {
    const versions = Map.groupBy(changes, ({ objectId }) => objectId);
    for (const [objectId, seen] of versions) {
      const numbers = seen.map(({ version }) => version);
      t.true(
        numbers.every((version, index) => version > (numbers[index - 1] ?? 0)),
        `${objectId}: ${numbers.join(' ')}`,
      );
    }
    const latest = changes.filter((change) => versions.get(change.objectId)?.at(-1) === change);
    t.deepEqual(
      latest.map(({ objectId, version, deleted = false }) => ({ id: objectId, version, deleted })),
      objects,
    );
    t.log(`${changes.length} changes read of ${applied}, ${counted?.conflicts} conflicts`);
  }
});

/** Reads pages of random sizes until a page requested after the end of all writes is empty. */
async function readAll(ask: AskSync, isOver: () => boolean, random: () => number): Promise<Seen[]> {
  const seen: Seen[] = [];
  let cursor = '0';
  for (;;) {
    const wasOver = isOver();
    const limit = 1 + Math.floor(random() ** 3 * 1000);
    const { body } = await ask(`?since=${cursor}&limit=${limit}`);
    const { objects, nextCursor } = body as {
      readonly objects: Seen[];
      readonly nextCursor: string;
    };
    if (wasOver && objects.length === 0) return seen;
    seen.push(...objects);
    cursor = nextCursor;
  }
}
