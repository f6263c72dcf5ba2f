import { startVaultProcesses } from '../../support/processes/vault-processes.ts';
import { median, round, type Bench } from '../harness/bench.ts';
import { startBenchStack } from '../harness/bench-stack.ts';
import { startChild } from '../../support/processes/child.ts';
import { inventEntries, openBacklog, type Backlog } from './backlog.ts';
import type { SigningQuestion } from './signing-loop.ts';

const rounds = 3;
const backlogSize = 40_000;
const warmUps = 10_000;
/** Number of entries of one owner behind which an entry of another owner waits. */
const foreignBacklog = 90_000;
/** Number of sealed entries in the table before and after it has grown. */
const sizes = { small: 10_000, large: 1_000_000 };

/**
 * Measures entries sealed per second from a backlog in Postgres through a real app and signer,
 * against one loop over the same token that hashes, signs and verifies the same texts. With
 * FAIRNESS=true, also measures how long an entry waits behind the backlog of another owner. With
 * GROWTH=true, also measures whether a million sealed entries slow it down.
 */
export const benchSeal: Bench = async (progress) => {
  await using stack = await startBenchStack();
  await using vault = await startVaultProcesses(stack);
  await using backlog = await openBacklog(vault.databases.admin);
  await using loop = startChild<SigningQuestion, number>(
    'test/bench/seal/signing-loop.ts',
    stack.signerEnvironment,
  );
  const publicKey = await backlog.publicKey();
  await backlog.seal(inventEntries(warmUps));

  const found = { ours: [], reference: [], rawSign: [] } as Record<string, number[]>;
  for (let turn = 1; turn <= rounds; turn++) {
    const entries = inventEntries(backlogSize);
    const texts = entries.map(({ text }) => text);
    const ours = await backlog.seal(entries);
    const reference = await loop.ask({ of: 'all', texts, publicKey });
    const rawSign = await loop.ask({ of: 'sign', texts, publicKey });
    progress(
      `round ${turn}: ours ${round(ours, 0)}/s, reference ${round(reference, 0)}/s, ` +
        `sign ${round(rawSign, 0)}/s`,
    );
    found['ours']?.push(ours);
    found['reference']?.push(reference);
    found['rawSign']?.push(rawSign);
  }

  const ours = median(found['ours'] ?? []);
  const reference = median(found['reference'] ?? []);
  const isFairnessAsked = process.env['FAIRNESS'] === 'true';
  const waitBehindMs = isFairnessAsked
    ? round(await backlog.waitBehind(inventEntries(foreignBacklog)), 0)
    : undefined;
  return {
    ours: round(ours, 0),
    reference: round(reference, 0),
    unit: 'entries/s',
    ratio: round(ours / reference),
    rawSign: round(median(found['rawSign'] ?? []), 0),
    growth: process.env['GROWTH'] === 'true' ? await measureGrowth(backlog, progress) : undefined,
    waitBehindMs,
    rounds,
  };
};

/** Resolves with the rate with many sealed entries in the table over the rate with few. */
async function measureGrowth(backlog: Backlog, progress: (line: string) => void): Promise<number> {
  const rates: number[] = [];
  await backlog.empty();
  for (const size of [sizes.small, sizes.large]) {
    await backlog.fill(size);
    const found: number[] = [];
    for (let turn = 1; turn <= rounds; turn++) {
      found.push(await backlog.seal(inventEntries(sizes.small)));
    }
    progress(`${size} sealed entries: ${found.map((rate) => round(rate, 0)).join(', ')}/s`);
    rates.push(median(found));
  }
  const [small = Number.NaN, large = Number.NaN] = rates;
  return round(large / small);
}
