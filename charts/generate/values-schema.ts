import { z } from 'zod';
import { TaskName } from '../../app/maintenance/schema.ts';

const Text = z.string();
const Filled = z.string().min(1);
const Labels = z.record(z.string(), z.string());
/** A part of a Kubernetes object, which the API server itself checks. */
const Part = z.record(z.string(), z.unknown());
const Parts = z.array(Part);
const Count = z.int().min(0);
const Positive = z.int().min(1);
const Port = z.int().min(1).max(65_535);
const ObjectName = z.string().regex(/^$|^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/);
const Url = z.string().regex(/^$|^https?:\/\//);
const Path = z.string().regex(/^\//);
const Resources = z.strictObject({ requests: Part, limits: Part, claims: Parts }).partial();

const Image = z
  .strictObject({
    registry: Text,
    repository: Filled,
    tag: Text,
    digest: z.string().regex(/^$|^sha256:[0-9a-f]{64}$/),
    pullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']),
  })
  .partial();

const Signer = z
  .strictObject({
    image: Image,
    formerUrls: z.array(z.string().regex(/^https:\/\//)),
    pin: z.strictObject({ existingSecret: ObjectName, key: Text }).partial(),
    token: z
      .strictObject({ mode: z.enum(['external', 'softhsm']), label: z.string().max(32) })
      .partial(),
    provisioner: z
      .strictObject({ image: Image, activeDeadlineSeconds: Positive, resources: Resources })
      .partial(),
    library: z
      .strictObject({
        path: z.string().regex(/^$|^\//),
        image: Text,
        copyFrom: Path,
        mountPath: Path,
        configExistingSecret: ObjectName,
        configMountPath: Path,
      })
      .partial(),
    sessions: z.int().min(1).max(64),
    extraEnv: Parts,
    extraVolumeMounts: Parts,
    resources: Resources,
  })
  .partial();

const Maintenance = z
  .strictObject({
    enabled: z.boolean(),
    existingSecret: ObjectName,
    apiKeyKey: Text,
    timeZone: Filled,
    startingDeadlineSeconds: Positive,
    activeDeadlineSeconds: Positive,
    backoffLimit: Count,
    ttlSecondsAfterFinished: Count,
    successfulJobsHistoryLimit: Count,
    failedJobsHistoryLimit: Count,
    tasks: z.partialRecord(
      TaskName,
      z.strictObject({ schedule: z.string().min(9), suspend: z.boolean() }).partial(),
    ),
    resources: Resources,
  })
  .partial();

const Network = {
  service: z
    .strictObject({
      type: z.enum(['ClusterIP', 'NodePort', 'LoadBalancer']),
      port: Port,
      annotations: Labels,
    })
    .partial(),
  ports: z
    .strictObject({ api: Port, internal: Port, metrics: Port, signerMetrics: Port })
    .partial(),
  ingress: z
    .strictObject({
      enabled: z.boolean(),
      className: Text,
      annotations: Labels,
      hosts: z.array(Filled),
      tls: Parts,
    })
    .partial(),
  httpRoute: z
    .strictObject({
      enabled: z.boolean(),
      parentRefs: Parts,
      hostnames: z.array(Filled),
      annotations: Labels,
    })
    .partial(),
  certificate: z
    .strictObject({
      enabled: z.boolean(),
      secretName: ObjectName,
      issuerRef: z.strictObject({ name: Text, kind: Text, group: Text }).partial(),
      dnsNames: z.array(Filled),
    })
    .partial(),
  networkPolicy: z
    .strictObject({
      enabled: z.boolean(),
      apiFrom: Parts,
      internalFrom: Parts,
      metricsFrom: Parts,
      egress: Parts,
    })
    .partial(),
};

const Dependencies = {
  database: z
    .strictObject({
      existingSecret: ObjectName,
      urlKey: Text,
      serviceUrlKey: Text,
      ownerExistingSecret: ObjectName,
      ownerUrlKey: Text,
      poolSize: Positive,
    })
    .partial(),
  redis: z.strictObject({ existingSecret: ObjectName, urlKey: Text }).partial(),
  storage: z
    .strictObject({
      driver: z.enum(['s3', 'filesystem']),
      s3: z
        .strictObject({
          endpoint: Url,
          region: Text,
          bucket: Text,
          forcePathStyle: z.boolean(),
          existingSecret: ObjectName,
          accessKeyIdKey: Text,
          secretAccessKeyKey: Text,
        })
        .partial(),
      filesystem: z.strictObject({ existingClaim: ObjectName }).partial(),
    })
    .partial(),
  smtp: z
    .strictObject({ existingSecret: ObjectName, urlKey: Text, from: Text, validateUrl: Url })
    .partial(),
  oidc: z.strictObject({ existingSecret: ObjectName, issuersKey: Text }).partial(),
  identityProvider: z
    .strictObject({
      url: Url,
      realm: Text,
      clientId: Text,
      existingSecret: ObjectName,
      clientSecretKey: Text,
    })
    .partial(),
  internalApi: z.strictObject({ existingSecret: ObjectName, keysKey: Text }).partial(),
  externalSecret: z
    .strictObject({
      enabled: z.boolean(),
      secretStoreRef: z
        .strictObject({ name: Text, kind: z.enum(['ClusterSecretStore', 'SecretStore']) })
        .partial(),
      refreshInterval: Text,
      secrets: z.record(z.string(), z.strictObject({ data: Parts })),
    })
    .partial(),
};

const Pods = {
  replicaCount: Count,
  worker: z
    .strictObject({ enabled: z.boolean(), replicaCount: Count, resources: Resources })
    .partial(),
  podDisruptionBudget: z
    .strictObject({
      enabled: z.boolean(),
      maxUnavailable: z.union([Count, z.string().regex(/^[0-9]+%$/)]),
    })
    .partial(),
  autoscaling: z
    .strictObject({
      enabled: z.boolean(),
      minReplicas: Positive,
      maxReplicas: Positive,
      targetCPUUtilizationPercentage: Positive,
      behavior: Part,
    })
    .partial(),
  serviceAccount: z
    .strictObject({ create: z.boolean(), name: Text, annotations: Labels })
    .partial(),
  resources: Resources,
  preStopSeconds: Positive,
  podAnnotations: Labels,
  podLabels: Labels,
  priorityClassName: Text,
  nodeSelector: Labels,
  tolerations: Parts,
  affinity: Part,
  topologySpreadConstraints: Parts,
  extraEnv: Parts,
  extraEnvFrom: Parts,
  extraVolumes: Parts,
  extraVolumeMounts: Parts,
};

/** The values of the chart. Every one may be left out, as values.yaml has a default of each. */
export const Values = z
  .strictObject({
    nameOverride: Text,
    fullnameOverride: Text,
    commonLabels: Labels,
    // Other charts of an installation may have global values of their own.
    global: z.looseObject({ imageRegistry: Text, imagePullSecrets: z.array(ObjectName) }).partial(),
    image: Image,
    http: z
      .strictObject({
        publicUrl: z.string().regex(/^$|^https:\/\/[^/?#]+(\/[^?#]*)?$/),
        trustedProxies: z.array(z.string().regex(/^[0-9A-Fa-f.:]+\/[0-9]{1,3}$/)),
        corsOrigins: z.array(z.string().regex(/^https?:\/\/[^/]+$/)),
        drainSeconds: Positive,
      })
      .partial(),
    ...Dependencies,
    ...Pods,
    ...Network,
    signer: Signer,
    migrate: z
      .strictObject({
        mode: z.enum(['hook', 'job', 'none']),
        activeDeadlineSeconds: Positive,
        resources: Resources,
      })
      .partial(),
    maintenance: Maintenance,
    serviceMonitor: z
      .strictObject({
        enabled: z.boolean(),
        interval: Text,
        scrapeTimeout: Text,
        labels: Labels,
      })
      .partial(),
    tests: z.strictObject({ publicUrl: Url }).partial(),
    prometheusRule: z.strictObject({ enabled: z.boolean(), labels: Labels }).partial(),
    grafanaDashboard: z
      .strictObject({ enabled: z.boolean(), labels: Labels, annotations: Labels })
      .partial(),
    operator: z
      .strictObject({
        enabled: z.boolean(),
        image: Image,
        replicaCount: Count,
        existingSecret: ObjectName,
        apiKeyKey: Text,
        logLevel: z.enum(['debug', 'info', 'warn', 'error', 'fatal']),
        port: Port,
        resources: Resources,
      })
      .partial(),
    crds: z.strictObject({ enabled: z.boolean(), keep: z.boolean() }).partial(),
    extraObjects: z.array(z.union([Part, z.string()])),
  })
  .partial();

/** Returns the JSON Schema by which Helm checks values, as text. */
export function valuesSchema(): string {
  const schema = z.toJSONSchema(Values, { target: 'draft-7' });
  return `${JSON.stringify(schema, null, 2)}\n`;
}
