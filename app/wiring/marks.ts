import type { Clock } from '../async/clock.ts';
import { startAdmission } from '../restore/admission.ts';
import { createAcceptances } from '../restore/acceptances.ts';
import { createMarkObjects } from '../restore/high-water-marks/mark-objects.ts';
import { createMarkRecord } from '../restore/high-water-marks/mark-record.ts';
import type { Log } from '../telemetry/log.ts';
import type { Backends } from './backends.ts';

/**
 * Checks with the high-water marks that the backends belong together. Throws StartRefused if they
 * do not. Closes the backends after any error.
 */
export async function openMarks(backends: Backends, clock: Clock, log: Log) {
  const objects = createMarkObjects(backends.store);
  const record = createMarkRecord(backends.db);
  try {
    const acceptances = createAcceptances(backends.db);
    const options = { ...backends, objects, record, acceptances, clock, log };
    return { objects, record, admission: await startAdmission(options) };
  } catch (error) {
    await backends.close();
    throw error;
  }
}
