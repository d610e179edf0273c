export { renderEndpoint } from "./endpoint/terminal.ts";
export { endpointExports, type EndpointExport } from "./endpoint/exports/index.ts";
export { renderRunComparison } from "./endpoint/comparison.ts";
export { renderEndpointHtml } from "./endpoint/page.ts";
export { renderComparison } from "./comparison.ts";
export { renderJUnit, renderMarkdown } from "./exchange.ts";
export { renderHtml } from "./html.ts";
export { renderTerminal } from "./terminal.ts";
