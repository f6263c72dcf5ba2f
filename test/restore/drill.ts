import { cp, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { until } from '../../app/dev/processes/until.ts';
import { createOwnToken } from '../signing-keys/keys-vault.ts';
import { startSigner } from '../support/audit/token-fixture.ts';
import { testStack } from '../support/vault/stack.ts';
import { createDrillVault, untilAllSealed, type Parts } from './drill-vault.ts';
import { serviceRequest } from '../support/http/service-request.ts';

/**
 * Backups of one vault at two moments, between which entries were sealed and the audit key was
 * rotated.
 */
export interface Backups {
  readonly older: Parts;
  readonly newer: Parts;
  /** The id of the key that the older token lacks. */
  readonly exchangedKeyId: string;
  remove(): Promise<void>;
}

export const sealedBetween = 7;

/** Creates the backups. Each part is copied when a drill uses it. */
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
  const request = serviceRequest({ internalKey: 'test' });
  const exchangedKeyId = await keyRotation.create(request, { purpose: 'audit' });
  await untilAllSealed(first.sql);
  await keyRotation.activate(request, exchangedKeyId, { predecessorLost: false });
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
    timeoutMs: 60_000,
  });
  const made = resources.move();
  return {
    older: { database: older.database, store: older.storeDirectory, token: olderToken },
    newer: { database: first.database, store: first.storeDirectory, token: newToken },
    exchangedKeyId,
    remove: () => made.disposeAsync(),
  };
}
