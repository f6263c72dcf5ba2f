import { once } from 'node:events';
import test from 'ava';
import { peakMemoryBytes, resetPeakMemory } from '../../support/processes/process-figures.ts';
import { openSocket } from '../../support/http/raw-http.ts';
import { createApi } from '../../support/documents/uploads.ts';
import { bytesOf, MiB } from '../../support/documents/files.ts';
import { startReplica } from '../../support/documents/replica.ts';
import { startVault } from '../../support/vault/vault.ts';
import {
  documentPart,
  filePart,
  formEnd,
  partHead,
  startForm,
} from '../../documents/form-upload/forms.ts';

const forms = 4;
const fileBytes = 128 * MiB;
/**
 * MiB that forms may add: two parts of 8 MiB a form, and garbage not yet collected. The files
 * together have 512 MiB.
 */
const formsMiB = 300;
/** MiB that downloads may add, mostly garbage not yet collected. They send 1,024 MiB together. */
const downloadsMiB = 200;

const zeros = Buffer.alloc(MiB);

const onLinux = process.platform === 'linux' ? test : test.skip;

onLinux('forms and downloads stream files through the process, not into memory', async (t) => {
  t.timeout(180_000);
  const vault = await startVault();
  t.teardown(() => vault.stop());
  const api = await createApi(vault);
  const replica = await startReplica(vault);
  t.teardown(() => replica.process.stop());
  const { pid } = replica.process;

  /** Returns by how many MiB the work raised the peak memory of the process. */
  async function growth(work: () => Promise<void>): Promise<number> {
    resetPeakMemory(pid);
    const before = peakMemoryBytes(pid);
    await work();
    return Math.round((peakMemoryBytes(pid) - before) / MiB);
  }

  async function send(bytes: number): Promise<string> {
    const { request, answer } = startForm(replica.baseUrl, api);
    const document = documentPart();
    request.write(`${partHead(document)}${String(document[1])}\r\n${partHead(filePart(''))}`);
    for (let sent = 0; sent < bytes; sent += MiB) {
      if (!request.write(sent === 0 ? bytesOf(MiB) : zeros)) await once(request, 'drain');
    }
    request.end(formEnd);
    const { status, body } = await answer;
    t.is(status, 201, JSON.stringify(body));
    return String(body.id);
  }

  // Starts the hashing threads before the measurement.
  await Promise.all([send(MiB), send(MiB)]);
  let ids: string[] = [];
  const uploading = await growth(async () => {
    ids = await Promise.all(Array.from({ length: forms }, () => send(fileBytes)));
  });
  t.log(`${forms} forms of ${fileBytes / MiB} MiB: ${uploading} MiB more memory at the peak`);
  t.true(uploading < formsMiB);

  const authorization = `Bearer ${api.token}`;
  const downloading = await growth(async () => {
    const idle = await Promise.all(ids.map(() => openSocket(replica.baseUrl)));
    for (const [index, socket] of idle.entries()) {
      socket.write(
        `GET /v1/documents/${ids[index]}/download HTTP/1.1\r\nHost: a\r\n` +
          `Authorization: ${authorization}\r\n\r\n`,
      );
      await once(socket, 'readable');
    }
    await Promise.all(
      ids.map(async (id) => {
        const url = `${replica.baseUrl}/v1/documents/${id}/download`;
        const response = await fetch(url, { headers: { authorization } });
        let received = 0;
        for await (const chunk of response.body ?? []) received += chunk.length;
        t.is(received, fileBytes);
      }),
    );
    for (const socket of idle) socket.destroy();
  });
  t.log(`${2 * forms} downloads, half of them not read: ${downloading} MiB more at the peak`);
  t.true(downloading < downloadsMiB);
});
