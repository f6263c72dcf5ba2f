import { counters, type Counter } from '../../db/usage/quota.ts';
import { standardLimits, type Plan } from '../../plans/plan.ts';
import { readPlans } from '../../plans/plans-file.ts';
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
const PlansFile = Text.transform((file, context): ReadonlyMap<string, Partial<Plan>> => {
  const { plans, problems } = readPlans(file);
  for (const message of problems) context.addIssue({ code: 'custom', message });
  return plans;
});

function standardSetting(counter: Counter) {
  const { standard, unit, what } = standardLimits[counter];
  const name = counter.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
  return setting(`PLANS_STANDARD_${name}`, Count.default(standard), {
    unit,
    description: `How many ${what} an account of the plan \`standard\` may keep.`,
  });
}

const standard = Object.fromEntries(
  counters.map((counter) => [counter, standardSetting(counter)]),
) as Record<Counter, ReturnType<typeof standardSetting>>;

/** Settings of the plans, which limit what each account may keep. */
export const planSettings = {
  title: 'Plans',
  introduction:
    'A plan limits what each account that has it keeps; `probatio grant --plan` assigns one. ' +
    'Beyond a limit, 429 `quota_exceeded` names it. What frees space always works.',
  settings: {
    ...standard,
    named: setting('PLANS_FILE', PlansFile.optional(), {
      form: 'path of a JSON file',
      whenUnset: 'no further plans',
      description:
        'Further plans by name: `{"large": {"openUploads": 100, "storageBytes": ' +
        '1099511627776}}`. Other limits have the names that `GET /v1/usage` shows, and are those ' +
        'of `standard` where a plan leaves them out. An account whose plan is missing here has ' +
        'the limits of `standard`. The file is read once, at the start.',
    }),
  },
};
