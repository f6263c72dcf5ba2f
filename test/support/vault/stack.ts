import type { DatabaseAccess } from '../../../app/dev/postgres/database.ts';

/** The services that `npm test` started for the whole run. */
export interface TestStack {
  postgres: DatabaseAccess;
  /** A migrated database to copy: `createDatabase(postgres, name, templateDatabase)`. */
  templateDatabase: string;
  redisUrl: string;
  /** Of the run's one signer. */
  signerSocketPath: string;
  /** For a signer of one's own on the same token: add SIGNER_SOCKET_PATH. */
  signerEnvironment: Record<string, string>;
}

/** Throws under plain `ava`, which has no services. */
export function testStack(): TestStack {
  const json = process.env['PROBATIO_TEST_STACK'];
  if (json === undefined)
    throw new Error('this test needs the services: run it by `npm test -- <file>`');
  return JSON.parse(json) as TestStack;
}
