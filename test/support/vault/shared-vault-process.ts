/**
 * The process of the vault that all test files of a run share. Prints its addresses as one line of
 * JSON once it is ready, and stops on SIGTERM.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { stopSignals } from '../../../app/dev/processes/stop-signals.ts';
import type { SharedVaultAddresses } from './stack.ts';
import { startReadyVault, type TokenKind } from './vault.ts';

const stop = stopSignals();
const vault = await startReadyVault();
const { baseUrl, databases, mailDirectory, storeDirectory, tokens } = vault;

const server = createServer((request, response) => {
  const kind = request.url?.slice(1) as TokenKind;
  json(request)
    .then((caller) => tokens[kind](caller as Parameters<typeof tokens.access>[0]))
    .then(
      (token) => response.end(token),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
});
const tokensSocketPath = join(mailDirectory, 'tokens.sock');
server.listen(tokensSocketPath);
await once(server, 'listening');
const addresses: SharedVaultAddresses = {
  baseUrl,
  databases,
  mailDirectory,
  storeDirectory,
  tokensSocketPath,
};
console.log(JSON.stringify(addresses));

if (!stop.aborted) await once(stop, 'abort');
server.close();
await vault.stop();
