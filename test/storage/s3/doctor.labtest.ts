import { randomUUID } from 'node:crypto';
import test from 'ava';
import { classOf, type FailureClass } from '../../../app/health/failure-class.ts';
import { createS3Store } from '../../../app/storage/s3/store.ts';
import { startDoctorVault, textOf, troubles } from '../../cli/doctor/doctor-vault.ts';
import { collect } from '../../support/documents/stored.ts';
import { createLabBucket, labConfig } from './servers/lab-bucket.ts';

const plain = labConfig(`plain-${randomUUID()}`, 'when_supported');
const versioned = labConfig(`versioned-${randomUUID()}`, 'when_supported');

test.before(async () => {
  await createLabBucket(plain, { versioned: false });
  await createLabBucket(versioned, { versioned: true });
});

const settingsOf = ({ endpoint, region, bucket, accessKeyId, secretAccessKey }: typeof plain) => ({
  STORAGE_DRIVER: 's3',
  STORAGE_ENDPOINT: endpoint ?? '',
  STORAGE_REGION: region,
  STORAGE_BUCKET: bucket,
  STORAGE_ACCESS_KEY_ID: accessKeyId ?? '',
  STORAGE_SECRET_ACCESS_KEY: secretAccessKey ?? '',
  STORAGE_FORCE_PATH_STYLE: 'true',
});

test('the doctor examines a bucket and leaves nothing in it', async (t) => {
  const doctor = await startDoctorVault(t);
  const kept = await doctor.examine(settingsOf(versioned));
  t.deepEqual(troubles(kept), [], kept.printed);
  t.regex(textOf(kept, 'storage.checksums'), /refuses a part that does not match/);
  t.regex(textOf(kept, 'storage.clock'), /differ by [01]\.\d s/);

  const lost = await doctor.examine(settingsOf(plain));
  t.deepEqual(troubles(lost), ['warn storage.versioning'], lost.printed);
  const trusting = await doctor.examine({
    ...settingsOf(versioned),
    STORAGE_CHECKSUMS: 'when_required',
  });
  t.deepEqual(troubles(trusting), ['warn settings', 'warn storage.checksums']);

  for (const config of [plain, versioned]) {
    const store = createS3Store(config);
    t.deepEqual(await collect(store.listObjects()), []);
    t.deepEqual(await collect(store.listUploads()), []);
    await store.close();
  }
});

const faults: Readonly<Record<string, readonly [FailureClass, Partial<typeof plain>]>> = {
  'a wrong secret': ['auth', { secretAccessKey: 'wrong' }],
  'an unknown access key': ['auth', { accessKeyId: 'unknown' }],
  'a missing bucket': ['not_found', { bucket: `missing-${randomUUID()}` }],
};
for (const [what, [expected, fault]] of Object.entries(faults)) {
  test(`${what} is of the class ${expected}`, async (t) => {
    const store = createS3Store({ ...plain, ...fault });
    t.teardown(() => store.close());
    t.is(classOf(await t.throwsAsync(store.ping())), expected);
  });
}
