export { renderEndpoint } from "./endpoint/terminal.ts";
export { renderComparison } from "./comparison.ts";
export { renderJUnit, renderMarkdown } from "./exchange.ts";
export { renderHtml } from "./html.ts";
export { renderTerminal } from "./terminal.ts";
