import test from 'ava';
import { describeApi } from '../../app/wiring/routes.ts';
import { access } from '../../app/cli/commands/pages/access.ts';
import { apiKey } from '../../app/cli/commands/api-key.ts';
import { configuration } from '../../app/cli/commands/pages/configuration.ts';
import { UsageError, type Command } from '../../app/cli/command.ts';
import { grant } from '../../app/cli/commands/rights/grant.ts';
import { limits } from '../../app/cli/commands/pages/limits.ts';
import { maintenance } from '../../app/cli/commands/maintenance.ts';
import { metrics } from '../../app/cli/commands/pages/metrics.ts';
import { migrate } from '../../app/cli/commands/migrate.ts';
import { openapi } from '../../app/cli/commands/pages/openapi.ts';
import { requests } from '../../app/cli/commands/pages/requests.ts';
import { restored } from '../../app/cli/commands/restored.ts';
import { revoke } from '../../app/cli/commands/rights/revoke.ts';
import { status } from '../../app/cli/commands/status.ts';
import { token } from '../../app/cli/commands/token.ts';
import { usage } from '../../app/cli/commands/usage.ts';
import { runCli } from '../support/processes/run-cli.ts';
import { testIssuer } from '../support/vault/stack.ts';

const commands: Record<string, Command> = {
  access,
  configuration,
  migrate,
  grant,
  revoke,
  'api-key': apiKey,
  maintenance,
  metrics,
  restored,
  status,
  usage,
  openapi,
  requests,
  token,
  limits,
};
const names = Object.keys(commands);

test('help lists all commands', async (t) => {
  for (const args of [['help'], ['--help']]) {
    const { code, stdout, stderr } = await runCli(args);
    t.is(code, 0);
    t.is(stderr, '');
    for (const name of names) t.true(stdout.includes(`  ${name}`), name);
  }
});

test('every command prints its usage on --help, -h and help', async (t) => {
  for (const name of names) {
    const text = commands[name]?.usage ?? '';
    t.regex(text, new RegExp(`^usage: probatio ${name}`));
    const asked = name === 'grant' ? ['help', name] : [name, '--jam', '-h'];
    t.deepEqual(await runCli(asked), { code: 0, stdout: text, stderr: '' });
  }
});

test('a misused command exits with 2 and prints the reason to standard error only', async (t) => {
  const said: [string[], RegExp][] = [
    [[], /^usage: probatio <command>/],
    [['jam'], /^no such command: jam\n\nusage: /],
    [['constructor'], /^no such command: constructor\n/],
    [['help', 'jam'], /^no such command: jam\n/],
    [['api-key', 'create', '--jam'], /^[^\n]*--jam[^\n]*\nsee: probatio api-key --help\n$/],
  ];
  for (const [args, reason] of said) {
    const { code, stdout, stderr } = await runCli(args);
    t.is(code, 2, args.join(' '));
    t.is(stdout, '');
    t.regex(stderr, reason);
  }
});

const email = ['--email', 'a@example.org'];
/** Arguments, and the reason for which they are refused. */
const misused: [string[], RegExp][] = [
  [['migrate', 'jam'], /jam/],
  [['openapi', '--jam'], /--jam/],
  [['configuration', 'jam'], /jam/],
  [
    ['configuration', '--schema', '/nowhere'],
    /^--schema must name a file of JSON that can be read$/,
  ],
  [['metrics', '--signer', '/nowhere'], /^--signer must name a file of JSON that can be read$/],
  [['grant'], /^--email/],
  [['grant', '--email', 'jam', '--role', 'auditor'], /^--email/],
  [['grant', ...email], /^give what to grant/],
  [
    ['grant', ...email, '--role', 'jam'],
    /^--role jam: .*auditor, operator, probatio_admin, platform_auditor,.*$/,
  ],
  [['grant', ...email, '--role', 'auditor', '--scope', 'jam'], /^--scope jam: .*audit:read/],
  [['grant', ...email, '--scope', 'recovery'], /^--scope recovery/],
  [['grant', ...email, '--tenant', ''], /^--tenant/],
  [['grant', ...email, '--tenant', 'a b'], /^--tenant/],
  [['grant', ...email, '--tenant', 'system'], /^--tenant system is reserved/],
  [['grant', ...email, '--plan', ''], /^--plan/],
  [['grant', ...email, '--plan', 'a/b'], /^--plan/],
  [['grant', ...email, '--sessions'], /--sessions/],
  [['grant', ...email, '--role', 'auditor', 'jam'], /jam/],
  [['revoke', ...email], /^give what to revoke/],
  [['revoke', ...email, '--tenant', 'a'], /--tenant/],
  [['revoke', ...email, '--plan', 'a'], /--plan/],
  [['revoke', ...email, '--role', 'user'], /^every account has the role user/],
  [['revoke', ...email, ...email, '--sessions'], /^--email is given more than once$/],
  [['api-key', 'create', '--name', 'a', '--name', 'b'], /^--name is given more than once$/],
  [['restored', 'jam'], /jam/],
  [['api-key'], /create/],
  [['api-key', 'remove', '--name', 'a'], /create/],
  [['api-key', 'create'], /^--name/],
  [['api-key', 'create', '--name', ''], /^--name/],
  [['api-key', 'create', '--name', 'a b'], /^--name/],
  [['api-key', 'create', '--name', 'a', '--file', ''], /^--file/],
];
test('a command refuses invalid arguments and gives the reason', async (t) => {
  for (const [[name = '', ...args], said] of misused) {
    const run = async () => commands[name]?.run(args);
    const error = await t.throwsAsync(run, { instanceOf: UsageError }, [name, ...args].join(' '));
    t.regex(error?.message ?? '', said);
  }
});

test('openapi prints the OpenAPI document', async (t) => {
  const { code, stdout } = await runCli(['openapi']);
  t.is(code, 0);
  t.deepEqual(JSON.parse(stdout), JSON.parse(JSON.stringify(describeApi())));
});

test('an invalid name of a role is reported by its variable, never by its value', async (t) => {
  const env = {
    DATABASE_OWNER_URL: 'postgresql://owner@127.0.0.1:1/vault',
    DATABASE_APP_ROLE: 'jam; drop table documents',
  };
  const { code, stderr } = await runCli(['migrate'], env);
  t.is(code, 78);
  t.regex(stderr, /\n {2}DATABASE_APP_ROLE: must be up to 63 of a-z, 0-9 and _/);
  t.notRegex(stderr, /jam/);
});

test('an invalid database URL is reported by its variable, never by its value', async (t) => {
  const named = {
    DATABASE_OWNER_URL: 'jam',
    DATABASE_SERVICE_URL: 'mysql://app:jam@db/vault',
    HTTP_PUBLIC_URL: testIssuer,
  };
  for (const [command, name] of [
    ['migrate', 'DATABASE_OWNER_URL'],
    ['restored', 'DATABASE_SERVICE_URL'],
  ] as const) {
    const { code, stderr } = await runCli([command], named);
    t.is(code, 78);
    t.regex(stderr, new RegExp(`^The configuration is not usable:\n  ${name}: [^\n]*\n$`));
    t.notRegex(stderr, /jam/);
  }
});

test('a command names every variable that is missing, misspelt or unreadable', async (t) => {
  const given = [
    [{ DATABASE_OWNER_URL: '' }, /^ {2}DATABASE_OWNER_URL: is not set; .*DATABASE_OWNER_URL_FILE$/],
    [
      { DATABASE_OWNER_ULR: 'jam' },
      /^ {2}DATABASE_OWNER_ULR: .*did you mean DATABASE_OWNER_URL\?$/,
    ],
    [
      { DATABASE_OWNER_URL_FILE: '/' },
      /^ {2}DATABASE_OWNER_URL_FILE: names a directory; name a file$/,
    ],
  ] as const;
  for (const [env, line] of given) {
    const { code, stderr } = await runCli(['migrate'], env);
    t.is(code, 78);
    const [, problem = '', ...others] = stderr.trimEnd().split('\n');
    t.regex(problem, line);
    t.deepEqual(others, []);
  }
});
