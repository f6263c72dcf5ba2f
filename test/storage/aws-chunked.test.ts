import { createHash } from 'node:crypto';
import test from 'ava';
import { awsChunked, awsChunkedHeaders } from '../../app/storage/s3/aws-chunked.ts';
import { testBytes } from '../support/documents/bytes.ts';

const chunkBytes = 8 * 1024 * 1024;

function encode(bytes: Buffer, pieceBytes: number): Buffer {
  const out: Buffer[] = [];
  const push = (chunk: Buffer | string) => out.push(Buffer.from(chunk));
  const encoding = awsChunked(bytes.length);
  for (let offset = 0; offset < bytes.length; offset += pieceBytes) {
    encoding.write(bytes.subarray(offset, offset + pieceBytes), push);
  }
  encoding.end(push, createHash('sha256').update(bytes).digest('base64'));
  return Buffer.concat(out);
}

test('the body is framed, and its trailer has the SHA-256', (t) => {
  // FIPS 180-2, appendix B.1.
  const sha256 = 'ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=';
  const encoded = encode(Buffer.from('abc'), 2).toString();
  t.is(encoded, `3\r\nabc\r\n0\r\nx-amz-checksum-sha256:${sha256}\r\n\r\n`);
});

test('the announced length is the encoded one, also around the limits of chunks', (t) => {
  const sizes = [
    1,
    2,
    chunkBytes - 1,
    chunkBytes,
    chunkBytes + 1,
    2 * chunkBytes,
    2 * chunkBytes + 17,
  ];
  for (const size of sizes) {
    const encoded = encode(testBytes(size, size), 65_521);
    t.is(awsChunkedHeaders(size)['content-length'], String(encoded.length), `${size} bytes`);
  }
});

test('the sizes of the source’s chunks do not change what is sent', (t) => {
  const bytes = testBytes(chunkBytes + 5, 1);
  const whole = encode(bytes, bytes.length);
  for (const pieceBytes of [1_000, 65_536, chunkBytes, chunkBytes + 1]) {
    t.true(encode(bytes, pieceBytes).equals(whole));
  }
});
