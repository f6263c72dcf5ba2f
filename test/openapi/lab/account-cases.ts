import { newPassword } from '../../auth/credentials/bodies.ts';
import { reauthToken } from '../../support/accounts/reauth-account.ts';
import { beginLogin, createAccount, openSession } from '../../support/accounts/test-account.ts';
import { startSrpLogin } from '../../../client/srp/login.ts';
import type { Vault } from '../../support/vault/vault.ts';

/** The parts of a request that only an account with a password can send. */
interface AccountCase {
  readonly credentials: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Prepares the request of an operation on a new account; undefined for other operations. */
export async function prepareAccountCase(
  vault: Vault,
  operation: string,
): Promise<AccountCase | undefined> {
  const bodies = bodiesOf(vault);
  const makeBody = bodies.get(operation);
  if (makeBody === undefined) return undefined;
  const account = await createAccount(vault);
  if (!withToken.has(operation)) return { credentials: {}, body: await makeBody(account) };
  const { accessToken: token } = await openSession(vault, account);
  const bearer = { Authorization: `Bearer ${token}` };
  const body = await makeBody(account);
  if (!needsProof.has(operation)) return { credentials: bearer, body };
  const proof = { 'X-Reauth-Token': await reauthToken(vault, account, token) };
  return { credentials: { ...bearer, ...proof }, body };
}

const needsProof: ReadonlySet<string> = new Set(['changeCredentials', 'closeAccount']);
const withToken: ReadonlySet<string> = new Set([...needsProof, 'reauthenticate']);

function bodiesOf(vault: Vault) {
  type Account = Awaited<ReturnType<typeof createAccount>>;
  const challenge = async ({ email }: Account) => ({ email, A: startSrpLogin().A });
  const proof = async (account: Account) => {
    const { sessionId, A, M1 } = await beginLogin(vault, account);
    return { sessionId, A, M1 };
  };
  return new Map<string, (account: Account) => Promise<unknown>>([
    ['beginLogin', challenge],
    ['performLoginStep', challenge],
    ['completeLogin', proof],
    ['reauthenticate', proof],
    [
      'refreshTokens',
      async (account) => {
        const { refreshToken } = await openSession(vault, account);
        return { refreshToken };
      },
    ],
    ['changeCredentials', async (account) => newPassword(account).json],
    ['closeAccount', async () => null],
  ]);
}
