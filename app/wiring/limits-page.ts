import { maxWaiting } from '../audit/custody/download-rows.ts';
import { passwordChecks } from '../auth/reauth/password-turns.ts';
import { toJsonSchema, type SettingGroup } from '../config/definition/setting.ts';
import { settingGroups } from '../config/environment.ts';
import { partOfUser } from '../db/database.ts';
import { maxDevices } from '../devices/schema.ts';
import { largeAtOnce } from '../http/bodies/json-body.ts';
import { maxPipelined } from '../http/server/pipelining.ts';
import { refusalBurst } from '../http/routing/refusal-pace.ts';
import { formsPerUser, forms, waitingPerKey, waitsPerUser } from '../http/routing/request-slots.ts';
import type { Route } from '../http/routing/route.ts';
import { standardLimits } from '../plans/plan.ts';
import { maxOpenJobs } from '../jobs/rows/job-rows.ts';
import { maxReplacedKeys } from '../replaced-keys/rows/replaced-keys.ts';
import { maxOpenSessions } from '../sessions/kept-sessions.ts';
import { streamsPerUser } from '../sessions/streams/stream-slots.ts';
import { maxRecords } from '../memory/memory-records.ts';
import { maxRecordBytes } from '../memory/schema.ts';
import { maxBlocks } from '../sharing/blocks/blocks.ts';
import { hashesPerUser } from '../uploads/completion/file-hashes.ts';
import { hashesAtOnce } from './backends.ts';

const introduction = `# Limits

Made from the code by \`npm run openapi\`; a test fails when this page is out of date.

What one user, one client address and one process may use. A limit that names a variable is a
setting with this default ([configuration.md](configuration.md)). Rates hold across all processes;
limits on work at the same time hold in each process. Requests beyond them wait, up to
${waitingPerKey} of each client, and are then refused with 503 \`busy\`
([why](adr/0018-slots-for-each-client.md)). The addresses of one IPv6 /64 network count as one.
`;

type Row = readonly [what: string, limit: number | string, setting?: string];

/** Returns docs/limits.md. */
export function describeLimits(routes: readonly Route[]): string {
  const sections = [
    table('What a user keeps, with the plan `standard`', ['What', 'Limit'], keptRows()),
    table(
      'What a user keeps, with any plan',
      ['What', 'Limit'],
      [
        ['active devices', maxDevices],
        ['open login sessions; a further login ends the one used longest ago', maxOpenSessions],
        ['blocked senders', maxBlocks],
        [`records of what clients remember, of up to ${maxRecordBytes} bytes`, maxRecords],
        ['replaced keys that can be restored, for 30 days', maxReplacedKeys],
      ],
    ),
    table('What a user does at the same time', head, userRows()),
    table('What a user or account does in a time', head, rateRows(['user', 'account'])),
    table('What a client address does in a time', head, rateRows(['address', 'email', 'client'])),
    table('What a client address does at the same time', head, [
      setRow('connections', 'http', 'HTTP_CONNECTIONS_PER_ADDRESS'),
      setRow('requests without an access token', 'http', 'HTTP_REQUESTS_PER_CLIENT'),
      setRow(
        `refusals each second, after the first ${refusalBurst}`,
        'http',
        'HTTP_REFUSALS_PER_ADDRESS',
      ),
      ['requests that one connection sends ahead; with more it is closed', maxPipelined],
    ]),
    table('What a process does at the same time', head, processRows()),
    table('Bodies and responses', ['Route', 'Body', 'Response'], routes.flatMap(routeRows)),
  ];
  return `${introduction}\n${sections.join('\n')}`;
}

const head = ['What', 'Limit', 'Variable'];

function keptRows(): readonly Row[] {
  return Object.values(standardLimits).map(({ standard, what }) => [
    what.replace(/,$/, ''),
    standard,
  ]);
}

function userRows(): readonly Row[] {
  return [
    setRow('requests', 'http', 'HTTP_REQUESTS_PER_CLIENT'),
    setRow('uploads of parts and downloads', 'http', 'HTTP_TRANSFERS_PER_USER'),
    ['uploads of forms', formsPerUser],
    ['requests that wait until a file is hashed', waitsPerUser],
    ['change feeds, in all processes together', streamsPerUser],
    ['event streams of jobs, in all processes together', streamsPerUser],
    ['jobs that wait or run', maxOpenJobs],
    ['downloads that are not audit entries yet', maxWaiting],
    ['transactions, of the connections of a login', `${partOfUser * 100} %`],
    ['hashes of files', hashesPerUser],
    ['JSON bodies over 16 KiB', largeAtOnce],
    [
      'checks of the password; a few more wait',
      `${passwordChecks.perKey} + ${passwordChecks.waitingPerKey}`,
    ],
  ];
}

function processRows(): readonly Row[] {
  return [
    setRow('connections', 'http', 'HTTP_CONNECTIONS'),
    setRow('uploads of parts and downloads', 'http', 'HTTP_TRANSFERS'),
    ['uploads of forms', forms],
    setRow('connections to Postgres, for each of two logins', 'database', 'DATABASE_POOL_SIZE'),
    ['hashes of files', hashesAtOnce],
    ['checks of passwords; more wait', `${passwordChecks.inAll} + ${passwordChecks.waiting}`],
    setRow('audit entries without a seal, of one user', 'audit', 'AUDIT_OWNER_BACKLOG_LIMIT'),
    setRow('audit entries without a seal, of all users', 'audit', 'AUDIT_BACKLOG_LIMIT'),
  ];
}

/** Returns the rate limits whose keys are of one of these kinds: the last words of their names. */
function rateRows(kinds: readonly string[]): readonly Row[] {
  const { properties = {} } = toJsonSchema(settingGroups.limits);
  return Object.entries(settingGroups.limits.settings)
    .filter(([name]) => kinds.includes(name.split('-').at(-1) ?? ''))
    .map(([, { variable }]) => {
      const { description = '', default: rate } = properties[variable] as Documented;
      return [description.replace(/\.$/, ''), String(rate), variable];
    });
}

interface Documented {
  readonly description?: string;
  readonly default?: unknown;
}

function setRow(what: string, group: keyof typeof settingGroups, variable: string): Row {
  const settings: SettingGroup = settingGroups[group];
  const { properties = {} } = toJsonSchema(settings);
  const { default: value } = properties[variable] as Documented;
  return [what, Number(value), variable];
}

function routeRows({ method, path, maxBodyBytes, maxAnswerBytes }: Route): readonly Row[] {
  if (maxBodyBytes === undefined && maxAnswerBytes === undefined) return [];
  const bytes = (limit: number | undefined) => (limit === undefined ? '' : `${limit} bytes`);
  const route = `\`${method.toUpperCase()} ${path}\``;
  return [[route, bytes(maxBodyBytes), bytes(maxAnswerBytes)]];
}

function table(title: string, columns: readonly string[], rows: readonly Row[]): string {
  const lines = rows.map(([what, limit, setting = '']) => {
    const third = /^[A-Z_]+$/.test(setting) ? `\`${setting}\`` : setting;
    const cells = [what.replaceAll('|', '\\|'), shown(limit), third];
    return `| ${cells.slice(0, columns.length).join(' | ')} |`;
  });
  const rule = columns.map(() => '---').join(' | ');
  return `## ${title}\n\n| ${columns.join(' | ')} |\n| ${rule} |\n${lines.join('\n')}\n`;
}

/** Returns a number with spaces between groups of three digits, and a text unchanged. */
function shown(limit: number | string): string {
  return typeof limit === 'string' ? limit : limit.toLocaleString('en').replaceAll(',', ' ');
}
