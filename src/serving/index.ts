export { startServer, type ModelServer, type ServedModel, type ServerOptions } from "./server.ts";
