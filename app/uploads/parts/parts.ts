import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import type { Clock } from '../../async/clock.ts';
import type { Database } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Caller } from '../../http/requests/caller.ts';
import type { ObjectStore } from '../../storage/interface/object-store.ts';
import { StorageError } from '../../storage/interface/storage-error.ts';
import { parseContentDigest } from './content-digest.ts';
import { assertPart } from '../sessions/limits.ts';
import { declaredLength, drainBody, watchBody } from './body.ts';
import {
  assertRoom,
  claimPart,
  keepClaim,
  recordPart,
  releaseClaim,
  type PartClaim,
  type PartTarget,
  type RecordedPart,
} from './claims.ts';
import type { StoredPart } from '../sessions/schema.ts';
import {
  closedIfGone,
  countParts,
  lockOpenSession,
  type SessionRow,
} from '../sessions/session-rows.ts';

export interface Parts {
  /**
   * Receives one part. A part that is recorded already is hashed and compared, never stored again.
   * A body that breaks leaves nothing behind.
   */
  receive(caller: Caller, target: PartTarget, request: IncomingMessage): Promise<Answer>;
}

type Answer = z.input<typeof StoredPart>;

interface PartsOptions {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly clock: Clock;
}

export function createParts({ db, store, clock }: PartsOptions): Parts {
  /** Streams the body to the store under a claim and records it. */
  async function storeBody(
    caller: Caller,
    session: SessionRow,
    claim: PartClaim,
    request: IncomingMessage,
  ): Promise<Answer> {
    const size = declaredLength(request);
    const kept = keepClaim(db, caller, claim);
    watchBody(request);
    try {
      const sent = await store.putPart(
        {
          key: session.storage_key,
          uploadId: session.storage_upload_id,
          partNumber: claim.partNumber,
          size,
        },
        request,
        {
          signal: kept.lost,
          beforeEnd: (sha256) => assertDigest(request, sha256),
        },
      );
      const part = { size, ...sent };
      return await db.asUser(caller, async (tx) => {
        await recordPart(tx, claim, part, clock());
        return toAnswer(claim.partNumber, part, await countParts(tx, claim.sessionId));
      });
    } catch (error) {
      // The rest of the body runs off, so that the client hears the answer.
      request.resume();
      await releaseClaim(db, caller, claim).catch(() => undefined);
      throw toAppError(error);
    } finally {
      kept.stop();
    }
  }

  return {
    async receive(caller, target, request) {
      const { sessionId, partNumber } = target;
      const size = declaredLength(request);
      parseContentDigest(request.headers['content-digest']);
      const { session, part } = await db.asUser(caller, async (tx) => {
        const session = await lockOpenSession(tx, sessionId, clock());
        assertPart(partNumber, size, session.total_parts);
        const part = await claimPart(tx, caller, target, size);
        if ('claimId' in part) await assertRoom(tx, sessionId, session.file_size);
        return { session, part };
      });
      if ('claimId' in part) return storeBody(caller, session, part, request);
      await compareBody(part, request);
      const progress = await db.asUser(caller, (tx) => countParts(tx, sessionId));
      return toAnswer(partNumber, part, progress);
    },
  };
}

/** Throws part_conflict unless the body is the one recorded. */
async function compareBody(recorded: RecordedPart, request: IncomingMessage): Promise<void> {
  const sha256 = await drainBody(request);
  assertDigest(request, sha256);
  if (sha256 !== recorded.sha256) throw new AppError('part_conflict');
}

/** Throws digest_mismatch unless the body is the one that Content-Digest states, if it states one. */
function assertDigest(request: IncomingMessage, sha256: string): void {
  const stated = parseContentDigest(request.headers['content-digest']);
  if (stated !== undefined && stated !== sha256) throw new AppError('digest_mismatch');
}

function toAnswer(
  partNumber: number,
  { size, etag, sha256 }: RecordedPart,
  progress: { uploadedParts: number; uploadedBytes: number },
): Answer {
  return { partNumber, size, etag, checksumSha256: sha256, ...progress };
}

function toAppError(error: unknown): unknown {
  if (!(error instanceof StorageError)) return error;
  // What `beforeEnd` threw.
  if (error.cause instanceof AppError) return error.cause;
  const isShort = error.code === 'body_incomplete' || error.code === 'body_too_long';
  return isShort ? new AppError('incomplete_body', { cause: error }) : closedIfGone(error);
}
