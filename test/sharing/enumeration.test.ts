import anyTest, { type TestFn } from 'ava';
import { createAuditTrail } from '../../app/audit-trail/audit-trail.ts';
import { openDatabase } from '../../app/db/database.ts';
import { AppError } from '../../app/errors/app-error.ts';
import { createRecipients } from '../../app/sharing/recipients.ts';
import { createSenderBlocks } from '../../app/sharing/blocks/blocks.ts';
import { createStatements } from '../../app/statements/statements.ts';
import { createSharing } from '../../app/sharing/sharing.ts';
import { storeDocument } from '../support/documents/documents.ts';
import { startReplica } from '../limits/replica.ts';
import { testStack, testIssuer } from '../support/vault/stack.ts';
import { unlimited } from '../support/vault/unlimited.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import {
  aShare,
  createPerson,
  createRecipient,
  strangersAddress,
} from '../support/documents/people.ts';
import { recordStatements } from './statements.ts';
import { serviceRequest } from '../support/http/service-request.ts';
import { createAct } from '../../app/audit-trail/act.ts';

const test = anyTest as TestFn<{ vault: TestVault }>;

test.before(async (t) => {
  t.context.vault = await startReadyVault();
});
test.after.always((t) => t.context.vault.stop());

test('known and unknown recipients cost the same statements, at first and later', async (t) => {
  const { vault } = t.context;
  const { api, userId } = await createPerson(vault);
  const { email } = await createRecipient(t, vault);
  const open = await openDatabase(vault.config.database);
  t.teardown(() => open.close());
  const { db, take } = recordStatements(open);
  const { limits } = startReplica(t, testStack().redisUrl, undefined);
  const clock = () => new Date();
  const keys = { get: () => Buffer.alloc(32, 1), isReady: () => true };
  const recipients = createRecipients({ db, keys, limits, plans: unlimited });
  const audit = createAuditTrail({
    issuer: testIssuer,
    assertClock: () => undefined,
    clock,
    isBacklogFull: () => false,
    onCommitted: () => undefined,
  });
  const act = createAct({ db, audit, plans: unlimited });
  const senderBlocks = createSenderBlocks({ db, act });
  const { issuer } = vault.config.auth;
  const statements = createStatements({ issuer, clock });
  const sharing = createSharing({ db, act, statements, recipients, senderBlocks, clock });
  const caller = { ...api.caller, userId, issuer, expiresAt: new Date() };
  const request = serviceRequest(caller);

  /** Returns the statements of every operation that names a recipient. */
  async function live(recipientEmail: string): Promise<string[][]> {
    const all: string[][] = [];
    const { id } = await storeDocument(t, api);
    const input = { wrappedKey: aShare.wrappedKey, permissions: ['read' as const] };
    for (const operate of [
      () => recipients.find(request, recipientEmail),
      () => recipients.find(request, recipientEmail),
      () => sharing.share(request, id, { ...input, recipientEmail }),
      () => sharing.share(request, id, { ...input, recipientEmail }),
      async () => {
        const { shares } = await sharing.list(request, id, { limit: 10 });
        await sharing.unshare(request, { id, shareId: shares[0]?.id ?? '', stated: undefined });
      },
    ]) {
      const outcome = await operate().then(
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
