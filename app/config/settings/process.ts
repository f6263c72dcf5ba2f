import { z } from 'zod';
import { defaultTerminationLog } from '../../../signer/log/termination-log.ts';
import { List, Text } from '../definition/forms.ts';
import { setting } from '../definition/setting.ts';

const Role = z.enum(['api', 'worker']);

const Roles = List.pipe(z.array(Role).min(1))
  .transform((roles): ReadonlySet<z.output<typeof Role>> => new Set(roles))
  .prefault('api,worker');

/** Settings of the process as a whole. */
export const processSettings = {
  title: 'Process',
  settings: {
    environment: setting(
      'NODE_ENV',
      z.enum(['production', 'development', 'test']).default('production'),
      {
        description:
          'The kind of installation. `development` serves the API explorer at `/api/docs`, which ' +
          'also shows validation e-mails that are written as files. ' +
          '`development` and `test` also allow settings that are refused in production; never ' +
          'use them for a vault that holds real data.',
      },
    ),
    roles: setting('APP_ROLES', Roles, {
      form: '`api`, `worker`, or both with a comma between them',
      description:
        'What this process does. Without `worker` it runs no jobs, and nothing of the outbox: ' +
        'no mail is sent, and no stored object removed. Without `api` it serves the probes of ' +
        '`/health` only. Every process has audit entries signed. A vault needs both roles.',
    }),
    logLevel: setting(
      'LOG_LEVEL',
      z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
      {
        description:
          'The least severe level that is logged. Logs go to standard output, as one JSON object ' +
          'per line.',
      },
    ),
    terminationLog: setting('TERMINATION_LOG', Text.default(defaultTerminationLog), {
      form: 'path of a file',
      description:
        'A process that cannot start, or that an error ends, writes the reason to this file if ' +
        'it exists. Set it to the `terminationMessagePath` of the container if that differs.',
    }),
  },
};
