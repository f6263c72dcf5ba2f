import { z } from 'zod';
import type { Variables } from '../../../signer/protocol/process/environment.ts';
import { Count } from '../definition/forms.ts';
import { isProduction } from '../definition/production.ts';
import { setting } from '../definition/setting.ts';

/** Settings of documents. */
export const documentSettings = {
  title: 'Documents',
  settings: {
    pendingDays: setting('DOCUMENTS_PENDING_DAYS', Count.max(36_500).default(30), {
      unit: 'days',
      description:
        'The age at which a version that was never sealed expires. `probatio maintenance ' +
        'expire-documents` then marks the version as expired.',
    }),
  },
};

/** Settings of jobs. */
export const jobSettings = {
  title: 'Jobs',
  settings: {
    exportDays: setting('JOBS_EXPORT_DAYS', Count.max(365).default(7), {
      unit: 'days',
      description:
        'How long the archive of an evidence export can be downloaded. It is removed earlier if ' +
        'its document is exported again, or if its job is purged or its account closed.',
    }),
  },
};

const FixityRate = Count.min(100_000)
  .max(10 ** 10)
  .default(20_000_000);
const GraceHours = z.coerce.number().int().min(0).max(8_760).default(24);

/** Settings of maintenance. */
export const maintenanceSettings = {
  title: 'Maintenance',
  settings: {
    garbageGraceHours: setting('MAINTENANCE_GARBAGE_GRACE_HOURS', GraceHours, {
      unit: 'hours',
      description:
        'How old objects and uploads must be before `probatio maintenance collect-garbage` may ' +
        'remove them. 0 is refused in production: an upload that is being opened could be taken ' +
        'for garbage.',
    }),
    fixityDays: setting('MAINTENANCE_FIXITY_DAYS', Count.max(3_650).default(90), {
      unit: 'days',
      description:
        'Within how many days `probatio maintenance verify-files` reads the file of every sealed ' +
        'version once. It must run often enough.',
    }),
    fixityBytesPerSecond: setting('MAINTENANCE_FIXITY_BYTES_PER_SECOND', FixityRate, {
      unit: 'bytes',
      description:
        'How much `probatio maintenance verify-files` reads from the object store in a second at ' +
        'most. 20 MB/s read 1.7 TB a day.',
    }),
    fixityMinutes: setting('MAINTENANCE_FIXITY_MINUTES', Count.max(1_440).default(60), {
      unit: 'minutes',
      description:
        'How long a run of `probatio maintenance verify-files` begins to read further files. It ' +
        'ends with the file that it is reading then; the next run goes on.',
    }),
    verifyDays: setting('MAINTENANCE_VERIFY_DAYS', Count.max(3_650).default(30), {
      unit: 'days',
      description:
        'Within how many days `probatio maintenance verify-log` verifies the whole audit log ' +
        'once. It must run at least once a day.',
    }),
  },
  findConflicts: findMissingGrace,
};

/** Refuses garbage collection without a grace period, which could remove an upload being opened. */
function findMissingGrace(variables: Variables): readonly string[] {
  const hours = GraceHours.safeParse(variables['MAINTENANCE_GARBAGE_GRACE_HOURS']).data;
  return isProduction(variables) && hours === 0
    ? ['MAINTENANCE_GARBAGE_GRACE_HOURS: must not be 0 in production; set it to 1 or more']
    : [];
}
