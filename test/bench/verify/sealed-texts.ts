import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { createAuditTrail } from '../../../app/audit-trail/audit-trail.ts';
import { openDatabase, type Owner } from '../../../app/db/database.ts';
import type { DatabaseUrls } from '../../../app/dev/postgres/database.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { composeSealedText, type StoredText } from '../../../app/proof/sealed-text.ts';
import { testIssuer } from '../../support/vault/stack.ts';

/** An audit entry with the vault's signature. */
export interface SealedText {
  readonly id: string;
  readonly text: Buffer;
  readonly signature: Buffer;
  /** The public key as SPKI DER. */
  readonly publicKey: Buffer;
}

/** Appends entries of the owner as the app does, and waits until the signer has signed them all. */
export async function sealTexts(
  { app, service }: DatabaseUrls,
  owner: Owner,
  count: number,
): Promise<SealedText[]> {
  const db = await openDatabase({ url: app, serviceUrl: service, poolSize: 1 });
  const audit = createAuditTrail({
    issuer: testIssuer,
    assertClock: () => undefined,
    clock: () => new Date(),
    isBacklogFull: () => false,
    onCommitted: () => undefined,
  });
  try {
    await db.asUser(owner, async (tx) => {
      for (let made = 0; made < count; made += 1) {
        await audit.append(tx, {
          action: 'document.created',
          actor: { type: 'user', id: owner.userId },
          owner,
          resource: { type: 'document', id: randomUUID() },
          requestId: randomUUID(),
          data: { fileHash: 'ab'.repeat(32), size: made },
        });
      }
    });
  } finally {
    await db.close();
  }
  return until(
    async () => {
      const texts = await readSealed(service, owner);
      return texts.length === count && texts;
    },
    { what: `${count} signatures`, timeoutMs: 120_000, intervalMs: 500 },
  );
}

async function readSealed(url: string, { userId }: Owner): Promise<SealedText[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<StoredText & Record<'id' | 'signature' | 'key', string>>(
      `select id, canonical, sealed_at, late, signature, public_key as key
       from audit_entries join signing_keys using (key_id) where user_id = $1`,
      [userId],
    );
    return rows.map(({ id, signature, key, ...stored }) => ({
      id,
      text: Buffer.from(composeSealedText(stored)),
      signature: Buffer.from(signature, 'base64'),
      publicKey: Buffer.from(key, 'base64'),
    }));
  } finally {
    await client.end();
  }
}
