import { z } from 'zod';
import { proofHeaders, type FreshProof } from '../http/fresh-proof.ts';
import type { Http } from '../http/http.ts';
import { listPages } from '../http/pages.ts';

const routePath = '/v1/crypto/keys/replaced';

const ReplacedKey = z.object({
  id: z.guid(),
  /** `MASTER` and `RECOVERY` are envelopes of the master key, `SHARING` is the sharing key. */
  kind: z.enum(['MASTER', 'RECOVERY', 'SHARING']),
  /** The version that the key had. */
  version: z.int(),
  /** The fingerprint of a sharing key; null for an envelope. */
  fingerprint: z.string().nullable(),
  replacedAt: z.iso.datetime(),
  /** Time after which the key can no longer be restored. */
  expiresAt: z.iso.datetime(),
});
/** A key that was replaced in the last 30 days. */
export type ReplacedKey = z.output<typeof ReplacedKey>;

const RestoredKey = z.object({ kind: ReplacedKey.shape.kind, version: z.int() });
export type RestoredKey = z.output<typeof RestoredKey>;

export interface ReplacedKeys {
  /** Lists the keys that were replaced in the last 30 days, newest first. */
  list(options?: { readonly pageSize?: number }): AsyncGenerator<ReplacedKey, void, void>;
  /**
   * Puts a replaced key in force again, if somebody else replaced it: an envelope under the
   * password or the recovery words that were valid then, or a sharing key. The present key is kept
   * in its place. Throws VaultError 404 not_found, and 401 reauth_required unless `proof` is given
   * or the login was within five minutes.
   */
  restore(id: string, proof?: FreshProof): Promise<RestoredKey>;
}

/** Creates the calls about keys that were replaced. */
export function createReplacedKeys({ http }: { readonly http: Http }): ReplacedKeys {
  return {
    list: ({ pageSize } = {}) => listPages(http, ReplacedKey, routePath, pageSize),
    restore: (id, proof) =>
      http.json(RestoredKey, {
        method: 'POST',
        path: `${routePath}/${encodeURIComponent(id)}/restore`,
        headers: proofHeaders(proof),
      }),
  };
}
