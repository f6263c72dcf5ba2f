import { z } from 'zod';
import { group, version } from './group.ts';
import { SigningKeySpec, SigningKeyStatus } from './signing-key.ts';
import { VaultMaintenanceSpec, VaultMaintenanceStatus } from './vault-maintenance.ts';

interface Column {
  readonly name: string;
  readonly jsonPath: string;
  readonly type?: 'string' | 'integer';
  /** Shown with `-o wide` only. */
  readonly isWide?: true;
}

interface Kind {
  readonly kind: string;
  readonly plural: string;
  readonly shortNames: readonly string[];
  readonly spec: z.ZodType;
  readonly status: z.ZodType;
  readonly columns: readonly Column[];
}

const conditionOf = (type: string, member: 'status' | 'reason' | 'message') =>
  `.status.conditions[?(@.type=="${type}")].${member}`;

/** The custom resources. Times are texts, since a date column shows a future time as invalid. */
export const kinds: readonly Kind[] = [
  {
    kind: 'SigningKey',
    plural: 'signingkeys',
    shortNames: ['sigkey'],
    spec: SigningKeySpec,
    status: SigningKeyStatus,
    columns: [
      { name: 'Purpose', jsonPath: '.spec.purpose' },
      { name: 'Generation', jsonPath: '.status.generation', type: 'integer' },
      { name: 'Ready', jsonPath: conditionOf('Ready', 'status') },
      { name: 'Rotating', jsonPath: conditionOf('Rotating', 'reason') },
      { name: 'Next rotation', jsonPath: '.status.nextRotation' },
      { name: 'Active since', jsonPath: '.status.activeSince', isWide: true },
      { name: 'Key', jsonPath: '.status.keyId', isWide: true },
      { name: 'Spare', jsonPath: '.status.spareKeyId', isWide: true },
      { name: 'Message', jsonPath: conditionOf('Ready', 'message'), isWide: true },
    ],
  },
  {
    kind: 'VaultMaintenance',
    plural: 'vaultmaintenances',
    shortNames: ['vmaint'],
    spec: VaultMaintenanceSpec,
    status: VaultMaintenanceStatus,
    columns: [
      { name: 'Healthy', jsonPath: conditionOf('Healthy', 'status') },
      { name: 'Reason', jsonPath: conditionOf('Healthy', 'reason') },
      { name: 'Backlog', jsonPath: '.status.backlog', type: 'integer' },
      { name: 'Dead letters', jsonPath: '.status.deadLetters', type: 'integer' },
      { name: 'Log verified', jsonPath: '.status.lastVerification' },
      { name: 'Oldest unsigned', jsonPath: '.status.backlogOldest', isWide: true },
      { name: 'Oldest dead letter', jsonPath: '.status.deadLettersOldest', isWide: true },
      { name: 'Message', jsonPath: conditionOf('Healthy', 'message'), isWide: true },
    ],
  },
];

/** Returns the CustomResourceDefinition of a kind, without metadata that a chart adds. */
export function definitionOf({ kind, plural, shortNames, spec, status, columns }: Kind) {
  const properties = { spec: structural(spec), status: structural(status) };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase(), shortNames: [...shortNames] },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: columns.map(({ name, jsonPath, type = 'string', isWide }) => ({
            name,
            type,
            jsonPath,
            ...(isWide === true ? { priority: 1 } : {}),
          })),
          schema: {
            openAPIV3Schema: { type: 'object', required: ['spec'], properties },
          },
        },
      ],
    },
  };
}

/**
 * Converts a schema to what Kubernetes calls a structural schema, which must not have
 * `additionalProperties` beside `properties`: the API server itself refuses or drops other members.
 */
function structural(schema: z.ZodType): unknown {
  return z.toJSONSchema(schema, {
    target: 'openapi-3.0',
    io: 'input',
    override: ({ jsonSchema }) => {
      delete jsonSchema.additionalProperties;
      // The bounds of every safe integer say nothing, and would be read as floating-point numbers.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
}
