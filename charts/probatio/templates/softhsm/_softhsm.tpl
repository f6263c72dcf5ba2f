{{/* The Secret of the token that the chart makes: its PINs, and its files as an archive. */}}
{{- define "probatio.tokenSecret" -}}
{{ include "probatio.fullname" . }}-token
{{- end -}}

{{/* The Secret of the internal API keys that the chart makes. */}}
{{- define "probatio.apiKeysSecret" -}}
{{ include "probatio.fullname" . }}-api-keys
{{- end -}}

{{/* Tells whether the chart makes the internal API keys: all of them, or none. */}}
{{- define "probatio.makesApiKeys" -}}
{{- and (eq .Values.signer.token.mode "softhsm") (empty .Values.internalApi.existingSecret) -}}
{{- end -}}

{{/* The Secret of the hashes of the internal API keys; empty if there is none. */}}
{{- define "probatio.hashesSecret" -}}
{{- if eq (include "probatio.makesApiKeys" .) "true" -}}
{{ include "probatio.fullname" . }}-internal-api
{{- else -}}
{{ .Values.internalApi.existingSecret }}
{{- end -}}
{{- end -}}

{{/* The variables of the signer that name its token. */}}
{{- define "probatio.tokenVariables" -}}
{{- $isSoftHsm := eq .Values.signer.token.mode "softhsm" -}}
{{- $library := ternary "/usr/lib/softhsm/libsofthsm2.so" .Values.signer.library.path $isSoftHsm -}}
{{- $label := default (ternary "probatio" "" $isSoftHsm) .Values.signer.token.label -}}
- { name: SIGNER_LIBRARY, value: {{ $library | quote }} }
- { name: SIGNER_TOKEN_LABEL, value: {{ $label | quote }} }
{{- end -}}

{{/*
The pod of a Job of the provisioner. Takes `root`, `component`, which is also the end of the name of
its account, `args` and `env`.
*/}}
{{- define "probatio.provisionerPod" -}}
{{- $component := .component -}}
{{- $args := .args -}}
{{- $env := .env -}}
{{- with .root -}}
{{- with include "probatio.pullSecrets" . }}
{{- . }}
{{ end -}}
serviceAccountName: {{ include "probatio.fullname" . }}-{{ $component }}
{{ include "probatio.podSecurity" . }}
restartPolicy: Never
containers:
  - name: provisioner
    image: {{ include "probatio.image" (dict "root" . "image" .Values.signer.provisioner.image) }}
    imagePullPolicy: {{ .Values.signer.provisioner.image.pullPolicy }}
    args: {{ concat (list "node" "signer/provisioner/main.ts") $args | toJson }}
    terminationMessagePolicy: FallbackToLogsOnError
    securityContext:
      runAsUser: 10002
      {{- include "probatio.containerSecurity" . | nindent 6 }}
    env:
      - name: PROVISIONER_NAMESPACE
        valueFrom: { fieldRef: { fieldPath: metadata.namespace } }
      - { name: PROVISIONER_TOKEN_SECRET, value: {{ include "probatio.tokenSecret" . }} }
      {{- include "probatio.tokenVariables" . | nindent 6 }}
      {{- $env | nindent 6 }}
      {{- with .Values.signer.extraEnv }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    resources: {{- toYaml .Values.signer.provisioner.resources | nindent 6 }}
    volumeMounts:
      - { name: kubernetes, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true }
      - { name: tokens, mountPath: /var/lib/probatio/tokens }
      - { name: tmp, mountPath: /tmp }
volumes:
  {{- include "probatio.accountVolume" . | nindent 2 }}
  - name: tokens
    emptyDir: { medium: Memory, sizeLimit: 16Mi }
  - name: tmp
    emptyDir: { medium: Memory, sizeLimit: 16Mi }
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* What ends a Job of the provisioner at once, and what does not count as a failure. */}}
{{- define "probatio.provisionerFailures" -}}
rules:
  # A wrong call, or wrong settings, do not mend themselves.
  - action: FailJob
    onExitCodes: { containerName: provisioner, operator: In, values: [2, 78] }
  - action: Ignore
    onPodConditions: [{ type: DisruptionTarget, status: "True" }]
{{- end -}}
