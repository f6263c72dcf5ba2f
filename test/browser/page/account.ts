import type { Credentials, LoginOptions } from '../../../client/accounts/accounts.ts';
import type { Bytes } from '../../../client/bytes/bytes.ts';
import { ClientError } from '../../../client/errors/client-error.ts';
import { defaultRetry, type RetryPolicy } from '../../../client/http/retry.ts';
import { createDeviceKey } from '../../../client/keys/device-key.ts';
import type { VaultSession } from '../../../client/session.ts';
import { createVaultClient, type RecoverOptions } from '../../../client/vault.ts';

/** The vault's base URL, which the page's server writes into the bundle. */
declare const VAULT_URL: string;

/** Retries unless the browser reports that it is offline. */
const retry: RetryPolicy = {
  ...defaultRetry,
  async sleep(seconds, signal) {
    const { onLine } = navigator as unknown as { readonly onLine: boolean };
    if (!onLine) throw new ClientError('network_error');
    await defaultRetry.sleep(seconds, signal);
  },
};

const client = createVaultClient({ baseUrl: VAULT_URL, retry });

interface Entered {
  readonly session: VaultSession;
  readonly masterKey: Bytes;
}

let entered: Entered | undefined;

/** Returns the login session and the master key. Throws if nobody is logged in. */
export function present(): Entered {
  if (entered === undefined) throw new Error('nobody is logged in');
  return entered;
}

export const accountSteps = {
  register: (credentials: Credentials) => client.register(credentials),
  validateEmail: ({ token }: { readonly token: string }) => client.validateEmail(token),

  async logInFirst(credentials: Credentials) {
    const session = await client.login(credentials);
    entered = { session, masterKey: await session.envelopes.createMasterKey() };
  },

  async logIn(options: LoginOptions) {
    const session = await client.login(options);
    entered = { session, masterKey: await session.envelopes.openMasterKey() };
  },

  async recover(options: RecoverOptions) {
    const session = await client.recover(options);
    entered = { session, masterKey: await session.envelopes.openMasterKey() };
  },

  /**
   * Sets up recovery as a user who has written the words down and typed them again. Resolves with
   * the words.
   */
  async setUpRecovery({ password }: Pick<Credentials, 'password'>) {
    const draft = present().session.recovery.draft();
    await draft.confirm({ words: draft.words, password });
    return draft.words;
  },

  async addDevice({ name }: { readonly name: string }) {
    const device = createDeviceKey();
    await present().session.devices.add({ ...device, name, platform: 'Chromium' });
    return device.deviceId;
  },

  isLoggedIn: () => entered !== undefined,
};
