/** Runs the peer: the tus project's own server for Node, on the same S3 server. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { S3Store } from '@tus/s3-store';
import { Server } from '@tus/server';
import type { S3Config } from '../../../app/storage/s3/client.ts';
import { answerParent } from '../../support/processes/child.ts';
import { partBytes } from './part-bytes.ts';

answerParent(async (config: Required<S3Config>): Promise<number> => {
  const { bucket, endpoint, region, forcePathStyle, accessKeyId, secretAccessKey } = config;
  const datastore = new S3Store({
    partSize: partBytes,
    s3ClientConfig: {
      bucket,
      endpoint,
      region,
      forcePathStyle,
      credentials: { accessKeyId, secretAccessKey },
    },
  });
  const listening = new Server({ path: '/files', datastore }).listen(0, '127.0.0.1');
  await once(listening, 'listening');
  return (listening.address() as AddressInfo).port;
});
