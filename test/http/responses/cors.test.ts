import test from 'ava';
import { startVault } from '../../support/vault/vault.ts';

const origin = 'https://app.example';

test('pages of a configured origin may call the API, and no others', async (t) => {
  const vault = await startVault({ HTTP_CORS_ORIGINS: `${origin}/` });
  t.teardown(() => vault.stop());
  const preflight = (from: string) =>
    fetch(`${vault.baseUrl}/v1/documents`, {
      method: 'OPTIONS',
      headers: { Origin: from, 'Access-Control-Request-Method': 'POST' },
    });

  const allowed = await preflight(origin);
  t.is(allowed.status, 204);
  t.is(allowed.headers.get('access-control-allow-origin'), origin);
  t.regex(allowed.headers.get('access-control-allow-headers') ?? '', /Authorization/);
  t.is(allowed.headers.get('access-control-allow-credentials'), null);

  const refused = await preflight('https://other.example');
  t.is(refused.headers.get('access-control-allow-origin'), null);

  const failing = await fetch(`${vault.baseUrl}/v1/documents`, { headers: { Origin: origin } });
  t.is(failing.status, 401);
  t.is(failing.headers.get('access-control-allow-origin'), origin);
  const readable = failing.headers.get('access-control-expose-headers')?.split(', ') ?? [];
  for (const header of ['Date', 'ETag', 'Link', 'Retry-After', 'X-Request-Id']) {
    t.true(readable.includes(header), `${header} is exposed`);
  }
});

test('without configured origins no CORS header is sent', async (t) => {
  const vault = await startVault();
  t.teardown(() => vault.stop());
  const response = await fetch(vault.baseUrl, { headers: { Origin: origin } });
  t.is(response.headers.get('access-control-allow-origin'), null);
});
