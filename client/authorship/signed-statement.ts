import { utf8ToBytes } from '@noble/hashes/utils.js';
import { z } from 'zod';
import { decodeBase64 } from '../bytes/base64.ts';
import { Base64 } from '../bytes/base64-schema.ts';
import type { Bytes } from '../bytes/bytes.ts';
import { labelled } from '../identity/signature.ts';
import type { Recorded } from './identity-chain.ts';
import { Statement, statementText } from './statement.ts';

const Authored = z.object({
  data: z.object({ author: z.object({ statement: Statement, signature: Base64(64) }) }),
});

/** A statement in an entry, in the form in which OpenSSL verifies it. */
interface ReadStatement {
  /** All that was signed: the label, a zero byte, and the text. */
  readonly message: Bytes;
  /** 64 bytes. */
  readonly signature: Bytes;
  /** The Ed25519 key that the statement names, 32 bytes. */
  readonly publicKey: Bytes;
}

/**
 * Reads the author's statement in an entry that was verified; undefined if it has none, or one that
 * is malformed.
 */
export function readSignedStatement({ entryCanonical }: Recorded): ReadStatement | undefined {
  const { author } = Authored.safeParse(JSON.parse(entryCanonical)).data?.data ?? {};
  if (author === undefined) return undefined;
  const text = new Uint8Array(utf8ToBytes(statementText(author.statement)));
  return {
    message: labelled('Service_Author_Statement_v1', text),
    signature: decodeBase64(author.signature),
    publicKey: decodeBase64(author.statement.publicKey),
  };
}
