import { z } from 'zod';
import type { Http } from '../http/http.ts';
import type { Memory } from '../memory/memory.ts';
import type { AccountNames, ReadNames } from '../identity/account-names.ts';

const Account = z.object({ userId: z.uuid(), issuer: z.string() });

/** Creates the function that reads the names of the account of a session. */
export function createReadNames({
  http,
  memory,
}: {
  readonly http: Http;
  readonly memory: Pick<Memory, 'sawAccount'>;
}): ReadNames {
  let names: AccountNames | undefined;
  return async () => {
    if (names !== undefined) return names;
    const request = { method: 'GET', path: '/v1/auth/account' } as const;
    const { userId: owner, issuer } = await http.json(Account, request);
    await memory.sawAccount({ owner, issuer });
    names = { owner, issuer };
    return names;
  };
}
