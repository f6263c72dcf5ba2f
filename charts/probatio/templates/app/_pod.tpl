{{/* Environment of the app that is no secret; takes the root. */}}
{{- define "probatio.appSettings" -}}
NODE_ENV: production
HOST: 0.0.0.0
PORT: {{ .Values.ports.api | quote }}
HTTP_PUBLIC_URL: {{ .Values.http.publicUrl | quote }}
HTTP_DRAIN_SECONDS: {{ .Values.http.drainSeconds | quote }}
HTTP_INTERNAL_ROUTES: internal
HTTP_INTERNAL_HOST: 0.0.0.0
HTTP_INTERNAL_PORT: {{ .Values.ports.internal | quote }}
METRICS_HOST: 0.0.0.0
METRICS_PORT: {{ .Values.ports.metrics | quote }}
{{- with .Values.http.trustedProxies }}
HTTP_TRUSTED_PROXIES: {{ join "," . | quote }}
{{- end }}
{{- with .Values.http.corsOrigins }}
HTTP_CORS_ORIGINS: {{ join "," . | quote }}
{{- end }}
DATABASE_URL_FILE: /etc/probatio/database/url
DATABASE_SERVICE_URL_FILE: /etc/probatio/database/service-url
DATABASE_POOL_SIZE: {{ .Values.database.poolSize | quote }}
REDIS_URL_FILE: /etc/probatio/redis/url
STORAGE_DRIVER: {{ .Values.storage.driver }}
{{- if eq .Values.storage.driver "s3" }}
{{- with .Values.storage.s3 }}
STORAGE_REGION: {{ .region | quote }}
STORAGE_BUCKET: {{ .bucket | quote }}
STORAGE_FORCE_PATH_STYLE: {{ .forcePathStyle | quote }}
{{- with .endpoint }}
STORAGE_ENDPOINT: {{ . | quote }}
{{- end }}
{{- if .existingSecret }}
STORAGE_ACCESS_KEY_ID_FILE: /etc/probatio/storage/access-key-id
STORAGE_SECRET_ACCESS_KEY_FILE: /etc/probatio/storage/secret-access-key
{{- end }}
{{- end }}
{{- else }}
STORAGE_DIRECTORY: /var/lib/probatio/objects
{{- end }}
MAIL_URL_FILE: /etc/probatio/smtp/url
MAIL_FROM: {{ .Values.smtp.from | quote }}
{{- with .Values.smtp.validateUrl }}
MAIL_VALIDATE_URL: {{ . | quote }}
{{- end }}
{{- if .Values.oidc.existingSecret }}
AUTH_ISSUERS_FILE: /etc/probatio/oidc/issuers.json
{{- end }}
{{- with .Values.identityProvider }}
{{- if .url }}
MFA_KEYCLOAK_URL: {{ .url | quote }}
MFA_KEYCLOAK_REALM: {{ .realm | quote }}
MFA_KEYCLOAK_CLIENT_ID: {{ .clientId | quote }}
MFA_KEYCLOAK_CLIENT_SECRET_FILE: /etc/probatio/identity-provider/client-secret
{{- end }}
{{- end }}
{{- if include "probatio.hashesSecret" . }}
INTERNAL_API_KEYS_FILE: /etc/probatio/internal-api/keys.json
{{- end }}
SIGNER_SOCKET_PATH: /run/probatio/signer/signer.sock
{{- end -}}

{{/* One file of a Secret as a source of a projected volume; takes `secret`, `key` and `path`. */}}
{{- define "probatio.secretFile" -}}
- secret:
    name: {{ .secret }}
    items:
      - { key: {{ .key | quote }}, path: {{ .path | quote }} }
{{- end -}}

{{/* The volume of the app's Secrets: files below /etc/probatio. */}}
{{- define "probatio.appSecrets" -}}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      {{- include "probatio.secretFile" (dict "secret" .Values.database.existingSecret "key" .Values.database.urlKey "path" "database/url") | nindent 6 }}
      {{- include "probatio.secretFile" (dict "secret" .Values.database.existingSecret "key" .Values.database.serviceUrlKey "path" "database/service-url") | nindent 6 }}
      {{- include "probatio.secretFile" (dict "secret" .Values.redis.existingSecret "key" .Values.redis.urlKey "path" "redis/url") | nindent 6 }}
      {{- include "probatio.secretFile" (dict "secret" .Values.smtp.existingSecret "key" .Values.smtp.urlKey "path" "smtp/url") | nindent 6 }}
      {{- with .Values.storage.s3 }}
      {{- if and (eq $.Values.storage.driver "s3") .existingSecret }}
      {{- include "probatio.secretFile" (dict "secret" .existingSecret "key" .accessKeyIdKey "path" "storage/access-key-id") | nindent 6 }}
      {{- include "probatio.secretFile" (dict "secret" .existingSecret "key" .secretAccessKeyKey "path" "storage/secret-access-key") | nindent 6 }}
      {{- end }}
      {{- end }}
      {{- with .Values.oidc }}
      {{- if .existingSecret }}
      {{- include "probatio.secretFile" (dict "secret" .existingSecret "key" .issuersKey "path" "oidc/issuers.json") | nindent 6 }}
      {{- end }}
      {{- end }}
      {{- with .Values.identityProvider }}
      {{- if .url }}
      {{- include "probatio.secretFile" (dict "secret" .existingSecret "key" .clientSecretKey "path" "identity-provider/client-secret") | nindent 6 }}
      {{- end }}
      {{- end }}
      {{- with include "probatio.hashesSecret" . }}
      {{- $key := ternary "keys.json" $.Values.internalApi.keysKey (eq (include "probatio.makesApiKeys" $) "true") }}
      {{- include "probatio.secretFile" (dict "secret" . "key" $key "path" "internal-api/keys.json") | nindent 6 }}
      {{- end }}
{{- end -}}

{{/*
The signer: a native sidecar, which starts before the app and ends after it. Its socket lies in a
directory to which nobody else can write, which that of an emptyDir is not.
*/}}
{{- define "probatio.signer" -}}
{{- $signer := .Values.signer -}}
- name: socket
  image: {{ include "probatio.image" (dict "root" . "image" $signer.image) }}
  imagePullPolicy: {{ $signer.image.pullPolicy }}
  command: [mkdir, --parents, --mode=2750, /run/probatio/signer]
  securityContext:
    runAsUser: 10002
    {{- include "probatio.containerSecurity" . | nindent 4 }}
  resources:
    requests: { cpu: 10m, memory: 16Mi }
    limits: { memory: 64Mi }
  volumeMounts:
    - { name: socket, mountPath: /run/probatio }
{{- if eq $signer.token.mode "softhsm" }}
- name: token
  image: {{ include "probatio.image" (dict "root" . "image" $signer.image) }}
  imagePullPolicy: {{ $signer.image.pullPolicy }}
  command: [tar, --extract, --gzip, --file=/etc/probatio/tokens.tgz, --directory=/var/lib/probatio/tokens]
  securityContext:
    runAsUser: 10002
    {{- include "probatio.containerSecurity" . | nindent 4 }}
  resources:
    requests: { cpu: 10m, memory: 16Mi }
    limits: { memory: 64Mi }
  volumeMounts:
    - { name: token, mountPath: /etc/probatio, readOnly: true }
    - { name: tokens, mountPath: /var/lib/probatio/tokens }
{{- end }}
{{- with $signer.library }}
{{- if .image }}
- name: library
  image: {{ .image }}
  command: [cp, -a, {{ printf "%s/." .copyFrom | quote }}, /library]
  securityContext: {{- include "probatio.containerSecurity" $ | nindent 4 }}
  resources:
    requests: { cpu: 10m, memory: 16Mi }
    limits: { memory: 64Mi }
  volumeMounts:
    - { name: library, mountPath: /library }
{{- end }}
{{- end }}
- name: signer
  image: {{ include "probatio.image" (dict "root" . "image" $signer.image) }}
  imagePullPolicy: {{ $signer.image.pullPolicy }}
  restartPolicy: Always
  terminationMessagePolicy: FallbackToLogsOnError
  securityContext:
    runAsUser: 10002
    {{- include "probatio.containerSecurity" . | nindent 4 }}
  env:
    - { name: SIGNER_SOCKET_PATH, value: /run/probatio/signer/signer.sock }
    - name: SIGNER_ISSUERS
      value: {{ join "," (prepend $signer.formerUrls .Values.http.publicUrl) | quote }}
    {{- include "probatio.tokenVariables" . | nindent 4 }}
    - { name: SIGNER_PIN_FILE, value: /etc/probatio/pin }
    - { name: SIGNER_SESSIONS, value: {{ $signer.sessions | quote }} }
    - { name: SIGNER_METRICS_HOST, value: 0.0.0.0 }
    - { name: SIGNER_METRICS_PORT, value: {{ .Values.ports.signerMetrics | quote }} }
    {{- with $signer.extraEnv }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  ports:
    - { name: signer-metrics, containerPort: {{ .Values.ports.signerMetrics }} }
  # The probes never ask for the state of the HSM: a restart would try a wrong PIN once more.
  # The signer answers once its socket is there: the app starts after that.
  startupProbe:
    httpGet: { path: /live, port: signer-metrics }
    periodSeconds: 1
    timeoutSeconds: 5
    failureThreshold: 60
  livenessProbe:
    httpGet: { path: /live, port: signer-metrics }
    periodSeconds: 10
    timeoutSeconds: 5
    failureThreshold: 3
  resources: {{- toYaml $signer.resources | nindent 4 }}
  volumeMounts:
    - { name: socket, mountPath: /run/probatio }
    - { name: pin, mountPath: /etc/probatio, readOnly: true }
    - { name: signer-tmp, mountPath: /tmp }
    {{- if eq $signer.token.mode "softhsm" }}
    # A key that the signer made in this copy would be lost with the pod.
    - { name: tokens, mountPath: /var/lib/probatio/tokens, readOnly: true }
    {{- end }}
    {{- with $signer.library }}
    {{- if .image }}
    - { name: library, mountPath: {{ .mountPath | quote }}, readOnly: true }
    {{- end }}
    {{- if .configExistingSecret }}
    - { name: library-config, mountPath: {{ .configMountPath | quote }}, readOnly: true }
    {{- end }}
    {{- end }}
    {{- with $signer.extraVolumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{- define "probatio.signerVolumes" -}}
- name: socket
  emptyDir: { medium: Memory, sizeLimit: 1Mi }
- name: pin
  secret:
    {{- if eq .Values.signer.token.mode "softhsm" }}
    secretName: {{ include "probatio.tokenSecret" . }}
    {{- else }}
    secretName: {{ .Values.signer.pin.existingSecret }}
    {{- end }}
    defaultMode: 0440
    items:
      - { key: {{ ternary "pin" .Values.signer.pin.key (eq .Values.signer.token.mode "softhsm") | quote }}, path: pin }
- name: signer-tmp
  emptyDir: { medium: Memory, sizeLimit: 16Mi }
{{- if eq .Values.signer.token.mode "softhsm" }}
- name: token
  secret:
    secretName: {{ include "probatio.tokenSecret" . }}
    defaultMode: 0440
    items:
      - { key: tokens.tgz, path: tokens.tgz }
- name: tokens
  emptyDir: { medium: Memory, sizeLimit: 16Mi }
{{- end }}
{{- with .Values.signer.library }}
{{- if .image }}
- name: library
  emptyDir: { sizeLimit: 512Mi }
{{- end }}
{{- if .configExistingSecret }}
- name: library-config
  secret:
    secretName: {{ .configExistingSecret }}
    defaultMode: 0440
{{- end }}
{{- end }}
{{- end -}}

{{/*
The pod of app and signer. Takes `root`, `component`, `roles` of the app, and its `resources`.
*/}}
{{- define "probatio.pod" -}}
{{- $root := .root -}}
{{- with $root -}}
metadata:
  annotations:
    checksum/settings: {{ include "probatio.appSettings" . | sha256sum }}
    kubectl.kubernetes.io/default-container: app
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  labels:
    {{- include "probatio.labels" . | nindent 4 }}
    app.kubernetes.io/component: {{ $.component }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- with include "probatio.pullSecrets" . }}
  {{- . | nindent 2 }}
  {{- end }}
  serviceAccountName: {{ include "probatio.serviceAccountName" . }}
  {{- include "probatio.podSecurity" . | nindent 2 }}
  # The time to tell every proxy, to drain, and to close the sessions of the HSM.
  terminationGracePeriodSeconds: {{ add .Values.preStopSeconds .Values.http.drainSeconds 15 }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  initContainers:
    {{- include "probatio.signer" . | nindent 4 }}
  containers:
    - name: app
      image: {{ include "probatio.image" (dict "root" . "image" .Values.image) }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      terminationMessagePolicy: FallbackToLogsOnError
      securityContext: {{- include "probatio.containerSecurity" . | nindent 8 }}
      envFrom:
        - configMapRef: { name: {{ include "probatio.fullname" . }} }
        {{- with .Values.extraEnvFrom }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      env:
        - { name: APP_ROLES, value: {{ $.roles | quote }} }
        {{- with .Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - { name: http, containerPort: {{ .Values.ports.api }} }
        - { name: internal, containerPort: {{ .Values.ports.internal }} }
        - { name: metrics, containerPort: {{ .Values.ports.metrics }} }
      lifecycle:
        preStop:
          sleep: { seconds: {{ .Values.preStopSeconds }} }
      startupProbe:
        httpGet: { path: /health/live, port: http }
        periodSeconds: 2
        failureThreshold: 60
      livenessProbe:
        httpGet: { path: /health/live, port: http }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /health/ready, port: http }
        periodSeconds: 5
        # Pods that are slow together must go on serving: without any, every request would fail.
        timeoutSeconds: 5
        failureThreshold: 3
      resources: {{- toYaml $.resources | nindent 8 }}
      volumeMounts:
        - { name: socket, mountPath: /run/probatio/signer, subPath: signer, readOnly: true }
        - { name: secrets, mountPath: /etc/probatio, readOnly: true }
        - { name: tmp, mountPath: /tmp }
        {{- if eq .Values.storage.driver "filesystem" }}
        - { name: objects, mountPath: /var/lib/probatio/objects }
        {{- end }}
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    {{- include "probatio.signerVolumes" . | nindent 4 }}
    {{- include "probatio.appSecrets" . | nindent 4 }}
    - name: tmp
      emptyDir: { sizeLimit: 256Mi }
    {{- if eq .Values.storage.driver "filesystem" }}
    - name: objects
      persistentVolumeClaim: { claimName: {{ .Values.storage.filesystem.existingClaim }} }
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    {{- if .Values.topologySpreadConstraints }}
    {{- toYaml .Values.topologySpreadConstraints | nindent 4 }}
    {{- else }}
    {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "probatio.selectorLabels" $root | nindent 10 }}
          app.kubernetes.io/component: {{ $.component }}
    {{- end }}
    {{- end }}
{{- end -}}
{{- end -}}
