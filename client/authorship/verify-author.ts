import { utf8ToBytes } from '@noble/hashes/utils.js';
import { z } from 'zod';
import { decodeBase64 } from '../bytes/base64.ts';
import { Base64 } from '../bytes/base64-schema.ts';
import type { Bytes } from '../bytes/bytes.ts';
import { Key } from '../crypto/key.ts';
import { fingerprintOf } from '../identity/identity.ts';
import { isSignedBy } from '../identity/signature.ts';
import { followIdentity, type Recorded } from './identity-chain.ts';
import { Instant, Statement, statementText } from './statement.ts';

/** Milliseconds between what the author's clock and the vault's may say. */
const toleranceMs = 10 * 60_000;

/** The members of an entry that a statement is compared with. */
const Entry = z.object({
  issuer: z.string(),
  timestamp: Instant,
  actor: z.object({ type: z.string(), id: z.string().nullable() }),
  action: z.string(),
  resource: z.object({ type: z.string(), id: z.string(), owner: z.string() }),
  data: z.record(z.string(), z.unknown()),
});
type Entry = z.output<typeof Entry>;

/** An entry of which no more is known than whether it shows an author. */
const Shown = z.object({ data: z.object({ author: z.unknown() }) });

const Authored = z.strictObject({
  statement: z.unknown(),
  signature: Base64(64),
  sharingKey: Key,
});

/** Why what an entry shows as the author's statement is none of what the entry records. */
export type AuthorDefect =
  | 'statement_malformed'
  | 'statement_elsewhere'
  | 'statement_mismatch'
  | 'statement_misdated'
  | 'statement_forged'
  | 'other_author';

/**
 * The author of an act, as far as an entry shows who that is:
 *
 * - `vault_word`: the entry has no statement, so that the vault alone says who acted.
 * - `invalid`: the entry has a statement that does not hold, for the named `reason`.
 * - `unknown_key`: whoever has the identity with this fingerprint stated the act. That the identity
 *   is the actor's is the vault's word.
 * - `known_key`: the same, and the fingerprint is the expected one or follows it.
 */
export type AuthorVerdict =
  | { readonly standing: 'vault_word' }
  | { readonly standing: 'invalid'; readonly reason: AuthorDefect }
  | {
      readonly standing: 'unknown_key' | 'known_key';
      /** The fingerprint of the author's identity, 32 hex digits. */
      readonly fingerprint: string;
      /** When the author stated the act, by the author's clock. */
      readonly statedAt: string;
    };

export interface AuthorOptions {
  /**
   * The fingerprint of the author's identity, 32 hex digits, from elsewhere than the vault: told by
   * the author, or kept by a recipient.
   */
  readonly fingerprint?: string | undefined;
  /** Audit proofs of the changes of the author's identity, to follow it from `fingerprint`. */
  readonly identityChanges?: readonly Recorded[] | undefined;
}

/**
 * Returns who stated what an entry records. Verifies nothing of the HSM's signature: `verifyProof`
 * does. Needs no vault and never throws.
 */
export function verifyAuthor(
  { entryCanonical }: Recorded,
  { fingerprint: expected, identityChanges = [] }: AuthorOptions = {},
): AuthorVerdict {
  const parsed = parseJson(entryCanonical);
  const shown = Shown.safeParse(parsed).data?.data.author;
  if (shown === undefined) return { standing: 'vault_word' };
  const entry = Entry.safeParse(parsed).data;
  if (entry === undefined) return invalid('statement_malformed');
  const { statement, signature, sharingKey } = Authored.safeParse(shown).data ?? {};
  const stated = Statement.safeParse(statement).data;
  if (stated === undefined || signature === undefined || sharingKey === undefined) {
    return invalid('statement_malformed');
  }
  const defect = findDefect(entry, stated);
  if (defect !== undefined) return invalid(defect);
  const signingKey = decodeBase64(stated.publicKey);
  if (!isStatedBy(signingKey, stated, signature)) return invalid('statement_forged');
  const { statedAt } = stated;
  const fingerprint = fingerprintOf({ publicKey: sharingKey, signingKey });
  if (expected === undefined) return { standing: 'unknown_key', fingerprint, statedAt };
  const isKnown = followIdentity(expected, identityChanges).has(fingerprint);
  return isKnown ? { standing: 'known_key', fingerprint, statedAt } : invalid('other_author');
}

function invalid(reason: AuthorDefect): AuthorVerdict {
  return { standing: 'invalid', reason };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function findDefect(entry: Entry, stated: Statement): AuthorDefect | undefined {
  const { issuer, actor, resource, action, data, timestamp } = entry;
  const isHere =
    stated.issuer === issuer &&
    stated.owner === resource.owner &&
    stated.owner === actor.id &&
    actor.type === 'user' &&
    resource.type === 'document' &&
    stated.documentId === resource.id;
  if (!isHere) return 'statement_elsewhere';
  if (stated.action !== action || !saysThat(stated, data)) return 'statement_mismatch';
  const differenceMs = Math.abs(Date.parse(stated.statedAt) - Date.parse(timestamp));
  return differenceMs <= toleranceMs ? undefined : 'statement_misdated';
}

/** Returns whether the data of an entry say the same as a statement. */
function saysThat(stated: Statement, data: Entry['data']): boolean {
  if (stated.action === 'document.deleted') return stated.fileHash === data['fileHash'];
  if (stated.action === 'document.unshared') return stated.shareId === data['shareId'];
  if (stated.action === 'document.shared') {
    const { recipientFingerprint, sharedVersion } = stated;
    return (
      recipientFingerprint === data['recipientFingerprint'] && sharedVersion === data['version']
    );
  }
  return (
    stated.version === data['version'] &&
    stated.fileHash === data['fileHash'] &&
    stated.metadataHash === data['metadataHash'] &&
    stated.contentCommitment === (data['contentCommitment'] ?? null)
  );
}

function isStatedBy(signingKey: Bytes, stated: Statement, signature: string): boolean {
  const message = new Uint8Array(utf8ToBytes(statementText(stated)));
  const signed = { message, signature: decodeBase64(signature) };
  return isSignedBy({ signingKey }, 'Service_Author_Statement_v1', signed);
}
