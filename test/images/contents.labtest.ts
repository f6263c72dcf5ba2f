import { chmodSync, chownSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import anyTest, { type TestFn } from 'ava';
import app from '../../app/package.json' with { type: 'json' };
import {
  describeFiles,
  differences,
  exportImage,
  pathsBelow,
} from '../support/images/file-system.ts';
import { docker, imageOf, type Target } from '../support/images/docker.ts';
import { walkImports } from '../support/images/imported-packages.ts';
import { temporaryDirectory } from '../support/processes/processes.ts';

const targets = ['app', 'signer', 'operator', 'provisioner'] as const;
const project = 'opt/probatio';
/** The programs of the images. */
const entries = {
  app: ['app/main.ts', 'app/cli.ts'],
  signer: ['signer/main.ts', 'signer/cli.ts'],
  operator: ['k8s/main.ts'],
  provisioner: ['signer/main.ts', 'signer/cli.ts', 'signer/provisioner/main.ts'],
} as const;
/** Matches npm, compilers and what they run. */
const tools = new RegExp(
  String.raw`(?:^|/)(?:npm|npx|yarn|corepack|node-gyp|cc1|cc1plus|make|python3?|` +
    String.raw`(?:.*-)?(?:gcc|g\+\+|cc|c\+\+|clang|ld|as)(?:-\d+)?)$`,
);

const test = anyTest as TestFn<{ exported: string }>;

test.before(async (t) => {
  t.timeout(180_000);
  t.context = { exported: await mkdtemp(join(process.env['IMAGES_SCRATCH'] ?? '', 'exported-')) };
  for (const target of targets) {
    for (const built of ['lab', 'again']) {
      await exportImage(imageOf(target, built), join(t.context.exported, built, target));
    }
  }
});
test.after.always((t) => rm(t.context.exported, { recursive: true, force: true }));

for (const target of targets) {
  test(`two builds of the image of ${target} hold the same files`, (t) => {
    const [one, other] = ['lab', 'again'].map((built) =>
      describeFiles(join(t.context.exported, built, target)),
    ) as [ReadonlyMap<string, string>, ReadonlyMap<string, string>];
    t.true(one.size > 1000);
    t.deepEqual(differences(one, other), []);
  });

  test(`the image of ${target} holds exactly the packages that its entry points import`, (t) => {
    const root = join(t.context.exported, 'lab', target, project);
    const { packages, missing } = walkImports(root, entries[target], isOfDevelopment);
    t.deepEqual(missing, []);
    t.true(packages.has('node_modules/zod'));
    t.deepEqual([...packages].toSorted(), packagesIn(root));
  });

  test(`the image of ${target} has neither npm nor a compiler, and no settings of npm`, (t) => {
    const paths = pathsBelow(join(t.context.exported, 'lab', target));
    const programs = paths.filter((path) => !path.startsWith('usr/share/'));
    t.true(paths.includes('usr/local/bin/node'));
    t.deepEqual(
      programs.filter((path) => tools.test(path) || path.endsWith('.npmrc')),
      [],
    );
  });

  test(`the files of ${target} belong to root, and nobody else may write them`, (t) => {
    const files = describeFiles(join(t.context.exported, 'lab', target, project));
    const wrong = [...files].filter(
      ([, text]) => !/^(?:120777|\d+[0-7][0145][0145]) 0:0 /.test(text),
    );
    t.deepEqual(wrong, []);
  });

  test(`the image of ${target} says what it is`, async (t) => {
    const inspected = await docker('inspect', '--format', '{{json .Config}}', imageOf(target));
    const { User, Labels } = JSON.parse(inspected) as {
      readonly User: string;
      readonly Labels: Readonly<Record<string, string>>;
    };
    const isSigner = target === 'signer' || target === 'provisioner';
    t.is(User, isSigner ? '10002:10000' : '10001:10000');
    t.is(Labels['org.opencontainers.image.version'], app.version);
    t.is(Labels['org.opencontainers.image.licenses'], app.license);
    t.regex(Labels['org.opencontainers.image.revision'] ?? '', /^[0-9a-f]{40}$/);
  });
}

test('the image of the app has no PKCS#11 library, and nothing that would load one', async (t) => {
  t.deepEqual(await find('app', '/{etc,opt,usr,var}/**/{libsofthsm2*,pkcs11,pkcs11js}'), []);
  t.deepEqual(await find('app', '/opt/probatio/signer/*'), [
    '/opt/probatio/signer/log',
    '/opt/probatio/signer/package.json',
    '/opt/probatio/signer/protocol',
  ]);
});

test('the image of the signer has SoftHSM, and nothing of the app', async (t) => {
  const library = '/usr/lib/softhsm/libsofthsm2.so';
  t.deepEqual(await find('signer', library), [library]);
  t.deepEqual(await find('signer', '/opt/probatio/{app,client,signer/provisioner}'), []);
});

test('no image has a client of Kubernetes but that of the operator', async (t) => {
  const clients = '/opt/probatio/{node_modules/@kubernetes/*,signer/provisioner}';
  for (const target of ['app', 'signer'] as const) t.deepEqual(await find(target, clients), []);
  const provisioner = await find('provisioner', clients);
  t.deepEqual(provisioner, ['/opt/probatio/signer/provisioner']);
  const files = await find('provisioner', '/opt/probatio/{app,client,k8s}');
  t.deepEqual(files, []);
});

test('the image of the operator has nothing of the app, and no PKCS#11', async (t) => {
  t.deepEqual(await find('operator', '/{etc,opt,usr,var}/**/{libsofthsm2*,pkcs11,pkcs11js}'), []);
  t.deepEqual(await find('operator', '/opt/probatio/{app,client,signer/*}'), [
    '/opt/probatio/signer/log',
    '/opt/probatio/signer/package.json',
    '/opt/probatio/signer/protocol',
  ]);
});

test('a difference in path, mode, owner, content or link is found', async (t) => {
  const directory = await temporaryDirectory(t);
  const [one, other] = [join(directory, 'one'), join(directory, 'other')];
  mkdirSync(one);
  const names = ['content', 'kept', 'lost', 'mode', 'owner'];
  for (const name of names) writeFileSync(join(one, name), name);
  cpSync(one, other, { recursive: true });
  t.deepEqual(differences(describeFiles(one), describeFiles(other)), []);
  writeFileSync(join(other, 'content'), 'another');
  rmSync(join(other, 'lost'));
  chmodSync(join(other, 'mode'), 0o755);
  chownSync(join(other, 'owner'), 10_001, 10_000);
  writeFileSync(join(other, 'added'), '');
  t.deepEqual(differences(describeFiles(one), describeFiles(other)), [
    'added',
    ...names.filter((name) => name !== 'kept'),
  ]);
});

/** Tells whether a file or a package serves the API explorer, which only development has. */
function isOfDevelopment(target: string): boolean {
  return target.startsWith('client/explorer/') || target in app.devDependencies;
}

/** Returns the folders of the packages that are installed, also within others. */
function packagesIn(root: string): readonly string[] {
  return pathsBelow(join(root, 'node_modules'))
    .map((path) => `node_modules/${path}`)
    .filter((path) => /(?:^|\/)node_modules\/(?:@[^/]+\/)?[^@/][^/]*\/package\.json$/.test(path))
    .map((path) => path.slice(0, -'/package.json'.length))
    .toSorted();
}

/** Lists the paths that match a pattern, as a process in the container sees them. */
async function find(target: Target, pattern: string): Promise<readonly string[]> {
  const program = 'console.log(JSON.stringify(fs.globSync(process.argv[1]).sort()))';
  const command = ['run', '--rm', '--network', 'none', imageOf(target), 'node', '-e', program];
  return JSON.parse(await docker(...command, pattern)) as readonly string[];
}
