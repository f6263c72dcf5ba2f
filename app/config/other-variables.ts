import { z } from 'zod';
import { fileVariable } from '../../signer/protocol/process/environment.ts';
import { PostgresUrl } from '../db/postgres-url.ts';
import { Text, Url } from './definition/forms.ts';
import { isSecret, secretSetting, setting, type SettingGroup } from './definition/setting.ts';

/** Variables that single commands of `probatio` read. The app itself does not. */
export const commandVariables = {
  title: 'Commands',
  introduction:
    'Commands of `probatio` read these variables; the app does not. `probatio help` names the ' +
    'commands.',
  settings: {
    ownerUrl: secretSetting('DATABASE_OWNER_URL', PostgresUrl, {
      form: '`postgresql://` URL with the name of a database',
      whenUnset: 'required by `probatio migrate` and `probatio partitions`',
      description:
        'The database, with the login `probatio_owner`. This login is not bound by row-level ' +
        'security: give it to `probatio migrate` and `probatio partitions` only, never to the app.',
      rereads: 'by each command',
    }),
    maintenanceUrl: setting('MAINTENANCE_URL', Url.optional(), {
      form: '`http` or `https` URL',
      whenUnset: '`http://127.0.0.1:8081`',
      description:
        'The listener of a running app that serves the internal routes, for `probatio status`, ' +
        '`probatio maintenance` and `probatio keys` without `--url`.',
    }),
    keyFile: setting('INTERNAL_API_KEY_FILE', Text.optional(), {
      form: 'path of a file',
      whenUnset: 'required without `--key-file`',
      description:
        'The file that holds the internal API key of `probatio status`, `probatio maintenance` ' +
        'and `probatio keys`. The key is a secret: let nobody else read the file.',
    }),
  },
};

/** Variables that Node reads itself. */
const runtimeVariables = {
  title: 'Runtime',
  introduction:
    'Node, the AWS SDK and OpenTelemetry read these variables themselves; they are not validated.',
  settings: {
    extraCaCerts: setting('NODE_EXTRA_CA_CERTS', z.string().optional(), {
      form: 'path of a PEM file',
      whenUnset: "Node's own authorities",
      description:
        'Certificate authorities that are trusted beside those of Node, such as the one of your ' +
        'S3 server. Each of them can vouch for every server that the app connects to.',
    }),
    awsVariables: setting('AWS_*', z.string().optional(), {
      form: 'as the AWS SDK documents them',
      description:
        'Credentials for the driver `s3` where `STORAGE_ACCESS_KEY_ID` and ' +
        '`STORAGE_SECRET_ACCESS_KEY` are not set.',
    }),
    otelVariables: setting('OTEL_*', z.string().optional(), {
      form: 'as OpenTelemetry documents them',
      description:
        'Variables of the exporter of traces, of its queue and of the resource; ' +
        '[traces.md](traces.md) lists them. The signer reads them too.',
    }),
  },
};

/** Documented variables that are no part of the configuration of the app. */
export const otherVariables: readonly SettingGroup[] = [commandVariables, runtimeVariables];

/** The names of these variables and of the files of the secrets among them. */
export const variablesOfOthers: readonly string[] = otherVariables.flatMap(({ settings }) =>
  Object.values(settings).flatMap((each) =>
    isSecret(each) ? [each.variable, fileVariable(each.variable)] : [each.variable],
  ),
);
