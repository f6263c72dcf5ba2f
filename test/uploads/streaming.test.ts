import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import test from 'ava';
import { startVault } from '../vault.ts';
import { createApi } from './api.ts';
import { bytesOf, MiB, openSession } from './files.ts';
import { startReplica } from './replica.ts';
import { startPart, type SlowPart } from './slow-part.ts';

const parts = 4;
const partBytes = 100 * MiB;

/** Writes as fast as the server takes it. */
async function sendBody({ request }: SlowPart): Promise<void> {
  const chunk = bytesOf(MiB);
  for (let sent = 0; sent < partBytes; sent += chunk.length) {
    if (!request.write(chunk)) await once(request, 'drain');
  }
  request.end();
}

/** The most memory the process ever had, in bytes, since this was last reset. */
async function peakMemory(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

const onLinux = process.platform === 'linux' ? test : test.skip;

onLinux('parts of 100 MiB pass through the process without staying in it', async (t) => {
  const vault = await startVault();
  t.teardown(() => vault.stop());
  const api = await createApi(vault);
  const replica = await startReplica(vault);
  t.teardown(() => replica.process.stop());
  const { pid } = replica.process;
  const sessionId = await openSession(t, api, parts * partBytes, parts);

  await writeFile(`/proc/${pid}/clear_refs`, '5');
  const before = await peakMemory(pid);
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
  const grownMiB = Math.round(((await peakMemory(pid)) - before) / MiB);
  t.log(`${parts * 100} MiB in parallel parts: ${grownMiB} MiB more memory at the peak`);
  t.true(grownMiB < 160);
});
