/** Every generated file, path → text; `npm run generate` writes them, `npm run check` compares. */

/** The files as they should stand, by path from the root. */
export function generated(): Record<string, string> {
  return {};
}
