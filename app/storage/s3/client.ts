import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { S3Client } from '@aws-sdk/client-s3';

export interface S3Config {
  /** Absent: Amazon's own for the region. */
  endpoint?: string;
  region: string;
  bucket: string;
  /** Absent: the SDK's default chain (environment, web identity, instance role). */
  accessKeyId?: string;
  secretAccessKey?: string;
  forcePathStyle: boolean;
  /** `when_required` for servers without streaming checksums: parts then rely on TLS alone to arrive intact. */
  checksums: 'when_supported' | 'when_required';
}

/** Under the shortest keep-alive of common servers and proxies, which would reset a request sent at that moment. */
const idleSocketMs = 4_000;
const connectMs = 5_000;
/** From a request to the first of its answer, which the SDK asks for three times. */
const answerMs = 20_000;
/** Silence, not duration: also of a client that takes the bytes of an answer slowly. */
const silenceMs = 120_000;

/** For what sends a body, and for completions, before which some servers copy a whole object: silence is their limit. */
export const withoutAnswerLimit = { requestTimeout: 0 };

const ignore = () => {};
/** The SDK writes warnings to the console unless it is given a logger; its errors tell all they do. */
const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore };

export interface S3Limits {
  /** How long a server may take to begin its answer; default 20 s. */
  readonly answerMs?: number;
}

export function createS3Client(config: S3Config, limits: S3Limits = {}): S3Client {
  const { accessKeyId, secretAccessKey } = config;
  const pool = { keepAlive: true, timeout: idleSocketMs };
  return new S3Client({
    endpoint: config.endpoint,
    region: config.region,
    logger: silent,
    forcePathStyle: config.forcePathStyle,
    credentials: accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey } : undefined,
    // Parts carry their own trailer (aws-chunked.ts), which costs less than the SDK's.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // The SDK opens a connection of its own for each request that expects 100-continue.
    expectContinueHeader: false,
    requestHandler: {
      // Slow clients hold sockets; a limit here would let them block everybody else.
      httpAgent: new HttpAgent(pool),
      httpsAgent: new HttpsAgent(pool),
      connectionTimeout: connectMs,
      requestTimeout: limits.answerMs ?? answerMs,
      throwOnRequestTimeout: true,
      socketTimeout: silenceMs,
    },
  });
}
