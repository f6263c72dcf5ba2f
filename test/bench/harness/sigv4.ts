import { createHash, createHmac } from 'node:crypto';

export interface Signing {
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const payload = 'UNSIGNED-PAYLOAD';
const signedNames = 'host;x-amz-content-sha256;x-amz-date';

/** Returns the headers of an S3 request with an unsigned payload (AWS Signature Version 4). */
export function signS3(
  method: string,
  { host, pathname, searchParams }: URL,
  { region, accessKeyId, secretAccessKey }: Signing,
): Record<string, string> {
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const scope = `${time.slice(0, 8)}/${region}/s3/aws4_request`;
  const query = [...searchParams]
    .map((pair) => pair.map(encodeURIComponent).join('='))
    .toSorted()
    .join('&');
  const headers = { host, 'x-amz-content-sha256': payload, 'x-amz-date': time };
  const headerLines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
  const canonical = [method, pathname, query, headerLines.join(''), signedNames, payload];
  const digest = createHash('sha256').update(canonical.join('\n')).digest('hex');
  const toSign = ['AWS4-HMAC-SHA256', time, scope, digest].join('\n');
  const key = scope
    .split('/')
    .reduce<string | Buffer>((key, step) => hmac(key, step), `AWS4${secretAccessKey}`);
  const signature = hmac(key, toSign).toString('hex');
  const credential = `Credential=${accessKeyId}/${scope}`;
  const signed = `SignedHeaders=${signedNames}, Signature=${signature}`;
  const authorization = `AWS4-HMAC-SHA256 ${credential}, ${signed}`;
  return { ...headers, authorization };
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
