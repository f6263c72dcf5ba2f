import { readSyncRules } from '../../sync/merge/rules-file.ts';
import type { SyncRules } from '../../sync/merge/rules.ts';
import { SchemaVersions } from '../../sync/schema-versions.ts';
import { Text } from '../definition/forms.ts';
import { setting } from '../definition/setting.ts';

/**
 * Accepts the path of a file and reads the rules in it. Problems of the file become problems of the
 * setting.
 */
const RulesFile = Text.transform((file, context): SyncRules => {
  const { rules, problems } = readSyncRules(file);
  for (const message of problems) context.addIssue({ code: 'custom', message });
  return rules;
});

/** Settings of the objects that the devices of a user share. */
export const syncSettings = {
  title: 'Synchronisation',
  settings: {
    schemaVersions: setting('SYNC_SCHEMA_VERSIONS', SchemaVersions.prefault('1-1'), {
      form: 'two integers, `<min>-<max>`',
      description:
        'The first and the last `X-Schema-Version` of the clients that may write objects. Other ' +
        'clients can only read.',
    }),
    rules: setting('SYNC_RULES_FILE', RulesFile.optional(), {
      form: 'path of a JSON file',
      whenUnset: 'no rules of your own',
      description:
        'Rules for fields that two devices changed concurrently ([sync.md](sync.md)). The file ' +
        'is read once, at the start.',
    }),
  },
};
