import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { blobSource } from '../../../client/files/byte-source.ts';
import { testBytes } from '../../support/documents/bytes.ts';
import { MiB } from '../../support/documents/files.ts';
import { startVaultProcesses } from '../../support/processes/vault-processes.ts';
import { numberFrom, rounds, seed, seededRandom } from '../../support/runs/rounds.ts';
import { createMemoryJournal } from '../vault/memory-journal.ts';
import { startOwnStack } from '../vault/own-stack.ts';
import { createAccount, logIn } from '../vault/user.ts';

const fileMebibytes = numberFrom('MEBIBYTES', 64);
const awayMs = 3_000;
/** Milliseconds after the request to complete the upload within which Postgres goes away. */
const latestMs = 1_500;

test('an upload is completed although Postgres goes away meanwhile', async (t) => {
  t.timeout(120_000 + rounds * (60_000 + fileMebibytes * 300));
  t.log(`SEED=${seed} ROUNDS=${rounds} MEBIBYTES=${fileMebibytes}`);
  const random = seededRandom(seed);
  await using own = await startOwnStack();
  await using vault = await startVaultProcesses(own.stack);
  const account = await createAccount(vault);
  const durations: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    let completingAt: number | undefined;
    let outage: Promise<void> | undefined;
    const beginsMs = random() * latestMs;
    const session = await logIn(vault, account, {
      fetch(input, init) {
        const { pathname } = new URL(input instanceof Request ? input.url : input);
        if (pathname.endsWith('/complete') && completingAt === undefined) {
          completingAt = performance.now();
          outage = interrupt(beginsMs);
        }
        return fetch(input, init);
      },
    });
    const { id } = await session.session.storeDocument({
      source: blobSource(new Blob([new Uint8Array(testBytes(fileMebibytes * MiB, seed + round))])),
      resume: createMemoryJournal(),
      masterKey: session.masterKey,
      name: 'evidence.bin',
      mediaType: 'application/octet-stream',
    });
    durations.push(performance.now() - (completingAt ?? Number.NaN));
    await outage;
    t.is((await session.session.documents.get(id)).id, id);
  }
  const slowest = Math.round(Math.max(...durations));
  t.log(`from the request to complete to the document: at most ${slowest} ms of 30,000`);
  t.true(durations.every(Number.isFinite));

  async function interrupt(beginsMs: number): Promise<void> {
    await delay(beginsMs);
    await own.postgres.kill();
    await delay(awayMs);
    await own.postgres.start();
  }
});
