/** The pattern of group files that run all test files (test/support/runs/groups.ts). */
const groups = process.env['PROBATIO_TEST_GROUPS'];

export default {
  // More than there are processors, as many tests wait. With 5, two processors are never idle, and
  // requests of the tests begin to time out.
  concurrency: 4,
  extensions: { mjs: true, ts: 'module' },
  // Much of what tests make lives for a request or two, and is collected while it is young.
  nodeArguments: ['--max-semi-space-size=32'],
  files: groups === undefined ? ['test/**/*.test.ts'] : [groups],
  require: ['./test/support/openapi/checked-fetch.ts'],
  sortTestFiles: (a, b) => (a < b ? -1 : 1),
  timeout: '3m',
  // Tests start many programs, and a large process forks slowly.
  workerThreads: false,
};
