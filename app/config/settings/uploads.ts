import { readPlans } from '../../uploads/sessions/plans-file.ts';
import type { Plan } from '../../uploads/sessions/quota.ts';
import { Count, List, Text } from '../definition/forms.ts';
import { setting } from '../definition/setting.ts';

const maxTtlSeconds = 365 * 86_400;

/** Settings of uploads. */
export const uploadSettings = {
  title: 'Uploads',
  settings: {
    sessionTtlSeconds: setting(
      'UPLOADS_SESSION_TTL_SECONDS',
      Count.max(maxTtlSeconds).default(86_400),
      {
        unit: 'seconds',
        description:
          'How long an upload may take from its first request to its completion. Then it expires ' +
          'and its parts are removed.',
      },
    ),
    allowedMimeTypes: setting(
      'UPLOADS_ALLOWED_MIME_TYPES',
      List.prefault('application/octet-stream'),
      {
        form: 'media types, separated by commas',
        description:
          'The media types that an upload may declare. Files are encrypted by the client, so the ' +
          'service cannot compare the type with the content.',
      },
    ),
  },
};

/**
 * Accepts the path of a file and reads the plans in it. Problems of the file become problems of the
 * setting.
 */
const PlansFile = Text.transform((file, context): ReadonlyMap<string, Plan> => {
  const { plans, problems } = readPlans(file);
  for (const message of problems) context.addIssue({ code: 'custom', message });
  return plans;
});

/** Settings of the plans, which limit what each account may store. */
export const planSettings = {
  title: 'Plans',
  introduction: 'A plan limits each account that has it; `probatio grant --plan` assigns one.',
  settings: {
    openUploads: setting('PLANS_STANDARD_OPEN_UPLOADS', Count.default(20), {
      unit: 'uploads',
      description: 'How many uploads an account of the plan `standard` may have in progress.',
    }),
    storageBytes: setting('PLANS_STANDARD_STORAGE_BYTES', Count.default(50 * 2 ** 30), {
      unit: 'bytes',
      description:
        'How much an account of the plan `standard` may store, uploads in progress included. The ' +
        'default is 50 GiB.',
    }),
    named: setting('PLANS_FILE', PlansFile.optional(), {
      form: 'path of a JSON file',
      whenUnset: 'no further plans',
      description:
        'Further plans by name: `{"large": {"openUploads": 100, "storageBytes": ' +
        '1099511627776}}`. An account whose plan is missing here has the limits of `standard`. ' +
        'The file is read once, at the start.',
    }),
  },
};
