import test, { type ExecutionContext } from 'ava';
import { numberFrom } from '../../support/runs/rounds.ts';
import { testStack } from '../../support/vault/stack.ts';
import { peakMemoryBytes } from '../../support/processes/process-figures.ts';
import { createAccount, logIn } from '../vault/user.ts';
import { hashWithOpenssl, storeParts } from '../uploads/store-parts.ts';
import { startVaultProcesses } from '../../support/processes/vault-processes.ts';

const mebibyte = 2 ** 20;
const partBytes = 16 * mebibyte;
const smallParts = numberFrom('SMALL_MEBIBYTES', 256) / 16;
const largeParts = numberFrom('LARGE_MEBIBYTES', 512) / 16;
/** A quarter of what memory that holds the file would grow by, with the default sizes. */
const slackBytes = 64 * mebibyte;

/**
 * Returns the peak memory of a fresh app that receives one file of that many parts, eight at a
 * time, and hashes it.
 */
async function peakOfUpload(t: ExecutionContext, parts: number): Promise<number> {
  await using vault = await startVaultProcesses(testStack());
  const { session } = await logIn(vault, await createAccount(vault));
  const { fileHash, part } = await storeParts(session, { parts, partBytes, concurrency: 8 });
  const peak = peakMemoryBytes(vault.app.pid);
  t.is(fileHash, await hashWithOpenssl(part, parts), 'the hash is the one OpenSSL computes');
  return peak;
}

/**
 * Number of tries. The moment of a garbage collection moves a peak by some tens of MiB either way;
 * memory that grows with the file would show in every pair.
 */
const pairs = 3;

test('the memory of the app does not grow with the file', async (t) => {
  t.timeout(3_600_000);
  const growths: number[] = [];
  while (growths.length < pairs && !growths.some((growth) => growth <= slackBytes)) {
    const small = await peakOfUpload(t, smallParts);
    const large = await peakOfUpload(t, largeParts);
    growths.push(large - small);
    t.log(
      `${smallParts * 16} MiB: ${toMebibytes(small)}; ` +
        `${largeParts * 16} MiB: ${toMebibytes(large)}`,
    );
  }
  t.true(growths.some((growth) => growth <= slackBytes));
});

function toMebibytes(bytes: number): string {
  return `${Math.round(bytes / mebibyte)} MiB of memory`;
}
