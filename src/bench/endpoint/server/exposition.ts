/** Prometheus' text format, read. */

export interface Sample {
  name: string;
  labels: Readonly<Record<string, string>>;
  value: number;
}

const line = /^([a-zA-Z_:][\w:]*)(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})?\s+(\S+)(?:\s+-?\d+)?\s*(?:#.*)?$/;
const label = /([a-zA-Z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"/g;
const escapes: Record<string, string> = { n: "\n" };

function numberOf(text: string): number {
  if (/^[+-]?inf(inity)?$/i.test(text)) return text.startsWith("-") ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  return Number(text);
}

/** Every sample; null = the text is none of that format. Lines that cannot be read are left out. */
export function parseExposition(text: string): Sample[] | null {
  const samples: Sample[] = [];
  let faults = 0;
  for (const one of text.split("\n")) {
    if (one.trim() === "" || one.startsWith("#")) continue;
    const found = line.exec(one.trimEnd());
    if (!found) {
      faults++;
      continue;
    }
    const [, name, labels = "", value] = found as unknown as [string, string, string | undefined, string];
    const pairs = [...labels.matchAll(label)].map(([, key, said]) => [key!, said!.replaceAll(/\\(.)/g, (_, c: string) => escapes[c] ?? c)]);
    samples.push({ name, labels: Object.fromEntries(pairs) as Record<string, string>, value: numberOf(value) });
  }
  return samples.length > faults ? samples : null;
}
