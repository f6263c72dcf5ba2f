/**
 * Installs the system tools and the npm packages that `npm start` and `npm test` need. Runs before
 * both commands, on Node 20 or later and without any package installed. Prints nothing and takes
 * almost no time if everything is already installed. `setup.mjs soak` also installs the tools of
 * the longer fault tests, `setup.mjs pooler` those of PgBouncer's, `setup.mjs browser` a browser,
 * `setup.mjs openapi` a JDK and Maven, and `setup.mjs observability` Prometheus.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const project = dirname(fileURLToPath(import.meta.url));
const localBin = join(project, 'node_modules', '.bin');
/**
 * The file with the result, which app/dev/files/tools.ts reads. It is in node_modules, so that it
 * is deleted together with the packages.
 */
const resultFile = join(project, 'node_modules', '.probatio-setup.json');

const redisTool = {
  name: 'Redis or Valkey',
  find: () => findCommand('redis-server', 'valkey-server'),
  apt: 'redis-server',
  brew: 'redis',
};
const softhsmTool = {
  name: 'SoftHSM2',
  find: () => findLibrary('libsofthsm2.so'),
  apt: 'softhsm2',
  brew: 'softhsm',
};
/** The tools with which npm compiles pkcs11js during its installation. */
const compiling = [
  { name: 'Python 3', find: () => findCommand('python3'), apt: 'python3', brew: 'python' },
  { name: 'make', find: () => findCommand('make'), apt: 'make', brew: 'make' },
  {
    name: 'a C++ compiler',
    find: () => findCommand('g++', 'c++', 'clang++'),
    apt: 'g++',
    brew: 'gcc',
  },
];

/** The tools that make a token available over a socket, as a network HSM does. */
const p11Kit = [
  { name: 'p11-kit', find: () => findCommand('p11-kit'), apt: 'p11-kit', brew: 'p11-kit' },
  {
    name: "p11-kit's client module",
    find: () => findLibrary('p11-kit-client.so'),
    apt: 'p11-kit-modules',
    brew: 'p11-kit',
  },
];

/** Sets the clock of Postgres in fault tests. */
const faketimeTool = {
  name: 'libfaketime',
  find: () => findLibrary('libfaketime.so.1'),
  apt: 'libfaketime',
  brew: 'libfaketime',
};

const chromiumTool = {
  name: 'Chromium',
  find: () => findCommand('chromium', 'chromium-browser', 'google-chrome'),
  apt: 'chromium',
  brew: 'chromium',
};

const pgbouncerTool = {
  name: 'PgBouncer',
  find: () => process.env.PGBOUNCER ?? findCommand('pgbouncer'),
  apt: 'pgbouncer',
  brew: 'pgbouncer',
};

/** The tools that run and compile the generators of clients. */
const javaTools = [
  { name: 'a JDK', find: () => findCommand('javac'), apt: 'default-jdk-headless', brew: 'openjdk' },
  { name: 'Maven', find: () => findCommand('mvn'), apt: 'maven', brew: 'maven' },
];

const prometheusTool = {
  name: 'Prometheus',
  find: () => findCommand('promtool'),
  apt: 'prometheus',
  brew: 'prometheus',
};

setUp();
if (process.argv[2] === 'soak') requireTools([...p11Kit, faketimeTool, pgbouncerTool]);
if (process.argv[2] === 'pooler') requireTools([...p11Kit, pgbouncerTool]);
if (process.argv[2] === 'browser') requireTools([chromiumTool]);
if (process.argv[2] === 'openapi') requireTools(javaTools);
if (process.argv[2] === 'observability') requireTools([prometheusTool]);

function setUp() {
  if (Number.parseInt(process.versions.node, 10) < 20) {
    fail(`Node ${process.versions.node} is too old: install Node 20 or newer`);
  }
  const lock = readFileSync(join(project, 'package-lock.json'));
  const lockHash = createHash('sha256').update(lock).digest('hex');
  const previous = readResult();
  const installed = previous?.lockHash === lockHash;
  if (installed && [previous.redisServer, previous.softhsmLibrary].every(existsSync)) return;

  requireTools([softhsmTool, redisTool, ...(installed ? [] : compiling)]);
  if (!installed) installPackages();
  const result = { lockHash, redisServer: redisTool.find(), softhsmLibrary: softhsmTool.find() };
  writeFileSync(resultFile, `${JSON.stringify(result)}\n`);
}

function readResult() {
  try {
    return JSON.parse(readFileSync(resultFile, 'utf8'));
  } catch {
    return undefined;
  }
}

function requireTools(tools) {
  const lines = installMissing(tools).map(
    ({ name, apt, brew }) =>
      `${name} is missing: run apt-get install ${apt}, or brew install ${brew}`,
  );
  if (lines.length > 0) fail(...lines);
}

/** Installs the missing tools by apt or Homebrew. Returns the tools that are still missing. */
function installMissing(tools) {
  const missing = tools.filter((tool) => tool.find() === undefined);
  if (missing.length === 0) return [];
  if (findCommand('apt-get') !== undefined) installWithApt(missing.map((tool) => tool.apt));
  else if (findCommand('brew') !== undefined) installWithBrew(missing.map((tool) => tool.brew));
  return missing.filter((tool) => tool.find() === undefined);
}

function installWithApt(packages) {
  const root = process.getuid() === 0;
  if (!root && spawnSync('sudo', ['-n', 'true'], { stdio: 'ignore' }).status !== 0) return;
  const apt = (...args) => {
    // Another process, such as the unattended upgrades of a new machine, may hold apt's lock.
    const wait = ['-o', 'DPkg::Lock::Timeout=300'];
    const command = ['env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-qq', ...wait, ...args];
    if (!root) command.unshift('sudo', '-n');
    return spawnSync(command[0], command.slice(1), {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  };
  const install = () => apt('install', '--yes', '--no-install-recommends', ...packages);
  say(`installing ${packages.join(', ')} with apt`);
  if (install().status === 0) return;
  // The package lists may be missing, as in a container image, or name versions that were removed:
  // update the lists and try again.
  const update = apt('update');
  const retry = install();
  if (retry.status !== 0) say(`apt-get failed:\n${update.stderr}${retry.stderr}`.trimEnd());
}

function installWithBrew(formulae) {
  say(`installing ${formulae.join(', ')} with brew`);
  spawnSync('brew', ['install', '--quiet', ...formulae], { stdio: 'inherit' });
}

function installPackages() {
  say('installing the npm packages');
  // npm must not run on the Node that the npm package `node` installed, because npm is about to
  // replace it.
  const path = searchPath().filter((directory) => directory !== localBin);
  // The user's npm settings may exclude packages or scripts that are needed here.
  const flags = [
    '--include=dev',
    '--include=optional',
    '--ignore-scripts=false',
    '--loglevel=error',
    '--no-audit',
    '--no-fund',
  ];
  const { status } = spawnSync('npm', ['ci', ...flags], {
    cwd: project,
    env: { ...process.env, PATH: path.join(delimiter) },
    stdio: 'inherit',
  });
  if (status !== 0) fail('npm ci failed: see its output above');
}

function searchPath() {
  return (process.env.PATH ?? '').split(delimiter).filter((directory) => directory !== '');
}

function findCommand(...names) {
  const directories = [...searchPath(), '/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin'];
  return names
    .flatMap((name) => directories.map((directory) => join(directory, name)))
    .find(isExecutable);
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function findLibrary(name) {
  const parents = [
    '/usr/lib',
    // Debian has a directory for each architecture, such as /usr/lib/x86_64-linux-gnu.
    ...listDirectory('/usr/lib').map((name) => join('/usr/lib', name)),
    '/usr/lib64',
    '/usr/local/lib',
    '/opt/homebrew/lib',
  ];
  return parents
    .flatMap((parent) => ['softhsm', 'pkcs11', 'faketime', '.'].map((child) => join(parent, child)))
    .map((directory) => join(directory, name))
    .find(existsSync);
}

function listDirectory(path) {
  return existsSync(path) ? readdirSync(path) : [];
}

function say(line) {
  console.error(`setup: ${line}`);
}

function fail(...lines) {
  lines.forEach(say);
  process.exit(1);
}
