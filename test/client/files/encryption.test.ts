import { concatBytes } from '@noble/hashes/utils.js';
import test from 'ava';
import * as fc from 'fast-check';
import type { Bytes } from '../../../client/bytes/bytes.ts';
import { type ByteSource, blobSource } from '../../../client/files/byte-source.ts';
import { decryptStream } from '../../../client/files/decryption.ts';
import { encryptFile } from '../../../client/files/encryption.ts';
import { createWasmHash } from '../../../client/crypto/hash.ts';
import { createFileHeader, headerBytes, parseFileHeader } from '../../../client/files/header.ts';
import { encryptedSize } from '../../../client/files/layout.ts';
import { createDocumentKey } from '../../../client/keys/document-key.ts';
import { createNodeHash } from '../../../client/node/hash.ts';
import { collect } from '../../support/client/collect.ts';
import { streamVectors } from '../../support/client/stream-vectors.ts';

const segmentSize = 128;
const fileKey = createDocumentKey();

const source = (plaintext: Bytes): ByteSource => blobSource(new Blob([plaintext]));

async function encrypt(plaintext: Bytes): Promise<Bytes> {
  const header = await createFileHeader(fileKey, segmentSize);
  return collect(encryptFile(fileKey, header, source(plaintext)));
}

async function decrypt(encrypted: Bytes, pieceSize = encrypted.length): Promise<Bytes> {
  async function* pieces() {
    for (let at = 0; at < encrypted.length; at += pieceSize) {
      yield encrypted.subarray(at, at + pieceSize);
    }
  }
  return collect(decryptStream(fileKey, pieces()));
}

const plaintexts = fc.uint8Array({ maxLength: 600 }).map((bytes) => new Uint8Array(bytes));
/** Generates plaintexts of at least three segments. */
const longPlaintexts = fc
  .uint8Array({ minLength: 300, maxLength: 600 })
  .map((bytes) => new Uint8Array(bytes));

/** Splits at the segment boundaries; the first piece is the header. */
function cut(encrypted: Bytes): Bytes[] {
  const count = Math.ceil(encrypted.length / segmentSize);
  return Array.from({ length: count }, (_, i) =>
    encrypted.slice(i * segmentSize, (i + 1) * segmentSize),
  );
}

for (const vector of streamVectors.files) {
  test(`a file encrypts and decrypts as in the test vectors: ${vector.name}`, async (t) => {
    const key = streamVectors.fileKey;
    const header = parseFileHeader(vector.encrypted.slice(0, headerBytes));
    const encrypted = await collect(encryptFile(key, header, source(vector.plaintext)));
    t.deepEqual(encrypted, vector.encrypted);

    const decrypted = decryptStream(key, new Blob([vector.encrypted]).stream());
    t.deepEqual(await collect(decrypted), vector.plaintext);

    for (const create of [createWasmHash, createNodeHash]) {
      const hash = await create('sha3-256');
      for (const segment of cut(encrypted)) hash.update(segment);
      t.is(hash.digest(), vector.fileHash);
    }
  });
}

test('an encrypted file decrypts from pieces of any size', async (t) => {
  await fc.assert(
    fc.asyncProperty(plaintexts, fc.integer({ min: 1, max: 300 }), async (plaintext, pieceSize) => {
      const encrypted = await encrypt(plaintext);
      t.is(encrypted.length, encryptedSize(plaintext.length, segmentSize));
      t.deepEqual(await decrypt(encrypted, pieceSize), plaintext);
    }),
  );
});

test('a file with any bit changed is refused', async (t) => {
  await fc.assert(
    fc.asyncProperty(plaintexts, fc.nat(), fc.nat(7), async (plaintext, position, bit) => {
      const encrypted = await encrypt(plaintext);
      const index = position % encrypted.length;
      await t.throwsAsync(decrypt(encrypted.with(index, (encrypted[index] ?? 0) ^ (1 << bit))));
    }),
  );
});

test('every bit of the header is authenticated', async (t) => {
  const encrypted = await encrypt(new Uint8Array(200));
  for (let index = 0; index < headerBytes; index += 1) {
    await t.throwsAsync(decrypt(encrypted.with(index, (encrypted[index] ?? 0) ^ 1)));
  }
});

test('a file truncated anywhere is refused', async (t) => {
  await fc.assert(
    fc.asyncProperty(plaintexts, fc.nat(), async (plaintext, position) => {
      const encrypted = await encrypt(plaintext);
      await t.throwsAsync(decrypt(encrypted.slice(0, position % encrypted.length)));
    }),
  );
});

test('a file truncated at the end of a segment is refused', async (t) => {
  await fc.assert(
    fc.asyncProperty(longPlaintexts, fc.nat(), async (plaintext, position) => {
      const segments = cut(await encrypt(plaintext));
      const kept = segments.slice(0, 1 + (position % (segments.length - 1)));
      await t.throwsAsync(decrypt(concatBytes(...kept)), { code: 'authentication_failed' });
    }),
  );
});

test('bytes after the end are refused', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      plaintexts,
      fc.uint8Array({ minLength: 1, maxLength: 300 }),
      async (plaintext, more) => {
        const encrypted = await encrypt(plaintext);
        await t.throwsAsync(decrypt(concatBytes(encrypted, new Uint8Array(more))), {
          code: 'authentication_failed',
        });
      },
    ),
  );
});

test('segments that are reordered, left out or repeated are refused', async (t) => {
  await fc.assert(
    fc.asyncProperty(longPlaintexts, fc.nat(), fc.nat(), async (plaintext, first, second) => {
      const segments = cut(await encrypt(plaintext));
      const [head, ...tail] = segments;
      const i = first % tail.length;
      const j = second % tail.length;
      const left = head ?? t.fail();
      const without = tail.toSpliced(i, 1);
      const doubled = tail.toSpliced(i, 0, tail[i] ?? left);
      const swapped = tail.with(i, tail[j] ?? left).with(j, tail[i] ?? left);
      const rearranged = i === j ? [without, doubled] : [without, doubled, swapped];
      for (const rest of rearranged) {
        await t.throwsAsync(decrypt(concatBytes(left, ...rest)), { code: 'authentication_failed' });
      }
    }),
  );
});

test('a segment of another file under the same key is refused', async (t) => {
  const [first] = cut(await encrypt(new Uint8Array(300)));
  const [, ...rest] = cut(await encrypt(new Uint8Array(300)));
  await t.throwsAsync(decrypt(concatBytes(first ?? t.fail(), ...rest)), {
    code: 'authentication_failed',
  });
});

test('a wrong file key is reported as such, since the header commits to the key', async (t) => {
  const encrypted = await encrypt(new Uint8Array(5));
  const opening = collect(decryptStream(createDocumentKey(), new Blob([encrypted]).stream()));
  await t.throwsAsync(opening, { code: 'wrong_key' });
});

test('a file of another format is refused', async (t) => {
  for (const length of [0, 1, headerBytes, headerBytes + 1, 4096]) {
    await t.throwsAsync(decrypt(new Uint8Array(length)), { code: 'invalid_file' });
  }
});

test('a file that shrinks while it is read is not encrypted', async (t) => {
  const header = await createFileHeader(fileKey, segmentSize);
  const shrunk = { ...source(new Uint8Array(200)), size: 201 };
  await t.throwsAsync(collect(encryptFile(fileKey, header, shrunk)), {
    code: 'source_changed',
  });
});
