{{/*
The container that runs `probatio maintenance` with `args`, and its volumes. It has no credentials but
an internal API key.
*/}}
{{- define "probatio.maintenanceContainer" -}}
{{- $root := .root -}}
containers:
  - name: maintenance
    image: {{ include "probatio.image" (dict "root" $root "image" $root.Values.image) }}
    imagePullPolicy: {{ $root.Values.image.pullPolicy }}
    args: {{ concat (list "node" "app/cli.ts" "maintenance") .args | toJson }}
    terminationMessagePolicy: FallbackToLogsOnError
    securityContext: {{- include "probatio.containerSecurity" $root | nindent 6 }}
    env:
      - name: MAINTENANCE_URL
        value: http://{{ include "probatio.fullname" $root }}-internal:{{ $root.Values.ports.internal }}
      - { name: INTERNAL_API_KEY_FILE, value: /etc/probatio/api-key }
    resources: {{- toYaml $root.Values.maintenance.resources | nindent 6 }}
    volumeMounts:
      - { name: api-key, mountPath: /etc/probatio, readOnly: true }
      - { name: tmp, mountPath: /tmp }
volumes:
  - name: api-key
    secret:
      {{- if eq (include "probatio.makesApiKeys" $root) "true" }}
      secretName: {{ include "probatio.apiKeysSecret" $root }}
      {{- else }}
      secretName: {{ $root.Values.maintenance.existingSecret }}
      {{- end }}
      defaultMode: 0440
      items:
        - { key: {{ ternary "maintenance" $root.Values.maintenance.apiKeyKey (eq (include "probatio.makesApiKeys" $root) "true") | quote }}, path: api-key }
  - name: tmp
    emptyDir: { sizeLimit: 64Mi }
{{- end -}}
