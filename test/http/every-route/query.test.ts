import test from 'ava';
import { listRoutes } from '../../../app/wiring/routes.ts';
import { getJson } from '../../support/http/send.ts';
import { sharedVault } from '../../support/vault/shared-vault.ts';

const { baseUrl } = sharedVault();

const forProbes = [
  '/',
  '/.well-known/jwks.json',
  '/.well-known/openid-configuration',
  '/health',
  '/health/live',
  '/health/ready',
];

test('only what probes and stock clients ask ignores query parameters', (t) => {
  const ignoring = listRoutes().filter(({ ignoresQuery }) => ignoresQuery === true);
  t.deepEqual(ignoring.map(({ path }) => path).toSorted(), forProbes);
});

for (const path of forProbes) {
  test(`GET ${path} ignores unknown query parameters`, async (t) => {
    t.is((await getJson(`${baseUrl}${path}?probe=1&nothing`)).status, 200);
  });
}

test('another public route refuses an unknown query parameter', async (t) => {
  const answer = await getJson(`${baseUrl}/v1/health/cache/status?probe=1`);
  t.like(answer, { status: 400, body: { code: 'validation_failed' } });
});
