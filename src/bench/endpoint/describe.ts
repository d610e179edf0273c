/** Endpoints and loads in words, as reports and progress name them. */
import { figure } from "../../base/index.ts";
import type { Lengths } from "../../load/index.ts";
import type { Endpoint, EndpointLoad } from "./question.ts";

type OpenLoad = Extract<EndpointLoad, { arrival: unknown }>;
const spread = ({ arrival }: OpenLoad): string => (arrival.kind === "gamma" ? `gamma with variation ${arrival.cv}` : arrival.kind);

export function describeLoad(load: EndpointLoad): string {
  switch (load.kind) {
    case "open":
      return `${figure(load.ratePerSecond)} requests/s, ${spread(load)}`;
    case "ramp":
      return `${figure(load.fromPerSecond)} to ${figure(load.toPerSecond)} requests/s, ${spread(load)}`;
    case "steps":
      return `${load.ratesPerSecond.map((rate) => figure(rate)).join(", ")} requests/s in turn, ${spread(load)}`;
    case "closed":
      return `${load.concurrency} in flight`;
    case "trace":
      return `${load.requests} requests of ${load.file} (${load.format})${load.speed === 1 ? "" : `, ${figure(load.speed)} times as fast`}`;
  }
}

export function describeLengths(lengths: Lengths): string {
  switch (lengths.kind) {
    case "fixed":
      return String(lengths.tokens);
    case "normal":
      return `normal ${figure(lengths.mean)} ± ${figure(lengths.sd)}`;
    case "lognormal":
      return `log-normal around ${figure(lengths.median)}, sigma ${figure(lengths.sigma)}`;
    case "uniform":
      return `${lengths.from} to ${lengths.to}`;
    case "empirical":
      return `drawn from ${lengths.values.length} recorded`;
  }
}

export function describeEndpoint(endpoint: Endpoint): string {
  switch (endpoint.protocol) {
    case "prompt":
      return `${endpoint.url} · ${endpoint.model} · ${endpoint.api}${endpoint.stream ? "" : ", not streamed"}`;
    case "oip":
      return `${endpoint.url} · ${endpoint.model} · Open Inference Protocol, ${endpoint.binary ? "binary" : "JSON"} tensors`;
    case "template":
      return `${endpoint.url}${endpoint.path} · ${endpoint.method}`;
  }
}
