import { bytesToHex } from '@noble/hashes/utils.js';
import { copyFile, mkdir, open, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bytes } from '../../bytes/bytes.ts';
import type { Disclosure } from '../../disclosure/disclose.ts';
import { formatOpening } from '../../disclosure/opening-text.ts';
import { ClientError } from '../../errors/client-error.ts';
import { writeAuthorFiles, writeProofFiles } from '../proof-files.ts';

/** The shell script that verifies an original with OpenSSL alone, and its parts. */
const scripts = ['verify-original.sh', 'verify-entry.sh', 'verify-opening.sh'];

/**
 * Writes a disclosure into a new or an empty folder: entry.json, signature.der, key.pem and
 * proof.json of the seal; author-statement.bin, author-signature.bin and author-key.pem, with which
 * OpenSSL verifies the author's statement, if the seal has one; identity-changes.json, the audit
 * proofs of the changes of the author's identity; opening.json and opening.txt, and
 * verify-original.sh with its parts. For chosen segments,
 * disclosed.bin has the size of the file and these segments in their places; the rest of it is
 * zeros, which take no space where the file system has sparse files. With the encrypted file,
 * encrypted.bin is that file, and file-key.txt its key, 64 hex digits. Throws folder_not_empty, and
 * what the downloads of the disclosure throw; the folder is empty then.
 */
export async function writeDisclosure(disclosure: Disclosure, directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  if ((await readdir(directory)).length > 0) throw new ClientError('folder_not_empty');
  try {
    await writeDisclosed(disclosure, directory);
  } catch (error) {
    for (const name of await readdir(directory)) await rm(join(directory, name), { force: true });
    throw error;
  }
}

async function writeDisclosed(
  { proof, identityChanges, opening, readSegments, file }: Disclosure,
  directory: string,
): Promise<void> {
  const inFolder = (name: string) => join(directory, name);
  await writeProofFiles(proof, directory);
  await writeFile(inFolder('proof.json'), formatJson(proof));
  await writeAuthorFiles(proof, directory);
  await writeFile(inFolder('identity-changes.json'), formatJson(identityChanges));
  await writeFile(inFolder('opening.json'), formatJson(opening));
  await writeFile(inFolder('opening.txt'), formatOpening(opening));
  for (const script of scripts) {
    await copyFile(new URL(script, import.meta.url), inFolder(script));
  }
  if (readSegments !== undefined) {
    const path = inFolder('disclosed.bin');
    await writeSparsely(path, { pieces: readSegments(), size: opening.size });
  }
  if (file !== undefined) {
    await writeFile(inFolder('encrypted.bin'), file.readEncrypted());
    await writeFile(inFolder('file-key.txt'), `${bytesToHex(file.fileKey)}\n`);
  }
}

interface SparseFile {
  readonly pieces: AsyncIterable<{ readonly offset: number; readonly bytes: Bytes }>;
  readonly size: number;
}

async function writeSparsely(path: string, { pieces, size }: SparseFile): Promise<void> {
  await using target = await open(path, 'wx');
  await target.truncate(size);
  for await (const { offset, bytes } of pieces) {
    let written = 0;
    while (written < bytes.length) {
      const rest = bytes.length - written;
      written += (await target.write(bytes, written, rest, offset + written)).bytesWritten;
    }
  }
}

function formatJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
