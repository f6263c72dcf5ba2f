import { decodeProtectedHeader } from 'jose';
import { until } from '../../app/dev/processes/until.ts';
import { openSession, type TestAccount } from '../support/accounts/test-account.ts';
import { appendEntries, openTrail } from '../support/audit/entries.ts';
import { refresh } from '../support/accounts/sessions.ts';
import { send } from '../support/http/send.ts';
import { fileOf } from '../support/documents/files.ts';
import type { TestVault } from '../support/vault/vault.ts';

/**
 * Runs logins, refreshes and writes at every process, and appends dozens of entries at once, until
 * stopped.
 */
export interface ExchangeLoad {
  /** Errors of work that should have succeeded. */
  readonly failures: readonly string[];
  /**
   * Waits until every worker has completed one more turn. Resolves with the ids of the keys that
   * signed the workers' tokens.
   */
  nextTurn(): Promise<ReadonlySet<string>>;
  stop(): Promise<void>;
}

const workersEach = 2;
const entriesAtOnce = 40;

/** @param processes Processes of one vault, which differ in their base URLs only. */
export async function startExchangeLoad(
  processes: readonly TestVault[],
  account: TestAccount,
): Promise<ExchangeLoad> {
  const [first] = processes;
  if (first === undefined) throw new Error('at least one process is needed');
  const trail = await openTrail(first);
  const failures: string[] = [];
  /** Each worker's turns so far, and the id of the key that signed its latest token. */
  const workers: { turns: number; tokenKey: string }[] = [];
  const stopping = new AbortController();

  async function repeat(work: () => Promise<void>): Promise<void> {
    while (!stopping.signal.aborted) {
      await work().catch((error: unknown) => failures.push(String(error)));
    }
  }

  function startWorker(vault: TestVault): Promise<void> {
    const worker = { turns: 0, tokenKey: '' };
    workers.push(worker);
    return repeat(async () => {
      const { accessToken: token, refreshToken } = await openSession(vault, account);
      const url = `${vault.baseUrl}/v1/uploads`;
      expectStatus(201, await send('POST', url, { token, json: fileOf(1) }));
      const answer = await refresh(vault, refreshToken);
      expectStatus(200, answer);
      const { accessToken } = answer.body as { readonly accessToken: string };
      worker.tokenKey = String(decodeProtectedHeader(accessToken).kid);
      worker.turns += 1;
    });
  }

  const running = Promise.all([
    ...Array.from({ length: 3 }, () =>
      repeat(async () => void (await appendEntries(trail, entriesAtOnce))),
    ),
    ...processes.flatMap((vault) => Array.from({ length: workersEach }, () => startWorker(vault))),
  ]);
  return {
    failures,
    async nextTurn() {
      const goals = workers.map(({ turns }) => turns + 1);
      await until(() => workers.every(({ turns }, index) => turns >= (goals[index] ?? 0)), {
        what: `the load: ${failures.join()}`,
        timeoutMs: 60_000,
      });
      return new Set(workers.map(({ tokenKey }) => tokenKey));
    },
    async stop() {
      stopping.abort();
      await running;
      await trail.close();
    },
  };
}

function expectStatus(
  expected: number,
  { status, text }: { readonly status: number; readonly text: string },
): void {
  if (status !== expected) throw new Error(`${status} ${text}`);
}
