import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fillBytes, fillInodes, removeFiller } from '../../support/documents/tmpfs.ts';
import type { Condition } from './condition.ts';
import type { Stage } from './stage.ts';

const run = promisify(execFile);
const remount = ({ storeMount }: Stage, options: string) =>
  run('mount', ['-o', `remount,${options}`, storeMount]);

const full = {
  health: ['storage full'],
  alerts: ['storage_full'],
  refusals: ['503 storage_full', '503 storage_unavailable'],
};

export const storage: readonly Condition[] = [
  {
    ...full,
    name: 'the object store is full',
    begin: ({ storeMount }) => fillBytes(storeMount),
    end: ({ storeMount }) => removeFiller(storeMount),
  },
  {
    ...full,
    name: 'the object store has no inodes',
    begin: ({ storeMount }) => fillInodes(storeMount),
    end: ({ storeMount }) => removeFiller(storeMount),
  },
  {
    ...full,
    name: 'the object store is read only',
    begin: (stage) => remount(stage, 'ro'),
    end: async (stage) => void (await remount(stage, 'rw')),
    alerts: [],
  },
];
