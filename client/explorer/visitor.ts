import { createAccounts, type Credentials } from '../accounts/accounts.ts';
import type { Bytes } from '../bytes/bytes.ts';
import { hasCode, VaultError } from '../errors/vault-error.ts';
import { blobSource } from '../files/byte-source.ts';
import { createWasmHash } from '../crypto/hash.ts';
import { createHttp, type Http } from '../http/http.ts';
import { defaultRetry } from '../http/retry.ts';
import { createDeviceKey } from '../keys/device-key.ts';
import { normalizeEmail } from '../login/email.ts';
import { createProofs } from '../proofs/proofs.ts';
import { createTrustedKeys } from '../proofs/trusted-keys.ts';
import { createSession, type VaultSession } from '../session.ts';
import { createSessionHttp } from '../sessions/session-http.ts';
import { createSessionTokens } from '../sessions/tokens.ts';

const now = () => new Date();
const retry = defaultRetry;

/** The e-mail address of the last login in this browser, and the device that it is bound to. */
export interface KnownVisitor {
  readonly email: string;
  readonly deviceId: string;
}

/** A user who is logged in within the page. */
export interface Visitor extends KnownVisitor {
  /** Sends requests with the access token. */
  readonly http: Http;
  /** Resolves with the access token, which is renewed shortly before it expires. */
  accessToken(): Promise<string>;
  /** Encrypts a file and stores it as a document. Resolves with the document's id. */
  store(file: File): Promise<string>;
  /** Proves the password again. Resolves with the reauthentication token. */
  reauthenticate(password: string): Promise<string>;
  logOut(): Promise<void>;
}

export type Visitors = ReturnType<typeof createVisitors>;

/** Creates the logins and registrations of the page. Throws TypeError for http to another host. */
export function createVisitors(baseUrl: string) {
  const http = createHttp({ baseUrl, fetch: fetch.bind(globalThis), retry, now });
  const accounts = createAccounts({ http, retry });
  const listKeys = () => createProofs({ http }).keys();
  const trustedKeys = createTrustedKeys({ listKeys, pinned: undefined, now });

  async function openSession({ email, password }: Credentials, deviceId: string | undefined) {
    const { pair, passwordKey } = await accounts.login({ email, password, deviceId });
    const tokens = createSessionTokens({ http, pair, retry, now });
    const session = createSession({
      http: createSessionHttp({ http, tokens }),
      retry,
      tokens,
      email,
      passwordKey,
      deviceId,
      trustedKeys,
      memoryStore: undefined,
      createHash: createWasmHash,
      now,
    });
    return { session, tokens };
  }

  /** Logs in, for the device that this browser registered if it still may be used. */
  async function openForDevice(credentials: Credentials, known: KnownVisitor | undefined) {
    const deviceId = known?.email === credentials.email ? known.deviceId : undefined;
    try {
      return { ...(await openSession(credentials, deviceId)), deviceId };
    } catch (error) {
      const isGone = hasCode(error, 'device_unknown') || hasCode(error, 'device_blacklisted');
      if (!isGone) throw error;
      return { ...(await openSession(credentials, undefined)), deviceId: undefined };
    }
  }

  return {
    /** Registers. Resolves with the fingerprint, which the validation e-mail must show too. */
    register: (credentials: Credentials) => accounts.register(credentials),
    validate: (token: string) => accounts.validateEmail(token),

    /** Logs in. Creates the master key and registers a device where they are missing. */
    async logIn(credentials: Credentials, known: KnownVisitor | undefined): Promise<Visitor> {
      const email = normalizeEmail(credentials.email);
      const opened = await openForDevice({ ...credentials, email }, known);
      const { session, tokens } = opened;
      const masterKey = await openMasterKey(session);
      return {
        email,
        http: session.http,
        deviceId: opened.deviceId ?? (await addDevice(session)),
        accessToken: () => tokens.current(),
        async store(file) {
          const { name, type } = file;
          const mediaType = type === '' ? 'application/octet-stream' : type;
          const source = blobSource(file);
          return (await session.storeDocument({ source, name, mediaType, masterKey })).id;
        },
        reauthenticate: async (password) => (await session.reauthenticate(password)).reauthToken,
        logOut: () => session.logout(),
      };
    },
  };
}

async function openMasterKey({ envelopes }: VaultSession): Promise<Bytes> {
  try {
    return await envelopes.openMasterKey();
  } catch (error) {
    if (!(error instanceof VaultError) || error.status !== 404) throw error;
    return envelopes.createMasterKey();
  }
}

/** Registers this page as a device, which the operations of synchronisation need. */
async function addDevice({ devices }: VaultSession): Promise<string> {
  const device = createDeviceKey();
  await devices.add({ ...device, name: 'API explorer', platform: 'Browser' });
  return device.deviceId;
}
