/** Tables in a terminal: the first columns to the left, figures to the right. */
export function textTable(rows: readonly (readonly string[])[], leftColumns: number): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((text, column) => (column < leftColumns ? text.padEnd(widths[column]!) : text.padStart(widths[column]!)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
