import test from 'ava';
import { startOwnKeysVault } from '../../signing-keys/keys-vault.ts';
import { createFinder, readApiDocument } from '../../support/openapi/document.ts';
import { serveCases } from './cases.ts';
import { documentFile, pythonTool, run, scratchDirectory, toolsFolder } from './tools.ts';

/** Examples for each operation and phase. */
const examples = process.env['EXAMPLES'] ?? '20';
const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
];
/** Operations that answer with server-sent events, which schemathesis takes for JSON. */
const streams = ['streamChanges', 'streamJob'];

/** Operations of which no case succeeds, each with the reason. */
const unreached: ReadonlyMap<string, string> = new Map([
  ...streams.map((name) => [name, 'it is left out'] as const),
  ['escrowEncryptionKeys', 'the vault has no escrow key'],
  ['removeReceivedShare', 'nobody shared anything with the user'],
  ['unblockSender', 'it answers 404 for whoever is not blocked'],
  ['startMfaSetup', 'the user has no account of the vault'],
  ['enableMfa', 'it takes the code of an authenticator'],
  ['disableMfa', 'the user has no account of the vault'],
  ['replaceRecoveryCodes', 'the user has no second factor'],
  ['uploadDocument', 'a random form has no file of an allowed type'],
]);

interface LogLine {
  readonly msg: string;
  readonly method?: string;
  readonly path?: string;
  readonly status?: number;
}

test('schemathesis gets no response that openapi.json does not describe', async (t) => {
  t.timeout(3_600_000);
  const keys = await startOwnKeysVault(t, {
    PLANS_STANDARD_OPEN_UPLOADS: '100000',
    // The responses to probes are logged as details.
    LOG_LEVEL: 'debug',
  });
  const { vault } = keys;
  const cases = await serveCases(keys);
  t.teardown(() => cases.stop());
  const { path: cwd, remove } = await scratchDirectory();
  t.teardown(remove);
  const args = [
    'run',
    documentFile,
    `--url=${vault.baseUrl}`,
    `--checks=${checks.join(',')}`,
    `--max-examples=${examples}`,
    ...streams.map((name) => `--exclude-operation-id=${name}`),
    '--continue-on-failure',
    '--request-timeout=30',
    // Hypothesis parses its own source, which CPython 3.11 cannot do in several threads.
    '--workers=1',
    '--no-color',
  ];
  const env = { SCHEMATHESIS_HOOKS: 'hooks', PYTHONPATH: toolsFolder, OPENAPI_LAB: cases.url };
  const began = performance.now();
  const { code, output } = await run(pythonTool('schemathesis'), args, { cwd, env });
  const seconds = Math.round((performance.now() - began) / 1000);
  t.log(output.slice(-2_500));

  const find = createFinder(readApiDocument());
  const requests = vault.logLines
    .map((line) => JSON.parse(line) as LogLine)
    .filter(({ msg }) => msg === 'request');
  const answers = requests.flatMap(({ method = '', path = '', status = 0 }) => {
    const found = find(method, path);
    if (found === undefined || found === 'pathOnly') return [];
    return [{ name: found.operation.operationId, status }];
  });
  const succeeded = new Set(
    answers.flatMap(({ name, status }) => (status >= 200 && status <= 299 ? [name] : [])),
  );
  const all = Object.values(readApiDocument().paths).flatMap((item) =>
    Object.values(item).map(({ operationId }) => operationId),
  );
  const missed = all.filter((name) => !succeeded.has(name) && !unreached.has(name));
  t.log(
    `${requests.length} requests in ${seconds} s; ${succeeded.size} of ${all.length} succeeded`,
  );
  t.is(code, 0, output.slice(-20_000));
  for (const name of missed) {
    const statuses = answers.filter((answer) => answer.name === name).map(({ status }) => status);
    t.log(`${name} got ${statuses.join(', ')}`);
  }
  t.deepEqual(missed, [], 'every operation succeeds at least once');
});
