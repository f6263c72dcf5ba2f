import { utf8ToBytes } from '@noble/hashes/utils.js';
import canonicalize from 'canonicalize';
import { z } from 'zod';
import { encodeBase64 } from '../bytes/base64.ts';
import { Base64 } from '../bytes/base64-schema.ts';
import { keyBytes } from '../crypto/key.ts';
import type { Identity } from '../identity/identity.ts';
import { sign } from '../identity/signature.ts';
import type { AccountNames } from '../identity/account-names.ts';

const Digest = z.string().regex(/^[0-9a-f]{64}$/);
/** An id as the vault writes it, in lower case. */
const Id = z.uuid().lowercase();
/** An instant as statements and entries have it, in UTC with milliseconds. */
export const Instant = z.iso.datetime({ precision: 3 });

/** The members of every statement. */
const members = {
  v: z.literal(1),
  /** The vault, by its public URL. */
  issuer: z.string().refine((text) => text.isWellFormed()),
  /** Id of the user. */
  owner: Id,
  documentId: Id,
  version: z.int().positive(),
  fileHash: Digest,
  metadataHash: Digest,
  contentCommitment: Digest.nullable(),
  /** The signing key of the author's identity, base64 of 32 bytes. */
  publicKey: Base64(keyBytes),
  /** When the author stated this, by the author's clock. */
  statedAt: Instant,
};

/** The statement of an act on a document by its author. Other members are refused. */
export const Statement = z.discriminatedUnion('action', [
  z.strictObject({ ...members, action: z.literal('document.sealed') }),
  z.strictObject({ ...members, action: z.literal('document.deleted') }),
  z.strictObject({
    ...members,
    action: z.literal('document.shared'),
    recipientFingerprint: z.string().regex(/^[0-9a-f]{32}$/),
    /** The only version that is shared; null for all of them. */
    sharedVersion: z.int().positive().nullable(),
  }),
  z.strictObject({ ...members, action: z.literal('document.unshared'), shareId: Id }),
]);
export type Statement = z.output<typeof Statement>;

/** The version of a document that a statement is about. */
export type StatedVersion = Pick<
  Statement,
  'documentId' | 'version' | 'fileHash' | 'metadataHash' | 'contentCommitment'
>;

type ActOf<S> = S extends Statement
  ? Omit<S, Exclude<keyof typeof members, keyof StatedVersion>>
  : never;

/** An act of an author: the action, the version, and the members of that action. */
export type StatedAct = ActOf<Statement>;

/** A statement as the vault takes it. */
export interface SignedStatement {
  /** Canonical JSON (RFC 8785). */
  readonly statement: string;
  /** The Ed25519 signature of it, base64 of 64 bytes. */
  readonly signature: string;
}

/** Makes the statement of an act and signs it by the author's identity. */
export function signStatement(
  author: Identity,
  { owner, issuer }: AccountNames,
  act: StatedAct,
  now: Date,
): SignedStatement {
  const publicKey = encodeBase64(author.signingKey);
  const statedAt = now.toISOString();
  const statement = statementText({ v: 1, issuer, owner, ...act, publicKey, statedAt });
  const message = new Uint8Array(utf8ToBytes(statement));
  return {
    statement,
    signature: encodeBase64(sign(author, 'Service_Author_Statement_v1', message)),
  };
}

/** Returns the text of a statement that its author signs. */
export function statementText(statement: Statement): string {
  return canonicalize(statement) ?? '';
}
