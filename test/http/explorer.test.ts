import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import { productionSettings } from '../support/vault/production.ts';
import { startReadyVault, startVault, type TestVault } from '../support/vault/vault.ts';
import { assertError } from '../support/http/error-body.ts';
import { postJson, send } from '../support/http/send.ts';
import { createVaultClient } from '../../client/vault.ts';
import { untilMail } from '../support/accounts/mailbox.ts';

const files = [
  '',
  '/page.css',
  '/page.js',
  '/swagger-ui.css',
  '/swagger-ui-bundle.js',
  '/openapi.json',
];

const mailPath = '/api/docs/validation-mail';

function askForMail({ baseUrl }: TestVault, body: object) {
  return postJson(`${baseUrl}${mailPath}`, body);
}

test('the API explorer is served in development', async (t) => {
  const vault = await startVault({ NODE_ENV: 'development' });
  t.teardown(() => vault.stop());
  for (const file of files) {
    const response = await fetch(`${vault.baseUrl}/api/docs${file}`);
    t.is(response.status, 200, file);
    t.true((await response.text()).length > 0, file);
    const policy = response.headers.get('content-security-policy') ?? '';
    t.regex(policy, /default-src 'none'; script-src 'self' 'wasm-unsafe-eval';/);
  }
  for (const file of [
    '/package.json',
    '/constructor',
    '/start.js',
    '/main.ts',
    '/__proto__',
    '/..%2fpackage.json',
    '2',
  ]) {
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
    const mail = await askForMail(vault, { email: 'anyone@vault.test' });
    assertError(t, mail, { status: 404, code: 'not_found' }, environment);
  }
});

test('the explorer reads the validation e-mail to one address', async (t) => {
  const vault = await startReadyVault({ NODE_ENV: 'development' });
  t.teardown(() => vault.stop());
  const email = `${randomUUID()}@vault.test`;
  t.is((await askForMail(vault, { email })).status, 204);
  const client = createVaultClient({ baseUrl: vault.baseUrl });
  const { fingerprint } = await client.register({ email, password: 'correct horse' });
  const { token } = await untilMail(vault.mailDirectory, email);
  const answer = await askForMail(vault, { email });
  t.is(answer.status, 200);
  t.is(answer.headers.get('cache-control'), 'no-store');
  t.deepEqual(answer.body, { token, fingerprint });
  t.is((await askForMail(vault, { email: `x${email}` })).status, 204);

  for (const wrong of [{}, { email: 1 }, { email, all: true }, []]) {
    const refused = await askForMail(vault, wrong);
    assertError(t, refused, { status: 400, code: 'validation_failed' }, JSON.stringify(wrong));
  }
  const form = await send('POST', `${vault.baseUrl}${mailPath}`, { bytes: randomBytes(9) });
  t.is(form.status, 415);
});

test('without files of e-mails the explorer reads none', async (t) => {
  const vault = await startVault({
    NODE_ENV: 'development',
    MAIL_DIRECTORY: '',
    MAIL_URL: 'smtp://127.0.0.1:1',
  });
  t.teardown(() => vault.stop());
  const answer = await askForMail(vault, { email: 'anyone@vault.test' });
  assertError(t, answer, { status: 404, code: 'not_found' });
});
