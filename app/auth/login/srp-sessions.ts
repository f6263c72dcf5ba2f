import { createHash, randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { CredentialMethod } from '../../db/tables/accounts.ts';
import type { RowCipher, RowName } from '../../encryption/row-cipher.ts';
import { AppError } from '../../errors/app-error.ts';
import { pad } from '../../srp/group.ts';
import type { ServerSession } from '../../srp/srp.ts';

/** Seconds that a client has between challenge and login proof. */
export const srpSessionSeconds = 120;

const Stored = z.object({
  accountId: z.string(),
  method: z.enum(['password', 'recovery']),
  clientPublic: z.string(),
  serverPublic: z.string(),
  /** The generation of the key that encrypts `privateKey`. */
  generation: z.int(),
  privateKey: z.string(),
});
type Stored = z.output<typeof Stored>;

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

interface SrpSessionsOptions {
  readonly redis: Redis;
  readonly cipher: RowCipher;
}

/**
 * Creates the store of SRP sessions. They are in Redis, so that any replica can check the login
 * proof. The secret exponent is encrypted: together with B, it would reveal the verifier. All
 * methods throw cache_unavailable while Redis is unavailable, and signer_unavailable while this
 * process lacks the key.
 */
export function createSrpSessions({ redis, cipher }: SrpSessionsOptions) {
  async function decrypt(id: string, { generation, ...stored }: Stored): Promise<Buffer> {
    const { privateKey } = stored;
    const opened = cipher.decrypt(rowOf(id, stored), { generation, values: { privateKey } });
    return Buffer.from(opened.privateKey, 'base64');
  }

  return {
    /** Stores an SRP session, and resolves with the id of the session. */
    async add(session: PendingProof): Promise<string> {
      const id = randomUUID();
      const common = {
        accountId: session.accountId,
        method: session.method,
        clientPublic: session.clientPublic.toString(16),
        serverPublic: session.serverPublic.toString(16),
      };
      const { generation, values } = cipher.encrypt(rowOf(id, common), {
        privateKey: session.privateKey.toString('base64'),
      });
      const value: Stored = { ...common, generation, ...values };
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
      const putBack = async () =>
        void (await orUnavailable(redis.set(key, text, 'PXAT', Number(expiresAt))));
      const privateKey = await decrypt(sessionId, stored).catch(async (error: unknown) => {
        await putBack();
        throw error;
      });
      return {
        putBack,
        accountId: stored.accountId,
        method: stored.method,
        clientPublic: BigInt(`0x${stored.clientPublic}`),
        serverPublic: BigInt(`0x${stored.serverPublic}`),
        privateKey,
      };
    },

    /** Finds the id of the newest session that a client began with this public value A. */
    async findByClientPublic(clientPublic: bigint): Promise<string | undefined> {
      return (await orUnavailable(redis.get(publicKey(clientPublic)))) ?? undefined;
    },
  };
}

/** Names a session for the cipher, so that b serves no other session, account, method or A. */
function rowOf(
  id: string,
  { accountId, method, clientPublic }: Pick<Stored, 'accountId' | 'method' | 'clientPublic'>,
): RowName {
  return { table: 'srp:session', key: [id, accountId, method, clientPublic] };
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
