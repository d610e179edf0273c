/** Faults of a workload file: where, what was found, what was expected, and the nearest right name. */

export interface Fault {
  /** From 1; 0 = the file as a whole. */
  line: number;
  column: number;
  /** Dotted path of the field, such as `targets.latencyMs.p99`. */
  path: string;
  message: string;
  found: string;
  expected: string;
  /** The nearest name that is known. */
  nearest?: string;
}

/** Edits between two words: insert, delete, change, swap of neighbours. */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      row[j] = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + change);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j]!, rows[i - 2]![j - 2]! + 1);
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}

/** The known name that is nearest, or undefined when none is near. */
export function nearestName(word: string, names: readonly string[]): string | undefined {
  const whole = word.length >= 3 ? names.find((name) => name.toLowerCase().startsWith(word.toLowerCase())) : undefined;
  if (whole !== undefined) return whole;
  const ranked = names.map((name) => ({ name, far: distance(word.toLowerCase(), name.toLowerCase()) })).sort((a, b) => a.far - b.far);
  const [best] = ranked;
  return best && best.far <= Math.max(2, Math.floor(best.name.length / 2)) ? best.name : undefined;
}

/** One line a fault: `workload.yaml:12:3 targets.latencyMs: …`. */
export const formatFaults = (faults: readonly Fault[], fileName: string): string =>
  faults
    .map(({ line, column, path, message, found, expected, nearest }) => {
      const place = line > 0 ? `${fileName}:${line}:${column}` : fileName;
      const details = [
        ...(found ? [`found ${found}`] : []),
        ...(expected ? [`expected ${expected}`] : []),
        ...(nearest ? [`did you mean "${nearest}"?`] : []),
      ];
      return `${place}  ${path ? `${path}: ` : ""}${message}${details.length > 0 ? ` — ${details.join("; ")}` : ""}`;
    })
    .join("\n");
