import test from 'ava';
import { awsChunked, awsChunkedHeaders } from '../../app/storage/s3/aws-chunked.ts';
import { testBytes } from './bytes.ts';

const chunkBytes = 8 * 1024 * 1024;

function encode(bytes: Buffer, pieceBytes: number): Buffer {
  const out: Buffer[] = [];
  const push = (chunk: Buffer | string) => out.push(Buffer.from(chunk));
  const encoding = awsChunked(bytes.length);
  for (let offset = 0; offset < bytes.length; offset += pieceBytes) {
    encoding.write(bytes.subarray(offset, offset + pieceBytes), push);
  }
  encoding.end(push);
  return Buffer.concat(out);
}

test('the body is framed, and its trailer carries the CRC-32', (t) => {
  // CRC-32 of 123456789 is cbf43926, the check value of the algorithm's catalogue entry.
  const encoded = encode(Buffer.from('123456789'), 4).toString();
  t.is(encoded, '9\r\n123456789\r\n0\r\nx-amz-checksum-crc32:y/Q5Jg==\r\n\r\n');
});

test('the announced length is the encoded one, at and around the borders of chunks', (t) => {
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

test('how the source is cut does not change what is sent', (t) => {
  const bytes = testBytes(chunkBytes + 5, 1);
  const whole = encode(bytes, bytes.length);
  for (const pieceBytes of [1_000, 65_536, chunkBytes, chunkBytes + 1]) {
    t.true(encode(bytes, pieceBytes).equals(whole));
  }
});
