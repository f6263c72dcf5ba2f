import { ConfigError } from '../signer/protocol/process/config-error.ts';
import { exitCodes } from '../signer/protocol/process/exit-codes.ts';
import { UsageError, type Command, type Ended } from './cli/command.ts';
import { trustExtraAuthorities } from './cli/extra-authorities.ts';
import { AppError } from './errors/app-error.ts';

const usage = `usage: probatio <command> [options]

  doctor           examine the settings and everything that the app depends on
  status           print a page about a running vault, and what needs a look
  migrate          migrate the database to the newest schema
  partitions       take a month of the audit log out of the database, or attach it again
  grant            grant an account roles, scopes, a tenant or a plan
  revoke           revoke roles and scopes of an account, or end its sessions
  api-key create   create an internal API key
  maintenance      run a maintenance task in a running app, such as collect-garbage
  usage            compare the counters of what users keep with the rows, and repair them
  restored         record a restore from a backup, or accept what a refused start would lose
  keys             list, create, activate and retire signing keys in the HSM
  token            print an access token of an account, in development only
  openapi          print the OpenAPI document of the API
  requests         write the examples of the API as files for HTTP clients
  access           print the access rights of every route as Markdown
  audit-actions    print every audit action as Markdown
  configuration    print every environment variable as Markdown
  metrics          print every metric as Markdown
  limits           print what one user, address and process may use as Markdown
  help <command>   print the help of a command, as <command> --help does
`;

/**
 * The commands by name. Each command is imported on demand, so that it loads no code of other
 * commands.
 */
const commands: ReadonlyMap<string, () => Promise<Command>> = new Map([
  ['doctor', async () => (await import('./cli/commands/doctor.ts')).doctor],
  ['status', async () => (await import('./cli/commands/status.ts')).status],
  ['migrate', async () => (await import('./cli/commands/migrate.ts')).migrate],
  ['partitions', async () => (await import('./cli/commands/partitions.ts')).partitions],
  ['grant', async () => (await import('./cli/commands/rights/grant.ts')).grant],
  ['revoke', async () => (await import('./cli/commands/rights/revoke.ts')).revoke],
  ['api-key', async () => (await import('./cli/commands/api-key.ts')).apiKey],
  ['maintenance', async () => (await import('./cli/commands/maintenance.ts')).maintenance],
  ['usage', async () => (await import('./cli/commands/usage.ts')).usage],
  ['restored', async () => (await import('./cli/commands/restored.ts')).restored],
  ['token', async () => (await import('./cli/commands/token.ts')).token],
  ['keys', async () => (await import('./cli/commands/keys.ts')).keys],
  ['access', async () => (await import('./cli/commands/pages/access.ts')).access],
  [
    'audit-actions',
    async () => (await import('./cli/commands/pages/audit-actions.ts')).auditActions,
  ],
  [
    'configuration',
    async () => (await import('./cli/commands/pages/configuration.ts')).configuration,
  ],
  ['metrics', async () => (await import('./cli/commands/pages/metrics.ts')).metrics],
  ['limits', async () => (await import('./cli/commands/pages/limits.ts')).limits],
  ['requests', async () => (await import('./cli/commands/pages/requests.ts')).requests],
  ['openapi', async () => (await import('./cli/commands/pages/openapi.ts')).openapi],
]);

const helpFlags: ReadonlySet<string> = new Set(['--help', '-h']);

/**
 * Resolves with the standard output, and an exit code if the command has one of its own. Throws
 * UsageError, or whatever the command throws.
 */
async function run([name = '', ...args]: readonly string[]): Promise<string | Ended> {
  const asksForHelp = name === 'help' || helpFlags.has(name);
  const [topic] = asksForHelp ? args : [name];
  if (topic === undefined) return usage;
  const command = await commands.get(topic)?.();
  if (command === undefined) {
    throw new UsageError(topic === '' ? usage : `no such command: ${topic}\n\n${usage}`);
  }
  if (asksForHelp || args.some((arg) => helpFlags.has(arg))) return command.usage;
  trustExtraAuthorities(process.env);
  return command.run(args).catch(adviseHelp(topic));
}

function adviseHelp(topic: string) {
  return (error: unknown): never => {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`${error.message}\nsee: probatio ${topic} --help`, { cause: error });
  };
}

/** Resolves with the exit code. */
async function main(args: readonly string[]): Promise<number> {
  try {
    const ended = await run(args);
    if (typeof ended === 'string') {
      process.stdout.write(ended);
      return exitCodes.ok;
    }
    // Connections that hang would keep the process alive.
    process.stdout.write(ended.output, () => process.exit(ended.exitCode));
    return ended.exitCode;
  } catch (error) {
    process.stderr.write(`${describe(error)}\n`);
    if (error instanceof UsageError) return exitCodes.misused;
    return error instanceof ConfigError ? exitCodes.refused : exitCodes.failed;
  }
}

/** Describes an error with its cause, which operators may see, unlike clients of the API. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  const isExplained = error instanceof AppError && cause instanceof Error && cause.message !== '';
  return isExplained ? `${message} (${cause.message})` : message;
}

// Ignores errors of standard output: the reader of a pipe may close it early, as `head` does.
process.stdout.on('error', () => undefined);
process.exitCode = await main(process.argv.slice(2));
