import type { SignerClient } from '../../signer/protocol/client.ts';
import type { Clock } from '../async/clock.ts';
import type { Database } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { Log } from '../telemetry/log.ts';
import { sleep } from '../async/wake-signal.ts';
import { checkMarks, type Checked } from './check.ts';
import type { MarkObjects } from './marks/mark-objects.ts';
import type { MarkRecord } from './marks/mark-record.ts';
import type { Restoration } from './restoration.ts';
import { StartRefused } from './start-refused.ts';
import { within } from '../async/within.ts';

/** How long a start waits for an answer, and for what is away and may just be coming up. */
const patienceMs = { answer: 10_000, away: 1_000 };
const pauseMs = { first: 100, last: 5_000 };

/** A start that was let through. */
export interface Admitted {
  /** Ids of the vault's own marks in the object store, the newest first. */
  readonly markIds: readonly string[];
  /** What is missing, where that was accepted. */
  readonly restoration: Restoration | undefined;
}

/** Whether database, token and object store belong together: only then is anything signed or collected. */
export interface Admission {
  /** Undefined while one of them is away. */
  readonly admitted: Admitted | undefined;
  /** Throws what is away: StorageError, SignerUnavailable or database_unavailable. */
  assertAdmitted(): void;
  /** Resolves if this start is refused after all. */
  readonly refused: Promise<StartRefused>;
  stop(): Promise<void>;
}

interface AdmissionOptions {
  readonly db: Database;
  readonly signer: Pick<SignerClient, 'listKeys'>;
  readonly objects: MarkObjects;
  readonly record: MarkRecord;
  /** The mark without which this start is to go on. */
  readonly acceptMark: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Checks the marks; while something is away, again and again. Throws StartRefused if that is known at
 * once.
 */
export async function startAdmission(options: AdmissionOptions): Promise<Admission> {
  const { acceptMark, log } = options;
  const stopping = new AbortController();
  const refusal = Promise.withResolvers<StartRefused>();
  const tried = Promise.withResolvers<void>();
  let admitted: Admitted | undefined;
  let refused: StartRefused | undefined;
  let failure: Error | undefined;

  async function run(): Promise<void> {
    let ms = pauseMs.first;
    while (!stopping.signal.aborted) {
      try {
        const checked = await checkMarks(options);
        if (failure !== undefined) log.info('the marks are read');
        if (isAcceptable(checked, acceptMark)) admitted = admit(checked, log);
        else {
          refused = refuse(checked, log);
          refusal.resolve(refused);
        }
        return;
      } catch (error) {
        if (failure === undefined) log.warn({ err: error }, 'nothing is sealed: no marks are read');
        failure = error instanceof Error ? error : new TypeError('no error was thrown');
        tried.resolve();
        await sleep(ms, stopping.signal);
        ms = Math.min(ms * 2, pauseMs.last);
      }
    }
  }

  const running = run();
  await within(patienceMs.answer, Promise.race([running, tried.promise]));
  await within(patienceMs.away, running);
  if (refused !== undefined) throw refused;
  return {
    get admitted() {
      return admitted;
    },
    assertAdmitted() {
      if (admitted === undefined) throw failure ?? new AppError('storage_unavailable');
    },
    refused: refusal.promise,
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

function isAcceptable({ losses, markId }: Checked, acceptMark: string | undefined): boolean {
  return losses.length === 0 || markId === acceptMark;
}

function admit({ found, losses, markId, sealed, destroyedKeys }: Checked, log: Log): Admitted {
  if (found.strange.length > 0) {
    const { length, 0: newest } = found.strange;
    log.warn({ count: length, newest }, 'the object store has marks that no key of ours signed');
  }
  if (destroyedKeys.length > 0) log.info({ keys: destroyedKeys }, 'retired keys are destroyed');
  if (losses.length === 0) return { markIds: found.ids, restoration: undefined };
  log.warn({ mark: markId, missing: losses }, 'backups of different moments were accepted');
  return { markIds: found.ids, restoration: { markId, losses, sealed } };
}

function refuse({ found: { mark }, losses, markId }: Checked, log: Log): StartRefused {
  const sealedAt = mark === undefined ? '' : ` Mark ${mark.id} is of ${mark.writtenAt}.`;
  const refused = new StartRefused(
    `refused to start, as these are backups of different moments: ${losses.join('; ')}.${sealedAt}` +
      ` Restore what is older, or set RESTORE_ACCEPT_MARK=${markId} to go on as it is` +
      ' (docs/restore.md)',
  );
  log.fatal({ mark: markId, missing: losses }, refused.message);
  return refused;
}
