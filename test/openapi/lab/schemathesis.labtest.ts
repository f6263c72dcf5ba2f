import test from 'ava';
import { upload, bytesOf } from '../../support/documents/files.ts';
import { createDocument } from '../../support/documents/documents.ts';
import { createDevice } from '../../support/sync/devices.ts';
import { startReadyVault } from '../../support/vault/vault.ts';
import { documentFile, pythonTool, run, scratchDirectory } from './tools.ts';

/** Examples for each operation and phase. */
const examples = process.env['EXAMPLES'] ?? '20';
const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
];
/** Operations that end the session or the device of the run, or that never end themselves. */
const left = ['logout', 'endLoginSession', 'revokeDevice', 'streamChanges'];
const scopes = [
  'documents:read',
  'documents:write',
  'uploads:write',
  'keys:manage',
  'audit:read',
  'sync:read',
  'sync:write',
];

test('schemathesis gets no response that openapi.json does not describe', async (t) => {
  t.timeout(3_600_000);
  const vault = await startReadyVault();
  t.teardown(() => vault.stop());
  const { api, deviceId } = await createDevice(vault, { scopes });
  const { fileKey } = await upload(t, api, bytesOf(100));
  t.is((await createDocument(api, fileKey)).status, 201);
  const { path: cwd, remove } = await scratchDirectory();
  t.teardown(remove);
  const args = [
    'run',
    documentFile,
    `--url=${vault.baseUrl}`,
    `--header=Authorization: Bearer ${api.token}`,
    `--header=X-Device-Id: ${deviceId}`,
    '--header=X-Schema-Version: 1',
    `--checks=${checks.join(',')}`,
    `--max-examples=${examples}`,
    ...left.map((name) => `--exclude-operation-id=${name}`),
    '--continue-on-failure',
    '--request-timeout=30',
    // Hypothesis parses its own source, which CPython 3.11 cannot do in several threads.
    '--workers=1',
    '--no-color',
  ];
  const { code, output } = await run(pythonTool('schemathesis'), args, { cwd });
  t.log(output.slice(-1_500));
  t.is(code, 0, output.slice(-20_000));
});
