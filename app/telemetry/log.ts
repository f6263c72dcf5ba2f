import { pino, type DestinationStream, type Logger } from 'pino';

export type Log = Logger;

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

/**
 * Creates a log of JSON objects, one per line, which is written to `destination`, by default
 * standard output.
 */
export function createLog(level: string, destination?: DestinationStream): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
      redact: {
        paths: secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
        censor: '[redacted]',
      },
    },
    destination,
  );
}

/** Serializes type, message, stack and code only: libraries attach commands and rows to errors. */
function describeError(error: unknown) {
  if (!(error instanceof Error)) return { message: 'a value that is not an Error was thrown' };
  const { type, message, stack } = pino.stdSerializers.err(error);
  const { code } = error as { code?: unknown };
  return { type, message, stack, ...(typeof code === 'string' ? { code } : {}) };
}
