import { createPublicKey } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { z } from 'zod';
import { findFileProblem } from '../../../signer/protocol/process/named-file.ts';
import { Rate } from '../../limits/rate.ts';

/** Accepts `true` and `false`. */
export const Flag = z.enum(['true', 'false']).transform((value) => value === 'true');

/** Splits at commas; spaces around the items and empty items are dropped. */
export const List = z.string().transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);

export const Count = z.coerce.number().int().positive();
export const Port = z.coerce.number().int().min(0).max(65_535);
/** A text that is not empty, such as a path. */
export const Text = z.string().min(1);

/** The path of a directory, which need not exist yet. */
export const DirectoryPath = Text.refine(
  (path) => !isOtherThanDirectory(path),
  'names something that is no directory; name a directory',
);

function isOtherThanDirectory(path: string): boolean {
  try {
    return !statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** The path of a file that can be read. */
export const FilePath = Text.superRefine((path, context) => {
  const message = findFileProblem(path);
  if (message !== undefined) context.addIssue({ code: 'custom', message });
});

const pemCertificate = '-----BEGIN CERTIFICATE-----';

/** The path of a file of certificates in PEM. */
export const PemPath = FilePath.refine(
  (path) =>
    findFileProblem(path) !== undefined || readFileSync(path, 'utf8').includes(pemCertificate),
  'names a file without a PEM certificate; name one that has some',
);

const minRsaBits = 3072;

/** The path of a file with an RSA public key in PEM. */
export const RsaPublicKeyPath = FilePath.refine(
  (path) => findFileProblem(path) !== undefined || isRsaPublicKey(path),
  `names a file without an RSA public key of at least ${minRsaBits} bits in PEM; name one with it`,
);

function isRsaPublicKey(path: string): boolean {
  const pem = readFileSync(path, 'utf8');
  if (!pem.includes('-----BEGIN PUBLIC KEY-----')) return false;
  try {
    const { asymmetricKeyType: type, asymmetricKeyDetails: details } = createPublicKey(pem);
    return type === 'rsa' && (details?.modulusLength ?? 0) >= minRsaBits;
  } catch {
    return false;
  }
}

/** An http or https URL, without the slashes at its end. */
export const Url = z.url({ protocol: /^https?$/ }).transform((value) => value.replace(/\/+$/, ''));

/** Accepts a rate such as 5/1h, or `off`, which gives undefined. */
export function limit(rate: string) {
  return z.string().default(rate).pipe(Rate);
}
