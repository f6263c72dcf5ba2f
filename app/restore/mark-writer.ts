import type { SignerClient } from '../../signer/protocol/client.ts';
import type { AuditProof } from '../proof/proof.ts';
import type { AuditTrail } from '../audit-trail/audit-trail.ts';
import type { Clock } from '../async/clock.ts';
import type { Database } from '../db/database.ts';
import type { KeyRegistry } from '../signing-keys/registry.ts';
import type { Log } from '../telemetry/log.ts';
import { repeat } from '../async/repeat.ts';
import type { Admission, Admitted } from './admission.ts';
import { countSealed, readLogState } from './high-water-marks/log-state.ts';
import { createMarkId, createMarkText, type LogState } from './high-water-marks/mark.ts';
import type { MarkObjects } from './high-water-marks/mark-objects.ts';
import type { MarkRecord } from './high-water-marks/mark-record.ts';
import { recordRestoration } from './restoration.ts';
import { within } from '../async/within.ts';

const pollMs = 1_000;
/** Minimum time between two high-water marks, whichever replicas write them. */
const spacingSeconds = 5;
/** How many high-water marks stay in the object store. */
const kept = 10;
/** How long the end of the process waits for its last high-water mark. */
const lastWaitMs = 2_000;

interface MarkWriterOptions {
  readonly db: Database;
  readonly signer: Pick<SignerClient, 'seal'>;
  readonly registry: KeyRegistry;
  readonly objects: MarkObjects;
  readonly record: MarkRecord;
  readonly admission: Pick<Admission, 'admitted'>;
  readonly audit: AuditTrail;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Starts to write high-water marks once the start is admitted: one within seconds after something
 * was sealed, in turn with other replicas. Nothing waits for them.
 */
export function startMarkWriter(options: MarkWriterOptions) {
  const { db, signer, registry, objects, record, admission, audit, clock, log } = options;
  /** The ids of the high-water marks in the object store that this process knows, newest first. */
  let known: readonly string[] | undefined;
  /** The number of sealed entries in the last high-water mark that this process wrote. */
  let marked: number | undefined;
  let isFailing = false;

  async function begin({ markIds, restoration }: Admitted): Promise<readonly string[]> {
    if (restoration !== undefined) {
      await db.asService((tx) => recordRestoration(tx, audit, restoration));
    }
    return markIds;
  }

  /** Signs a high-water mark; repeats it if the key is no longer active once it has signed. */
  async function sign(id: string, state: LogState): Promise<AuditProof> {
    for (;;) {
      const { keyId, publicKey } = await registry.active('audit');
      const text = createMarkText(id, state, clock());
      const [result] = await signer.seal(keyId, [{ id, text }]);
      if (result === undefined || 'error' in result) {
        throw new Error(`the signer refused to sign a high-water mark: ${result?.error}`);
      }
      await registry.refresh();
      const { hash: entryHash, signature: hsmSignature } = result;
      if ((await registry.find(keyId))?.state === 'ACTIVE') {
        return { id, entryCanonical: text, entryHash, hsmSignature, hsmKeyId: keyId, publicKey };
      }
    }
  }

  /** Writes a high-water mark if there is news and it is this process's turn; tells whether. */
  async function write(spacing: number): Promise<boolean> {
    if (admission.admitted === undefined) return false;
    known ??= await begin(admission.admitted);
    if (marked === (await db.asService(countSealed))) return false;
    const newest = await record.take(spacing);
    if (newest === undefined) return false;
    const [newestKnown = newest] = known;
    const id = createMarkId(newestKnown > newest ? newestKnown : newest, clock());
    const state = await db.asService(readLogState);
    await objects.write(await sign(id, state));
    await record.written(id);
    marked = state.sealed;
    known = [id, ...known];
    for (const old of known.slice(kept)) await objects.remove(old);
    known = known.slice(0, kept);
    return true;
  }

  async function tryToWrite(spacing: number): Promise<void> {
    try {
      if (!(await write(spacing))) return;
      if (isFailing) log.info('high-water marks are written again');
      isFailing = false;
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, 'no high-water mark can be written; retrying');
      isFailing = true;
    }
  }

  const writing = repeat(pollMs, () => tryToWrite(spacingSeconds));
  writing.now();
  return {
    /**
     * Stops, and writes a last high-water mark if something was sealed since and it can be done
     * within 2 s.
     */
    async stop(): Promise<void> {
      await within(
        lastWaitMs,
        writing.stop().then(() => tryToWrite(0)),
      );
    },
  };
}
