import { sha3_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { z } from 'zod';
import type { Bytes } from '../../bytes/bytes.ts';
import { padJson, parseJson } from '../../bytes/json.ts';
import { decryptGcm, encryptGcm, nonceBytes, tagBytes } from '../../crypto/aes-gcm.ts';
import type { Identity } from '../../identity/identity.ts';
import { isSignedBy, sign } from '../../identity/signature.ts';
import { RememberedChanges } from '../values/remembered.ts';
import type { ReportKey } from './report-key.ts';

const signatureLabel = 'Service_Memory_Report_Signature_v1';
const formatVersion = 1;
const prefixBytes = 6;
const signatureBytes = 64;
const paddingBytes = 256;

/** A device tells the user's other devices in it what it saw. */
const Report = RememberedChanges.extend({
  /** The hash of the report before this one, 64 hex digits; null for the first. */
  previous: z.string().nullable(),
  /** Whether this report and those that follow tell everything that the writer saw. */
  isStart: z.boolean(),
  /** The number of the last report of each other writer that this one has read. */
  read: z.record(z.string(), z.int().positive()),
});
export type Report = z.output<typeof Report>;

/** The writer of a report, and its number among the writer's reports. */
export interface ReportPlace {
  readonly writer: string;
  readonly number: number;
}

/** A report of a device, or one of the list that a rekey writes. */
const kinds = ['report', 'list'] as const;

/** The part of a record that is not encrypted. */
export interface RecordPrefix {
  readonly kind: (typeof kinds)[number];
  /** The generation of the master key under which the record is encrypted. */
  readonly generation: number;
}

interface SealOptions {
  readonly kind?: RecordPrefix['kind'];
  /** For tests with vectors only. */
  readonly nonce?: Bytes;
}

/** Signs and encrypts a report for its place; docs/formats.md describes the bytes. */
export async function sealReport(
  { generation, key }: ReportKey,
  identity: Pick<Identity, 'signingSeed'>,
  place: ReportPlace,
  report: Report,
  { kind = 'report', nonce }: SealOptions = {},
): Promise<Bytes> {
  const prefix = new Uint8Array(prefixBytes);
  const view = new DataView(prefix.buffer);
  view.setUint8(0, formatVersion);
  view.setUint8(1, kinds.indexOf(kind));
  view.setUint32(2, generation);
  const placed = concatBytes(prefix, encodePlace(place));
  const json = utf8ToBytes(JSON.stringify(report));
  const text = padJson(json, Math.ceil(json.length / paddingBytes) * paddingBytes);
  const signature = sign(identity, signatureLabel, concatBytes(placed, text));
  return concatBytes(prefix, await encryptGcm(key, concatBytes(signature, text), placed, nonce));
}

/**
 * Returns the prefix of a record, which is not authenticated until the record is opened. Returns
 * undefined for an unknown format.
 */
export function readPrefix(record: Bytes): RecordPrefix | undefined {
  const view = new DataView(record.buffer, record.byteOffset, record.byteLength);
  if (record.length <= prefixBytes + nonceBytes + tagBytes + signatureBytes) return undefined;
  const kind = kinds[view.getUint8(1)];
  if (view.getUint8(0) !== formatVersion || kind === undefined) return undefined;
  return { kind, generation: view.getUint32(2) };
}

/**
 * Opens a report. Resolves with undefined unless it was encrypted for this place under this key,
 * and signed by this identity.
 */
export async function openReport(
  { key }: ReportKey,
  identity: Pick<Identity, 'signingKey'>,
  place: ReportPlace,
  record: Bytes,
): Promise<Report | undefined> {
  const prefix = record.slice(0, prefixBytes);
  const placed = concatBytes(prefix, encodePlace(place));
  try {
    const opened = await decryptGcm(key, record.slice(prefixBytes), placed);
    const signature = opened.slice(0, signatureBytes);
    const text = opened.slice(signatureBytes);
    const message = concatBytes(placed, text);
    if (!isSignedBy(identity, signatureLabel, { message, signature })) return undefined;
    return Report.parse(parseJson(text));
  } catch {
    return undefined;
  }
}

/** Returns the hash by which the next report of a writer names this one. */
export function hashReport(record: Bytes): string {
  return bytesToHex(sha3_256(record));
}

/** Ids have 36 characters, so no two places have the same bytes. */
function encodePlace({ writer, number }: ReportPlace): Bytes {
  const encoded = new Uint8Array(4);
  new DataView(encoded.buffer).setUint32(0, number);
  return concatBytes(utf8ToBytes(writer), encoded);
}
