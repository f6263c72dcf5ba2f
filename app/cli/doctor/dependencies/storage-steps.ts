import { randomBytes, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Config } from '../../../config/config.ts';
import type { Database } from '../../../db/database.ts';
import type { ObjectStore } from '../../../storage/interface/object-store.ts';
import { probePrefix } from '../../../storage/store-watch.ts';
import { hasFiles } from '../../../uploads/cleanup/references.ts';
import { classOf } from '../../../health/failure-class.ts';
import { fail, ok, warn, type Step, type Verdict } from '../steps/steps.ts';

const probeBytes = 4_096;

interface Probe {
  readonly key: string;
  readonly bytes: Buffer;
}

interface StorageOptions {
  readonly config: Config['storage'];
  readonly freePercent: number;
  readonly store: ObjectStore;
  readonly db: Database;
}

/** Examines the object store with an object of 4 KiB, which it removes. */
export function storageSteps(options: StorageOptions): readonly Step[] {
  const { config, freePercent, store, db } = options;
  const of =
    config.driver === 's3'
      ? {
          what: 'the S3 server',
          address: 'STORAGE_ENDPOINT',
          credentials: 'STORAGE_ACCESS_KEY_ID, its secret, and its rights on STORAGE_BUCKET',
          part: 'bucket as STORAGE_BUCKET',
        }
      : {
          what: 'the file system of STORAGE_DIRECTORY',
          address: 'STORAGE_DIRECTORY',
          credentials: 'the owner and mode of STORAGE_DIRECTORY',
          part: 'store',
        };
  const probe = { key: `${probePrefix}${randomUUID()}`, bytes: randomBytes(probeBytes) };
  let version: string | undefined;
  return [
    {
      name: 'storage.write',
      of,
      async run() {
        try {
          version = await write(store, probe);
        } catch (error) {
          if (config.driver === 'filesystem' && (await isNew(error, db))) {
            return warn('there is no store yet: the first start of the app creates it');
          }
          throw error;
        }
        return ok('the store took an object of 4 KiB');
      },
    },
    {
      name: 'storage.read',
      needs: ['storage.write'],
      of,
      run: () => readBack(store, probe, version),
    },
    {
      name: 'storage.room',
      of,
      run: async () => judgeRoom(await store.freeSpace(), freePercent),
    },
    {
      name: 'storage.versioning',
      needs: ['storage.read'],
      of,
      run: async () => judgeVersioning(config.driver, version),
    },
  ];
}

async function write(store: ObjectStore, { key, bytes }: Probe): Promise<string> {
  const uploadId = await store.createMultipart(key);
  try {
    const part = { key, uploadId, partNumber: 1, size: bytes.length };
    const { etag } = await store.putPart(part, Readable.from([bytes]));
    const { version } = await store.completeMultipart(key, uploadId, [{ partNumber: 1, etag }]);
    return version;
  } catch (error) {
    await store.abortMultipart(key, uploadId).catch(() => undefined);
    throw error;
  }
}

/** Returns whether there is no store because the vault has not stored anything yet. */
async function isNew(error: unknown, db: Database): Promise<boolean> {
  if (classOf(error) !== 'not_found') return false;
  return db.asService(hasFiles).then(
    (found) => !found,
    () => false,
  );
}

async function readBack(
  store: ObjectStore,
  { key, bytes }: Probe,
  version: string | undefined,
): Promise<Verdict> {
  if (version === undefined) return warn('nothing was written, so nothing was read');
  const { body } = await store.get(key, { ifVersion: version });
  const read = await buffer(body);
  await store.delete(key, version);
  if (!read.equals(bytes)) return fail('the store returned other bytes than it took: replace it');
  if ((await store.stat(key)) !== undefined) {
    return fail('the store keeps an object that was deleted: let the login delete versions');
  }
  return ok('the object was read back and removed');
}

function judgeRoom(
  free: Awaited<ReturnType<ObjectStore['freeSpace']>>,
  freePercent: number,
): Verdict {
  if (free === undefined) return ok('an S3 server does not tell its free space');
  const percent = Math.floor(100 * Math.min(free.bytes, free.inodes));
  const text = `${percent} % of the space and the inodes are free`;
  return percent < freePercent
    ? warn(`${text}, less than STORAGE_ALERT_FREE_PERCENT: add space`)
    : ok(text);
}

function judgeVersioning(
  driver: Config['storage']['driver'],
  version: string | undefined,
): Verdict {
  if (driver === 'filesystem') return ok('the driver filesystem keeps no versions: back it up');
  return version?.startsWith('id:') === true
    ? ok('the bucket keeps versions, so an object that others overwrite is not lost')
    : warn('the bucket keeps no versions, so what others overwrite or delete is lost: enable them');
}
