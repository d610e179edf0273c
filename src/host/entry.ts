/** Where child processes and worker threads start: always from compiled code, also when the caller runs from source. */

/**
 * The URL of an entry file beside the caller.
 * @param callerUrl the caller's `import.meta.url`
 * @param name the compiled name, such as `./sender.entry.js`
 */
export function entryUrl(callerUrl: string, name: string): URL {
  const compiled = callerUrl.endsWith(".ts") ? callerUrl.replace(/\/src\/(?!.*\/src\/)/, "/dist/") : callerUrl;
  return new URL(name, compiled);
}
