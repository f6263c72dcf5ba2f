import { until } from '../../app/dev/processes/until.ts';
import { createNodeHash } from '../../client/node/hash.ts';
import type { AuditKey } from '../../client/proofs/audit-key.ts';
import { createVaultClient } from '../../client/vault.ts';
import type { ClusterVault } from '../support/cluster/cluster-vault.ts';
import type { ClusterObject } from '../support/cluster/kubectl.ts';
import { withoutLimits } from '../support/vault/without-limits.ts';

export const purposes = ['audit', 'token'] as const;
export type Purpose = (typeof purposes)[number];

/** Long enough for each process to learn of a new key before it signs. */
const environment = { ...withoutLimits, KEYS_PUBLISH_SECONDS: '12' };
const variables = Object.entries(environment).map(([name, value]) => ({ name, value }));
/** The value of a release whose keys are published for a short time. */
export const shortPublication = `extraEnv=${JSON.stringify(variables)}`;

interface SigningKeyStatus {
  readonly keyId?: string;
  readonly spareKeyId?: string;
  readonly generation?: number;
  readonly answeredRequest?: string;
  readonly conditions: readonly { readonly type: string; readonly reason: string }[];
}

/** A resource of the operator. */
export const resource = (kind: string, name: string, spec: object): ClusterObject => ({
  apiVersion: 'probatio.dev/v1alpha1',
  kind,
  metadata: { name },
  spec,
});

/** Resolves with the keys that the vault publishes. */
export const keysOf = async ({ baseUrl }: ClusterVault): Promise<readonly AuditKey[]> =>
  createVaultClient({ baseUrl, createHash: createNodeHash }).auditKeys();

/** Asks the operator for one rotation, whose answer repeats the text. */
export async function askForRotation(
  { kubectl }: ClusterVault,
  purpose: Purpose,
  text: string,
): Promise<void> {
  const annotation = `probatio.dev/rotate-now=${text}`;
  await kubectl('annotate', '--overwrite', 'signingkey', purpose, annotation);
}

export async function readStatus(
  { kubectl }: ClusterVault,
  purpose: Purpose,
): Promise<SigningKeyStatus | undefined> {
  const printed = await kubectl('get', 'signingkey', purpose, '--output=json');
  return (JSON.parse(printed) as { readonly status?: SigningKeyStatus }).status;
}

/** Waits until the operator has answered a request for a rotation. */
export async function untilAnswered(
  vault: ClusterVault,
  purpose: Purpose,
  { text, timeoutMs }: { readonly text: string; readonly timeoutMs: number },
): Promise<void> {
  await until(async () => (await readStatus(vault, purpose))?.answeredRequest === text, {
    what: `a rotation of ${purpose}`,
    timeoutMs,
    intervalMs: 500,
  });
}
