import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { constants, writeSync } from 'node:fs';
import { open, readFile, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { until } from '../../../app/dev/processes/until.ts';
import { forEachLine } from '../../../app/dev/processes/log-lines.ts';
import { fillBytes, removeFiller } from '../../support/documents/tmpfs.ts';
import type { Condition } from './condition.ts';

const run = promisify(execFile);
const processes = ['app', 'signer'] as const;
const usual = { health: [], alerts: [], refusals: [] };

/** Lets app and signer write their output to these files. */
const into = (fileOf: (name: string) => string) => ({
  app: { output: fileOf('app') },
  signer: { output: fileOf('signer') },
});

/** Returns the number of lines that a log says were dropped; undefined if it does not say so. */
function findDropped(lines: readonly string[]): number | undefined {
  for (const line of lines) {
    const [, count] = /"dropped":(\d+)/.exec(line) ?? [];
    if (count !== undefined) return Number(count);
  }
  return undefined;
}

const full: Condition = {
  ...usual,
  name: 'standard output is a full disk',
  restarted: ({ logMount }) => into((name) => join(logMount, name)),
  begin: ({ logMount }) => fillBytes(logMount),
  async end({ logMount }) {
    await removeFiller(logMount);
    const read = async () => (await readFile(join(logMount, 'app'), 'utf8')).split('\n');
    const count = await until(async () => findDropped(await read()), {
      what: 'the log to tell how many lines were dropped',
      timeoutMs: 60_000,
    });
    return `the log tells that ${count} lines were dropped`;
  },
};

/** A named pipe for the output of each process, which its creator opens and does not read. */
async function createPipes(directory: string) {
  const id = randomUUID();
  const pathOf = (name: string) => join(directory, `${name}-${id}`);
  const ends: FileHandle[] = [];
  for (const path of processes.map(pathOf)) {
    await run('mkfifo', [path]);
    ends.push(await open(path, constants.O_RDWR | constants.O_NONBLOCK));
  }
  return {
    pathOf,
    close: () => Promise.all(ends.map((end) => end.close())),
    fill() {
      for (const { fd } of ends) fillPipe(fd);
    },
  };
}

function fillPipe(fd: number): void {
  for (;;) {
    try {
      writeSync(fd, '\n'.repeat(4_096));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return;
      throw error;
    }
  }
}

type Pipes = Awaited<ReturnType<typeof createPipes>>;

function unread(): Condition {
  let pipes: Pipes | undefined;
  return {
    ...usual,
    name: 'nobody reads standard output',
    async restarted({ directory }) {
      pipes = await createPipes(directory);
      pipes.fill();
      return into(pipes.pathOf);
    },
    begin: () => Promise.resolve(),
    async end() {
      const lines: string[] = [];
      const reader = spawn('cat', [pipes?.pathOf('app') ?? ''], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      forEachLine(reader.stdout, (line) => lines.push(line));
      const now = `"time":"${new Date().toISOString()}`;
      try {
        // The lines of before are read first.
        const isRead = () => lines.some((line) => (/"time":"[^"]*/.exec(line)?.[0] ?? '') > now);
        await until(isRead, { what: 'the present log lines', timeoutMs: 60_000 });
        const waited = lines.filter((line) => line !== '').length;
        return `${waited} log lines were read later, ${findDropped(lines) ?? 0} were dropped`;
      } finally {
        reader.kill();
        await pipes?.close();
      }
    },
  };
}

function closed(): Condition {
  let pipes: Pipes | undefined;
  return {
    ...usual,
    name: 'standard output is closed',
    async restarted({ directory }) {
      pipes = await createPipes(directory);
      return into(pipes.pathOf);
    },
    // Without a reader, each write fails with EPIPE.
    begin: () => pipes?.close() ?? Promise.resolve(),
    end: () => Promise.resolve(),
  };
}

export const outputs: readonly Condition[] = [full, unread(), closed()];
