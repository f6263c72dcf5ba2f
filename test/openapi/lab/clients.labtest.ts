import { copyFile, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { bytesOf, upload } from '../../support/documents/files.ts';
import { createDevice } from '../../support/sync/devices.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';
import {
  documentFile,
  nodeTool,
  pythonTool,
  run,
  scratchDirectory,
  toolFile,
  toolsFolder,
  type Ran,
} from './tools.ts';

interface Context {
  readonly vault: TestVault;
  readonly directory: string;
  readonly remove: () => Promise<void>;
}

const test = anyTest as TestFn<Context>;

test.before(async (t) => {
  const { path: directory, remove } = await scratchDirectory();
  t.context = { vault: await startReadyVault(), directory, remove };
});
test.after.always(async (t) => {
  await t.context.vault.stop();
  await t.context.remove();
});

const compilerOptions = {
  allowImportingTsExtensions: true,
  erasableSyntaxOnly: false,
  lib: ['es2023', 'dom'],
  module: 'esnext',
  moduleResolution: 'bundler',
  noEmit: true,
  skipLibCheck: true,
  strict: true,
  target: 'es2022',
};

/** Type-checks the TypeScript files of a folder. */
async function compile(t: ExecutionContext, folder: string): Promise<void> {
  await symlink(toolFile('node_modules'), join(folder, 'node_modules')).catch(() => undefined);
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  const { code, output } = await run('tsc', ['--project', folder]);
  t.is(code, 0, output.slice(0, 4_000));
}

async function succeed(t: ExecutionContext, running: Promise<Ran>): Promise<string> {
  const { code, output, standardOutput } = await running;
  t.is(code, 0, output.slice(-4_000));
  return standardOutput;
}

/** Runs a program that uses a generated client, and asserts what it found. */
async function assertScenario(
  t: ExecutionContext<{ readonly vault: TestVault }>,
  start: (env: NodeJS.ProcessEnv) => Promise<Ran>,
): Promise<void> {
  const { vault } = t.context;
  const scopes = ['documents:read', 'documents:write', 'uploads:write', 'sync:read', 'sync:write'];
  const { api, deviceId } = await createDevice(vault, { scopes });
  const paths: string[] = [];
  for (let n = 0; n < 3; n += 1) paths.push((await upload(t, api, bytesOf(100 + n))).fileKey);
  const env = {
    BASE_URL: vault.baseUrl,
    TOKEN: api.token,
    DEVICE_ID: deviceId,
    STORAGE_PATHS: JSON.stringify(paths),
  };
  const found = JSON.parse(await succeed(t, start(env))) as Record<string, unknown>;
  const { created, listed, sealedBy, ...rest } = found as {
    readonly created: readonly string[];
    readonly listed: readonly string[];
    readonly sealedBy: string;
  };
  t.is(created.length, 3);
  t.deepEqual(listed.toReversed(), [...created]);
  t.regex(sealedBy, /^[0-9a-f-]{36}$/);
  t.deepEqual(rest, {
    status: 409,
    proofId: sealedBy,
    applied: { title: 'one' },
    conflict: 409,
    serverData: { title: 'one' },
  });
}

test('a client by openapi-typescript compiles and reads proofId and serverData', async (t) => {
  const folder = join(t.context.directory, 'openapi-typescript');
  const types = join(folder, 'schema.ts');
  await succeed(t, run(nodeTool('openapi-typescript'), [documentFile, '--output', types]));
  const program = join(folder, 'scenario.ts');
  await copyFile(join(toolsFolder, 'clients/scenario.ts.in'), program);
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  await compile(t, folder);
  await assertScenario(t, (env) => run(process.execPath, [program], { cwd: folder, env }));
});

test('a client by openapi-python-client compiles and reads proofId and serverData', async (t) => {
  const { directory } = t.context;
  const args = ['--meta', 'none', '--overwrite', '--output-path', `${directory}/probatio_client`];
  const generate = ['generate', '--path', documentFile, ...args];
  await succeed(t, run(pythonTool('openapi-python-client'), generate));
  const python = pythonTool('python');
  await succeed(t, run(python, ['-m', 'compileall', '-q', `${directory}/probatio_client`]));
  const program = join(toolsFolder, 'clients/scenario.py');
  await assertScenario(t, (env) =>
    run(python, ['-B', program], { env: { ...env, PYTHONPATH: directory } }),
  );
});

test('a client by oazapfts compiles', async (t) => {
  const folder = join(t.context.directory, 'oazapfts');
  await succeed(t, run('mkdir', ['-p', folder]));
  await succeed(t, run(nodeTool('oazapfts'), [documentFile, join(folder, 'client.ts')]));
  await compile(t, folder);
});

for (const generator of ['typescript-fetch', 'java'] as const) {
  test(`a client by openapi-generator for ${generator} compiles`, async (t) => {
    const folder = join(t.context.directory, generator);
    const jar = toolFile('openapi-generator-cli.jar');
    const only = 'apiTests=false,modelTests=false,apiDocs=false,modelDocs=false';
    const args = ['-i', documentFile, '-g', generator, '-o', folder, '--global-property', only];
    await succeed(t, run('java', ['-jar', jar, 'generate', ...args]));
    t.true((await readdir(folder)).length > 0);
    if (generator === 'typescript-fetch') return compile(t, folder);
    await succeed(t, run('mvn', ['--quiet', '--batch-mode', 'compile'], { cwd: folder }));
  });
}
