/** Milliseconds by which an entry's `timestamp` and the time of its row may differ. */
const maxDifferenceMs = 60_000;

/**
 * Returns whether an entry's `timestamp`, which the app's clock says, agrees with the creation time
 * of its row, which the clock of Postgres says. The trail appends no other entries, and the sealer
 * signs no others: whoever can insert rows cannot choose the time of an event.
 */
export function isRecordedAt(timestamp: Date, createdAt: Date): boolean {
  return Math.abs(timestamp.getTime() - createdAt.getTime()) <= maxDifferenceMs;
}
