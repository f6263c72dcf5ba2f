import { randomUUID } from 'node:crypto';
import type { Config } from '../../../config/config.ts';
import { inspectBucket } from '../../../storage/s3/inspection/bucket-inspection.ts';
import { probePrefix } from '../../../storage/store-watch.ts';
import { askTime, judgeClock } from '../steps/clock-difference.ts';
import { ok, warn, type Step, type Verdict } from '../steps/steps.ts';

type S3Storage = Extract<Config['storage'], { readonly driver: 's3' }>;

/** S3 servers refuse requests of a clock that is 15 minutes off. */
const looseClock = { warn: 60, fail: 600 };

/** Examines what only an S3 server has. Needs the steps of `storageSteps`. */
export function bucketSteps(config: S3Storage): readonly Step[] {
  const of = {
    what: 'the S3 server',
    address: 'STORAGE_ENDPOINT',
    credentials: 'STORAGE_ACCESS_KEY_ID, its secret, and its rights on STORAGE_BUCKET',
    part: 'bucket as STORAGE_BUCKET',
  };
  const bucket = inspectBucket(config);
  return [
    {
      name: 'storage.checksums',
      needs: ['storage.write'],
      of,
      async run() {
        const isSent = config.checksums === 'when_supported';
        const key = `${probePrefix}${randomUUID()}`;
        return isSent ? judge(await bucket.verifiesChecksums(key)) : withoutChecksums;
      },
    },
    {
      name: 'storage.clock',
      of,
      async run() {
        const time = await askTime(1_000, bucket.readClock);
        return judgeClock('the S3 server', time, looseClock);
      },
    },
  ];
}

const withoutChecksums = warn(
  'parts are sent without checksums, so TLS alone protects them: set ' +
    'STORAGE_CHECKSUMS=when_supported if the server has checksums',
);

function judge(isVerified: boolean): Verdict {
  return isVerified
    ? ok('the server refuses a part that does not match its checksum')
    : warn('the server takes a part that does not match its checksum: update the server');
}
