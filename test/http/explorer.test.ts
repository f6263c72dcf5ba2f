import test from 'ava';
import { productionSettings } from '../support/vault/production.ts';
import { startVault } from '../support/vault/vault.ts';
import { assertError } from '../support/http/error-body.ts';
import { send } from '../support/http/send.ts';

const files = ['', '/swagger-ui.css', '/swagger-ui-bundle.js', '/start.js', '/openapi.json'];

test('the API explorer is served in development', async (t) => {
  const vault = await startVault({ NODE_ENV: 'development' });
  t.teardown(() => vault.stop());
  for (const file of files) {
    const response = await fetch(`${vault.baseUrl}/api/docs${file}`);
    t.is(response.status, 200, file);
    t.true((await response.text()).length > 0, file);
    t.regex(response.headers.get('content-security-policy') ?? '', /default-src 'none'/);
  }
  for (const file of ['/package.json', '/constructor', '/__proto__', '/..%2fpackage.json', '2']) {
    const answer = await send('GET', `${vault.baseUrl}/api/docs${file}`);
    t.is(answer.status, 404, file);
  }
});

test('the API explorer is not served anywhere else', async (t) => {
  for (const environment of ['test', 'production']) {
    const vault = await startVault({ ...productionSettings, NODE_ENV: environment });
    t.teardown(() => vault.stop());
    for (const file of files) {
      const answer = await send('GET', `${vault.baseUrl}/api/docs${file}`);
      assertError(t, answer, { status: 404, code: 'not_found' }, `${environment} ${file}`);
    }
  }
});
