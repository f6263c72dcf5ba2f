import { fillBytes, fillInodes, remount, removeFiller } from '../../support/documents/tmpfs.ts';
import type { Condition } from './condition.ts';

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
    begin: ({ storeMount }) => remount(storeMount, 'ro'),
    end: ({ storeMount }) => remount(storeMount, 'rw'),
    alerts: [],
  },
];
