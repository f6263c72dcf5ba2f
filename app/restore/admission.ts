import type { SignerClient } from '../../signer/protocol/client.ts';
import type { Clock } from '../async/clock.ts';
import type { Acceptances } from './acceptances.ts';
import type { Database } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { Log } from '../telemetry/log.ts';
import { sleep } from '../async/wake-signal.ts';
import { checkMarks, type Checked } from './check-at-start.ts';
import type { MarkObjects } from './high-water-marks/mark-objects.ts';
import type { MarkRecord } from './high-water-marks/mark-record.ts';
import type { Restoration } from './restoration.ts';
import { StartRefused } from '../errors/start-refused.ts';
import { within } from '../async/within.ts';

/**
 * Milliseconds for which a start waits for the result of the first check (`answer`), and then for
 * an unavailable backend that may be starting (`away`).
 */
const patienceMs = { answer: 10_000, away: 1_000 };
const pauseMs = { first: 100, last: 5_000 };

/** The result of the check that admitted a start. */
export interface Admitted {
  /** The ids of the vault's own high-water marks in the object store, newest first. */
  readonly markIds: readonly string[];
  /** The losses that an operator accepted; undefined if nothing was lost. */
  readonly restoration: Restoration | undefined;
}

/**
 * Admits a start of the vault after a check has shown that database, HSM token and object store are
 * not backups of different moments. Until the admission, nothing is signed and no garbage is
 * collected.
 */
export interface Admission {
  /**
   * Undefined until the start is admitted, in particular while the database, the signer or the
   * object store is unavailable.
   */
  readonly admitted: Admitted | undefined;
  /**
   * Throws StorageError, SignerUnavailable or database_unavailable unless the start is admitted.
   */
  assertAdmitted(): void;
  /** Resolves if this start is refused after `startAdmission` has returned. */
  readonly refused: Promise<StartRefused>;
  stop(): Promise<void>;
}

interface AdmissionOptions {
  readonly db: Database;
  readonly signer: Pick<SignerClient, 'listKeys'>;
  readonly objects: MarkObjects;
  readonly record: MarkRecord;
  readonly acceptances: Acceptances;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Checks the database, the token and the object store against the signed high-water marks, so that
 * a restored older state is noticed. Retries while one of them is unavailable. Waits a few seconds:
 * throws StartRefused if the check fails by then, and otherwise returns while the check goes on. A
 * later failure resolves `Admission.refused`.
 */
export async function startAdmission(options: AdmissionOptions): Promise<Admission> {
  const { acceptances, record, log } = options;
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
        if (failure !== undefined) log.info('the high-water marks could be read');
        if (await isAcceptable(checked, acceptances)) admitted = admit(checked, log);
        // A replica that was admitted wrote a mark meanwhile, which ended the acceptance.
        else if ((await record.newest()) !== checked.newestMark) continue;
        else {
          refused = refuse(checked, await acceptances.accepted(), log);
          refusal.resolve(refused);
        }
        return;
      } catch (error) {
        if (failure === undefined) {
          log.warn({ err: error }, 'sealing waits: the high-water marks cannot be read');
        }
        failure =
          error instanceof Error
            ? error
            : new TypeError('the check threw a value that is no error');
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

async function isAcceptable(
  { losses, lacking, markId, wrongToken }: Checked,
  acceptances: Acceptances,
): Promise<boolean> {
  if (wrongToken !== undefined) return false;
  return losses.length === 0 || acceptances.use(markId, lacking);
}

function admit({ found, losses, markId, sealed, destroyedKeys }: Checked, log: Log): Admitted {
  if (found.strange.length > 0) {
    const { length, 0: newest } = found.strange;
    log.warn(
      { count: length, newest },
      'the object store has high-water marks that no key of this vault signed',
    );
  }
  if (destroyedKeys.length > 0)
    log.info({ keys: destroyedKeys }, 'the token no longer holds these retired keys');
  if (losses.length === 0) return { markIds: found.ids, restoration: undefined };
  log.warn({ mark: markId, missing: losses }, 'backups of different moments were accepted');
  return { markIds: found.ids, restoration: { markId, losses, sealed } };
}

function refuse(checked: Checked, accepted: string | undefined, log: Log): StartRefused {
  const { losses, markId, wrongToken } = checked;
  const refused = new StartRefused(
    wrongToken === undefined
      ? describeLosses(checked, accepted)
      : `refused to start: the token is another vault's, since ${wrongToken}. ` +
          'Connect the signer to the token of this vault (docs/restore.md)',
  );
  log.fatal({ mark: markId, missing: losses }, refused.message);
  return refused;
}

function describeLosses(
  { found: { mark, strange }, losses, markId }: Checked,
  accepted: string | undefined,
): string {
  const sealedAt = mark === undefined ? '' : ` High-water mark ${mark.id} is of ${mark.writtenAt}.`;
  const other = accepted === undefined ? '' : describeOther(accepted, markId);
  const unread =
    mark === undefined || strange.length === 0
      ? ''
      : ` ${strange.length} newer marks cannot be read, as neither the database nor the token ` +
        'has the key that signed them: these numbers are lower bounds.';
  return (
    'refused to start, as these are backups of different moments: ' +
    `${losses.join('; ')}.${sealedAt}${unread}${other}` +
    ' Restore a newer backup of each incomplete part, or run ' +
    `\`probatio restored --accept ${markId}\` to accept the losses (docs/restore.md)`
  );
}

/** Says why an acceptance does not let this start through. */
function describeOther(accepted: string, markId: string): string {
  return accepted === markId
    ? ' More is missing than when this mark was accepted.'
    : ` The accepted mark ${accepted} is that of another state.`;
}
