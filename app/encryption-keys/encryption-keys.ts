import { createHmac } from 'node:crypto';
import type { SignerClient } from '../../signer/protocol/client.ts';
import { poll } from '../async/repeat.ts';
import type { AuditTrail } from '../audit-trail/audit-trail.ts';
import type { Database } from '../db/database.ts';
import type { GenerationKey, GenerationKeys } from '../encryption/row-cipher.ts';
import { AppError } from '../errors/app-error.ts';
import type { Log } from '../telemetry/log.ts';
import { escrowed } from './events.ts';
import type { EscrowKey } from './escrow.ts';
import { insertGeneration, listGenerations, type RegisteredGeneration } from './generation-rows.ts';

/**
 * How long a process waits before it looks at the registered generations again. It must learn of a
 * new one well before that one may be used (`leadSeconds`).
 */
const pauses = { busyMs: 2_000, idleMs: 5_000 };

interface EncryptionKeysOptions {
  readonly db: Database;
  readonly signer: SignerClient;
  readonly audit: AuditTrail;
  readonly log: Log;
  /** Keys that the token lost, by generation; the operator decrypted their escrow. */
  readonly recovered: ReadonlyMap<number, Buffer>;
  readonly escrowKey: EscrowKey | undefined;
}

/** The keys of all registered generations, which the HSM derives; this process keeps them. */
export interface EncryptionKeys extends GenerationKeys {
  /** Returns whether values can be encrypted. */
  isReady(): boolean;
  /** Returns the key of a generation, or undefined if neither the token nor the operator has it. */
  find(generation: number): Buffer | undefined;
  /** Reads the registered generations, and fetches the keys that this process lacks. */
  refresh(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts fetching the keys of the registered generations, and looks for new ones every 5 s. In a
 * new vault, registers the newest generation of the token first. A request thus never waits for the
 * signer.
 */
export function startEncryptionKeys(options: EncryptionKeysOptions): EncryptionKeys {
  const { db, signer, audit, log, recovered, escrowKey } = options;
  const keys = new Map<number, Buffer>();
  const missing = new Set<number>();
  let currentGeneration: number | undefined;
  let lastMessage = '';

  async function registerFirst(): Promise<void> {
    const first = await signer.encryptionKey();
    const escrow = escrowKey?.encrypt(first);
    const checkValue = checkValueOf(first.key);
    await db.asService(async (tx) => {
      const row = { generation: first.generation, checkValue, escrow, isUsable: true };
      const isNew = await insertGeneration(tx, row);
      if (isNew && escrow !== undefined) {
        await audit.append(tx, { ...escrowed(first.generation, escrow), requestId: null });
      }
    });
  }

  /** Resolves with the key whose check value is registered; undefined if nobody has it. */
  async function fetchKey({
    generation,
    check_value: expected,
  }: RegisteredGeneration): Promise<Buffer | undefined> {
    const given = recovered.get(generation);
    if (given !== undefined && checkValueOf(given) === expected) return given;
    try {
      const { key } = await signer.encryptionKey(generation);
      if (checkValueOf(key) === expected) return key;
    } catch (error) {
      if (!isKeyMissing(error)) throw error;
    }
    return undefined;
  }

  /** Resolves with whether a registered generation is not in use yet, or lacks its key. */
  async function load(): Promise<boolean> {
    const read = () => db.asService(listGenerations);
    let rows = await read();
    if (rows.length === 0) {
      await registerFirst();
      rows = await read();
    }
    for (const row of rows.filter(({ generation }) => !keys.has(generation))) {
      const key = await fetchKey(row);
      if (key !== undefined) keys.set(row.generation, key);
      else if (!missing.has(row.generation)) {
        missing.add(row.generation);
        log.error(
          { generation: row.generation },
          'the token lacks an encryption key: what it encrypts cannot be read (docs/keys.md)',
        );
      }
    }
    const held = rows.filter(({ generation }) => keys.has(generation));
    // If the clock of the database is set back, even the oldest may be of the future; every process
    // has had that one for long.
    const current = held.findLast(({ isUsable }) => isUsable) ?? held[0];
    currentGeneration = current?.generation;
    lastMessage = '';
    return held.length < rows.length || rows.some(({ isUsable }) => !isUsable);
  }

  /** Logs a failure, unless the run before failed for the same reason. */
  function warn(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    if (message === lastMessage) return;
    lastMessage = message;
    log.warn({ err: error }, 'the encryption keys could not be fetched; retrying');
  }

  const polling = poll(pauses, load, warn);
  polling.now();

  function get(generation: number): Buffer {
    const key = keys.get(generation);
    if (key === undefined) throw new AppError('signer_unavailable', { retryAfterSeconds: 2 });
    return key;
  }

  function current(): GenerationKey {
    if (currentGeneration === undefined) {
      throw new AppError('signer_unavailable', { retryAfterSeconds: 2 });
    }
    return { generation: currentGeneration, key: get(currentGeneration) };
  }

  return {
    current,
    earlier() {
      const { generation } = current();
      return [...keys.keys()].filter((each) => each < generation);
    },
    get,
    find: (generation) => keys.get(generation),
    isReady: () => currentGeneration !== undefined,
    async refresh() {
      await load();
    },
    stop: () => polling.stop(),
  };
}

/**
 * Returns a value that tells the keys of two tokens apart and reveals nothing of a key of 256
 * random bits: 16 bytes of an HMAC, in hex.
 */
export function checkValueOf(key: Buffer): string {
  return createHmac('sha256', key).update('check value').digest('hex').slice(0, 32);
}

function isKeyMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'key_missing';
}
