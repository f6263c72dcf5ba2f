import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { freePort } from '../../../app/dev/processes/free-port.ts';
import { startDoctorVault, textOf, troubles, type DoctorVault } from './doctor-vault.ts';

const test = anyTest as TestFn<DoctorVault>;
const ends: (() => unknown)[] = [];

test.before(async (t) => {
  t.context = await startDoctorVault({ teardown: (end) => void ends.unshift(end) });
});
test.after.always(async () => {
  for (const end of ends) await end();
});

/**
 * Starts an identity provider, until the end of the test, whose service account may do nothing or
 * only see.
 */
async function startPowerless(t: ExecutionContext, maySee = false): Promise<string> {
  const server = createServer(({ method, url = '' }, response) => {
    const isAllowed = url.endsWith('/token') || (maySee && method === 'GET');
    response.writeHead(isAllowed ? 200 : 403, { 'content-type': 'application/json' });
    response.end(isAllowed ? '{"access_token":"t","error":"invalid_grant"}' : '{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Examines with other settings, and returns the text of the only check that fails first. */
async function examineWrong(
  t: ExecutionContext<DoctorVault>,
  changed: Readonly<Record<string, string>>,
  expected: readonly string[],
): Promise<string> {
  const examined = await t.context.examine(changed);
  const ofMfa = troubles(examined).filter((trouble) => trouble.includes(' mfa.'));
  t.deepEqual(ofMfa, expected, examined.printed);
  t.is(examined.code, 2);
  for (const secret of Object.values(changed)) {
    if (secret.startsWith('secret-')) t.false(examined.printed.includes(secret));
  }
  return textOf(examined, expected[0]?.split(' ')[1] ?? '');
}

const all = ['fail mfa.client', 'fail mfa.rights', 'fail mfa.group', 'fail mfa.passwords'];

test('a wrong secret of either client is named', async (t) => {
  const admin = { MFA_KEYCLOAK_CLIENT_SECRET: 'secret-of-another' };
  t.regex(await examineWrong(t, admin, all), /correct MFA_KEYCLOAK_CLIENT_ID and MFA_KEYCLOAK_CLI/);
  const passwords = { MFA_KEYCLOAK_PASSWORD_CLIENT_SECRET: 'secret-of-another' };
  const text = await examineWrong(t, passwords, ['fail mfa.passwords']);
  t.regex(text, /refuses the client: correct MFA_KEYCLOAK_PASSWORD_CLIENT_ID/);
});

test('a realm that is not there is named', async (t) => {
  const text = await examineWrong(t, { MFA_KEYCLOAK_REALM: 'elsewhere' }, all);
  t.regex(text, /has no such realm: create it, or correct MFA_KEYCLOAK_REALM/);
});

test('an identity provider that is away is named', async (t) => {
  const url = `http://127.0.0.1:${await freePort()}`;
  const text = await examineWrong(t, { MFA_KEYCLOAK_URL: url }, all);
  t.regex(text, /nothing listens at the address in MFA_KEYCLOAK_URL/);
});

test('a service account without its rights is told which to get', async (t) => {
  const url = await startPowerless(t);
  const all = { MFA_KEYCLOAK_URL: url, MFA_KEYCLOAK_GROUP: '' };
  const text = await examineWrong(t, all, ['fail mfa.rights']);
  t.regex(text, /responds 403 to the service account.* see users: give it the role manage-users,/);
  const ofGroup = { MFA_KEYCLOAK_URL: url };
  const narrow = await examineWrong(t, ofGroup, ['fail mfa.rights', 'fail mfa.group']);
  t.regex(narrow, /see users: give it the role query-users/);
  t.notRegex(narrow, /manage-users/, 'that role would undo the limit to the group');
});

test('a service account that may see users, and manage none, is named', async (t) => {
  const url = await startPowerless(t, true);
  const ofGroup = await examineWrong(t, { MFA_KEYCLOAK_URL: url }, ['fail mfa.rights']);
  t.regex(ofGroup, /manage users: give it the permissions over the group of MFA_KEYCLOAK_GROUP/);
  const all = { MFA_KEYCLOAK_URL: url, MFA_KEYCLOAK_GROUP: '' };
  t.regex(await examineWrong(t, all, ['fail mfa.rights']), /give it the role manage-users/);
});

test('a group that is not there is named', async (t) => {
  const text = await examineWrong(t, { MFA_KEYCLOAK_GROUP: '/none' }, ['fail mfa.group']);
  t.regex(text, /responds 404 for the group: create it, correct MFA_KEYCLOAK_GROUP/);
});

test('without an identity provider, none is examined', async (t) => {
  const unset = Object.keys(t.context.settings).filter((name) => name.startsWith('MFA_'));
  const { checks } = await t.context.examine(Object.fromEntries(unset.map((name) => [name, ''])));
  t.false(checks.some(({ name }) => name.startsWith('mfa.')));
});
