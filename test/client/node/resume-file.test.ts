import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import test from 'ava';
import { openResumeFile, resumePath } from '../../../client/node/resume-file.ts';
import type { ResumeRecord } from '../../../client/uploads/resume.ts';

const records: ResumeRecord[] = [
  {
    type: 'start',
    format: 3,
    documentId: randomUUID(),
    version: 1,
    idempotencyKey: randomUUID(),
    wrappedKey: 'AAAA',
    header: 'AAAA',
    plaintextSize: 10,
    encryptedSize: 110,
    partSize: 5,
    totalParts: 2,
  },
  { type: 'created', sessionId: randomUUID() },
  { type: 'part', number: 1, sha256: 'ab' },
  { type: 'sent', number: 1 },
  { type: 'completed', storagePath: 'there/file.bin' },
];

async function temporaryPath(): Promise<string> {
  return resumePath(await mkdtemp(join(tmpdir(), 'resume-')), 'evidence.bin');
}

async function write(path: string, all = records): Promise<void> {
  await using file = await openResumeFile(path);
  for (const record of all) await file.append(record);
}

async function load(path: string): Promise<ResumeRecord[]> {
  await using file = await openResumeFile(path);
  return file.load();
}

test('appended records are there for the next upload, in order', async (t) => {
  const path = await temporaryPath();
  t.deepEqual(await load(path), []);
  await write(path);
  t.deepEqual(await load(path), records);
});

test('nobody else on the machine may read the journal', async (t) => {
  const path = await temporaryPath();
  await write(path);
  t.is((await stat(path)).mode & 0o777, 0o600);
});

test('a record truncated by a crash is dropped, and the journal continues before it', async (t) => {
  const path = await temporaryPath();
  await write(path);
  const whole = await readFile(path);
  const ends = [...whole.keys()].filter((index) => whole[index] === 0x0a);
  for (let length = 0; length <= whole.length; length += 1) {
    await writeFile(path, whole.subarray(0, length));
    const kept = ends.filter((end) => end < length).length;
    await using file = await openResumeFile(path);
    t.deepEqual(await file.load(), records.slice(0, kept));
    await file.append(records[1] ?? t.fail());
    t.deepEqual(await file.load(), [...records.slice(0, kept), records[1]]);
  }
});

test('a damaged journal counts as empty', async (t) => {
  const path = await temporaryPath();
  for (const text of ['{}\n', 'no json\n', '\n', '{"type":"part","number":0,"sha256":""}\n']) {
    await writeFile(path, text);
    t.deepEqual(await load(path), []);
  }
});

test('a cleared journal is removed and can be started again', async (t) => {
  const path = await temporaryPath();
  await using file = await openResumeFile(path);
  await file.append(records[0] ?? t.fail());
  await file.clear();
  await file.clear();
  t.deepEqual(await file.load(), []);
  await file.append(records[0] ?? t.fail());
  t.deepEqual(await file.load(), records.slice(0, 1));
});

test('two uploads never hold the same journal, and each leaves it for the next', async (t) => {
  const path = await temporaryPath();
  const first = await openResumeFile(path);
  await t.throwsAsync(openResumeFile(path), { code: 'resume_in_use' });
  await first[Symbol.asyncDispose]();
  t.deepEqual(await load(path), []);
  t.deepEqual(await readdir(dirname(path)), []);
});

test('at most one of many concurrent uploads gets a journal', async (t) => {
  const path = await temporaryPath();
  const opened = await Promise.allSettled(Array.from({ length: 8 }, () => openResumeFile(path)));
  const holders = opened.filter(({ status }) => status === 'fulfilled');
  t.true(holders.length <= 1);
});

test('the journal of a killed process can be taken over, and no sooner', async (t) => {
  const path = await temporaryPath();
  const module = new URL('../../../client/node/resume-file.ts', import.meta.url);
  const program = `
    import { openResumeFile } from ${JSON.stringify(module.href)};
    const file = await openResumeFile(${JSON.stringify(path)});
    for (const record of ${JSON.stringify(records)}) await file.append(record);
    console.log('appended');
    setInterval(() => {}, 1000);
  `;
  const holder = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(holder, 'exit');
  try {
    await once(createInterface(holder.stdout), 'line');
    await t.throwsAsync(openResumeFile(path), { code: 'resume_in_use' });
  } finally {
    holder.kill('SIGKILL');
    await exited;
  }
  t.deepEqual(await load(path), records);
});
