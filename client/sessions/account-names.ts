import { z } from 'zod';
import type { Http } from '../http/http.ts';

const AccountNames = z.object({ userId: z.uuid(), issuer: z.string() });

/** The names by which entries, statements and identities name the user and the vault. */
export interface AccountNames {
  /** Id of the user. */
  readonly owner: string;
  /** The vault, by its public URL. */
  readonly issuer: string;
}

/** Reads the names once, and resolves with them from then on. */
export type ReadNames = () => Promise<AccountNames>;

/** Creates the function that reads the names of the account of a session. */
export function createReadNames({ http }: { readonly http: Http }): ReadNames {
  let names: AccountNames | undefined;
  return async () => {
    if (names !== undefined) return names;
    const request = { method: 'GET', path: '/v1/auth/account' } as const;
    const { userId: owner, issuer } = await http.json(AccountNames, request);
    names ??= { owner, issuer };
    return names;
  };
}
