import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { createSignerClient } from '../../signer/protocol/client.ts';
import { SignerUnavailable } from '../../signer/protocol/signer-error.ts';

async function connectTo(t: ExecutionContext, answer: RequestListener) {
  const directory = await mkdtemp(join(tmpdir(), 'signer-'));
  const socketPath = join(directory, 'signer.sock');
  const server = createServer(answer).listen(socketPath);
  await once(server, 'listening');
  const client = createSignerClient({ socketPath });
  t.teardown(async () => {
    client.close();
    server.closeAllConnections();
    server.close();
    await rm(directory, { recursive: true });
  });
  return client;
}

test('an endless response is cut off and fails with bad_response', async (t) => {
  let sent = 0;
  const client = await connectTo(t, (_req, res) => {
    const chunk = Buffer.alloc(1 << 20, ' ');
    const write = () => {
      while (!res.destroyed && sent < 1 << 28 && res.write(chunk)) sent += chunk.length;
    };
    res.on('drain', write);
    write();
  });
  const error = await t.throwsAsync(client.health(), { instanceOf: SignerUnavailable });
  t.is(error?.code, 'bad_response');
  t.true(sent < 1 << 26);
});

test('a response whose content-length is too large is not read', async (t) => {
  const client = await connectTo(t, (_req, res) => {
    res.writeHead(200, { 'content-length': 1 << 30 }).write('{');
  });
  const error = await t.throwsAsync(client.health(), { instanceOf: SignerUnavailable });
  t.is(error?.code, 'bad_response');
});
