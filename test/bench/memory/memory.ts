import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { randomBytes } from '@noble/hashes/utils.js';
import { createMemory } from '../../../client/memory/create-memory.ts';
import type { Memory } from '../../../client/memory/memory.ts';
import { openMemoryFile } from '../../../client/node/memory-file.ts';
import { median, round, type Bench } from '../harness/bench.ts';

const documents = 10_000;
const rounds = 15;
/** Opening the file of so many documents may take this long. */
const limitMs = 100;

/** This device is the user's only one. */
const nothing = async () => {};
const withNobody = { read: nothing, exchange: nothing, restart: nothing };

/** Measures the openings in a second of the memory file of 10,000 documents. */
export const benchMemory: Bench = async (progress) => {
  const directory = await mkdtemp(path.join(tmpdir(), 'memory-'));
  const file = path.join(directory, 'memory');
  const masterKey = randomBytes(32);

  async function use(work: (memory: Memory) => Promise<unknown>): Promise<void> {
    await using store = await openMemoryFile(file);
    const memory: Memory = createMemory({
      store,
      openKeys: () => memory.lookAtKeys().sawMasterKeys({ masterKey }, 'password'),
      exchange: withNobody,
    });
    await work(memory);
  }

  try {
    await use(async (memory) => {
      for (let count = 0; count < documents; count += 1) {
        const metadataHash = Buffer.from(randomBytes(32)).toString('hex');
        await memory.madeDocument(randomUUID(), { version: 1, change: 0, metadataHash });
      }
    });
    const times: number[] = [];
    for (let count = 0; count < rounds; count += 1) {
      const startedAt = performance.now();
      await use((memory) => memory.look());
      times.push(performance.now() - startedAt);
      progress(`${round(times.at(-1) ?? 0, 1)} ms`);
    }
    const [ours, reference] = [round(1_000 / median(times), 1), 1_000 / limitMs];
    return { ours, reference, unit: '1/s', ratio: round(ours / reference), rounds };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
};
