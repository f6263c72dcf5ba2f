import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import { byOwner } from '../audit/event.ts';
import type { AuditTrail } from '../audit/trail.ts';
import type { Database } from '../db/database.ts';
import { violatesUnique } from '../db/pg-error.ts';
import { AppError } from '../errors.ts';
import type { Caller } from '../http/caller.ts';
import type { CreatedEnvelope, MasterEnvelope } from './schema.ts';

const algorithm = 'AES-256-KW';
const envelopeBytes = 40;

export interface Envelopes {
  /** Stores the master key as the client wrapped it. Throws invalid_key_length or envelope_exists. */
  createMaster(
    caller: Caller,
    encryptedEnvelope: string,
    requestId: string,
  ): Promise<z.input<typeof CreatedEnvelope>>;
  /** Throws not_found. */
  getMaster(caller: Caller): Promise<z.input<typeof MasterEnvelope>>;
}

interface EnvelopesOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
}

export function createEnvelopes({ db, audit }: EnvelopesOptions): Envelopes {
  return {
    async createMaster(caller, encryptedEnvelope, requestId) {
      if (Buffer.byteLength(encryptedEnvelope, 'base64') !== envelopeBytes) {
        throw new AppError('invalid_key_length');
      }
      audit.assertWritable();
      const id = uuidv7();
      try {
        await db.asUser(caller, async (tx) => {
          await tx
            .insertInto('key_envelopes')
            .values({
              id,
              user_id: caller.userId,
              tenant_id: caller.tenantId,
              kind: 'MASTER',
              encrypted_envelope: encryptedEnvelope,
            })
            .execute();
          await audit.append(tx, {
            action: 'envelope.created',
            ...byOwner(caller, requestId),
            resource: { type: 'envelope', id },
            data: { kind: 'MASTER', version: 1 },
          });
        });
      } catch (error) {
        throw violatesUnique(error, 'key_envelopes_kind')
          ? new AppError('envelope_exists', { cause: error })
          : error;
      }
      return { id, encryptedEnvelope, algorithm, version: 1 };
    },

    getMaster: (caller) =>
      db.asUser(caller, async (tx) => {
        const row = await tx
          .selectFrom('key_envelopes')
          .selectAll()
          .where('user_id', '=', caller.userId)
          .where('kind', '=', 'MASTER')
          .executeTakeFirst();
        if (row === undefined) throw new AppError('not_found');
        return {
          id: row.id,
          encryptedEnvelope: row.encrypted_envelope,
          algorithm,
          version: row.version,
          keyring: row.keyring,
          createdAt: row.created_at,
        };
      }),
  };
}
