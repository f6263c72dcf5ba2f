import { createHash } from 'node:crypto';
import { relative } from 'node:path';

/** The files that take longest start first, so that none of them runs alone at the end. */
const longest = [
  'test/sync/feed/events-replicas.test.ts',
  'test/cli/doctor/findings.test.ts',
  'test/client/recovery/recovery.test.ts',
  'test/client/rekey/rekey.test.ts',
  'test/http/roles/roles.test.ts',
  'test/restore/drill.test.ts',
  'test/signing-keys/cli.test.ts',
  'test/signer/cli.test.ts',
  'test/signer/keys/remnants.test.ts',
];

/** Mixes the rest: files of a folder wait, or compute, in the same way. */
function rank(file) {
  const path = relative(import.meta.dirname, file).replaceAll('\\', '/');
  const place = longest.indexOf(path);
  return place === -1 ? createHash('sha256').update(path).digest('hex') : ` ${place}`;
}

export default {
  // More than there are processors, as many tests wait. With 5, two processors are never idle, and
  // requests of the tests begin to time out.
  concurrency: 4,
  extensions: { ts: 'module' },
  files: ['test/**/*.test.ts'],
  require: ['./test/support/openapi/checked-fetch.ts'],
  sortTestFiles: (a, b) => (rank(a) < rank(b) ? -1 : 1),
  timeout: '3m',
};
