/** Tables in a terminal: the first and last columns to the left, figures to the right. */
export function textTable(rows: readonly (readonly string[])[], leftColumns: number, leftAtEnd = 0): string {
  const columns = rows[0]!.length;
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const left = (column: number): boolean => column < leftColumns || column >= columns - leftAtEnd;
  return rows
    .map((row) =>
      row
        .map((text, column) => (left(column) ? text.padEnd(widths[column]!) : text.padStart(widths[column]!)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
