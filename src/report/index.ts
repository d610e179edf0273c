export { renderHtml } from "./html.ts";
export { renderTerminal } from "./terminal.ts";
