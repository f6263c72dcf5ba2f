import { randomUUID } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import type { JWTPayload } from 'jose';
import { readIssuers, type IssuerConfig } from '../../../app/tokens/external-issuers/config.ts';
import { startKeySet, type KeySet } from '../../../app/tokens/external-issuers/key-set.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { AppError } from '../../../app/errors/app-error.ts';
import type { ErrorCode } from '../../../app/errors/error-codes.ts';
import { createLog } from '../../../app/telemetry/log.ts';
import { issuersFile } from './issuers-file.ts';
import { startKeyServer, type KeyServer } from './key-server.ts';
import { createSigningKey, type SigningKey } from './signing-key.ts';

/** A test's own issuer with a clock that the test controls. */
export interface TestIssuer {
  readonly server: KeyServer;
  readonly key: SigningKey;
  readonly config: IssuerConfig;
  readonly logLines: readonly string[];
  readonly clock: () => Date;
  passSeconds(seconds: number): void;
  /** Returns the claims of an acceptable token, with these changes. */
  claims(changes?: JWTPayload): JWTPayload;
  /** Starts a key set that stops when the test ends. */
  startKeySet(): KeySet;
}

/** One key for all issuers: keys are slow to generate, and no test sees another's issuer. */
const signingKey = createSigningKey();

/**
 * @param settings Overrides the settings of an issuer that publishes one key and grants some roles,
 * scopes and tenants.
 */
export async function startTestIssuer(
  t: ExecutionContext,
  settings: Record<string, unknown> = {},
): Promise<TestIssuer> {
  const server = await startKeyServer();
  t.teardown(() => server.close());
  const key = await signingKey;
  server.publish(key.jwk);
  const file = await issuersFile(t, [{ ...testIssuer(server.url), ...settings }]);
  const { issuers, problems } = readIssuers(file, 'https://vault.test');
  const [config] = issuers;
  if (config === undefined) throw new Error(problems.join('\n'));

  const logLines: string[] = [];
  const log = createLog('info', { write: (line) => void logLines.push(line) });
  let now = Date.now();
  const clock = () => new Date(now);
  return {
    server,
    key,
    config,
    logLines,
    clock,
    passSeconds(seconds) {
      now += seconds * 1000;
    },
    claims(changes) {
      const iat = Math.floor(now / 1000);
      const { issuer: iss, audience: aud } = config;
      return { iss, aud, iat, exp: iat + 300, sub: randomUUID(), ...changes };
    },
    startKeySet() {
      const stop = new AbortController();
      t.teardown(() => stop.abort());
      return startKeySet({ config, log, clock, stop: stop.signal });
    },
  };
}

export function testIssuer(jwksUri: string) {
  return {
    issuer: `https://${randomUUID()}.test/realm`,
    jwksUri,
    audience: 'vault',
    allowInsecureHttp: true,
    grants: { roles: ['user', 'auditor'], scopes: ['documents:read'], tenants: ['one', 'two'] },
  };
}

export async function untilFetched(keys: KeySet): Promise<void> {
  const options = { what: 'the first keys', timeoutMs: 60_000 };
  await until(() => keys.state().isUsable, options);
}

export async function throwsCode(
  t: ExecutionContext,
  work: Promise<unknown>,
  code: ErrorCode,
  message?: string,
): Promise<void> {
  const error = await t.throwsAsync(work, { instanceOf: AppError }, message);
  t.is(error?.code, code, message);
}
