import { cp, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { until } from '../../app/dev/processes/until.ts';
import { createOwnToken } from '../keys/keys-vault.ts';
import { startSigner } from '../support/audit/token-fixture.ts';
import { testStack } from '../support/vault/stack.ts';
import { createDrillVault, untilAllSealed, type Parts } from './drill-vault.ts';

/** Backups of one vault of two moments, between which entries were sealed and the audit key exchanged. */
export interface Backups {
  readonly older: Parts;
  readonly newer: Parts;
  /** Of the key that the older token lacks. */
  readonly exchangedKeyId: string;
  remove(): Promise<void>;
}

export const sealedBetween = 7;

/** Stores are kept where the database's name says; each part is copied when it is used. */
export async function makeBackups(): Promise<Backups> {
  await using resources = new AsyncDisposableStack();
  const t = {
    teardown: (end: () => unknown) =>
      resources.defer(async () => {
        await end();
      }),
  };
  const token = await createOwnToken();
  resources.defer(token.remove);
  const { fixture } = token;
  const inside = (name: string) => path.join(fixture.directory, name);
  const { SIGNER_SOCKET_PATH: newToken } = fixture.environment;
  const first = await createDrillVault(t, {
    database: testStack().templateDatabase,
    store: undefined,
    token: newToken,
  });

  const vault = await first.start();
  await vault.seal(5);
  await first.untilMarked();
  await vault.stop();
  const older = await createDrillVault(t, {
    database: first.database,
    store: first.storeDirectory,
    token: newToken,
  });
  await cp(inside('tokens'), inside('older-tokens'), { recursive: true });

  const later = await first.start();
  await later.seal(sealedBetween);
  const { keyRotation } = later.services;
  const operator = { requestedBy: 'test', requestId: null };
  const exchangedKeyId = await keyRotation.create('audit', operator);
  await untilAllSealed(first.sql);
  await keyRotation.activate(exchangedKeyId, { ...operator, predecessorLost: false });
  await untilAllSealed(first.sql);
  await first.untilMarked();
  await later.stop();

  const configuration = inside('older.conf');
  await writeFile(configuration, `directories.tokendir = ${inside('older-tokens')}\n`);
  await mkdir(inside('older'));
  const olderToken = path.join(inside('older'), 'signer.sock');
  const olderSigner = await startSigner(fixture, {
    SOFTHSM2_CONF: configuration,
    SIGNER_SOCKET_PATH: olderToken,
  });
  resources.defer(async () => void (await olderSigner.stop()));
  await until(async () => (await olderSigner.client.health()).token === 'ready', {
    what: 'the older token',
    timeoutMs: 20_000,
  });
  const made = resources.move();
  return {
    older: { database: older.database, store: older.storeDirectory, token: olderToken },
    newer: { database: first.database, store: first.storeDirectory, token: newToken },
    exchangedKeyId,
    remove: () => made.disposeAsync(),
  };
}
