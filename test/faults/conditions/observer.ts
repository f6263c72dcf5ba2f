import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { VaultError } from '../../../client/errors/vault-error.ts';
import { createRepeatedLogin } from '../vault/login.ts';
import type { Account } from '../vault/user.ts';
import type { Stage } from './stage.ts';

const Health = z.object({
  checks: z.record(z.string(), z.object({ error: z.string().optional() })),
});
const Alerts = z.object({ alerts: z.array(z.object({ code: z.string() })) });
const Refusal = z.object({ code: z.string() });

/** Milliseconds between two looks. */
const paceMs = 200;
/** Milliseconds between two logins, which cost more. */
const loginPaceMs = 1_000;
/** Milliseconds after which a request counts as unanswered: 10 s, and some for a busy machine. */
const limitMs = 15_000;

/** Everything that users and operators were told during a condition. */
export interface Observed {
  /** Responses to a user by status and error code, with their numbers. */
  readonly answers: ReadonlyMap<string, number>;
  /** The longest that a user waited, in milliseconds. */
  readonly slowestMs: number;
  /** Errors that `/health` reported, as `check code`. */
  readonly health: ReadonlySet<string>;
  /** Codes of the alerts. */
  readonly alerts: ReadonlySet<string>;
}

/** Users who ask and do not try again. */
export interface Watchers {
  /** The access token of a user who lists documents and begins uploads. */
  readonly token: string;
  /** An account that logs in again and again. */
  readonly guest: Account;
}

/** Asks as users and as an operator, until the returned function is called. */
export function observe(stage: Stage, { token, guest }: Watchers) {
  const { vault, internalKey } = stage;
  const { baseUrl } = vault;
  const answers = new Map<string, number>();
  const health = new Set<string>();
  const alerts = new Set<string>();
  let slowestMs = 0;
  const over = new AbortController();

  const limited: typeof fetch = (input, init) =>
    fetch(input, { ...init, signal: AbortSignal.timeout(limitMs) });
  const ask = (path: string, init: RequestInit = {}) => limited(baseUrl + path, init);
  const logIn = createRepeatedLogin(baseUrl, guest, limited);

  function count(status: number, code: string, hasRetryAfter: boolean, startedAt: number): void {
    slowestMs = Math.max(slowestMs, performance.now() - startedAt);
    const patience = status !== 503 || hasRetryAfter ? '' : ' without Retry-After';
    const answer = `${status}${code === '' ? '' : ` ${code}`}${patience}`;
    answers.set(answer, (answers.get(answer) ?? 0) + 1);
  }

  async function enter(): Promise<void> {
    const startedAt = performance.now();
    try {
      await logIn();
      count(200, '', false, startedAt);
    } catch (error) {
      if (!(error instanceof VaultError)) throw error;
      const { status, code, retryAfterSeconds } = error;
      count(status, code, retryAfterSeconds !== undefined, startedAt);
    }
  }

  async function act(path: string, body?: object): Promise<void> {
    const startedAt = performance.now();
    const response = await ask(path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.text();
    const code = response.ok ? '' : Refusal.parse(JSON.parse(text)).code;
    count(response.status, code, response.headers.has('retry-after'), startedAt);
  }

  async function look(): Promise<void> {
    const { checks } = Health.parse(await (await ask('/health')).json());
    for (const [name, { error }] of Object.entries(checks)) {
      if (error !== undefined) health.add(`${name} ${error}`);
    }
    const asked = await ask('/v1/audit/proof/dlq/alerts', {
      headers: { 'x-internal-api-key': internalKey },
    });
    const read = Alerts.safeParse(await asked.json());
    for (const { code } of read.data?.alerts ?? []) alerts.add(code);
  }

  async function repeat(work: () => Promise<void>, pauseMs = paceMs): Promise<void> {
    while (!over.signal.aborted) {
      await work();
      await delay(pauseMs);
    }
  }

  const file = { fileName: 'a.bin', fileSize: 10, mimeType: 'application/octet-stream' };
  const observing = Promise.all([
    repeat(() => act('/v1/documents')),
    repeat(() => act('/v1/uploads', { ...file, totalParts: 1 })),
    repeat(enter, loginPaceMs),
    repeat(look),
  ]);
  observing.catch(() => undefined);
  return async function stop(): Promise<Observed> {
    over.abort();
    await observing;
    return { answers, slowestMs, health, alerts };
  };
}
