/** A floor of `app/`: its folders stand in order, each below the one before it. */
export interface Floor {
  readonly name: string;
  readonly folders: readonly string[];
}

/**
 * Lists every folder of `app/` but `app/dev` from top to bottom. A folder imports only from itself
 * and from folders further down the whole list, so that no two can ever import each other.
 */
export const floors: readonly Floor[] = [
  {
    name: 'process',
    folders: [
      'app',
      'app/cli/commands',
      'app/cli',
      'app/wiring',
      'app/config',
      'app/config/settings',
      'app/config/definition',
    ],
  },
  {
    name: 'operation',
    folders: [
      'app/maintenance',
      'app/lifecycle/closure',
      'app/lifecycle/purge',
      'app/lifecycle/grants',
      'app/lifecycle',
      'app/health',
    ],
  },
  {
    name: 'features',
    folders: [
      'app/replaced-keys',
      'app/sharing',
      'app/sharing/blocks',
      'app/documents/form-upload',
      'app/documents',
      'app/documents/versions',
      'app/documents/metadata',
      'app/documents/search',
      'app/documents/downloads',
      'app/documents/certification',
      'app/documents/records',
      'app/uploads',
      'app/uploads/streamed',
      'app/uploads/completion',
      'app/uploads/parts',
      'app/uploads/cleanup',
      'app/uploads/sessions',
      'app/restore',
      'app/restore/high-water-marks',
      'app/sync',
      'app/sync/feed',
      'app/sync/reading',
      'app/sync/objects',
      'app/sync/merge',
      'app/auth/credentials',
      'app/auth/reauth',
      'app/auth/login',
      'app/devices',
      'app/envelopes',
      'app/replaced-keys/rows',
      'app/registration',
    ],
  },
  {
    name: 'audit and identity',
    folders: [
      'app/audit',
      'app/audit/dlq',
      'app/audit/verification',
      'app/audit/proofs',
      'app/audit/entries',
      'app/audit/sealing',
      'app/audit/tallies',
      'app/sessions',
      'app/tokens/external-issuers',
      'app/tokens',
      'app/signing-keys',
    ],
  },
  {
    name: 'record',
    folders: [
      'app/proof',
      'app/idempotency',
      'app/accounts',
      'app/mail',
      'app/mail/templates',
      'app/internal-api',
    ],
  },
  {
    name: 'http',
    folders: [
      'app/http/openapi',
      'app/http/server',
      'app/http/routing',
      'app/audit-trail',
      'app/audit-trail/kinds',
      'app/http/responses',
      'app/http/bodies',
      'app/http/requests',
    ],
  },
  {
    name: 'base',
    folders: [
      'app/outbox',
      'app/limits',
      'app/db/isolation',
      'app/db',
      'app/db/migrations',
      'app/db/canary',
      'app/db/tables',
      'app/db/columns',
      'app/storage',
      'app/storage/filesystem',
      'app/storage/s3',
      'app/storage/interface',
      'app/srp',
      'app/redis',
      'app/telemetry',
      'app/async',
      'app/json',
      'app/errors',
    ],
  },
];
