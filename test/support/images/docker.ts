import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';

const run = promisify(execFile);

/** The tag of the images that the tests start. */
const tag = 'lab';

/** A process that may neither write to its image nor use a capability. */
const confined = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];

export type Target = 'app' | 'signer' | 'operator' | 'provisioner';

/** A container; it is removed when the test ends. */
export interface Container {
  /** Sends SIGTERM, and SIGKILL after `seconds`. Resolves with the exit code. */
  stop(seconds: number): Promise<number>;
  start(): Promise<void>;
  /** Resolves with what it wrote to both output streams. */
  log(): Promise<string>;
  /** Resolves with the exit code once it has ended. */
  wait(): Promise<number>;
}

/** Runs a command of the Docker of test/labs/images-lab. Resolves with its standard output. */
export async function docker(...args: readonly string[]): Promise<string> {
  const command = process.env['IMAGES_DOCKER'];
  if (command === undefined) throw new Error('this test needs the images: run .ci/images');
  const { stdout } = await run(command, args, { maxBuffer: 2 ** 26 });
  return stdout.trim();
}

export function imageOf(target: Target, built = tag): string {
  return `probatio-lab/${target}:${built}`;
}

/** Creates an empty volume, which is removed when the test ends. */
export async function createVolume(t: ExecutionContext): Promise<string> {
  const name = `volume-${randomUUID()}`;
  await docker('volume', 'create', name);
  t.teardown(() => docker('volume', 'rm', '--force', name));
  return name;
}

export interface ContainerOptions {
  readonly settings: Readonly<Record<string, string>>;
  /** The volumes and directories, in the form of `docker run --volume`. */
  readonly volumes?: readonly string[];
  /** The command, unless it is that of the image. */
  readonly command?: readonly string[];
}

/** Starts a confined container of an image in the network of this machine. */
export async function startContainer(
  t: ExecutionContext,
  target: Target,
  { settings, volumes = [], command = [] }: ContainerOptions,
): Promise<Container> {
  const id = await docker(
    'run',
    '--detach',
    '--network',
    'host',
    ...confined,
    ...Object.entries(settings).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
    ...volumes.flatMap((volume) => ['--volume', volume]),
    imageOf(target),
    ...command,
  );
  t.teardown(() => docker('rm', '--force', id));
  const wait = async () => Number(await docker('wait', id));
  return {
    async stop(seconds) {
      await docker('stop', '--time', String(seconds), id);
      return wait();
    },
    start: async () => void (await docker('start', id)),
    async log() {
      const command = '"$IMAGES_DOCKER" logs "$0" 2>&1';
      const { stdout } = await run('bash', ['-c', command, id], { maxBuffer: 2 ** 26 });
      return stdout;
    },
    wait,
  };
}
