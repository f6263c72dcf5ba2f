import { z } from 'zod';
import type { Variables } from '../../../signer/protocol/process/environment.ts';
import { Flag, Text, Url } from '../definition/forms.ts';
import { secretSetting, setting, type ValuesOf } from '../definition/setting.ts';

/** Settings of the object store. Each driver needs settings of its own. */
export const storageSettings = {
  title: 'Object store',
  introduction: 'Variables of the driver that is not in use have no effect.',
  settings: {
    driver: setting('STORAGE_DRIVER', z.enum(['filesystem', 's3']).default('filesystem'), {
      description: 'Where the encrypted files are stored: in a directory, or on an S3 server.',
    }),
    directory: setting('STORAGE_DIRECTORY', Text.optional(), {
      form: 'path of a directory',
      whenUnset: 'required by the driver `filesystem`',
      description: '`filesystem`: the directory of the objects. All processes must share it.',
    }),
    endpoint: setting('STORAGE_ENDPOINT', Url.optional(), {
      form: '`http` or `https` URL',
      whenUnset: "Amazon's endpoint of the region",
      description:
        "`s3`: another S3 server than Amazon's. Over plain `http` the credentials' signatures " +
        'and the ciphertext can be read in transit.',
    }),
    region: setting('STORAGE_REGION', Text.default('us-east-1'), {
      form: 'name of a region',
      description: '`s3`: the region of the bucket.',
    }),
    bucket: setting('STORAGE_BUCKET', Text.optional(), {
      form: 'name of a bucket',
      whenUnset: 'required by the driver `s3`',
      description: '`s3`: the bucket of the objects. It must exist.',
    }),
    accessKeyId: secretSetting('STORAGE_ACCESS_KEY_ID', Text.optional(), {
      form: 'text',
      rereads: 'anew within a minute',
      whenUnset: "the AWS SDK's credential chain",
      description: '`s3`: the access key. Set it together with the secret, or set neither.',
    }),
    secretAccessKey: secretSetting('STORAGE_SECRET_ACCESS_KEY', Text.optional(), {
      form: 'text',
      rereads: 'anew within a minute',
      whenUnset: "the AWS SDK's credential chain",
      description: '`s3`: the secret of the access key.',
    }),
    forcePathStyle: setting('STORAGE_FORCE_PATH_STYLE', Flag.prefault('false'), {
      description:
        '`s3`: `true` puts the bucket into the path of URLs, for servers without virtual hosts.',
    }),
    checksums: setting(
      'STORAGE_CHECKSUMS',
      z.enum(['when_supported', 'when_required']).default('when_supported'),
      {
        description:
          '`s3`: whether parts are sent with a checksum at their end. `when_required` is for ' +
          'servers that do not support it; only TLS then protects parts from damage in transit.',
      },
    ),
  },
  findConflicts: findMissingSettings,
};

/**
 * Returns the storage configuration of the driver in use, without the settings of the other driver.
 */
export function toStorageConfig(values: ValuesOf<typeof storageSettings>) {
  const { driver, directory = '', bucket = '', ...s3 } = values;
  return driver === 'filesystem' ? { driver, directory } : { driver, bucket, ...s3 };
}

/**
 * Returns the problems of settings that the driver in use needs. An unknown driver is reported by
 * the schema of STORAGE_DRIVER.
 */
function findMissingSettings(variables: Variables): readonly string[] {
  const { STORAGE_DRIVER: driver = 'filesystem' } = variables;
  const needed = {
    filesystem: 'STORAGE_DIRECTORY: is not set; set it, or STORAGE_DRIVER=s3 for an S3 server',
    s3: 'STORAGE_BUCKET: is not set; set it to the name of the bucket (STORAGE_DRIVER is s3)',
  }[driver];
  if (needed === undefined) return [];
  const [name = ''] = needed.split(':');
  return [
    ...(variables[name] === undefined ? [needed] : []),
    ...(driver === 's3' ? findHalfCredentials(variables) : []),
  ];
}

/**
 * Returns a problem if only one of access key and secret is set. With neither of them, the AWS SDK
 * searches for credentials itself.
 */
function findHalfCredentials(variables: Variables): readonly string[] {
  const pair = ['STORAGE_ACCESS_KEY_ID', 'STORAGE_SECRET_ACCESS_KEY'] as const;
  const missing = pair.filter((name) => variables[name] === undefined);
  if (missing.length !== 1) return [];
  return missing.map((name) => {
    const other = pair.find((each) => each !== name);
    return `${name}: is not set, but ${other} is; set both or neither`;
  });
}
