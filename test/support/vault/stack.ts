import type { DatabaseAccess, DatabaseUrls } from '../../../app/dev/postgres/database.ts';

/** The public URL of the vaults of tests. */
export const testIssuer = 'http://vault.test';

/** The settings of signers in tests: they serve every vault, and users log in at any rate. */
export const testSignerSettings = {
  SIGNER_ISSUERS: `${testIssuer},https://vault.test`,
  SIGNER_TOKENS_PER_USER: '100000',
  SIGNER_TOKENS_PER_SECOND: '100000',
};

/** The addresses of the shared vault, which its process prints once it is ready. */
export interface SharedVaultAddresses {
  readonly baseUrl: string;
  readonly databases: DatabaseUrls;
  readonly mailDirectory: string;
  readonly storeDirectory: string;
  /** Path of the Unix socket on which its process issues tokens. */
  readonly tokensSocketPath: string;
}

/** The services that `npm test` started for the whole run. */
export interface TestStack {
  readonly postgres: DatabaseAccess;
  /** A migrated database to copy: `createDatabase(postgres, name, templateDatabase)`. */
  readonly templateDatabase: string;
  readonly redisUrl: string;
  /** The URL of the run's stand-in for Keycloak. */
  readonly identityProviderUrl: string;
  /** The vault that test files share; undefined outside `npm test`. */
  readonly sharedVault?: SharedVaultAddresses;
  /** Path of the socket of the run's one signer. */
  readonly signerSocketPath: string;
  /** Variables of a further signer on the same token, which also needs SIGNER_SOCKET_PATH. */
  readonly signerEnvironment: Record<string, string>;
}

/** Returns the services of the run. Throws under plain `ava`, which has none. */
export function testStack(): TestStack {
  const json = process.env['PROBATIO_TEST_STACK'];
  if (json === undefined)
    throw new Error('this test needs the services: run it through `npm test -- <file>`');
  return JSON.parse(json) as TestStack;
}
