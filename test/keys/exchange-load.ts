import { decodeProtectedHeader } from 'jose';
import { until } from '../../app/dev/processes/until.ts';
import { openSession, type TestAccount } from '../support/accounts/test-account.ts';
import { appendEntries, openTrail } from '../support/audit/entries.ts';
import { refresh } from '../support/accounts/sessions.ts';
import { send } from '../support/http/send.ts';
import { fileOf } from '../support/documents/files.ts';
import type { TestVault } from '../support/vault/vault.ts';

/** Logins, refreshes and writes at every process, and entries by the dozen, until stopped. */
export interface ExchangeLoad {
  /** What was not answered as it should be. */
  readonly failures: readonly string[];
  /** Waits until every worker has ended one more turn. Answers the keys of its tokens. */
  nextTurn(): Promise<ReadonlySet<string>>;
  stop(): Promise<void>;
}

const workersEach = 2;
const entriesAtOnce = 40;

/** @param processes of one vault: the same but for the address. */
export async function startExchangeLoad(
  processes: readonly TestVault[],
  account: TestAccount,
): Promise<ExchangeLoad> {
  const [first] = processes;
  if (first === undefined) throw new Error('there is nothing to load');
  const trail = await openTrail(first);
  const failures: string[] = [];
  /** A worker's turns so far, and the key of the token that the last one ended with. */
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
      const { accessToken } = answer.body as { accessToken: string };
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
        timeoutMs: 30_000,
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

function expectStatus(expected: number, { status, text }: { status: number; text: string }): void {
  if (status !== expected) throw new Error(`${status} ${text}`);
}
