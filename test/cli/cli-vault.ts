import { decodeJwt } from 'jose';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import { runCli, type Outcome } from '../support/processes/run-cli.ts';

/** A vault, and the command line on its database. */
export interface CliVault {
  readonly vault: TestVault;
  readonly sql: Sql;
  /** `probatio <command> --email <of the account> <args>` */
  cli(command: string, account: { email: string }, ...args: string[]): Promise<Outcome>;
}

export async function startCliVault(): Promise<CliVault> {
  const vault = await startReadyVault();
  const env = { DATABASE_SERVICE_URL: vault.databases.service };
  return {
    vault,
    sql: createSql(vault),
    cli: (command, { email }, ...args) => runCli([command, '--email', email, ...args], env),
  };
}

export function claimsOf(accessToken: string) {
  return decodeJwt<{
    authz: { roles: string[]; scopes: string[] };
    tenant_id: string;
  }>(accessToken);
}

export async function accountRow({ sql }: CliVault, { email }: { email: string }) {
  const [row] = await sql(
    'select id, tenant_id, plan, roles, scopes from accounts where email = $1',
    [email],
  );
  return row as { id: string; tenant_id: string; plan: string; roles: string[]; scopes: string[] };
}

/** What the audit log says that the command line did to an account. */
export async function entriesOf(context: CliVault, account: { email: string }) {
  const { id } = await accountRow(context, account);
  const rows = await context.sql(
    `select canonical from audit_entries
     where user_id = $1 and action in ('account.granted', 'account.revoked') order by seq`,
    [id],
  );
  return rows.map(
    ({ canonical }) =>
      JSON.parse(String(canonical)) as {
        id: string;
        action: string;
        actor: object;
        tenant: string;
        data: object;
      },
  );
}
