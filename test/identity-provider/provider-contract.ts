import { randomBytes, randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { systemClock } from '../../app/async/clock.ts';
import { realmVariables } from '../../app/dev/identity-provider/realm.ts';
import { AppError } from '../../app/errors/app-error.ts';
import type {
  IdentityProvider,
  NewFactors,
} from '../../app/identity-provider/identity-provider.ts';
import {
  createKeycloak,
  type KeycloakOptions,
} from '../../app/identity-provider/keycloak/keycloak.ts';
import { createLog } from '../../app/telemetry/log.ts';

/** A user of the realm in test/labs/keycloak-realm.json. */
export const alice = {
  id: 'a11ce000-0000-4000-8000-000000000001',
  username: 'alice',
  password: 'alice-password',
};

/** A user of that realm who is outside of the group that the vault manages. */
export const bob = {
  id: 'b0b00000-0000-4000-8000-000000000002',
  username: 'bob',
  password: 'bob-password',
  isOutside: true,
};

/** Returns a signal like the one of a request, which has 5 seconds. */
export function soon(): AbortSignal {
  return AbortSignal.timeout(5_000);
}

/** Connects the adapter to the realm of a server. */
export function connectTo(
  url: string,
  changes: Partial<KeycloakOptions> = {},
  onLine: (line: string) => void = () => undefined,
): IdentityProvider {
  const variables = realmVariables(url);
  const client = (name: string) => ({
    id: variables[`${name}_ID`] ?? '',
    secret: variables[`${name}_SECRET`] ?? '',
  });
  const realm = variables['MFA_KEYCLOAK_REALM'] ?? '';
  return createKeycloak({
    url,
    realm,
    issuer: `${url}/realms/${realm}`,
    group: variables['MFA_KEYCLOAK_GROUP'],
    admin: client('MFA_KEYCLOAK_CLIENT'),
    passwords: client('MFA_KEYCLOAK_PASSWORD_CLIENT'),
    clock: systemClock,
    log: createLog('info', { write: onLine }),
    ...changes,
  });
}

export function newCodes(): NewFactors['recoveryCodes'] {
  return { id: randomUUID(), codes: Array.from({ length: 15 }, (_, n) => `ABCDEFGHJK${n + 10}`) };
}

export function newTotp(): NonNullable<NewFactors['totp']> {
  const id = randomUUID();
  return { id, label: `Probatio ${id.slice(0, 8)}`, secret: randomBytes(20) };
}

async function unavailable(t: ExecutionContext, work: Promise<unknown>): Promise<void> {
  const error = await t.throwsAsync(work, { instanceOf: AppError });
  t.is(error?.code, 'identity_provider_unavailable');
}

/** Tests what the vault relies on, with the server whose URL `findUrl` returns. */
export function testProviderContract(findUrl: () => string): void {
  const connect = (changes: Partial<KeycloakOptions> = {}) => connectTo(findUrl(), changes);

  async function createUser(provider: IdentityProvider): Promise<string> {
    return provider.createUser(randomUUID(), soon());
  }

  test('a created user has no second factor, and a repeat finds the user', async (t) => {
    const provider = connect();
    const name = randomUUID();
    const subject = await provider.createUser(name, soon());
    t.is(await provider.createUser(name, soon()), subject);
    t.is(await provider.findSubject(name, soon()), subject);
    t.is(await provider.findName(subject, soon()), name);
    t.deepEqual(await provider.findFactors(subject, soon()), { totps: [], recoveryCodes: [] });
  });

  test('a user of somebody else is not taken for one of the vault', async (t) => {
    await unavailable(t, connect().createUser(alice.username, soon()));
  });

  test('a user outside of the group is as none, and nothing of it can be changed', async (t) => {
    const provider = connect();
    t.is(await provider.findName(bob.id, soon()), undefined);
    t.is(await provider.findSubject(bob.username, soon()), undefined);
    t.is(await provider.findFactors(bob.id, soon()), undefined);
    t.false(await provider.checkPassword?.(bob.id, bob.password, soon()));
    const factors = { totp: newTotp(), recoveryCodes: newCodes() };
    await unavailable(t, provider.putFactors(bob.id, factors, soon()));
    await unavailable(t, provider.removeFactor(bob.id, randomUUID(), soon()));
    await unavailable(t, provider.removeUser(bob.id, soon()));
    await unavailable(t, connect().createUser(bob.username, soon()));
  });

  test('a TOTP and recovery codes are written in one step, also if repeated', async (t) => {
    const provider = connect();
    const subject = await createUser(provider);
    const totp = newTotp();
    const first = newCodes();
    const begin = Date.now();
    await provider.putFactors(subject, { totp, recoveryCodes: first }, soon());
    await provider.putFactors(subject, { totp, recoveryCodes: first }, soon());
    const factors = await provider.findFactors(subject, soon());
    t.deepEqual(factors?.recoveryCodes, [{ id: first.id, remaining: 15 }]);
    t.deepEqual(
      factors?.totps.map(({ id }) => id),
      [totp.id],
    );
    t.true(Math.abs((factors?.totps[0]?.createdAt.getTime() ?? 0) - begin) < 60_000);

    const second = newCodes();
    await provider.putFactors(subject, { totp, recoveryCodes: second }, soon());
    t.deepEqual(await provider.findFactors(subject, soon()), {
      totps: factors?.totps ?? [],
      recoveryCodes: [{ id: second.id, remaining: 15 }],
    });
  });

  test('recovery codes alone replace those before', async (t) => {
    const provider = connect();
    const subject = await createUser(provider);
    const totp = newTotp();
    await provider.putFactors(subject, { totp, recoveryCodes: newCodes() }, soon());
    const newer = newCodes();
    await provider.putFactors(subject, { recoveryCodes: newer }, soon());
    const factors = await provider.findFactors(subject, soon());
    t.deepEqual(factors?.recoveryCodes, [{ id: newer.id, remaining: 15 }]);
    t.is(factors?.totps[0]?.id, totp.id);
  });

  test('second factors are removed one by one, also if repeated', async (t) => {
    const provider = connect();
    const subject = await createUser(provider);
    const totp = newTotp();
    const recoveryCodes = newCodes();
    await provider.putFactors(subject, { totp, recoveryCodes }, soon());
    for (const id of [recoveryCodes.id, recoveryCodes.id, totp.id, totp.id]) {
      await provider.removeFactor(subject, id, soon());
    }
    t.deepEqual(await provider.findFactors(subject, soon()), { totps: [], recoveryCodes: [] });
  });

  test('a removed user is gone, and removed again without harm', async (t) => {
    const provider = connect();
    const subject = await createUser(provider);
    await provider.removeUser(subject, soon());
    await provider.removeUser(subject, soon());
    t.is(await provider.findFactors(subject, soon()), undefined);
    t.is(await provider.findName(subject, soon()), undefined);
  });

  test('the second factors of a user with a password leave the password alone', async (t) => {
    const provider = connect();
    const totp = newTotp();
    const recoveryCodes = newCodes();
    await provider.putFactors(alice.id, { totp, recoveryCodes }, soon());
    t.true(await provider.checkPassword?.(alice.id, alice.password, soon()));
    t.false(await provider.checkPassword?.(alice.id, `${alice.password}.`, soon()));
    await provider.removeFactor(alice.id, recoveryCodes.id, soon());
    await provider.removeFactor(alice.id, totp.id, soon());
    t.true(await provider.checkPassword?.(alice.id, alice.password, soon()));
  });

  test('nobody has the password of a user without one, or of no user', async (t) => {
    const provider = connect();
    const subject = await createUser(provider);
    t.false(await provider.checkPassword?.(subject, '', soon()));
    t.false(await provider.checkPassword?.(subject, 'anything', soon()));
    t.false(await provider.checkPassword?.(randomUUID(), alice.password, soon()));
  });

  test('a client with a wrong secret, and a realm that does not exist, get nothing', async (t) => {
    const id = 'probatio-mfa';
    const wrong = connect({ admin: { id, secret: 'wrong' } });
    await unavailable(t, wrong.findFactors(alice.id, soon()));
    await unavailable(t, connect({ realm: 'none' }).findFactors(alice.id, soon()));
    const noPasswords = connect({ passwords: { id, secret: 'probatio-mfa-secret' } });
    await unavailable(t, noPasswords.checkPassword?.(alice.id, 'any', soon()) ?? Promise.resolve());
  });
}
