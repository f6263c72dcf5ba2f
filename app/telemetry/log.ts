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
  'refreshToken',
  'reauthToken',
  'salt',
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
      serializers: { err: describeError },
      redact: {
        paths: secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
        censor: '[redacted]',
      },
    },
    destination,
  );
}

/** No other property of an error: libraries hang commands, rows and requests on theirs. */
function describeError(error: unknown) {
  if (!(error instanceof Error)) return { message: 'something that is no Error was thrown' };
  const { type, message, stack } = pino.stdSerializers.err(error);
  const { code } = error as { code?: unknown };
  return { type, message, stack, ...(typeof code === 'string' ? { code } : {}) };
}
