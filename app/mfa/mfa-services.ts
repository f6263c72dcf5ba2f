import type { SignerClient } from '../../signer/protocol/client.ts';
import type { Clock } from '../async/clock.ts';
import type { Act } from '../audit-trail/act.ts';
import type { AuditTrail } from '../audit-trail/audit-trail.ts';
import type { Tallies } from '../audit/tallies/tallies.ts';
import type { Database } from '../db/database.ts';
import type { IdentityProvider } from '../identity-provider/identity-provider.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import type { LabelledKeys } from '../signing-keys/labelled-keys.ts';
import type { Log } from '../telemetry/log.ts';
import { createMfaRemoval } from './account-closure.ts';
import { createCodeCheck } from './code-check.ts';
import { createIdentification } from './identification.ts';
import { createMfa } from './mfa.ts';
import { createUnfinishedMfa } from './unfinished.ts';
import { createUserLeases } from './user-leases.ts';

interface MfaServicesOptions {
  /** The vault's own name as an issuer. */
  readonly issuer: string;
  /** The name of the vault in authenticator apps. */
  readonly issuerLabel: string;
  readonly identityProvider: IdentityProvider | undefined;
  readonly db: Database;
  readonly act: Act;
  readonly audit: AuditTrail;
  readonly tallies: Tallies;
  readonly keys: LabelledKeys;
  readonly limits: RateLimits;
  readonly signer: SignerClient;
  readonly clock: Clock;
  readonly log: Log;
}

/** Creates the services with which users manage their second factors. */
export function createMfaServices(options: MfaServicesOptions) {
  const { identityProvider: provider } = options;
  const shared = { ...options, provider, leases: createUserLeases(options) };
  const identify = createIdentification(shared);
  const withCode = createCodeCheck(options);
  return {
    mfa: createMfa({ ...shared, identify, withCode }),
    forgetMfaUser: createMfaRemoval(shared),
    unfinishedMfa: createUnfinishedMfa(shared),
  };
}
