import { UsageError, type Command } from './cli/command.ts';
import { AppError } from './errors/app-error.ts';

const usage = `usage: probatio <command> [options]

  migrate          bring the database up to date
  grant            give an account roles, scopes, a tenant or a plan
  revoke           take roles and scopes from an account, or end its sessions
  api-key create   make an internal API key
  maintenance      have a running app do a task, such as collect-garbage
  restored         say that the database was restored from a backup
  keys             list, create, activate and retire the keys in the HSM
  openapi          print the OpenAPI document of the API
  access           print who may call what, as Markdown
  help <command>   say more of one; so does <command> --help
`;

/** Loaded when asked for: none needs what the others do. */
const commands: ReadonlyMap<string, () => Promise<Command>> = new Map([
  ['migrate', async () => (await import('./cli/commands/migrate.ts')).migrate],
  ['grant', async () => (await import('./cli/commands/grant.ts')).grant],
  ['revoke', async () => (await import('./cli/commands/revoke.ts')).revoke],
  ['api-key', async () => (await import('./cli/commands/api-key.ts')).apiKey],
  ['maintenance', async () => (await import('./cli/commands/maintenance.ts')).maintenance],
  ['restored', async () => (await import('./cli/commands/restored.ts')).restored],
  ['keys', async () => (await import('./cli/commands/keys.ts')).keys],
  ['access', async () => (await import('./cli/commands/access.ts')).access],
  ['openapi', async () => (await import('./cli/commands/openapi.ts')).openapi],
]);

const helpFlags: ReadonlySet<string> = new Set(['--help', '-h']);

/** Answers what goes to standard output. Throws UsageError, or whatever the command throws. */
async function run([name = '', ...args]: readonly string[]): Promise<string> {
  const asksForHelp = name === 'help' || helpFlags.has(name);
  const [topic] = asksForHelp ? args : [name];
  if (topic === undefined) return usage;
  const command = await commands.get(topic)?.();
  if (command === undefined) {
    throw new UsageError(topic === '' ? usage : `there is no command ${topic}\n\n${usage}`);
  }
  if (asksForHelp || args.some((arg) => helpFlags.has(arg))) return command.usage;
  return command.run(args).catch(adviseHelp(topic));
}

function adviseHelp(topic: string) {
  return (error: unknown): never => {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`${error.message}\nsee: probatio ${topic} --help`, { cause: error });
  };
}

/** 0, or 1 where it could not be done, or 2 where it was not asked rightly. */
async function main(args: readonly string[]): Promise<number> {
  try {
    process.stdout.write(await run(args));
    return 0;
  } catch (error) {
    process.stderr.write(`${describe(error)}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
}

/** With its cause: operators are told what requests are not. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  const isExplained = error instanceof AppError && cause instanceof Error && cause.message !== '';
  return isExplained ? `${message} (${cause.message})` : message;
}

// Whoever reads may have read enough.
process.stdout.on('error', () => undefined);
process.exitCode = await main(process.argv.slice(2));
