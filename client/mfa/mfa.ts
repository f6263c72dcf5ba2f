import { z } from 'zod';
import { reauthenticate } from '../accounts/reauth.ts';
import type { Http } from '../http/http.ts';
import { proofHeaders } from '../http/fresh-proof.ts';
import type { RetryPolicy } from '../http/retry.ts';

const routePath = '/v1/user/mfa';

const MfaStatus = z.object({
  enabled: z.boolean(),
  configuredAt: z.iso.datetime().nullable(),
  /** How many recovery codes were not used yet; undefined while MFA is not enabled. */
  recoveryCodesRemaining: z.int().min(0).optional(),
});
export type MfaStatus = z.output<typeof MfaStatus>;

const MfaSetup = z.object({
  /** The secret in Base32, to be typed into an authenticator. */
  secret: z.string().regex(/^[A-Z2-7]{32}$/),
  /** The `otpauth://` URI, to be shown as a QR code. */
  qrCodeUri: z.string().startsWith('otpauth://totp/'),
  expiresAt: z.iso.datetime(),
});
export type MfaSetup = z.output<typeof MfaSetup>;

const RecoveryCodes = z.object({
  recoveryCodes: z.array(z.string().regex(/^[A-Z2-9]{4}(-[A-Z2-9]{4}){2}$/)).min(1),
});

/**
 * The second factors of the user at the vault's identity provider, which asks for them at its own
 * logins; a login at the vault never does. Every method throws VaultError 503
 * identity_provider_unavailable while the provider is unavailable, and if the vault has none.
 */
export interface Mfa {
  status(): Promise<MfaStatus>;
  /**
   * Begins a set-up, which `confirm` ends within ten minutes. Its secret is in use only then.
   * Throws VaultError 409 mfa_already_enabled.
   */
  begin(): Promise<MfaSetup>;
  /**
   * Enables MFA with the code that the authenticator shows, 6 digits, and resolves with the
   * recovery codes to write down. Throws VaultError 400 invalid_code, 409 mfa_not_pending or
   * mfa_already_enabled, 410 mfa_expired and 429 rate_limited. After a response was lost, look at
   * `status`: if MFA is enabled, get codes from `replaceRecoveryCodes`; else send the next code.
   */
  confirm(code: string): Promise<readonly string[]>;
  /**
   * Replaces the recovery codes and resolves with the new ones. Throws VaultError 409
   * mfa_not_enabled, and what `VaultSession.reauthenticate` throws.
   */
  replaceRecoveryCodes(password: string): Promise<readonly string[]>;
  /** Disables MFA. Idempotent. Throws what `VaultSession.reauthenticate` throws. */
  disable(password: string): Promise<void>;
}

interface MfaDependencies {
  readonly http: Http;
  readonly retry: RetryPolicy;
  readonly email: string;
}

export function createMfa({ http, retry, email }: MfaDependencies): Mfa {
  const at = (path: string) => ({ method: 'POST', path: `${routePath}/${path}` }) as const;

  async function prove(password: string): Promise<Record<string, string>> {
    return proofHeaders(await reauthenticate({ http, retry }, { email, password }));
  }

  return {
    status: () => http.json(MfaStatus, { method: 'GET', path: `${routePath}/status` }),
    begin: () => http.json(MfaSetup, at('totp/init')),
    async confirm(code) {
      const request = { ...at('totp/verify'), json: { code } };
      return (await http.json(RecoveryCodes, request)).recoveryCodes;
    },
    async replaceRecoveryCodes(password) {
      const request = { ...at('recovery/regenerate'), headers: await prove(password) };
      return (await http.json(RecoveryCodes, request)).recoveryCodes;
    },
    async disable(password) {
      await http.send({ ...at('disable'), headers: await prove(password) });
    },
  };
}
