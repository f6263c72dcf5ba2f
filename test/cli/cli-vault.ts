import { decodeJwt } from 'jose';
import { createSql } from '../support/vault/sql.ts';
import { startReadyVault } from '../support/vault/vault.ts';
import { runCli, type Outcome } from '../support/processes/run-cli.ts';

export type CliVault = Awaited<ReturnType<typeof startCliVault>>;

/** Starts a vault, and returns it with the command line on its database. */
export async function startCliVault() {
  const vault = await startReadyVault();
  const env = {
    HTTP_PUBLIC_URL: vault.config.http.publicUrl,
    DATABASE_SERVICE_URL: vault.databases.service,
  };
  return {
    vault,
    sql: createSql(vault),
    /** Runs `probatio <command> --email <e-mail address of the account> <args>`. */
    cli(
      command: string,
      { email }: { readonly email: string },
      ...args: string[]
    ): Promise<Outcome> {
      return runCli([command, '--email', email, ...args], env);
    },
  };
}

export function claimsOf(accessToken: string) {
  return decodeJwt<{
    readonly authz: { readonly roles: string[]; readonly scopes: string[] };
    readonly tenant_id: string;
  }>(accessToken);
}

export async function accountRow({ sql }: CliVault, { email }: { readonly email: string }) {
  const [row] = await sql(
    'select id, tenant_id, plan, roles, scopes from accounts where email = $1',
    [email],
  );
  return row as {
    readonly id: string;
    readonly tenant_id: string;
    readonly plan: string;
    readonly roles: string[];
    readonly scopes: string[];
  };
}

/** Returns the audit entries of an account about grants and revocations, in order. */
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
        readonly id: string;
        readonly action: string;
        readonly actor: object;
        readonly tenant: string;
        readonly data: object;
      },
  );
}
