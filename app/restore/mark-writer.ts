import type { SignerClient } from '../../signer/protocol/client.ts';
import { parseEntry } from '../../signer/protocol/entry.ts';
import { toSealedText } from '../../signer/protocol/sealed-text.ts';
import type { AuditProof } from '../proof/proof.ts';
import type { AuditTrail } from '../audit-trail/audit-trail.ts';
import type { Clock } from '../async/clock.ts';
import type { Database } from '../db/database.ts';
import type { KeyRegistry } from '../signing-keys/registry.ts';
import type { Log } from '../telemetry/log.ts';
import { poll } from '../async/repeat.ts';
import { createTurns } from '../async/turns.ts';
import type { Admission, Admitted } from './admission.ts';
import { countSealed, readLogState } from './high-water-marks/log-state.ts';
import { createMarkId, createMarkText, type LogState } from './high-water-marks/mark.ts';
import type { MarkObjects } from './high-water-marks/mark-objects.ts';
import type { MarkRecord } from './high-water-marks/mark-record.ts';
import { endAcceptances } from './acceptances.ts';
import { recordRestoration } from './restoration.ts';
import { within } from '../async/within.ts';

/** How long the writer waits before it looks for newly sealed entries. */
const pauses = { busyMs: 1_000, idleMs: 4_000 };
/** Minimum seconds between two high-water marks, whichever replicas write them. */
const spacingSeconds = 5;
/** The number of high-water marks that are kept in the object store. */
const kept = 10;
/** Milliseconds for which a stopping process waits for its last high-water mark. */
const lastWaitMs = 2_000;

interface MarkWriterOptions {
  /** The vault's public URL. */
  readonly issuer: string;
  readonly db: Database;
  readonly signer: Pick<SignerClient, 'sealMark'>;
  readonly registry: KeyRegistry;
  readonly objects: MarkObjects;
  readonly record: MarkRecord;
  readonly admission: Pick<Admission, 'admitted' | 'assertAdmitted'>;
  readonly audit: AuditTrail;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Starts to write high-water marks after the start is admitted. Within seconds after an entry was
 * sealed, one of the replicas writes a mark. No request waits for a mark.
 */
export function startMarkWriter(options: MarkWriterOptions) {
  const { issuer, db, signer, registry, objects, record, admission, audit } = options;
  const { clock, log } = options;
  /** The ids of the high-water marks in the object store that this process knows, newest first. */
  let known: readonly string[] | undefined;
  /** The number of sealed entries in the last high-water mark that this process wrote. */
  let marked: number | undefined;
  let isFailing = false;
  const turns = createTurns(1);

  async function begin({ markIds, restoration }: Admitted): Promise<readonly string[]> {
    if (restoration !== undefined) {
      await db.asService((tx) => recordRestoration(tx, audit, restoration));
    }
    return markIds;
  }

  /**
   * Signs a high-water mark. Signs again with the active key if the key is no longer active after
   * it has signed.
   */
  async function sign(id: string, state: LogState): Promise<AuditProof> {
    for (;;) {
      const { keyId, publicKey } = await registry.active('audit');
      // The key may have been registered after the state was read.
      const keyIds = [...new Set([...state.keyIds, keyId])];
      const text = createMarkText({ id, issuer, at: clock() }, { ...state, keyIds });
      const result = await signer.sealMark(keyId, { id, text });
      if ('error' in result) {
        throw new Error(`the signer refused to sign a high-water mark: ${result.error}`);
      }
      await registry.refresh();
      const { hash: entryHash, signature: hsmSignature, sealedAt, late } = result;
      const entryCanonical = toSealedText(text, parseEntry(text), { sealedAt, late });
      if ((await registry.find(keyId))?.state === 'ACTIVE') {
        return { id, entryCanonical, entryHash, hsmSignature, hsmKeyId: keyId, publicKey };
      }
    }
  }

  /**
   * Writes a high-water mark if entries were sealed since the last mark and no replica wrote a mark
   * within the last `spacing` seconds.
   */
  async function write(spacing: number): Promise<'written' | 'unneeded' | 'too early'> {
    if (admission.admitted === undefined) return 'too early';
    known ??= await begin(admission.admitted);
    if (marked === (await db.asService(countSealed))) return 'unneeded';
    const newest = await record.take(spacing);
    if (newest === undefined) return 'too early';
    await writeAfter(newest, known);
    return 'written';
  }

  /** Writes a high-water mark, newer than all others. Returns its audit proof. */
  async function writeAfter(newest: string, others: readonly string[]): Promise<AuditProof> {
    const [newestKnown = newest] = others;
    const id = createMarkId(newestKnown > newest ? newestKnown : newest, clock());
    const state = await db.asService(readLogState);
    const proof = await sign(id, state);
    await objects.write(proof);
    await record.written(id);
    await db.asService((tx) => endAcceptances(tx, id));
    marked = state.sealed;
    known = [id, ...others];
    for (const old of known.slice(kept)) await objects.remove(old);
    known = known.slice(0, kept);
    return proof;
  }

  async function tryToWrite(spacing: number): Promise<boolean> {
    const outcome = await turns.take(() => write(spacing));
    if (outcome === 'written') {
      if (isFailing) log.info('high-water marks are written again');
      isFailing = false;
    }
    return outcome !== 'unneeded';
  }

  function warn(error: unknown): void {
    if (!isFailing) log.warn({ err: error }, 'no high-water mark can be written; retrying');
    isFailing = true;
  }

  async function stopWriting(): Promise<void> {
    await writing.stop();
    await tryToWrite(0).catch(warn);
  }

  const writing = poll(pauses, () => tryToWrite(spacingSeconds), warn);
  writing.now();
  return {
    /**
     * Writes a high-water mark now, which names all registered keys. Returns the id of the audit
     * key that signed it. Throws StorageError, SignerUnavailable or database_unavailable.
     */
    writeNow: (): Promise<string> =>
      turns.take(async () => {
        admission.assertAdmitted();
        if (admission.admitted !== undefined) known ??= await begin(admission.admitted);
        const newest = (await record.take(0)) ?? (await record.newest());
        return (await writeAfter(newest, known ?? [])).hsmKeyId;
      }),

    /**
     * Stops the writer, and writes a last high-water mark if entries were sealed since the previous
     * mark. Waits at most 2 s.
     */
    stop: (): Promise<void> => within(lastWaitMs, stopWriting()),
  };
}
