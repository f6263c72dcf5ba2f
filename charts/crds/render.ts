import { stringify } from 'yaml';
import { definitionOf, kinds } from '../../k8s/resources/definitions.ts';

/** Returns the templates of the CustomResourceDefinitions, by the names of their files. */
export function crdTemplates(): ReadonlyMap<string, string> {
  return new Map(
    kinds.map((kind) => {
      const { apiVersion, kind: type, metadata, spec } = definitionOf(kind);
      const text = [
        '{{- /* Made from k8s/resources by `npm run crds`; a test fails on a difference. */ -}}',
        '{{- if and .Values.operator.enabled .Values.crds.enabled }}',
        `apiVersion: ${apiVersion}`,
        `kind: ${type}`,
        'metadata:',
        `  name: ${metadata.name}`,
        '  labels: {{- include "probatio.labels" . | nindent 4 }}',
        '  {{- if .Values.crds.keep }}',
        '  annotations:',
        '    helm.sh/resource-policy: keep',
        '  {{- end }}',
        stringify({ spec }, { lineWidth: 100, aliasDuplicateObjects: false }).trimEnd(),
        '{{- end }}',
        '',
      ].join('\n');
      return [`${kind.plural}.yaml`, text] as const;
    }),
  );
}
