import { hexToBytes } from '@noble/hashes/utils.js';
import { z } from 'zod';
import { Key } from '../../../client/crypto/key.ts';
import { readVectors } from '../../support/client/vectors.ts';

const Hex = z.string().transform((hex) => new Uint8Array(hexToBytes(hex)));

const Identity = z.object({
  privateKey: Hex,
  signingSeed: Hex,
  publicKey: Key,
  signingKey: Key,
  fingerprint: z.string(),
  text: z.string(),
  proofOfPossession: z.string(),
  endorsement: z.string().nullable(),
});

/** The test vectors of docs/formats.md for authors' statements and for identities. */
export const authorshipVectors = await readVectors(
  'authorship.json',
  z.object({
    issuer: z.string(),
    owner: z.string(),
    /** The first identity of an account, and the one that replaces it. */
    identities: z.tuple([Identity, Identity]),
    statements: z.array(
      z.object({ name: z.string(), statement: z.string(), signature: z.string() }),
    ),
    /** Canonical entries of changes of the identity, by name. */
    changes: z.record(z.string(), z.string()),
    cases: z.array(
      z.object({
        name: z.string(),
        /** A canonical entry. */
        entry: z.string(),
        expectedFingerprint: z.string().nullable(),
        /** Names of `changes`. */
        identityChanges: z.array(z.string()),
        /** A standing, or the reason why the statement does not hold. */
        verdict: z.string(),
      }),
    ),
  }),
);
