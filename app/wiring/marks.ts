import type { Clock } from '../async/clock.ts';
import type { Config } from '../config/config.ts';
import { startAdmission } from '../restore/admission.ts';
import { createMarkObjects } from '../restore/high-water-marks/mark-objects.ts';
import { createMarkRecord } from '../restore/high-water-marks/mark-record.ts';
import type { Log } from '../telemetry/log.ts';
import type { Backends } from './backends.ts';

/**
 * Checks with the high-water marks that the backends belong together. Throws StartRefused if they
 * do not. Closes the backends after any error.
 */
export async function openMarks(
  config: Config['restore'],
  backends: Backends,
  clock: Clock,
  log: Log,
) {
  const objects = createMarkObjects(backends.store);
  const record = createMarkRecord(backends.db);
  try {
    const options = { ...backends, ...config, objects, record, clock, log };
    return { objects, record, admission: await startAdmission(options) };
  } catch (error) {
    await backends.close();
    throw error;
  }
}
