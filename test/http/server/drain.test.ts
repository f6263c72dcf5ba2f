import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import Koa from 'koa';
import { listen } from '../../../app/http/server/server.ts';
import { createLog } from '../../../app/telemetry/log.ts';
import { exchange } from '../../support/http/raw-http.ts';

const head = 'GET / HTTP/1.1\r\nHost: vault.test\r\n';

test('a drain that begins without connections serves those that come a moment later', async (t) => {
  const app = new Koa();
  app.use((ctx) => {
    ctx.body = 'served';
  });
  const limits = { connections: 100, connectionsPerAddress: 100, isProxy: () => false };
  const log = createLog('warn', { write: () => undefined });
  const server = await listen(app, { host: '127.0.0.1', port: 0, ...limits }, log);
  const drained = server.drain(5);
  for (const header of ['', 'Connection: close\r\n', '']) {
    await delay(150);
    const { status, headers } = await exchange(
      `http://127.0.0.1:${server.port}`,
      `${head}${header}\r\n`,
    );
    t.is(status, 200);
    t.is(headers.get('connection'), 'close');
  }
  await drained;
});
