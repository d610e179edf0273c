/** Reads a server's metrics beside a load: once before, every second while it runs, once behind. */
import { setTimeout as sleep } from "node:timers/promises";
import { AssayError } from "../../../base/index.ts";
import { parseExposition, type Sample } from "./exposition.ts";
import { toldBy, type ServerTold } from "./told.ts";

const everyMs = 1000;
/** Counters may lag behind the last answer. */
const settleMs = 250;
const timeoutMs = 5000;

async function read(url: string, headers: Readonly<Record<string, string>>): Promise<Sample[]> {
  const answer = await fetch(url, { headers, signal: AbortSignal.timeout(timeoutMs) });
  const samples = answer.ok ? parseExposition(await answer.text()) : null;
  if (!samples) throw new Error(answer.ok ? "no metrics in Prometheus' text format" : `HTTP ${answer.status}`);
  return samples;
}

/** Whether metrics can be read there. Throws ENDPOINT_REFUSES. */
export async function checkMetrics(url: string, headers: Readonly<Record<string, string>>): Promise<void> {
  try {
    await read(url, headers);
  } catch (cause) {
    const { message, cause: deeper } = cause as Error;
    const why = deeper instanceof Error ? deeper.message : message;
    throw new AssayError("ENDPOINT_REFUSES", `${url}: the metrics cannot be read: ${why}`, { cause });
  }
}

export interface Scraper {
  /** Reads for the last time; null where too few readings came for any figure. */
  end(): Promise<ServerTold | null>;
}

/** Begins; the first reading is there when it resolves. */
export async function startScraping(url: string, model: string, headers: Readonly<Record<string, string>>): Promise<Scraper> {
  const scrapes: Sample[][] = [];
  const once = async (): Promise<void> => {
    try {
      scrapes.push(await read(url, headers));
    } catch {
      // A server that is busy may not answer in time: the others tell.
    }
  };
  await once();
  let pending: Promise<void> = Promise.resolve();
  let busy = false;
  const timer = setInterval(() => {
    if (busy) return;
    busy = true;
    pending = once().finally(() => (busy = false));
  }, everyMs);
  return {
    async end() {
      clearInterval(timer);
      await pending;
      await sleep(settleMs);
      const before = scrapes.length;
      await once();
      return before > 0 && scrapes.length > before ? toldBy(url, model, scrapes) : null;
    },
  };
}
