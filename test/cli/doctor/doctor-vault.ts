import type { ExecutionContext } from 'ava';
import { Redis } from 'ioredis';
import { realmVariables } from '../../../app/dev/identity-provider/realm.ts';
import { startOwnRedis, type OwnRedis } from '../../support/network/own-redis.ts';
import { createCertificate } from '../../support/network/certificate.ts';
import { password, startMailServer, user, type MailServer } from '../../mail/mail-server.ts';
import { runCli } from '../../support/processes/run-cli.ts';
import { testStack } from '../../support/vault/stack.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';

/** One line of the doctor. */
export interface Check {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly text: string;
}

export interface Examined {
  readonly code: number;
  readonly status: string;
  readonly checks: readonly Check[];
  /** Everything that the command printed. */
  readonly printed: string;
}

export interface DoctorVault {
  readonly vault: TestVault;
  readonly redis: OwnRedis;
  readonly redisUrl: string;
  readonly mail: MailServer;
  /** The settings with which everything is well. */
  readonly settings: Readonly<Record<string, string>>;
  /** Runs `probatio doctor --json` with these settings in place of those. */
  examine(changed?: Readonly<Record<string, string>>): Promise<Examined>;
}

const redisPassword = 'redis-password';

export const mailUrl = (server: Pick<MailServer, 'host'>, secret = password) =>
  `smtps://${encodeURIComponent(user)}:${encodeURIComponent(secret)}@${server.host}`;

/** Starts a vault with dependencies of its own, about which a doctor has nothing to say. */
export async function startDoctorVault(
  t: Pick<ExecutionContext, 'teardown'>,
): Promise<DoctorVault> {
  const redis = await startOwnRedis(t);
  await set(redis.url, 'appendonly', 'yes');
  await set(redis.url, 'requirepass', redisPassword);
  const redisUrl = changeUrl(redis.url, { password: redisPassword });
  const certificate = await createCertificate();
  t.teardown(() => certificate[Symbol.asyncDispose]());
  const { key, cert, file } = certificate;
  const mail = await startMailServer({ secure: true, key, cert, authOptional: false });
  t.teardown(() => mail[Symbol.asyncDispose]());
  const vault = await startReadyVault({ REDIS_URL: redisUrl });
  t.teardown(() => vault.stop());
  const settings = {
    HTTP_PUBLIC_URL: 'https://vault.test',
    HOST: '127.0.0.1',
    PORT: '8080',
    HTTP_INTERNAL_HOST: '127.0.0.1',
    HTTP_INTERNAL_PORT: '8081',
    MAIL_FROM: 'vault@vault.test',
    AUTH_REAUTH_PASSWORD: 'refuse',
    AUTH_UNKNOWN_USER: 'decoy',
    KEYS_RAW_FORM: 'refuse',
    DATABASE_URL: vault.databases.app,
    DATABASE_SERVICE_URL: vault.databases.service,
    REDIS_URL: redisUrl,
    STORAGE_DIRECTORY: vault.storeDirectory,
    SIGNER_SOCKET_PATH: testStack().signerSocketPath,
    MAIL_URL: mailUrl(mail),
    MAIL_CA_FILE: file,
    ...realmVariables(testStack().identityProviderUrl),
  };
  return {
    vault,
    redis,
    redisUrl,
    mail,
    settings,
    async examine(changed = {}) {
      const { code, stdout, stderr } = await runCli(['doctor', '--json'], {
        ...settings,
        ...changed,
      });
      const report = JSON.parse(stdout) as Pick<Examined, 'status' | 'checks'>;
      return { code, ...report, printed: stdout + stderr };
    },
  };
}

export const changeUrl = (url: string, part: Partial<URL>): string =>
  Object.assign(new URL(url), part).href;

/** Changes a setting of a Redis while it runs. */
export async function set(url: string, name: string, value: string): Promise<void> {
  const admin = new Redis(url);
  await admin.config('SET', name, value);
  admin.disconnect();
}

/** Returns the checks that are not ok, as `status name`. */
export const troubles = ({ checks }: Examined): string[] =>
  checks.filter(({ status }) => status !== 'ok').map(({ status, name }) => `${status} ${name}`);

/** Returns the text of a check. */
export const textOf = ({ checks }: Examined, name: string): string =>
  checks.find((check) => check.name === name)?.text ?? '';
