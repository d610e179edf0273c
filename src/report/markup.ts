/** Pieces of the report: tables, sections, frames around pictures. Every text is escaped here. */
import { escape } from "./format.ts";

export interface Cell {
  text: string;
  className?: string;
}
export const plain = (text: string): Cell => ({ text });
export const number = (text: string): Cell => ({ text, className: "n" });

/** A table with a caption; the first cell of a row is its header. */
export function table(caption: string, head: readonly string[], rows: readonly (readonly Cell[] & { proposed?: boolean })[]): string {
  const cells = (row: readonly Cell[]): string =>
    row
      .map(({ text, className }, c) =>
        c === 0 ? `<th scope="row">${escape(text)}</th>` : `<td${className ? ` class="${className}"` : ""}>${escape(text)}</td>`,
      )
      .join("");
  return `<div class="scroll" tabindex="0" role="region" aria-label="${escape(caption)}"><table><caption>${escape(caption)}</caption><thead><tr>${head.map((name) => `<th scope="col">${escape(name)}</th>`).join("")}</tr></thead><tbody>${rows.map((row) => `<tr${row.proposed ? ' class="proposed"' : ""}>${cells(row)}</tr>`).join("")}</tbody></table></div>`;
}

export const section = (id: string, title: string, ...body: string[]): string =>
  body.every((part) => part === "")
    ? ""
    : `<section aria-labelledby="${id}"><h2 id="${id}">${escape(title)}</h2>${body.join("\n")}</section>`;
export const frame = (svg: string): string => {
  const title = /<title[^>]*>([^<]*)<\/title>/.exec(svg)?.[1];
  return title === undefined ? "" : `<div class="frame" tabindex="0" role="region" aria-label="Picture: ${title}">${svg}</div>`;
};
export const paragraph = (text: string): string => `<p class="note">${escape(text)}</p>`;
export const list = (items: readonly string[]): string =>
  items.length === 0 ? "" : `<ul>${items.map((item) => `<li>${escape(item)}</li>`).join("")}</ul>`;
