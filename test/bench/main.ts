/**
 * Runs `npm run bench -- NAME`: measures against a limit or a peer in the same run and prints one
 * line of JSON. Needs an otherwise idle Linux machine.
 */
import type { Bench } from './harness/bench.ts';
import { benchBodies } from './bodies/bodies.ts';
import { benchDownload } from './download/download.ts';
import { benchEnumeration } from './enumeration/enumeration.ts';
import { benchGrowth } from './growth/growth.ts';
import { benchHash } from './hash/hash.ts';
import { benchJobs } from './jobs/jobs.ts';
import { benchLogin } from './login/login.ts';
import { benchMemory } from './memory/memory.ts';
import { benchOverhead } from './overhead/overhead.ts';
import { benchPlans } from './plans/plans.ts';
import { benchReplicas } from './replicas/replicas.ts';
import { benchRequests } from './requests/requests.ts';
import { benchSeal } from './seal/seal.ts';
import { benchSearch } from './search/search.ts';
import { benchSync } from './sync/sync.ts';
import { benchUpload } from './upload/upload.ts';
import { benchVerify } from './verify/verify.ts';

const benches: Record<string, Bench> = {
  bodies: benchBodies,
  download: benchDownload,
  enumeration: benchEnumeration,
  growth: benchGrowth,
  hash: benchHash,
  jobs: benchJobs,
  login: benchLogin,
  memory: benchMemory,
  overhead: benchOverhead,
  plans: benchPlans,
  replicas: benchReplicas,
  requests: benchRequests,
  seal: benchSeal,
  search: benchSearch,
  sync: benchSync,
  upload: benchUpload,
  verify: benchVerify,
};

const name = process.argv[2] ?? '';
const bench = benches[name];
if (bench === undefined) {
  console.error(`usage: npm run bench -- ${Object.keys(benches).join('|')}`);
  process.exitCode = 2;
} else {
  const figures = await bench((line) => console.error(line));
  console.log(JSON.stringify({ bench: name, ...figures }));
}
