/**
 * Takes out of a text what must not be stored: credentials, home folders and other absolute paths,
 * host addresses. Used at the source, before a log line is written anywhere.
 */

const rules: readonly (readonly [RegExp, string])[] = [
  [/\b(authorization|x-api-key|api[-_]?key|token|secret|password)(["']?\s*[:=]\s*)(?:bearer\s+)?["']?[^\s"',;]+/gi, "$1$2[redacted]"],
  [/\bbearer\s+[A-Za-z0-9._~+/=-]{8,}/gi, "bearer [redacted]"],
  [/\b(?:sk|pk|ghp|hf|AKIA)[-_]?[A-Za-z0-9]{16,}\b/g, "[redacted]"],
  [/\b[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}\b/g, "[address]"],
  [/(?:file:\/\/)?(?<![\w.])(?:\/[\w.@+-]+){2,}\/?/g, "[path]"],
  [/\b[A-Za-z]:\\[^\s"']+/g, "[path]"],
  [/\b(?!127\.)(?:\d{1,3}\.){3}\d{1,3}\b/g, "[host]"],
];

/** The text without credentials, paths, addresses and hosts; the loopback address stays. */
export function redact(text: string): string {
  return rules.reduce((kept, [pattern, by]) => kept.replace(pattern, by), text);
}
