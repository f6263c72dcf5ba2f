import { randomUUID } from 'node:crypto';
import test from 'ava';
import { listRoutes } from '../../../app/wiring/routes.ts';
import { trustKey, type TrustedKey } from '../../support/accounts/trusted-key.ts';
import { assertError } from '../../support/http/error-body.ts';
import { exchange } from '../../support/http/raw-http.ts';
import { createKeyFile, type KeyFile } from '../../support/vault/key-file.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';

let vault: TestVault;
let keys: KeyFile;
let key: TrustedKey;

test.before(async () => {
  keys = await createKeyFile();
  vault = await startReadyVault({ INTERNAL_API_KEYS_FILE: keys.path });
  key = await trustKey(vault);
});
test.after.always(async () => {
  await vault.stop();
  await keys.remove();
});

type Route = ReturnType<typeof listRoutes>[number];

/** Returns the head of a request by a caller whom the guards of the route admit. */
async function headOf({ method, path, access }: Route, length: string): Promise<string> {
  const target = path.replace(':partNumber', '1').replace(/:\w+/g, randomUUID());
  const authz =
    access !== 'public' && access !== 'internal' && access.orRecovery === true
      ? { roles: [], scopes: ['recovery'] }
      : undefined;
  const token = await key.sign(authz === undefined ? {} : { authz });
  return [
    `${method.toUpperCase()} ${target} HTTP/1.1`,
    'Host: vault.test',
    'Content-Type: application/json',
    ...(access === 'public' ? [] : [`Authorization: Bearer ${token}`]),
    ...(access === 'internal' || (access !== 'public' && access.orInternal === true)
      ? [`X-Internal-Api-Key: ${keys.admin}`]
      : []),
    length,
    '\r\n',
  ].join('\r\n');
}

const tooLarge = { status: 413, code: 'body_too_large' };

for (const route of listRoutes()) {
  const name = `${route.method.toUpperCase()} ${route.path}`;
  const { body, streamsBody, streamsForm, maxBodyBytes = 0, access } = route;
  const takesBody = body !== undefined || streamsBody === true || streamsForm !== undefined;

  test(`${name} states the greatest body that it accepts, if it accepts one`, (t) => {
    t.is(maxBodyBytes > 0, takesBody);
    if (access === 'public') t.true(maxBodyBytes <= 2 ** 14);
    if (body !== undefined) t.true(maxBodyBytes <= 2 ** 20);
  });

  if (body === undefined) continue;
  test(`${name} refuses a larger body before it arrives`, async (t) => {
    // The body is never sent: an answer shows that the route did not wait for it.
    const head = await headOf(route, `Content-Length: ${maxBodyBytes + 1}`);
    const { details } = assertError(t, await exchange(vault.baseUrl, head), tooLarge);
    t.regex(String(details?.[0]?.message), new RegExp(`at most ${maxBodyBytes} bytes`));
  });

  test(`${name} refuses a larger body of unknown length`, async (t) => {
    const head = await headOf(route, 'Transfer-Encoding: chunked');
    const chunk = `${(maxBodyBytes + 1).toString(16)}\r\n${' '.repeat(maxBodyBytes + 1)}\r\n`;
    assertError(t, await exchange(vault.baseUrl, head + chunk), tooLarge);
  });

  test(`${name} reads the greatest body that it accepts`, async (t) => {
    const head = await headOf(route, `Content-Length: ${maxBodyBytes}`);
    const answer = await exchange(vault.baseUrl, head + ' '.repeat(maxBodyBytes));
    assertError(t, answer, { status: 400, code: 'invalid_json' });
  });
}
