import type { Act } from '../audit-trail/act.ts';
import type { Clock } from '../async/clock.ts';
import type { Database } from '../db/database.ts';
import type { Plans } from '../plans/plans.ts';
import type { Outbox } from '../outbox/outbox.ts';
import type { ObjectHasher } from '../storage/object-hash.ts';
import type { ObjectStore } from '../storage/interface/object-store.ts';
import type { Log } from '../telemetry/log.ts';
import { createCompletion } from './completion/completion.ts';
import { createFileHashes } from './completion/file-hashes.ts';
import { createParts } from './parts/parts.ts';
import { createUploads } from './uploads.ts';
import { createUploadSessions } from './sessions/sessions.ts';
import { createStreamedUploads } from './streamed/streamed-uploads.ts';

interface UploadsConfig {
  readonly uploads: {
    readonly sessionTtlSeconds: number;
    readonly allowedMimeTypes: readonly string[];
  };
}

interface Needs {
  readonly db: Database;
  readonly act: Act;
  readonly outbox: Outbox;
  readonly store: ObjectStore;
  readonly plans: Plans;
  readonly hasher: ObjectHasher;
  readonly clock: Clock;
  readonly log: Log;
}

/** Creates the services that handle uploads, for the upload routes and for other features. */
export function createUploadServices(config: UploadsConfig, needs: Needs) {
  const hashes = createFileHashes(needs);
  const uploadSessions = createUploadSessions({ ...needs, ...config.uploads });
  const completion = createCompletion({ ...needs, hashes });
  return {
    uploads: createUploads({ ...needs, hashes }),
    uploadSessions,
    parts: createParts(needs),
    completion,
    streamedUploads: createStreamedUploads({ ...needs, sessions: uploadSessions, completion }),
  };
}
