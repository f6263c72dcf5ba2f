import { sql } from 'kysely';
import type { Clock } from '../../async/clock.ts';
import type { Database, Tx } from '../../db/database.ts';

/** What somebody ought to look at. */
interface DlqAlert {
  readonly code:
    | 'dead_letters'
    | 'dead_letter_old'
    | 'backlog_large'
    | 'backlog_old'
    | 'sealing_paused';
  readonly severity: 'warning' | 'critical';
  readonly message: string;
  /** Entries, or seconds where the code is of an age or a pause. */
  readonly value: number;
  readonly threshold: number;
  /** When that began which is too many or lasts too long. */
  readonly since: Date;
}

/** From which on there is an alert. */
export interface AlertThresholds {
  readonly deadLetters: number;
  readonly deadLetterAgeSeconds: number;
  readonly backlog: number;
  readonly backlogAgeSeconds: number;
  readonly pauseSeconds: number;
}

/** Alerts of the whole vault; only `sealing_paused` is about the process that is asked. */
export type ReadAlerts = () => Promise<DlqAlert[]>;

interface AlertsOptions {
  readonly db: Database;
  /** Since when this process cannot seal. */
  readonly pausedSince: () => Date | undefined;
  readonly thresholds: AlertThresholds;
  readonly clock: Clock;
}

export function createAlerts({ db, pausedSince, thresholds, clock }: AlertsOptions): ReadAlerts {
  return async () => {
    const { letters, entries } = await db.asService(async (tx) => ({
      letters: await findWaiting(tx, lettersInOrder, thresholds.deadLetters),
      entries: await findWaiting(tx, unsealedInOrder, thresholds.backlog),
    }));
    const alerts: (DlqAlert | undefined)[] = [
      tooMany(letters, thresholds.deadLetters, {
        code: 'dead_letters',
        severity: 'warning',
        message: 'Entries are in the dead-letter queue.',
      }),
      tooLong(letters.oldest, thresholds.deadLetterAgeSeconds, {
        code: 'dead_letter_old',
        severity: 'critical',
        message: 'A dead letter waits for somebody to retry or abandon it.',
      }),
      tooMany(entries, thresholds.backlog, {
        code: 'backlog_large',
        severity: 'warning',
        message: 'Many entries wait for their signature.',
      }),
      tooLong(entries.oldest, thresholds.backlogAgeSeconds, {
        code: 'backlog_old',
        severity: 'critical',
        message: 'An entry waits long for its signature.',
      }),
      tooLong(ageAt(clock(), pausedSince()), thresholds.pauseSeconds, {
        code: 'sealing_paused',
        severity: 'critical',
        message: 'This process cannot seal: its log says what is away or fails.',
      }),
    ];
    return alerts.filter((alert) => alert !== undefined);
  };
}

type Wording = Pick<DlqAlert, 'code' | 'severity' | 'message'>;

interface Age {
  readonly since: Date;
  readonly seconds: number;
}

interface Waiting {
  readonly count: number;
  /** By the database's clock, which dates them: replicas' may be apart. */
  readonly oldest: Age | undefined;
  /** When the one came with which the threshold was reached. */
  readonly reachedAt: Date | undefined;
}

const lettersInOrder = sql`select created_at from audit_dead_letters where status = 'PENDING' order by created_at`;
/** Ids are nearly in the order of time. */
const unsealedInOrder = sql`select created_at from audit_entries where state = 'PENDING' order by id`;

async function findWaiting(
  tx: Tx,
  inOrder: typeof lettersInOrder,
  threshold: number,
): Promise<Waiting> {
  const { rows } = await sql<{
    count: number;
    oldest: Date | null;
    now: Date;
    reached: Date | null;
  }>`
    with waiting as materialized (${inOrder})
    select count(*) as count, min(created_at) as oldest, clock_timestamp() as now,
      (select created_at from waiting offset ${threshold - 1} limit 1) as reached
    from waiting`.execute(tx);
  const [row] = rows;
  return {
    count: row?.count ?? 0,
    oldest: row && ageAt(row.now, row.oldest ?? undefined),
    reachedAt: row?.reached ?? undefined,
  };
}

function ageAt(now: Date, since: Date | undefined): Age | undefined {
  return since && { since, seconds: Math.floor((now.getTime() - since.getTime()) / 1_000) };
}

function tooMany(
  { count, reachedAt }: Waiting,
  threshold: number,
  wording: Wording,
): DlqAlert | undefined {
  return reachedAt && { ...wording, value: count, threshold, since: reachedAt };
}

function tooLong(age: Age | undefined, threshold: number, wording: Wording): DlqAlert | undefined {
  if (age === undefined || age.seconds < threshold) return undefined;
  return { ...wording, value: age.seconds, threshold, since: age.since };
}
