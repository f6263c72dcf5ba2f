import type { SignerClient } from '../../signer/protocol/client.ts';
import type { AuditProof } from '../proof/proof.ts';
import type { AuditTrail } from '../trail/trail.ts';
import type { Clock } from '../async/clock.ts';
import type { Database } from '../db/database.ts';
import type { KeyRegistry } from '../keys/registry.ts';
import type { Log } from '../telemetry/log.ts';
import { repeat } from '../async/repeat.ts';
import type { Admission, Admitted } from './admission.ts';
import { countSealed, readLogState } from './marks/log-state.ts';
import { createMarkId, createMarkText, type LogState } from './marks/mark.ts';
import type { MarkObjects } from './marks/mark-objects.ts';
import type { MarkRecord } from './marks/mark-record.ts';
import { recordRestoration } from './restoration.ts';
import { within } from '../async/within.ts';

const pollMs = 1_000;
/** Between two marks in a row, whoever writes them. */
const spacingSeconds = 5;
const kept = 10;
/** How long the end of the process waits for its last mark. */
const lastWaitMs = 2_000;

interface MarkWriter {
  /** Writes what was sealed since the last mark, if that can be done at once. */
  stop(): Promise<void>;
}

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
 * Once the start is admitted, writes a mark within seconds after something was sealed, in turn with
 * other replicas. Nothing waits for it.
 */
export function startMarkWriter(options: MarkWriterOptions): MarkWriter {
  const { db, signer, registry, objects, record, admission, audit, clock, log } = options;
  /** Of the marks in the object store those that this process knows, the newest first. */
  let known: readonly string[] | undefined;
  /** What the last mark of this process says. */
  let marked: number | undefined;
  let isFailing = false;

  async function begin({ markIds, restoration }: Admitted): Promise<readonly string[]> {
    if (restoration !== undefined) {
      await db.asService((tx) => recordRestoration(tx, audit, restoration));
    }
    return markIds;
  }

  /** By a key that is still active once it has signed. */
  async function sign(id: string, state: LogState): Promise<AuditProof> {
    for (;;) {
      const { keyId, publicKey } = await registry.active('audit');
      const text = createMarkText(id, state, clock());
      const [result] = await signer.seal(keyId, [{ id, text }]);
      if (result === undefined || 'error' in result) {
        throw new Error(`the signer refused a mark: ${result?.error}`);
      }
      await registry.refresh();
      const { hash: entryHash, signature: hsmSignature } = result;
      if ((await registry.find(keyId))?.state === 'ACTIVE') {
        return { id, entryCanonical: text, entryHash, hsmSignature, hsmKeyId: keyId, publicKey };
      }
    }
  }

  /** Whether there was something to write, and it was this process's turn. */
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
      if (isFailing) log.info('marks are written again');
      isFailing = false;
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, 'no mark can be written');
      isFailing = true;
    }
  }

  const writing = repeat(pollMs, () => tryToWrite(spacingSeconds));
  writing.now();
  return {
    async stop() {
      await within(
        lastWaitMs,
        writing.stop().then(() => tryToWrite(0)),
      );
    },
  };
}
