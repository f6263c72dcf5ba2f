import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { SpanKind } from '@opentelemetry/api';
import { S3Client } from '@aws-sdk/client-s3';
import { inChildSpan } from '../../../signer/protocol/tracing/spans.ts';
import { followSecret } from '../../secrets/follow-secret.ts';

export interface S3Config {
  /** URL of the server; Amazon's own endpoint for the region by default. */
  readonly endpoint?: string;
  readonly region: string;
  readonly bucket: string;
  /**
   * The access key, together with `secretAccessKey`. Without both, credentials come from the SDK's
   * chain: environment, web identity, instance role.
   */
  readonly accessKeyId?: string;
  readonly secretAccessKey?: string;
  /** The files of the two, if they stand in files, which are read again within a minute. */
  readonly accessKeyIdFile?: string;
  readonly secretAccessKeyFile?: string;
  readonly forcePathStyle: boolean;
  /**
   * Must be `when_required` for servers without streaming checksums; the integrity of parts then
   * depends on TLS alone.
   */
  readonly checksums: 'when_supported' | 'when_required';
}

/**
 * Time after which idle sockets are closed. It is shorter than that of common servers and proxies:
 * a request that is sent while the server closes the socket fails.
 */
const idleSocketMs = 4_000;
const connectMs = 5_000;
/** Limit from a request to the first byte of its response. The SDK makes up to three attempts. */
export const answerMs = 20_000;
/** Limit on inactivity, not on duration. It also ends a download whose client reads nothing. */
const silenceMs = 120_000;

/**
 * Lifts `answerMs` for requests that send a body, and for completions, in which some servers copy
 * the whole object. `silenceMs` still limits them.
 */
export const withoutAnswerLimit = { requestTimeout: 0 };

/**
 * Milliseconds after which keys from files are said to expire. The SDK asks for them anew five
 * minutes before that, and so a minute after it got them.
 */
const lifetimeMs = 6 * 60_000;

const ignore = () => {};
/**
 * Silences the SDK, which otherwise logs warnings to the console; the errors of the SDK contain the
 * same information.
 */
const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore };

export interface S3Limits {
  /** Limit on the time until a response begins; 20 s by default. */
  readonly answerMs?: number;
}

export function createS3Client(config: S3Config, limits: S3Limits = {}): S3Client {
  const pool = { keepAlive: true, timeout: idleSocketMs };
  const client = new S3Client({
    endpoint: config.endpoint,
    region: config.region,
    logger: silent,
    forcePathStyle: config.forcePathStyle,
    credentials: createCredentials(config),
    // Parts carry our own trailer (aws-chunked.ts), which costs less than the SDK's.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // The SDK opens a separate connection for each request that expects 100-continue.
    expectContinueHeader: false,
    requestHandler: {
      // The number of sockets is not limited: slow clients keep their sockets, and could block all
      // other requests.
      httpAgent: new HttpAgent(pool),
      httpsAgent: new HttpsAgent(pool),
      connectionTimeout: connectMs,
      requestTimeout: limits.answerMs ?? answerMs,
      throwOnRequestTimeout: true,
      socketTimeout: silenceMs,
    },
  });
  recordRequests(client, config.bucket);
  return client;
}

/** Records the requests of a client as spans, by their operation: keys of objects are left out. */
function recordRequests(client: S3Client, bucket: string): void {
  client.middlewareStack.add(
    (next, { commandName = '' }) =>
      (args) => {
        const method = commandName.replace(/Command$/, '');
        const attributes = {
          'rpc.system.name': 'aws-api',
          'rpc.method': `S3/${method}`,
          'aws.s3.bucket': bucket,
        };
        return inChildSpan(`S3/${method}`, { kind: SpanKind.CLIENT, attributes }, () => next(args));
      },
    { step: 'initialize', name: 'recordRequests' },
  );
}

/**
 * Returns the access key of a configuration as the SDK takes it, or undefined to leave the search
 * for credentials to the SDK. Keys from files are read again within a minute.
 */
export function createCredentials(config: S3Config, now = Date.now) {
  const { accessKeyId, secretAccessKey, accessKeyIdFile, secretAccessKeyFile } = config;
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  if (accessKeyIdFile === undefined && secretAccessKeyFile === undefined) {
    return { accessKeyId, secretAccessKey };
  }
  const readId = followSecret({
    variable: 'STORAGE_ACCESS_KEY_ID',
    value: accessKeyId,
    file: accessKeyIdFile,
  });
  const readSecret = followSecret({
    variable: 'STORAGE_SECRET_ACCESS_KEY',
    value: secretAccessKey,
    file: secretAccessKeyFile,
  });
  return async () => ({
    accessKeyId: readId(),
    secretAccessKey: readSecret(),
    expiration: new Date(now() + lifetimeMs),
  });
}
