import test from 'ava';
import { readIssuers } from '../../../app/tokens/external-issuers/config.ts';
import { issuersFile } from '../../support/issuers/issuers-file.ts';

const ownIssuer = 'https://vault.example';

const minimal = {
  issuer: 'https://login.example/realms/one',
  jwksUri: 'https://login.example/realms/one/keys',
  audience: 'vault',
  grants: { roles: ['user'], scopes: [], tenants: ['default'] },
};

test('the required fields suffice', async (t) => {
  const { issuers, problems } = readIssuers(await issuersFile(t, [minimal]), ownIssuer);
  t.deepEqual(problems, []);
  t.deepEqual(issuers, [
    {
      ...minimal,
      allowInsecureHttp: false,
      claims: {
        subject: ['sub'],
        roles: ['authz', 'roles'],
        scopes: ['authz', 'scopes'],
        tenant: ['tenant_id'],
        plan: ['plan'],
        session: ['sid'],
        authTime: ['auth_time'],
      },
      keyCache: { maxAgeSeconds: 3600, refreshSeconds: 300, coolDownSeconds: 30 },
    },
  ]);
});

test('the issuer is kept verbatim, since tokens repeat it', async (t) => {
  const issuer = 'https://Login.example/';
  const { issuers } = readIssuers(await issuersFile(t, [{ ...minimal, issuer }]), ownIssuer);
  t.is(issuers[0]?.issuer, issuer);
});

test('an issuer may grant neither a platform role nor the tenant of nobody', async (t) => {
  const roles = ['user', 'platform_admin', 'auditor', 'platform_operator', 'platform_auditor'];
  const grants = { ...minimal.grants, roles, tenants: ['default', 'system'] };
  const file = await issuersFile(t, [{ ...minimal, grants, tenant: 'system' }]);
  const { issuers, problems } = readIssuers(file, ownIssuer);
  t.deepEqual(issuers, []);
  t.deepEqual(problems, [
    '0.grants.roles.1: only the command line grants a platform role',
    '0.grants.roles.3: only the command line grants a platform role',
    '0.grants.roles.4: only the command line grants a platform role',
    '0.grants.tenants.1: is a reserved tenant',
    '0.tenant: is a reserved tenant',
  ]);
});

test('an empty list means no other issuers', async (t) => {
  t.deepEqual(readIssuers(await issuersFile(t, []), ownIssuer), { issuers: [], problems: [] });
});

test('every problem of every issuer is reported at once, and no value is repeated', async (t) => {
  const file = await issuersFile(t, [
    { ...minimal, issuer: 'jam', jwksUri: 'https://user:jam@login.example/keys' },
    { ...minimal, issuer: 'http://jam.example', audience: '', extra: 'jam' },
    { ...minimal, issuer: 'https://two.example', claims: { roles: 'jam..jam', role: 'jam' } },
    { ...minimal, issuer: 'https://three.example', keyCache: { refreshSeconds: 1801 } },
    { ...minimal, issuer: 'https://four.example', grants: { roles: ['jam', ''] }, plan: 7 },
    { ...minimal, issuer: 'https://vault.example/' },
    { ...minimal, issuer: 'https://FIVE.example' },
    { ...minimal, issuer: 'https://five.example/' },
    'jam',
    {
      ...minimal,
      issuer: 'https://six.example',
      keyCache: { coolDownSeconds: 0, maxAgeSeconds: 86_401 },
    },
  ]);
  const { issuers, problems } = readIssuers(file, ownIssuer);
  t.deepEqual(issuers, []);
  t.false(problems.join('\n').includes('jam'), problems.join('\n'));
  t.deepEqual(problems.map((line) => line.replace(/: .*/, '')).sort(), [
    '0.issuer',
    '0.jwksUri',
    '1',
    '1.audience',
    '1.issuer',
    '2.claims',
    '2.claims.roles',
    '3.keyCache',
    '4.grants.roles.1',
    '4.grants.scopes',
    '4.grants.tenants',
    '4.plan',
    '5.issuer',
    '7.issuer',
    '8',
    '9.keyCache.coolDownSeconds',
    '9.keyCache.maxAgeSeconds',
  ]);
  t.true(problems.includes('5.issuer: is this vault itself'));
  t.true(problems.includes('7.issuer: is listed twice'));
});

for (const [what, addresses] of Object.entries({
  'the issuer': { issuer: 'http://login.example' },
  'the keys': { jwksUri: 'http://login.example/keys' },
  'a host that looks like loopback': { jwksUri: 'http://127.0.0.1.example/keys' },
})) {
  test(`plain http is refused unless allowed: ${what}`, async (t) => {
    const entry = { ...minimal, ...addresses };
    t.is(readIssuers(await issuersFile(t, [entry]), ownIssuer).problems.length, 1);
    const allowed = await issuersFile(t, [{ ...entry, allowInsecureHttp: true }]);
    t.deepEqual(readIssuers(allowed, ownIssuer).problems, []);
  });
}

for (const host of ['localhost:8080', '127.0.0.1', '127.1.2.3:1', '[::1]:8080']) {
  test(`plain http is accepted on loopback: ${host}`, async (t) => {
    const entry = { ...minimal, issuer: `http://${host}/realm`, jwksUri: `http://${host}/keys` };
    t.deepEqual(readIssuers(await issuersFile(t, [entry]), ownIssuer).problems, []);
  });
}

test('a missing or malformed file is a problem, and its text is not shown', async (t) => {
  t.deepEqual(readIssuers('/nowhere/issuers.json', ownIssuer).problems, [
    'names a file that does not exist; create it or correct the path',
  ]);
  const broken = await issuersFile(t, '[{"issuer": jam');
  t.deepEqual(readIssuers(broken, ownIssuer).problems, [
    'names a file that is not JSON; correct its content',
  ]);
  for (const json of [{ jam: 'jam' }, 'null', '"jam"']) {
    const { problems } = readIssuers(await issuersFile(t, json), ownIssuer);
    t.is(problems.length, 1);
    t.notRegex(problems[0] ?? '', /jam/);
  }
});
