import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import type { Clock } from '../../async/clock.ts';
import type { Database } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Caller } from '../../http/requests/caller.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import type { ObjectStore } from '../../storage/interface/object-store.ts';
import { StorageError } from '../../storage/interface/storage-error.ts';
import { formatDigest, parseContentDigest } from './content-digest.ts';
import { declaredLength, drainBody, watchBody } from './body.ts';
import {
  assertFits,
  claimPart,
  keepClaim,
  recordPart,
  type PartClaim,
  type PartTarget,
  type RecordedPart,
} from './claims.ts';
import { maxPartSize } from '../sessions/limits.ts';
import type { StoredPart } from '../sessions/schema.ts';
import {
  closedIfGone,
  countParts,
  lockOpenSession,
  type SessionRow,
} from '../sessions/session-rows.ts';

type Answer = z.input<typeof StoredPart>;

interface PartsOptions {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly clock: Clock;
}

export type Parts = ReturnType<typeof createParts>;

/** Creates the service that receives the parts of uploads. */
export function createParts({ db, store, clock }: PartsOptions) {
  /** Streams the request body to the object store under a claim, and records the stored part. */
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
        await recordPart(tx, caller, claim, part, clock());
        const progress = await countParts(tx, caller, claim.sessionId);
        return toAnswer(claim.partNumber, part, progress);
      });
    } catch (error) {
      // Drains the rest of the body, so that the client can read the response.
      request.resume();
      await kept.release();
      throw toAppError(error);
    } finally {
      kept.stop();
    }
  }

  return {
    /**
     * Receives one part from `stream` and stores it. If the part is already recorded, only compares
     * the hash of the body with the recorded hash. Records nothing if the body is incomplete.
     */
    async receive(
      { caller }: ServiceRequest,
      target: PartTarget,
      stream: IncomingMessage,
    ): Promise<Answer> {
      const { sessionId, partNumber } = target;
      const size = declaredLength(stream);
      parseContentDigest(stream.headers['content-digest']);
      const { session, part } = await db.asUser(caller, async (tx) => {
        const session = await lockOpenSession(tx, caller, sessionId, clock());
        assertPartNumber(partNumber, session);
        // Checked before the claim, since the database cannot store every size.
        if (size > maxPartSize) await assertFits(tx, session, partNumber, size);
        const part = await claimPart(tx, caller, target, size);
        if ('claimId' in part) await assertFits(tx, session, partNumber, size);
        else if (part.size !== size) throw conflict(`${part.size} bytes`, `${size} bytes`);
        return { session, part };
      });
      if ('claimId' in part) return storeBody(caller, session, part, stream);
      await compareBody(part, stream);
      const progress = await db.asUser(caller, (tx) => countParts(tx, caller, sessionId));
      return toAnswer(partNumber, part, progress);
    },
  };
}

/** Throws invalid_part_number if the upload session has fewer parts. */
function assertPartNumber(partNumber: number, { total_parts: last }: SessionRow): void {
  if (partNumber <= last) return;
  const message = `must be from 1 to ${last}; ${partNumber} came`;
  const details = [{ path: 'partNumber', message }];
  throw new AppError('invalid_part_number', { details });
}

/** Throws part_conflict unless the body has the SHA-256 of the recorded part. */
async function compareBody(recorded: RecordedPart, request: IncomingMessage): Promise<void> {
  const sha256 = await drainBody(request);
  assertDigest(request, sha256);
  if (sha256 !== recorded.sha256) {
    throw conflict(formatDigest(recorded.sha256), formatDigest(sha256));
  }
}

/** Returns the error for a part that was stored with other content. */
function conflict(stored: string, came: string): AppError {
  const details = [{ path: 'body', message: `must be the stored part, ${stored}; ${came} came` }];
  return new AppError('part_conflict', { details });
}

/** Throws digest_mismatch if the Content-Digest header states another SHA-256. */
function assertDigest(request: IncomingMessage, sha256: string): void {
  const stated = parseContentDigest(request.headers['content-digest']);
  if (stated === undefined || stated === sha256) return;
  const message = `must be the digest of the body, ${formatDigest(sha256)}; another came`;
  throw new AppError('digest_mismatch', { details: [{ path: 'Content-Digest', message }] });
}

function toAnswer(
  partNumber: number,
  { size, etag, sha256 }: RecordedPart,
  progress: { readonly uploadedParts: number; readonly uploadedBytes: number },
): Answer {
  const checksumSha256 = Buffer.from(sha256, 'base64').toString('hex');
  return { partNumber, size, etag, checksumSha256, ...progress };
}

function toAppError(error: unknown): unknown {
  if (!(error instanceof StorageError)) return error;
  // The callback `beforeEnd` threw this AppError.
  if (error.cause instanceof AppError) return error.cause;
  const isShort = error.code === 'body_incomplete' || error.code === 'body_too_long';
  return isShort ? new AppError('incomplete_body', { cause: error }) : closedIfGone(error);
}
