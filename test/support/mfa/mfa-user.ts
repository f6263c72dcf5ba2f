import type { ExecutionContext } from 'ava';
import { Secret, TOTP } from 'otpauth';
import { until } from '../../../app/dev/processes/until.ts';
import { createOwner } from '../accounts/owner.ts';
import { proofHeader } from '../accounts/reauth-account.ts';
import { getJson, send, type JsonAnswer } from '../http/send.ts';
import { createSql } from '../vault/sql.ts';
import type { Vault } from '../vault/vault.ts';

const stepMs = 30_000;

/** A caller of the routes of MFA. */
export interface MfaUser {
  readonly userId: string;
  readonly token: string;
  status(): Promise<JsonAnswer>;
  init(query?: string): Promise<JsonAnswer>;
  verify(code: unknown): Promise<JsonAnswer>;
  /** Sends a valid reauthentication token. */
  disable(): Promise<JsonAnswer>;
  regenerate(): Promise<JsonAnswer>;
  /** Begins a set-up and resolves with its secret in Base32. */
  begin(): Promise<string>;
  /** Sets MFA up and resolves with the recovery codes. */
  enable(): Promise<readonly string[]>;
}

interface Caller {
  readonly userId: string;
  readonly token: string;
}

/** Returns a caller of the routes, by default of the vault that issued the token. */
export function asMfaUser(
  vault: Vault,
  { userId, token }: Caller,
  { baseUrl }: Pick<Vault, 'baseUrl'> = vault,
): MfaUser {
  const post = (path: string, options: { json?: unknown; headers?: Record<string, string> } = {}) =>
    send('POST', `${baseUrl}/v1/user/mfa/${path}`, { token, ...options });
  const init = (query = '') => post(`totp/init${query}`);
  const verify = (code: unknown) => post('totp/verify', { json: { code } });
  async function begin(): Promise<string> {
    const { status, text, body } = await init();
    if (status !== 200) throw new Error(`init got ${status}: ${text}`);
    return (body as { readonly secret: string }).secret;
  }
  return {
    userId,
    token,
    init,
    verify,
    begin,
    status: () => getJson(`${baseUrl}/v1/user/mfa/status`, token),
    disable: async () => post('disable', { headers: await proofHeader(vault, { userId }) }),
    regenerate: async () =>
      post('recovery/regenerate', { headers: await proofHeader(vault, { userId }) }),
    async enable() {
      const { status, text, body } = await verify(codeOf(await begin()));
      if (status !== 200) throw new Error(`verify got ${status}: ${text}`);
      return (body as { readonly recoveryCodes: readonly string[] }).recoveryCodes;
    },
  };
}

/** Creates an account of the vault whose owner manages MFA. */
export async function createMfaUser(
  vault: Vault,
  replica: Pick<Vault, 'baseUrl'> = vault,
): Promise<MfaUser> {
  return asMfaUser(vault, await createOwner(vault), replica);
}

/** Returns the code of a secret in Base32, `steps` steps of 30 seconds from now. */
export function codeOf(secret: string, steps = 0): string {
  const timestamp = Date.now() + steps * stepMs;
  return TOTP.generate({ secret: Secret.fromBase32(secret), timestamp });
}

/** Returns 6 digits that are the code of no step near now. */
export function wrongCode(secret: string): string {
  const near = new Set([-3, -2, -1, 0, 1, 2, 3].map((steps) => codeOf(secret, steps)));
  for (let n = 0; ; n += 1) {
    const code = String(n).padStart(6, '0');
    if (!near.has(code)) return code;
  }
}

/** Waits until the present step lasts for a few seconds more, so that codes stay what they are. */
export async function untilEarlyInStep(): Promise<void> {
  await until(() => Date.now() % stepMs < stepMs - 8_000, {
    what: 'the next time step',
    timeoutMs: stepMs,
  });
}

/** Returns the actions of a user's entries of MFA, oldest first. */
export async function mfaActions(vault: Vault, userId: string): Promise<string[]> {
  const rows = await createSql(vault)(
    `select action from audit_entries where user_id = $1 and action like 'mfa.%' order by seq`,
    [userId],
  );
  return rows.map(({ action }) => String(action));
}

export interface StatusBody {
  readonly enabled: boolean;
  readonly configuredAt: string | null;
  readonly recoveryCodesRemaining?: number;
}

/** Asserts that MFA is enabled, with this number of recovery codes. */
export async function assertEnabled(t: ExecutionContext, user: MfaUser, codes = 15) {
  const { status, body } = await user.status();
  t.is(status, 200);
  const { configuredAt, ...rest } = body as StatusBody;
  t.deepEqual(rest, { enabled: true, method: 'totp', recoveryCodesRemaining: codes } as object);
  t.truthy(configuredAt);
}

/** Asserts that MFA is not enabled. */
export async function assertDisabled(t: ExecutionContext, user: MfaUser) {
  const { status, body } = await user.status();
  t.is(status, 200);
  t.deepEqual(body, { enabled: false, method: 'totp', configuredAt: null });
}
