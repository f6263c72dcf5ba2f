import { createHash, randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { CredentialMethod } from '../../db/tables/accounts.ts';
import { AppError } from '../../errors/app-error.ts';
import { pad } from '../../srp/group.ts';
import type { ServerSession } from '../../srp/srp.ts';

/** Seconds that a client has between challenge and login proof. */
export const srpSessionSeconds = 120;

const Stored = z.object({
  accountId: z.string(),
  /** Earlier releases, which support only `password`, store sessions without this field. */
  method: z.enum(['password', 'recovery']).default('password'),
  clientPublic: z.string(),
  serverPublic: z.string(),
  privateKey: z.string(),
});

/** An SRP session that waits for the client's login proof. */
export interface PendingProof extends ServerSession {
  readonly accountId: string;
  readonly method: CredentialMethod;
}

/** An SRP session that was taken from the store, and can be returned to it. */
interface TakenSession extends PendingProof {
  /** Returns the session, which expires as if it had not been taken. */
  readonly putBack: () => Promise<void>;
}

export type SrpSessions = ReturnType<typeof createSrpSessions>;

/**
 * Creates the store of SRP sessions. They are in Redis, so that any replica can check the login
 * proof. All methods throw cache_unavailable while Redis is unavailable.
 */
export function createSrpSessions(redis: Redis) {
  return {
    /** Stores an SRP session, and resolves with the id of the session. */
    async add(session: PendingProof): Promise<string> {
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

    /**
     * Removes and returns an SRP session, so that the session serves only one attempt. Returns
     * undefined if the session is unknown or has expired.
     */
    async take(sessionId: string): Promise<TakenSession | undefined> {
      const key = sessionKey(sessionId);
      const taken = await orUnavailable(redis.multi().pexpiretime(key).getdel(key).exec());
      const [expiresAt, text] = (taken ?? []).map(([, value]) => value);
      if (typeof text !== 'string') return undefined;
      const stored = Stored.parse(JSON.parse(text));
      return {
        putBack: async () =>
          void (await orUnavailable(redis.set(key, text, 'PXAT', Number(expiresAt)))),
        accountId: stored.accountId,
        method: stored.method,
        clientPublic: BigInt(`0x${stored.clientPublic}`),
        serverPublic: BigInt(`0x${stored.serverPublic}`),
        privateKey: Buffer.from(stored.privateKey, 'base64'),
      };
    },

    /** Finds the id of the newest session that a client began with this public value A. */
    async findByClientPublic(clientPublic: bigint): Promise<string | undefined> {
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

async function orUnavailable<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (cause) {
    throw new AppError('cache_unavailable', { cause });
  }
}
