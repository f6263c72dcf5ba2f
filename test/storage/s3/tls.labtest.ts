import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { runProgram, temporaryDirectory } from '../../support/processes/processes.ts';
import { createAuthority } from './servers/authority.ts';
import { createLabBucket, labConfig } from './servers/lab-bucket.ts';
import { startLine } from './servers/line.ts';

const config = labConfig(`tls-${randomUUID()}`, 'when_supported');
test.before(() => createLabBucket(config, { versioned: false }));

/**
 * Returns the output of a process with these environment variables that uses the S3 server through
 * a proxy with TLS.
 */
async function storeOverTls(
  t: ExecutionContext,
  host: string,
  env: Record<string, string>,
  checksums = config.checksums,
): Promise<string[]> {
  const options = { ...config, driver: 's3', endpoint: `https://${host}`, checksums };
  const program = runProgram(
    t,
    ['test/storage/s3/servers/tls-program.ts', JSON.stringify(options)],
    env,
  );
  t.is(await program.exitCode, 0);
  return program.lines;
}

test('a private authority’s certificate is accepted with NODE_EXTRA_CA_CERTS only', async (t) => {
  const authority = await createAuthority(await temporaryDirectory(t));
  const tls = await authority.issue('IP:127.0.0.1');
  await using line = await startLine(config.endpoint as string, { tls });
  const env = { NODE_EXTRA_CA_CERTS: authority.certFile };
  t.deepEqual(await storeOverTls(t, line.host, env), ['stored']);
  t.deepEqual(await storeOverTls(t, line.host, env, 'when_required'), ['stored']);
  t.deepEqual(await storeOverTls(t, line.host, {}), ['storage_unavailable']);
});

test('a certificate for another name is refused', async (t) => {
  const authority = await createAuthority(await temporaryDirectory(t));
  const tls = await authority.issue('IP:127.0.0.2');
  await using line = await startLine(config.endpoint as string, { tls });
  const env = { NODE_EXTRA_CA_CERTS: authority.certFile };
  t.deepEqual(await storeOverTls(t, line.host, env), ['storage_unavailable']);
});
