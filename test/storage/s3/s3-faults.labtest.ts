import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { Transform } from 'node:stream';
import test from 'ava';
import { createObjectHasher } from '../../../app/storage/object-hash.ts';
import { createS3Store } from '../../../app/storage/s3/s3-store.ts';
import { bodyOf, partBytes, testBytes } from '../bytes.ts';
import { openUpload, putBytes, throwsCode } from '../stored.ts';
import { createLabBucket, labConfig } from './lab-bucket.ts';

const config = labConfig(`faults-${randomUUID()}`, 'when_supported');
test.before(() => createLabBucket(config, { versioned: false }));

/** A way to the lab's server that changes one bit of everything long. */
async function startBadLine(): Promise<Server> {
  const { hostname, port } = new URL(config.endpoint as string);
  const server = createServer((socket) => {
    const upstream = connect(Number(port), hostname);
    const flip = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        if (chunk.length > 10_000) chunk.writeUInt8(chunk.readUInt8(9_000) ^ 1, 9_000);
        done(null, chunk);
      },
    });
    socket.pipe(flip).pipe(upstream).pipe(socket);
    for (const end of [socket, upstream]) {
      end.on('error', () => {});
      end.on('close', () => [socket, upstream].forEach((stream) => stream.destroy()));
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

const addressOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

test('a part that was changed on its way is not stored', async (t) => {
  const line = await startBadLine();
  const store = createS3Store(config);
  const behindLine = createS3Store({ ...config, endpoint: addressOf(line) });
  t.teardown(async () => {
    await behindLine.close();
    await store.close();
    line.close();
  });
  const upload = await openUpload(store);
  const kept = await putBytes(store, upload, 1, testBytes(partBytes, 1));
  const changed = putBytes(behindLine, upload, 1, testBytes(partBytes, 2));
  await throwsCode(t, changed, 'storage_unavailable');
  await t.notThrowsAsync(store.completeMultipart(upload.key, upload.uploadId, [kept]));
});

test('a server that is away, a refused key and a missing bucket are storage_unavailable', async (t) => {
  const closed = createServer();
  await once(closed.listen(0, '127.0.0.1'), 'listening');
  const endpoint = addressOf(closed);
  closed.close();
  const faults = [{ endpoint }, { secretAccessKey: 'wrong' }, { bucket: 'missing' }];
  for (const fault of faults) {
    const store = createS3Store({ ...config, ...fault });
    await throwsCode(t, store.ping(), 'storage_unavailable');
    await throwsCode(t, store.createMultipart('a/b'), 'storage_unavailable');
    const part = { key: 'a/b', uploadId: 'x', partNumber: 1, size: partBytes };
    const body = bodyOf(testBytes(partBytes, 1));
    await throwsCode(t, store.putPart(part, body), 'storage_unavailable');
    t.is(body.errored, null);
    await store.close();
  }
});

test('a hash of an object whose server is away fails', async (t) => {
  const hasher = createObjectHasher(
    { driver: 's3', ...config, secretAccessKey: 'wrong' },
    { concurrency: 1 },
  );
  t.teardown(() => hasher.close());
  await throwsCode(t, hasher.hash('a/b', 'etag:x'), 'storage_unavailable');
});
