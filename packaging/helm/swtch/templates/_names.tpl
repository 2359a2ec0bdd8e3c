{{- define "swtch.labels" -}}
app.kubernetes.io/name: swtch
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "swtch.name" -}}
{{ if eq .Release.Name "swtch" }}swtch{{ else }}{{ printf "%s-swtch" .Release.Name | trunc 63 | trimSuffix "-" }}{{ end }}
{{- end }}
