/**
 * Removes the containers of one run of tests as soon as standard input ends, which it does when the
 * process that runs the tests has ended. Takes the value of their label.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { getContainerRuntimeClient } from 'testcontainers';
import { runLabel } from './reaper.ts';

const [run = ''] = process.argv.slice(2);
/** A container that was being created may appear a little later. */
const looks = 5;
const pauseMs = 500;

for await (const _ of process.stdin);
const { dockerode } = (await getContainerRuntimeClient()).container;
for (let look = 1; look <= looks; look += 1) {
  const filters = { label: [`${runLabel}=${run}`] };
  const found = await dockerode.listContainers({ all: true, filters });
  await Promise.all(
    found.map(({ Id }) => dockerode.getContainer(Id).remove({ force: true, v: true })),
  );
  await delay(pauseMs);
}
