/** The one interface behind which a protocol stands for the sender: bytes that were read → what the answer was worth. */
import type { HttpAnswer } from "./http/answer.ts";
import type { OutcomeClass } from "./records.ts";
import type { TokenTimes } from "./token-times.ts";

/** An answer that ended; it is the reader's own, valid until the next read. */
export interface Exchange {
  outcome: OutcomeClass;
  /** HTTP status; 0 = none came. */
  status: number;
  /** Bytes of the body. */
  bytes: number;
  /** Whether the connection may carry another request. */
  keepAlive: boolean;
  /** The server's own times, microseconds; NaN = not told. */
  queueUs: number;
  computeUs: number;
  /** Items of the server's run; 0 = not told. */
  batch: number;
  /** Null where the protocol streams no tokens. */
  tokens: TokenTimes | null;
  /** The answer as it came, where the protocol reads it whole. */
  answer: HttpAnswer | null;
}

export interface ExchangeReader {
  /** Takes what a read brought; returns the exchange when it is over. Throws HttpFault when it is none of the protocol. */
  push(piece: Uint8Array, at: number): Exchange | null;
  /** The connection ended; returns the exchange where that makes it whole or cuts it short. Null = nothing of it had come. */
  end(at: number): Exchange | null;
  /** Whether part of an answer has come. */
  begun(): boolean;
}

/** What readers tell the run besides: gaps between tokens, and peculiarities of the server, which are counted. */
export interface ExchangeNotes {
  gap(ms: number): void;
  peculiarity(what: string): void;
}
