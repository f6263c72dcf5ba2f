import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { testStack } from './stack.ts';
import type { Vault, TokenKind } from './vault.ts';

/**
 * Returns the vault that all test files of a run share. It is ready, has the settings of
 * `startVault()` and is never stopped. Use it in a file whose tests act as users of their own over
 * HTTP: it saves the second of processor time that a vault of one's own costs. A test that changes
 * settings, stops something, counts the rows of a whole table or reads the log starts its own.
 */
export function sharedVault(): Vault {
  const shared = testStack().sharedVault;
  if (shared === undefined) throw new Error('only `npm test` starts the shared vault');
  const { tokensSocketPath, ...addresses } = shared;
  const issue = (kind: TokenKind) => (caller: object) =>
    postTo(tokensSocketPath, `/${kind}`, caller);
  return { ...addresses, tokens: { access: issue('access'), reauth: issue('reauth') } };
}

async function postTo(socketPath: string, path: string, body: object): Promise<string> {
  const sent = request({ socketPath, path, method: 'POST' }).end(JSON.stringify(body));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const answer = await text(response);
  if (response.statusCode !== 200) throw new Error(`the shared vault issued no token: ${answer}`);
  return answer;
}
