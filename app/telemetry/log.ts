import { pino, type DestinationStream, type Logger } from 'pino';

export type Log = Logger;

/** Names that hold secrets anywhere in this system; pino blanks them up to two levels deep. */
const secretNames = [
  'password',
  'pin',
  'proof',
  'M1',
  'verifier',
  'token',
  'accessToken',
  'authorization',
  'encryptedEnvelope',
  'privateKey',
  'secret',
  'secretAccessKey',
];

/** JSON logs, one object a line, to standard output unless a destination is given. */
export function createLog(level: string, destination?: DestinationStream): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
        censor: '[redacted]',
      },
    },
    destination,
  );
}
