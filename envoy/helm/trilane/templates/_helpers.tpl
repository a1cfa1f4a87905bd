{{- define "trilane.name" -}}
{{- if contains "trilane" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-trilane" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "trilane.selector" -}}
app.kubernetes.io/name: trilane
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "trilane.labels" -}}
{{ include "trilane.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "trilane.documentConfigMap" -}}
{{- if and .Values.document.text .Values.document.existingConfigMap }}{{ fail "document.text and document.existingConfigMap: only one of them" }}{{ end }}
{{- if not (or .Values.document.text .Values.document.existingConfigMap) }}{{ fail "no document: --set-file document.text=gateway.json, or document.existingConfigMap" }}{{ end }}
{{- .Values.document.existingConfigMap | default (printf "%s-document" (include "trilane.name" .)) }}
{{- end }}

{{- define "trilane.image" -}}
{{- $image := first . -}}
{{ $image.repository }}:{{ $image.tag | default (last .) }}
{{- end }}

{{- define "trilane.locked" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* What `trilane render` is told, in the pod's beginning and all along: the paths are the same for it and for Envoy. */}}
{{- define "trilane.render" -}}
- render
- --document
- /in/{{ .Values.document.key }}
- --publish
- /etc/trilane/document/gateway.json
- --out
- /etc/trilane/upstreams
- --credentials
- /etc/trilane/credentials
- --filter
- /etc/trilane/filter/trilane.wasm
{{- end }}

{{- define "trilane.renderMounts" -}}
- {name: source, mountPath: /in, readOnly: true}
- {name: credentials, mountPath: /etc/trilane/credentials, readOnly: true}
- {name: filter, mountPath: /etc/trilane/filter, readOnly: true}
- {name: document, mountPath: /etc/trilane/document}
- {name: upstreams, mountPath: /etc/trilane/upstreams}
{{- end }}
