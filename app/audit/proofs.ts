import type { Caller } from '../http/caller.ts';
import type { Database, Tx } from '../db/database.ts';
import { AppError } from '../errors.ts';
import type { KeyRegistry } from '../keys/registry.ts';
import { verifyProof, type AuditProof, type Verdict } from './proof.ts';
import type { Sealer } from './sealer.ts';

export interface Proofs {
  /** Throws not_found for entries of others, proof_not_ready until signed, entry_erased. */
  get(caller: Caller, entryId: string): Promise<AuditProof>;
  verify(caller: Caller, entryId: string): Promise<Verdict>;
  verifyExternal(proof: AuditProof): Promise<Verdict>;
  /** Waits for the HSM; undefined when it has not signed the entry within `ms`. */
  waitFor(caller: Caller, entryId: string, ms: number): Promise<AuditProof | undefined>;
}

const readsAll: ReadonlySet<string> = new Set(['auditor', 'probatio_admin']);
const recheckMs = 200;

interface ProofsOptions {
  readonly db: Database;
  readonly registry: KeyRegistry;
  readonly sealer: Sealer;
}

export function createProofs({ db, registry, sealer }: ProofsOptions): Proofs {
  async function get(caller: Caller, entryId: string): Promise<AuditProof> {
    const read = (tx: Tx) => findEntry(tx, entryId);
    const entry = caller.roles.some((role) => readsAll.has(role))
      ? await db.asService(read)
      : await db.asUser(caller, read);
    if (entry === undefined) throw new AppError('not_found');
    const { canonical, hash, signature, key_id: keyId } = entry;
    if (canonical === null) throw new AppError('entry_erased');
    if (hash === null || signature === null || keyId === null) {
      throw new AppError('proof_not_ready', { retryAfterSeconds: 1 });
    }
    // Another process may have registered the key a moment ago.
    await registry.ensureKnown([keyId]);
    const key = await registry.find(keyId);
    if (key === undefined) throw new Error(`audit key ${keyId} is not in the registry`);
    return {
      id: entryId,
      entryCanonical: canonical,
      entryHash: hash,
      hsmSignature: signature,
      hsmKeyId: keyId,
      publicKey: key.publicKey,
    };
  }

  async function verifyExternal(proof: AuditProof): Promise<Verdict> {
    return verifyProof(proof, await registry.find(proof.hsmKeyId));
  }

  return {
    get,
    verifyExternal,
    async verify(caller, entryId) {
      return verifyExternal(await get(caller, entryId));
    },
    async waitFor(caller, entryId, ms) {
      const deadline = performance.now() + ms;
      for (;;) {
        const sealed = sealer.nextBatch(recheckMs);
        try {
          return await get(caller, entryId);
        } catch (error) {
          if (!(error instanceof AppError) || error.code !== 'proof_not_ready') throw error;
        }
        if (performance.now() > deadline) return undefined;
        await sealed;
      }
    },
  };
}

function findEntry(tx: Tx, entryId: string) {
  return tx
    .selectFrom('audit_entries')
    .select(['canonical', 'hash', 'signature', 'key_id'])
    .where('id', '=', entryId)
    .executeTakeFirst();
}
