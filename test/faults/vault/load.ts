import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { decodeJwt } from 'jose';
import { blobSource } from '../../../client/files/byte-source.ts';
import { VaultError } from '../../../client/errors/vault-error.ts';
import { createRepeatedLogin } from './login.ts';
import type { User } from './user.ts';

export type Action = 'login' | 'store' | 'certify' | 'read';

/** The results of a load so far. */
export interface LoadReport {
  readonly succeeded: Record<Action, number>;
  /** Counts the 503 responses with Retry-After to actions that need the signer. */
  readonly postponed: Record<Action, number>;
  /** All other failures. */
  readonly failures: string[];
  /** Ids of the login sessions that logins opened. */
  readonly loginIds: string[];
}

export interface Load {
  readonly report: LoadReport;
  /** Stops the load, and resolves once every action in progress has ended. */
  stop(): Promise<void>;
}

/** Actions that need a signature: while the signer is down they get a 503. */
const needsSigner: ReadonlySet<Action> = new Set(['login', 'certify']);
const maxFileBytes = 200_000;

/**
 * Starts a load: each user logs in, stores and certifies documents and reads, all concurrently,
 * until stopped.
 * @param random Returns a number from 0 to 1, which decides the sizes of the files.
 * @param paceMs Milliseconds between two actions of a kind.
 */
export function startLoad(
  baseUrl: string,
  users: readonly User[],
  random: () => number,
  paceMs = 20,
): Load {
  const zero = { login: 0, store: 0, certify: 0, read: 0 };
  const report: LoadReport = {
    succeeded: { ...zero },
    postponed: { ...zero },
    failures: [],
    loginIds: [],
  };
  const stopping = new AbortController();
  const certifying = new Set<Promise<unknown>>();

  async function perform<T>(action: Action, work: () => Promise<T>): Promise<T | undefined> {
    try {
      const result = await work();
      report.succeeded[action] += 1;
      return result;
    } catch (error) {
      if (needsSigner.has(action) && isPostponed(error)) report.postponed[action] += 1;
      else report.failures.push(`${action}: ${describe(error)}`);
      return undefined;
    }
  }

  async function repeat(work: () => Promise<unknown>): Promise<void> {
    while (!stopping.signal.aborted) {
      await work();
      await delay(paceMs);
    }
  }

  function run(user: User): Promise<unknown> {
    const { session, masterKey } = user;
    const login = createRepeatedLogin(baseUrl, user, user.fetch);
    const store = () => {
      const bytes = randomBytes(1 + Math.floor(random() * maxFileBytes));
      const source = blobSource(new Blob([bytes]));
      return session.storeDocument({
        source,
        masterKey,
        name: 'evidence.bin',
        mediaType: 'application/octet-stream',
      });
    };
    const read = async () => {
      for await (const { id } of session.documents.list({ pageSize: 5 })) {
        await session.documents.get(id);
        return;
      }
    };
    return Promise.all([
      repeat(async () => {
        const token = await perform('login', login);
        if (token === undefined) return;
        report.loginIds.push(String(decodeJwt(token)['sid']));
        await logOut(baseUrl, token);
      }),
      repeat(async () => {
        const document = await perform('store', store);
        // A certification waits seconds for an absent signer, so others are stored meanwhile.
        if (document === undefined) return;
        certifying.add(perform('certify', () => session.documents.certify(document.id)));
      }),
      repeat(() => perform('read', read)),
    ]);
  }

  const running = users.map(run);
  return {
    report,
    async stop() {
      stopping.abort();
      await Promise.all(running);
      await Promise.all(certifying);
    },
  };
}

/**
 * Ends a login session if the vault answers, since a user has only so many: a further login would
 * end the session in which the user works.
 */
async function logOut(baseUrl: string, token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const sent = fetch(`${baseUrl}/v1/auth/logout`, { method: 'POST', headers });
  await sent.then((response) => response.body?.cancel()).catch(() => undefined);
}

function isPostponed(error: unknown): boolean {
  return (
    error instanceof VaultError && error.status === 503 && error.retryAfterSeconds !== undefined
  );
}

function describe(error: unknown): string {
  if (error instanceof VaultError) return `${error.status} ${error.code}`;
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message} (${describe(error.cause)})`;
}
