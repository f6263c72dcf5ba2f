import { createHash, randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { CredentialMethod } from '../../db/tables/accounts.ts';
import { AppError } from '../../errors/app-error.ts';
import { pad } from '../../srp/group.ts';
import type { ServerSession } from '../../srp/srp.ts';

/** Seconds from challenge to proof. */
export const srpSessionSeconds = 120;

const Stored = z.object({
  accountId: z.string(),
  /** Left out by releases that knew no other. */
  method: z.enum(['password', 'recovery']).default('password'),
  clientPublic: z.string(),
  serverPublic: z.string(),
  privateKey: z.string(),
});

/** Whose proof is awaited, and of what. */
export interface PendingProof extends ServerSession {
  readonly accountId: string;
  readonly method: CredentialMethod;
}

/** SRP sessions under way, in Redis: any replica may take the proof. */
export interface SrpSessions {
  /** Answers the session's id. Throws cache_unavailable. */
  add(session: PendingProof): Promise<string>;
  /** Takes a session out, so that it serves one attempt; undefined when unknown or expired. */
  take(sessionId: string): Promise<PendingProof | undefined>;
  /** The id of the newest session begun with this A. */
  findByClientPublic(clientPublic: bigint): Promise<string | undefined>;
}

export function createSrpSessions(redis: Redis): SrpSessions {
  return {
    async add(session) {
      const id = randomUUID();
      const value: z.input<typeof Stored> = {
        accountId: session.accountId,
        method: session.method,
        clientPublic: session.clientPublic.toString(16),
        serverPublic: session.serverPublic.toString(16),
        privateKey: session.privateKey.toString('base64'),
      };
      await orUnavailable(
        redis
          .multi()
          .set(sessionKey(id), JSON.stringify(value), 'EX', srpSessionSeconds)
          .set(publicKey(session.clientPublic), id, 'EX', srpSessionSeconds)
          .exec(),
      );
      return id;
    },
    async take(sessionId) {
      const text = await orUnavailable(redis.getdel(sessionKey(sessionId)));
      if (text === null) return undefined;
      const stored = Stored.parse(JSON.parse(text));
      return {
        accountId: stored.accountId,
        method: stored.method,
        clientPublic: BigInt(`0x${stored.clientPublic}`),
        serverPublic: BigInt(`0x${stored.serverPublic}`),
        privateKey: Buffer.from(stored.privateKey, 'base64'),
      };
    },
    async findByClientPublic(clientPublic) {
      return (await orUnavailable(redis.get(publicKey(clientPublic)))) ?? undefined;
    },
  };
}

function sessionKey(id: string): string {
  return `srp:session:${id}`;
}

function publicKey(clientPublic: bigint): string {
  return `srp:a:${createHash('sha256').update(pad(clientPublic)).digest('hex')}`;
}

async function orUnavailable<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    throw new AppError('cache_unavailable', { cause });
  }
}
