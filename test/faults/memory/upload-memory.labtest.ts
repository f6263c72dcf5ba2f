import { once } from 'node:events';
import test from 'ava';
import { startVault } from '../../support/vault/vault.ts';
import { createApi } from '../../support/documents/uploads.ts';
import { bytesOf, MiB, openSession } from '../../support/documents/files.ts';
import { startReplica } from '../../support/documents/replica.ts';
import { startPart, type SlowPart } from '../../uploads/parts/slow-part.ts';
import { peakMemoryBytes, resetPeakMemory } from '../../support/processes/process-figures.ts';

const parts = 4;
const partBytes = 100 * MiB;

/** Writes a part as fast as the server reads it. */
async function sendBody({ request }: SlowPart): Promise<void> {
  const chunk = bytesOf(MiB);
  for (let sent = 0; sent < partBytes; sent += chunk.length) {
    if (!request.write(chunk)) await once(request, 'drain');
  }
  request.end();
}

const onLinux = process.platform === 'linux' ? test : test.skip;

onLinux('parts of 100 MiB pass through the process without staying in memory', async (t) => {
  const vault = await startVault();
  t.teardown(() => vault.stop());
  const api = await createApi(vault);
  const replica = await startReplica(vault);
  t.teardown(() => replica.process.stop());
  const { pid } = replica.process;
  const sessionId = await openSession(t, api, parts * partBytes, parts);

  resetPeakMemory(pid);
  const before = peakMemoryBytes(pid);
  const sent = Array.from({ length: parts }, (_, index) =>
    startPart(
      vault,
      api,
      `/v1/uploads/${sessionId}/parts/${index + 1}`,
      { 'content-length': partBytes },
      replica.baseUrl,
    ),
  );
  await Promise.all(sent.map(sendBody));
  for (const { answer } of sent) t.is((await answer).status, 200);
  const grownMiB = Math.round((peakMemoryBytes(pid) - before) / MiB);
  t.log(`${parts * 100} MiB in parallel parts: ${grownMiB} MiB more memory at the peak`);
  // All 400 MiB would stay; the collector of a busy machine may be late with half of them.
  t.true(grownMiB < 240);
});
