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
