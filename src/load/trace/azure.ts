/** Azure LLM inference traces (CSV): `TIMESTAMP` with seven digits behind the second, `ContextTokens`, `GeneratedTokens`. */
import { numberIn, type TraceFormat } from "./rows.ts";

export const azure: TraceFormat = {
  name: "azure",
  fits: (first) => "columns" in first && ["TIMESTAMP", "ContextTokens", "GeneratedTokens"].every((name) => first.columns.includes(name)),
  read(row) {
    const said = String(row["TIMESTAMP"]);
    const match = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(\.\d+)?/.exec(said);
    const second = match ? Date.parse(`${match[1]}T${match[2]}Z`) : Number.NaN;
    if (Number.isNaN(second))
      throw new Error(`"TIMESTAMP" is ${JSON.stringify(said)}; expected a time such as 2023-11-16 18:15:46.6805900`);
    return [
      {
        atMs: second + 1000 * Number(match![3] ?? 0),
        inputTokens: numberIn(row, "ContextTokens"),
        outputTokens: numberIn(row, "GeneratedTokens"),
        blocks: null,
        blockTokens: 0,
      },
    ];
  },
};
