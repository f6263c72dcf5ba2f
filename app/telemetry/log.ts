import type { DestinationStream } from 'pino';
import { createServiceLog, type Log } from '../../signer/log/log.ts';
import { about } from './about.ts';

export type { Log };

/** Property names that hold secrets in this system. pino redacts them up to two levels deep. */
const secretNames = [
  'password',
  'pin',
  'proof',
  'M1',
  'verifier',
  'token',
  'accessToken',
  'refreshToken',
  'reauthToken',
  'salt',
  'authorization',
  'encryptedEnvelope',
  'privateKey',
  'secret',
  'secretAccessKey',
];

/** Creates the log of the app, which is written to `destination`, by default standard output. */
export function createLog(level: string, destination?: DestinationStream): Log {
  return createServiceLog({
    service: 'app',
    version: about.version,
    level,
    redacted: secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
    destination,
  });
}
