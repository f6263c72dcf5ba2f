import { createSignerClient } from '../signer/client.ts';
import { createClosure } from './accounts/closure.ts';
import { createPurge } from './accounts/purge.ts';
import { createRegistration } from './accounts/registration.ts';
import { createAccounts } from './accounts/service.ts';
import { createKeyRegistry } from './keys/registry.ts';
import { fetchLabelledKeys } from './keys/labelled-keys.ts';
import { createProofs } from './audit/proofs.ts';
import { startSealer } from './audit/sealer.ts';
import { createSealerStore } from './audit/sealer-store.ts';
import { startTallies } from './audit/tallies.ts';
import { createAuditTrail } from './audit/trail.ts';
import { createAccessTokens } from './auth/access-token.ts';
import { createAuthenticate } from './auth/authenticate.ts';
import { createIssuers } from './auth/issuers/issuers.ts';
import { createLogin } from './auth/login.ts';
import { createLoginSessions } from './auth/login-sessions.ts';
import { createLoginFailures } from './auth/login-failures.ts';
import { createOwnKeys } from './auth/own-keys.ts';
import { createProofLimits } from './auth/proof-limits.ts';
import { createPasswordVerifier } from './auth/password-verifier.ts';
import { createReauth } from './auth/reauth.ts';
import { createReauthTokens } from './auth/reauth-token.ts';
import { startRevocations } from './auth/revocations.ts';
import { createSrpExchange } from './auth/srp-exchange.ts';
import { createSrpSessions } from './auth/srp-sessions.ts';
import { createTokenRefresh } from './auth/token-refresh.ts';
import { systemClock } from './clock.ts';
import type { Config } from './config.ts';
import { openDatabase, type Database } from './db/database.ts';
import { createCertification } from './documents/certification.ts';
import { createDocumentProofs } from './documents/document-proofs.ts';
import { createDownloads } from './documents/download.ts';
import { createDocumentExpiry } from './documents/expiry.ts';
import { createFormUpload } from './documents/form-upload.ts';
import { createDocumentMetadata } from './documents/metadata.ts';
import { createDocumentSearch } from './documents/search.ts';
import { createDocuments } from './documents/service.ts';
import { createDocumentVersions } from './documents/versions.ts';
import { createEnvelopes } from './envelopes/service.ts';
import { createIdempotencyKeys } from './idempotency/service.ts';
import { createInternalKeys } from './internal/api-keys.ts';
import { createCacheProbe } from './health/cache.ts';
import { createHealth } from './health/service.ts';
import { createRateLimits } from './limits/rate-limits.ts';
import { createMailer } from './mail/create-mailer.ts';
import { createMaintenance } from './maintenance/service.ts';
import { createOutbox } from './outbox/outbox.ts';
import { startOutboxWorker } from './outbox/worker.ts';
import { connectRedis } from './redis.ts';
import { createSharingKeys } from './sharing/keys.ts';
import { createRecipients } from './sharing/recipients.ts';
import { createSharing } from './sharing/service.ts';
import { createObjectStore } from './storage/create-store.ts';
import { createObjectHasher } from './storage/object-hash.ts';
import type { Log } from './telemetry/log.ts';
import { createUploadServices } from './uploads/upload-services.ts';

export type Services = Awaited<ReturnType<typeof startServices>>;

/**
 * Builds every service once and starts the workers. Nothing needs to be reachable yet: what is away
 * is tried again, and readiness tells.
 */
export async function startServices(config: Config, log: Log) {
  const clock = systemClock;
  const stopping = new AbortController();
  const db = await openDatabase(config.database);
  const redis = connectRedis(config.redis.url, log);
  const store = await createObjectStore(config.storage, { mayCreate: () => hasNoFiles(db) });
  const hasher = createObjectHasher(config.storage, { concurrency: 2 });
  const signer = createSignerClient({ socketPath: config.signer.socketPath });
  const registry = createKeyRegistry({ db, signer, clock });
  const keys = fetchLabelledKeys({ signer, registry, log, stop: stopping.signal });

  const sealer = startSealer({
    store: createSealerStore(db),
    signer,
    registry,
    log,
    backlogLimit: config.audit.backlogLimit,
  });
  const { publicUrl } = config.http;
  const mailer = await createMailer({ ...config.mail, publicUrl, clock, log });
  const outboxWorker = startOutboxWorker({
    db,
    log,
    handlers: {
      email: (mail, id) => mailer.send(mail, id),
      registration: (promised, id) => registration.enrol(promised, id),
      'account.sweep': (owner) => closure.sweep(owner),
      'object.delete': ({ key, version }) => store.delete(key, version),
      'multipart.abort': ({ key, uploadId }) => store.abortMultipart(key, uploadId),
    },
  });

  const { isBacklogFull, wake } = sealer;
  const audit = createAuditTrail({ clock, isBacklogFull, onCommitted: wake });
  const tallies = startTallies({
    db,
    audit,
    clock,
    log,
    limit: config.audit.tallyLimit,
    maxUnsealed: Math.ceil(config.audit.backlogLimit / 10),
  });
  const outbox = createOutbox({ onCommitted: outboxWorker.wake });
  const proofs = createProofs({ db, registry, sealer });

  const findOwnKey = createOwnKeys(registry);
  const issuers = createIssuers({
    configs: config.auth.issuers,
    db,
    log,
    clock,
    stop: stopping.signal,
  });
  const tokens = createAccessTokens({ ...config.auth, signer, findOwnKey, clock });
  const reauthTokens = createReauthTokens({ ...config.auth, signer, findOwnKey, clock });
  const internalKeys = createInternalKeys({ ...config.internalKeys, log });
  const accounts = createAccounts({ db });
  const sessions = createSrpSessions(redis);
  const limits = createRateLimits({ redis, rates: config.limits, log });
  const { unknownUser } = config.auth;
  const registration = createRegistration({
    db,
    audit,
    outbox,
    keys,
    limits,
    unknownUser,
    clock,
  });
  const addressKey = () => keys.get('address-hash');
  const proofLimits = createProofLimits({ limits, db, clock, addressKey });
  const failures = createLoginFailures({ tallies, keys });
  const exchange = createSrpExchange({
    accounts,
    sessions,
    keys,
    limits,
    proofLimits,
    failures,
    unknownUser,
    clock,
  });
  const reauth = createReauth({
    ...config.auth,
    accounts,
    exchange,
    passwords: createPasswordVerifier(),
    proofLimits,
    failures,
    reauthTokens,
    db,
    audit,
  });
  const revocations = startRevocations({ db, log });
  const loginSessions = createLoginSessions({ db, audit, revocations, clock });
  const login = createLogin({ exchange, tokens, sessions: loginSessions });
  const tokenRefresh = createTokenRefresh({ accounts, tokens, revocations, db, audit, clock });

  const { uploads, uploadSessions, parts, completion, streamedUploads } = createUploadServices(
    config,
    { db, audit, outbox, store, hasher, clock, log },
  );

  const documents = createDocuments({ db, audit, outbox, uploads, clock });
  const formUpload = createFormUpload({ db, uploads, streamedUploads, documents });
  const downloads = createDownloads({ db, store, log });
  const certification = createCertification({ db, audit, proofs, store, clock });
  const documentMetadata = createDocumentMetadata({ db, audit });
  const documentProofs = createDocumentProofs({ db, proofs });
  const documentSearch = createDocumentSearch({ db });
  const documentVersions = createDocumentVersions({ db, audit, uploads, clock });
  const envelopes = createEnvelopes({ db, audit });
  const sharingKeys = createSharingKeys({ db, audit, clock });
  const recipients = createRecipients({ db, keys, limits });
  const sharing = createSharing({ db, audit, recipients, clock });
  const { issuer } = config.auth;
  const closure = createClosure({
    issuer,
    db,
    audit,
    outbox,
    documents,
    sharing,
    revocations,
    clock,
  });

  const cache = createCacheProbe(redis, clock);
  let draining = false;
  const health = createHealth({
    db,
    redis,
    store,
    signer,
    registry,
    issuers,
    keys,
    isDraining: () => draining,
  });
  const purge = createPurge({ db, audit, clock, isDraining: () => draining });
  const documentExpiry = createDocumentExpiry({
    ...config.documents,
    db,
    audit,
    clock,
    isDraining: () => draining,
  });
  const maintenance = createMaintenance({
    ...config.database,
    ...config.maintenance,
    db,
    audit,
    outbox,
    store,
    documentExpiry,
    clock,
    isDraining: () => draining,
  });

  return {
    accounts,
    authenticate: createAuthenticate({ ...config.auth, tokens, revocations, issuers }),
    cache,
    certification,
    clock,
    closure,
    completion,
    documentExpiry,
    documentMetadata,
    documentProofs,
    documentSearch,
    documentVersions,
    documents,
    downloads,
    envelopes,
    exchange,
    formUpload,
    health,
    idempotencyKeys: createIdempotencyKeys({ db }),
    internalKeys,
    login,
    loginSessions,
    maintenance,
    parts,
    proofs,
    purge,
    reauth,
    reauthTokens,
    recipients,
    registration,
    registry,
    sharing,
    sharingKeys,
    tokenRefresh,
    tokens,
    uploadSessions,
    /** From now on this process is not ready for traffic. */
    beginDrain() {
      draining = true;
    },
    /** Ends the workers after what they have in hand, then closes every connection. */
    async stop() {
      stopping.abort();
      await Promise.all([sealer.stop(), tallies.stop(), outboxWorker.stop(), revocations.stop()]);
      mailer.close();
      await hasher.close();
      await store.close();
      signer.close();
      redis.disconnect();
      await db.close();
    },
  };
}

/** Whether no row needs the object store yet: only then is an empty one a new one. */
function hasNoFiles(db: Database): Promise<boolean> {
  return db.asService(async (tx) => {
    const upload = await tx.selectFrom('upload_sessions').select('id').limit(1).executeTakeFirst();
    const document = await tx.selectFrom('documents').select('id').limit(1).executeTakeFirst();
    return upload === undefined && document === undefined;
  });
}
