import { hexToBytes } from '@noble/hashes/utils.js';
import { z } from 'zod';
import { decodeBase64 } from '../../../client/bytes/base64.ts';
import { readVectors } from './vectors.ts';

const Bytes = z.string().transform(hexToBytes);

/** The test vectors of docs/formats.md for encrypted files, metadata and keywords. */
export const streamVectors = await readVectors(
  'stream.json',
  z.object({
    passwordKey: Bytes,
    masterKey: Bytes,
    documentKey: Bytes,
    versionKey: Bytes,
    fileKey: Bytes,
    masterEnvelope: z.string(),
    files: z.array(
      z.object({
        name: z.string(),
        plaintext: Bytes,
        segmentSize: z.number(),
        encrypted: Bytes,
        fileHash: z.string(),
      }),
    ),
    metadata: z.object({
      place: z.object({
        documentId: z.string(),
        version: z.number(),
        change: z.number(),
        previous: z.string(),
        keyGeneration: z.number(),
      }),
      metadata: z.unknown(),
      earlierDocumentKey: Bytes,
      earlierKey: z.string().transform(decodeBase64),
      encryptedMetadata: z.string(),
    }),
    keyword: z.object({ keyword: z.string(), normalized: z.string(), hash: z.string() }),
  }),
);
