/**
 * Measures the app's event loop; loaded into the app by --import. On each SIGUSR2 it writes, as
 * JSON to the file named by EVENT_LOOP_REPORT, how late the loop was since the previous signal.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

/** Lateness of the event loop in milliseconds. */
export interface EventLoopReport {
  readonly p99: number;
  readonly max: number;
}

const resolutionMs = 10;
const file = process.env['EVENT_LOOP_REPORT'];

if (isMainThread && file !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  process.on('SIGUSR2', () => {
    // The histogram holds the time between two samples; the excess over the interval is lateness.
    const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - resolutionMs);
    const report: EventLoopReport = { p99: late(delay.percentile(99)), max: late(delay.max) };
    delay.reset();
    writeFileSync(`${file}.new`, JSON.stringify(report));
    renameSync(`${file}.new`, file);
  });
}
