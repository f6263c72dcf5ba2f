import { z } from 'zod';
import { decodeBase64 } from '../bytes/base64.ts';
import { Key } from '../crypto/key.ts';
import { fingerprintOf, type PublicIdentity } from '../identity/identity.ts';
import { isEndorsedBy } from '../identity/publication.ts';

/** An audit proof, of which only the entry counts here. */
export interface Recorded {
  readonly entryCanonical: string;
}

/** The entry of an identity that became the one of an account. */
const IdentityEntry = z.object({
  issuer: z.string(),
  action: z.literal('sharing_key.changed'),
  resource: z.object({ owner: z.string() }),
  data: z.object({
    publicKey: Key,
    signingKey: Key,
    previousFingerprint: z.string().nullable(),
    endorsement: z.string().nullable(),
  }),
});
type IdentityEntry = z.output<typeof IdentityEntry>;

/**
 * Returns the fingerprints of a known identity and of all that follow it, each endorsed by the one
 * before. `changes` are the audit proofs of the account's entries `sharing_key.changed`, in any
 * order; the endorsements alone count, whoever signed the proofs. Malformed proofs are ignored.
 */
export function followIdentity(fingerprint: string, changes: readonly Recorded[]): Set<string> {
  const entries = changes.map(parse).filter((entry) => entry !== undefined);
  const known = new Map<string, PublicIdentity>();
  for (const { data } of entries) known.set(fingerprintOf(data), data);
  const successors = Map.groupBy(entries, ({ data }) => data.previousFingerprint);
  const reached = new Set([fingerprint]);
  // The set grows while it is walked, by the successors of each identity that was reached.
  for (const previous of reached) {
    const before = known.get(previous);
    for (const entry of successors.get(previous) ?? []) {
      if (isEndorsed(entry, before)) reached.add(fingerprintOf(entry.data));
    }
  }
  return reached;
}

function isEndorsed(
  { issuer, resource, data }: IdentityEntry,
  before: PublicIdentity | undefined,
): boolean {
  if (before === undefined || data.endorsement === null) return false;
  const publication = { issuer, owner: resource.owner, identity: data };
  try {
    return isEndorsedBy(before, publication, decodeBase64(data.endorsement));
  } catch {
    return false;
  }
}

function parse({ entryCanonical }: Recorded): IdentityEntry | undefined {
  try {
    return IdentityEntry.safeParse(JSON.parse(entryCanonical)).data;
  } catch {
    return undefined;
  }
}
