import type { ExecutionContext } from 'ava';
import { realmVariables } from '../../../app/dev/identity-provider/realm.ts';
import { until } from '../../../app/dev/processes/until.ts';
import type { SecondFactors } from '../../../app/identity-provider/identity-provider.ts';
import { connectTo, soon } from '../../identity-provider/provider-contract.ts';
import { createSql, type Sql } from '../vault/sql.ts';
import { testStack } from '../vault/stack.ts';
import { startReadyVault, type TestVault } from '../vault/vault.ts';
import { startFaultyProvider, type FaultyProvider } from './faulty-provider.ts';
import type { MfaUser } from './mfa-user.ts';
import { assertError } from '../http/error-body.ts';
import type { JsonAnswer } from '../http/send.ts';

/** A vault whose way to the identity provider a test breaks. */
export interface FaultyVault {
  readonly vault: TestVault;
  readonly provider: FaultyProvider;
  readonly settings: Record<string, string>;
  readonly sql: Sql;
  /** Returns what the provider has of a user, without the broken way. */
  factorsOf(user: MfaUser): Promise<SecondFactors>;
  /** Mends the way, and waits until the vault tries it again and no lease is left to expire. */
  mend(user: MfaUser): Promise<void>;
  stop(): Promise<void>;
}

/** Returns the URL of the lab's Keycloak, if it is there; tests of faults then run on it. */
function realProviderUrl(): string | undefined {
  const { KEYCLOAK_ISSUER: issuer } = process.env;
  return issuer === undefined ? undefined : new URL(issuer).origin;
}

export async function startFaultyVault(changes: NodeJS.ProcessEnv = {}): Promise<FaultyVault> {
  const identityProviderUrl = realProviderUrl() ?? testStack().identityProviderUrl;
  const provider = await startFaultyProvider(identityProviderUrl);
  const settings = realmVariables(provider.url);
  const vault = await startReadyVault({ ...settings, ...changes });
  const sql = createSql(vault);
  const direct = connectTo(identityProviderUrl);
  return {
    vault,
    provider,
    settings,
    sql,
    async factorsOf({ userId }) {
      const rows = await sql('select subject from mfa_users where user_id = $1', [userId]);
      const factors = await direct.findFactors(String(rows[0]?.['subject']), soon());
      if (factors === undefined) throw new Error('the provider has no such user');
      return factors;
    },
    async mend(user) {
      provider.breakAs(() => undefined);
      await until(async () => (await user.status()).status === 200, {
        what: 'the vault to try the identity provider again',
        timeoutMs: 30_000,
        intervalMs: 200,
      });
      // The time passes that a lease is left after a write of unknown outcome.
      await sql('update mfa_users set held_until = now()');
    },
    async stop() {
      await vault.stop();
      await provider.stop();
    },
  };
}

/** Resolves with the response and the milliseconds that it took. */
export async function timed(work: Promise<JsonAnswer>): Promise<readonly [JsonAnswer, number]> {
  const begin = performance.now();
  const answer = await work;
  return [answer, performance.now() - begin];
}

/** Five seconds for the provider, and the rest for a machine that does other work too. */
const inTimeMs = 9_500;

/** Asserts that requests were told in time that the identity provider is unavailable. */
export function assertUnavailable(
  t: ExecutionContext,
  asked: readonly (readonly [JsonAnswer, number])[],
): void {
  for (const [answer, ms] of asked) {
    assertError(t, answer, { status: 503, code: 'identity_provider_unavailable' });
    t.true(ms < inTimeMs, `${ms} ms`);
  }
}
