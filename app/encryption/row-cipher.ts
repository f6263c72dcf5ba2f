import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  randomBytes,
  type KeyObject,
} from 'node:crypto';

/** A key of 32 bytes from which the keys of rows are derived, and its generation. */
export interface GenerationKey {
  readonly generation: number;
  readonly key: Buffer;
}

/** The keys of a process, by generation. */
export interface GenerationKeys {
  /** Returns the key with which new values are encrypted. Throws signer_unavailable. */
  current(): GenerationKey;
  /** Lists the generations before the current one whose keys this process has. */
  earlier(): readonly number[];
  /** Returns the key of a generation. Throws signer_unavailable if this process lacks the key. */
  get(generation: number): Buffer;
}

/** Names a row, or another record, in which encrypted values are stored. */
export interface RowName {
  readonly table: string;
  /** The whole primary key, and whatever else must not be exchanged with another row. */
  readonly key: readonly string[];
}

/** Values by column, and the generation of the key that encrypts all of them. */
export interface Encrypted<Column extends string> {
  readonly generation: number;
  readonly values: Readonly<Record<Column, string>>;
}

/** Values by column; they are stored unencrypted if `generation` is null. */
export interface Stored<Column extends string> {
  readonly generation: number | null;
  readonly values: Readonly<Record<Column, string>>;
}

export type RowCipher = ReturnType<typeof createRowCipher>;

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Creates the cipher of the values at rest that could confirm a guess of a password
 * (docs/keys.md). Each row has a key of its own, HKDF-SHA-256 of the generation's key, so that
 * random nonces never wear out. The additional data are table, column and key of the row, so that
 * no value can be moved to another place. A stored value is the base64 of nonce ‖ ciphertext ‖ tag.
 */
export function createRowCipher(keys: GenerationKeys) {
  return {
    /** Returns the generation with which `encrypt` encrypts. Throws signer_unavailable. */
    currentGeneration: (): number => keys.current().generation,

    /** Lists the generations before it that can be decrypted. Throws signer_unavailable. */
    earlierGenerations: (): readonly number[] => keys.earlier(),

    /** Encrypts values of one row. Throws signer_unavailable. */
    encrypt<Column extends string>(
      row: RowName,
      values: Readonly<Record<Column, string>>,
    ): Encrypted<Column> {
      const { generation, key } = keys.current();
      const rowKey = deriveRowKey(key, row);
      return {
        generation,
        values: mapValues(values, (text, column) => encrypt(rowKey, dataOf(row, column), text)),
      };
    },

    /**
     * Decrypts values of one row. Throws signer_unavailable if this process lacks the key, and
     * Error for values that were changed or belong to another row.
     */
    decrypt<Column extends string>(
      row: RowName,
      { generation, values }: Stored<Column>,
    ): Readonly<Record<Column, string>> {
      if (generation === null) return values;
      const rowKey = deriveRowKey(keys.get(generation), row);
      return mapValues(values, (text, column) => decrypt(rowKey, dataOf(row, column), text));
    },
  };
}

/** Returns the additional data of a value, which is also what HKDF gets of the row. */
function dataOf({ table, key }: RowName, column: string | null): Buffer {
  return Buffer.from(JSON.stringify([table, column, ...key]));
}

const hashBytes = 32;
const noSalt = createSecretKey(Buffer.alloc(hashBytes));
const lastBlock = Buffer.of(1);
const extractedKeys = new WeakMap<Buffer, KeyObject>();

/**
 * Returns HKDF-SHA-256 without a salt (RFC 5869): for 32 bytes, each of its two steps is one HMAC,
 * and the first is the same for all rows. Node is several times slower with keys that are buffers,
 * and a login needs five keys of rows.
 */
export function deriveRowKey(generationKey: Buffer, row: RowName): KeyObject {
  const hmac = createHmac('sha256', extract(generationKey)).update(dataOf(row, null));
  return toKeyObject(hmac.update(lastBlock).digest());
}

function extract(generationKey: Buffer): KeyObject {
  const known = extractedKeys.get(generationKey);
  if (known !== undefined) return known;
  const extracted = toKeyObject(createHmac('sha256', noSalt).update(generationKey).digest());
  extractedKeys.set(generationKey, extracted);
  return extracted;
}

/** Returns a key with a copy of the bytes, and zeroes the bytes. */
function toKeyObject(bytes: Buffer): KeyObject {
  const key = createSecretKey(bytes);
  bytes.fill(0);
  return key;
}

function encrypt(key: KeyObject, data: Buffer, text: string): string {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(data);
  const encrypted = [cipher.update(text, 'utf8'), cipher.final()];
  return Buffer.concat([nonce, ...encrypted, cipher.getAuthTag()]).toString('base64');
}

function decrypt(key: KeyObject, data: Buffer, stored: string): string {
  const bytes = Buffer.from(stored, 'base64');
  const end = bytes.length - tagBytes;
  const nonce = bytes.subarray(0, nonceBytes);
  const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes })
    .setAAD(data)
    .setAuthTag(bytes.subarray(end));
  const text = decipher.update(bytes.subarray(nonceBytes, end), undefined, 'utf8');
  return text + decipher.final('utf8');
}

function mapValues<Column extends string>(
  values: Readonly<Record<Column, string>>,
  change: (text: string, column: Column) => string,
): Readonly<Record<Column, string>> {
  const entries = Object.entries(values) as [Column, string][];
  return Object.fromEntries(
    entries.map(([column, text]) => [column, change(text, column)]),
  ) as Record<Column, string>;
}
