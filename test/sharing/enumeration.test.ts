import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { createAuditTrail } from '../../app/trail/trail.ts';
import { openDatabase } from '../../app/db/database.ts';
import { AppError } from '../../app/errors/errors.ts';
import { createRecipients } from '../../app/sharing/recipients.ts';
import { createSharing } from '../../app/sharing/sharing.ts';
import { storeDocument } from '../support/documents/documents.ts';
import { startReplica } from '../limits/replica.ts';
import { testStack } from '../support/vault/stack.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import {
  aShare,
  createPerson,
  createRecipient,
  strangersAddress,
} from '../support/documents/people.ts';
import { recordStatements } from './statements.ts';

const test = anyTest as TestFn<{ vault: TestVault }>;

test.before(async (t) => {
  t.context.vault = await startReadyVault();
});
test.after.always((t) => t.context.vault.stop());

test('a recipient and nobody cost the same statements, at the first time and later', async (t) => {
  const { vault } = t.context;
  const { api, userId } = await createPerson(vault);
  const { email } = await createRecipient(t, vault);
  const open = await openDatabase(vault.config.database);
  t.teardown(() => open.close());
  const { db, take } = recordStatements(open);
  const { limits } = startReplica(t, testStack().redisUrl, undefined);
  const clock = () => new Date();
  const keys = { get: () => Buffer.alloc(32, 1), isReady: () => true };
  const recipients = createRecipients({ db, keys, limits });
  const audit = createAuditTrail({
    clock,
    isBacklogFull: () => false,
    onCommitted: () => undefined,
  });
  const sharing = createSharing({ db, audit, recipients, clock });
  const { issuer } = vault.config.auth;
  const caller = { ...api.caller, userId, issuer, expiresAt: new Date() };

  /** The statements of everything that names a recipient. */
  async function live(address: string): Promise<string[][]> {
    const all: string[][] = [];
    const { id } = await storeDocument(t, api);
    const input = { wrappedKey: aShare.wrappedKey, permissions: ['read' as const] };
    for (const act of [
      () => recipients.find(caller, address),
      () => recipients.find(caller, address),
      () => sharing.share(caller, id, { ...input, recipientEmail: address }, randomUUID()),
      () => sharing.share(caller, id, { ...input, recipientEmail: address }, randomUUID()),
      async () => {
        const { shares } = await sharing.list(caller, id, { limit: 10 });
        await sharing.unshare(caller, { id, shareId: shares[0]?.id ?? '' }, randomUUID());
      },
    ]) {
      const outcome = await act().then(
        () => 'done',
        (error: unknown) => (error instanceof AppError ? error.code : String(error)),
      );
      all.push([outcome, ...take()]);
    }
    return all;
  }

  const known = await live(email);
  t.deepEqual(
    known.map(([outcome]) => outcome),
    ['done', 'done', 'done', 'share_exists', 'done'],
  );
  t.true(known.flat().some((statement) => statement.includes('share_recipients')));
  t.deepEqual(await live(strangersAddress()), known);
});
