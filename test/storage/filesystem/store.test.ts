import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { createObjectStore } from '../../../app/storage/create-store.ts';
import { objectStoreContract } from '../contract/object-store-contract.ts';

const directory = await mkdtemp(join(tmpdir(), 'object-store-'));
test.after.always(() => rm(directory, { recursive: true, force: true }));

objectStoreContract('filesystem', () => createObjectStore({ driver: 'filesystem', directory }));
