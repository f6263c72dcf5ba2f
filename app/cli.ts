import { migrate } from './db/migrate.ts';

const usage = `usage: probatio <command>

  migrate    bring the database up to date (DATABASE_OWNER_URL: the login that owns it)
  openapi    print the OpenAPI document of the API
`;

async function main(args: readonly string[]): Promise<number> {
  const [command] = args;
  if (command === 'migrate') return runMigrate();
  if (command === 'openapi') {
    const { describeApi } = await import('./app.ts');
    process.stdout.write(`${JSON.stringify(describeApi(), undefined, 2)}\n`);
    return 0;
  }
  process.stderr.write(usage);
  return 2;
}

async function runMigrate(): Promise<number> {
  const ownerUrl = process.env.DATABASE_OWNER_URL;
  if (ownerUrl === undefined) {
    process.stderr.write('DATABASE_OWNER_URL is not set\n');
    return 2;
  }
  const done = await migrate(ownerUrl);
  process.stdout.write(done.length === 0 ? 'nothing to migrate\n' : `ran ${done.join(', ')}\n`);
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
