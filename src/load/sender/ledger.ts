/**
 * The rows of the requests on their way: each gets its row when it is scheduled, and its block leaves
 * the thread when the last of its requests has ended.
 */
import type { Exchange } from "../exchange.ts";
import { buffersOf, createTable, headOf, outcomeNumber, type OutcomeClass, type RecordTable } from "../records.ts";

const blockRows = 8192;
/** Small, so that the warm-up has handed some over before the window begins. */
const warmUpRows = 512;

/** Blocks of the warm-up are filled and handed over like any other: code that the window is first to run would be compiled in it. */
interface Block {
  table: RecordTable;
  warmUp: boolean;
  used: number;
  open: number;
  closed: boolean;
}

/** A scheduled request that has not ended. */
export interface Pending {
  block: Block;
  row: number;
  item: number;
  /** On the thread's clock, milliseconds. */
  due: number;
}

export interface Ledger {
  rowFor(due: number, item: number, now: number): Pending;
  /** @param fresh whether it is the first of its connection; @param due where the schedule is the sending itself */
  sent(pending: Pending, at: number, fresh: boolean, due: boolean): void;
  note(pending: Pending, firstAt: number, exchange: Exchange): void;
  finish(pending: Pending, outcome: OutcomeClass, at: number): void;
  /** No more rows will be asked for: the last block leaves as soon as it may. */
  close(): void;
  flush(): void;
}

interface LedgerOptions {
  tokens: boolean;
  warmUp: boolean;
  /** On the thread's clock, milliseconds. */
  windowStart: number;
  /** Takes a block over; its buffers are the receiver's from then on. */
  give: (table: RecordTable, warmUp: boolean, buffers: readonly ArrayBuffer[]) => void;
}

export function createLedger({ tokens, warmUp: hasWarmUp, windowStart, give }: LedgerOptions): Ledger {
  let recorded = 0;
  let block: Block | null = null;
  let closing = false;
  const ns = (ms: number): number => Math.round((ms - windowStart) * 1e6);

  const flush = (done: Block): void => {
    if (done.open > 0 || !(done.closed || closing) || done.used === 0) return;
    // Handed over, not copied: a copy of this size would hold up the loop.
    give(headOf(done.table, done.used), done.warmUp, buffersOf(done.table));
    done.used = 0;
    if (block === done) block = null;
  };

  return {
    rowFor(due, item, now) {
      const warmUp = hasWarmUp && due < windowStart;
      if (!block || block.used === block.table.length || block.warmUp !== warmUp) {
        const last = block;
        block = { table: createTable(warmUp ? warmUpRows : blockRows, tokens), warmUp, used: 0, open: 0, closed: false };
        if (last) {
          last.closed = true;
          flush(last);
        }
      }
      const row = block.used++;
      block.open++;
      const { table } = block;
      table.index[row] = warmUp ? 0 : recorded++;
      table.item[row] = item;
      table.scheduledNs[row] = ns(due);
      table.issuedNs[row] = ns(now);
      table.sentNs[row] = table.firstByteNs[row] = Number.NaN;
      table.queueUs[row] = table.computeUs[row] = Number.NaN;
      const { tokens: into } = table;
      if (into) into.firstTokenNs[row] = into.visibleNs[row] = into.lastTokenNs[row] = Number.NaN;
      return { block, row, item, due };
    },
    sent({ block: { table }, row }, at, fresh, due) {
      table.sentNs[row] = ns(at);
      table.fresh[row] = fresh ? 1 : 0;
      if (due) table.scheduledNs[row] = table.issuedNs[row] = ns(at);
    },
    note({ block: { table }, row }, firstAt, exchange) {
      table.firstByteNs[row] = ns(firstAt);
      table.status[row] = exchange.status;
      table.queueUs[row] = exchange.queueUs;
      table.computeUs[row] = exchange.computeUs;
      table.batch[row] = exchange.batch;
      table.bytesIn[row] = exchange.bytes;
      const { tokens: into } = table;
      const { tokens: from } = exchange;
      if (!into || !from) return;
      into.firstTokenNs[row] = ns(from.firstAt);
      into.visibleNs[row] = ns(from.visibleAt);
      into.lastTokenNs[row] = ns(from.lastAt);
      into.longestGapUs[row] = from.longestGapMs * 1000;
      into.frames[row] = from.frames;
      into.firstTokens[row] = from.firstTokens;
      into.promptTokens[row] = from.promptTokens;
      into.cachedTokens[row] = from.cachedTokens;
      into.outputTokens[row] = from.outputTokens;
      into.reasoningTokens[row] = from.reasoningTokens;
    },
    finish({ block: own, row }, outcome, at) {
      own.table.outcome[row] = outcomeNumber(outcome);
      own.table.doneNs[row] = ns(at);
      own.open--;
      flush(own);
    },
    close: () => void (closing = true),
    flush: () => void (block && flush(block)),
  };
}
