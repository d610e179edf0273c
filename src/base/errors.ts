/**
 * The catalogue of every fault a user can meet: one row a code, with the exit status of the command
 * line, the HTTP status, whether trying again can help, and the way out. Rooms throw `AssayError`;
 * the edges print it. `docs/reference/errors.md` is generated from here.
 */

export interface ErrorKind {
  /** What happened, in a few words. */
  title: string;
  /** The exit status of the command line. */
  exit: 1 | 2 | 3 | 4 | 130;
  /** The HTTP status where the fault crosses a server of ours. */
  http: number;
  /** Whether the same call may succeed later. */
  retryable: boolean;
  /** The way out. */
  hint: string;
}

const bad = { exit: 2, http: 400, retryable: false } as const;
const ours = { exit: 1, http: 500, retryable: false } as const;

export const errorCatalogue = {
  // Workload and data
  WORKLOAD_INVALID: {
    ...bad,
    title: "The workload file has faults",
    hint: "Mend every place listed; `assay init` writes a file that is right.",
  },
  WORKLOAD_UNREADABLE: { ...bad, title: "The workload file cannot be read", hint: "Check the path and its permissions." },
  DATA_UNREADABLE: { ...bad, title: "The data cannot be read", hint: "Use .npz, .npy, .jsonl or .csv; the message names the place." },
  DATA_MISFIT: {
    ...bad,
    title: "The data do not fit the model or the workload",
    hint: "The message names the field, what it holds and what is expected.",
  },
  PATH_OUTSIDE: { ...bad, title: "A path leaves the folder of the workload file", hint: "Move the file, or pass --allow-outside." },
  // Models and artifacts
  MODEL_UNREADABLE: { ...bad, title: "The model file is not ONNX, or is damaged", hint: "Export it again; Assay reads ONNX." },
  MODEL_EXTERNAL_DATA: { ...bad, title: "The model's external data are missing or short", hint: "Put the named file beside the model." },
  MODEL_UNSUPPORTED: {
    ...bad,
    title: "The model uses something the runtime does not support",
    hint: "The message names the operator; export for a supported opset.",
  },
  MODEL_DIMENSION_UNBOUND: {
    ...bad,
    title: "An input has a dimension whose size the data do not tell",
    hint: "Give the items in the model's own shape, or fix the dimension at export.",
  },
  ARTIFACT_INVALID: {
    ...ours,
    title: "A stored artifact is damaged",
    retryable: true,
    hint: "It was set aside; run again to build it anew.",
  },
  // Builds
  BUILD_FAILED: { ...ours, title: "A build failed", hint: "The worker's log says why; the other candidates go on." },
  WORKER_PROTOCOL: { ...ours, title: "A build worker broke its protocol", hint: "The message shows the event that does not fit." },
  // Serving and load
  SERVER_START: { ...ours, title: "The model server did not start", retryable: true, hint: "Its last lines are in the message." },
  SERVER_LOST: {
    ...ours,
    title: "The model server ended in the middle of a measurement",
    retryable: true,
    hint: "Continue with `assay decide --resume DIR`.",
  },
  LOAD_FAILED: { ...ours, title: "The load generator failed", retryable: true, hint: "Continue with `assay decide --resume DIR`." },
  ENDPOINT_REFUSES: {
    ...bad,
    title: "The endpoint does not answer a single request",
    hint: "Check the URL, the model's name and the key; the message says what came back.",
  },
  TRUTH_SCRIPT_INVALID: { ...bad, title: "The script of the truth server has faults", hint: "Mend every place listed." },
  // Runs
  RUN_UNREADABLE: { ...bad, title: "The run folder cannot be read", hint: "Name the folder that `assay decide` printed." },
  RUN_MISMATCH: {
    exit: 3,
    http: 409,
    retryable: false,
    title: "The records do not give the stored verdict",
    hint: "The message names what differs; measure again.",
  },
  RUN_DIFFERS: {
    ...bad,
    title: "The run belongs to another workload, model or version",
    hint: "Start a new run, or give back the files it was started with.",
  },
  RUN_BUSY: { ...bad, title: "Another process is writing to this run", retryable: true, hint: "Wait for it, or name another --out." },
  OUT_EXISTS: { ...bad, title: "The output folder holds something else", hint: "Name an empty or new folder, or continue with --resume." },
  // The host
  DISK_FULL: {
    ...ours,
    http: 507,
    title: "The disk is full",
    retryable: true,
    hint: "Free some space, then continue with `assay decide --resume DIR`.",
  },
  HOST_UNFIT: {
    ...bad,
    title: "This machine cannot hold what was asked",
    hint: "The message says what is asked and what is there; `assay doctor` lists it.",
  },
  INTERRUPTED: { exit: 130, http: 499, retryable: true, title: "Interrupted", hint: "Continue with `assay decide --resume DIR`." },
  USAGE: { ...bad, title: "The command line is not understood", hint: "`assay --help` lists the commands." },
  INTERNAL: { ...ours, title: "A fault of our own", hint: "Please report it with the text above." },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof errorCatalogue;

/** A fault from the catalogue, with what is particular to this occurrence. */
export class AssayError extends Error {
  readonly code: ErrorCode;
  /** Facts for machines: paths, names, figures. Never a secret. */
  readonly details: Readonly<Record<string, unknown>>;

  /**
   * @param code a row of the catalogue
   * @param message one sentence: the place, what was found, what was expected
   */
  constructor(code: ErrorCode, message: string, options: { details?: Record<string, unknown>; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "AssayError";
    this.code = code;
    this.details = options.details ?? {};
  }

  get kind(): ErrorKind {
    return errorCatalogue[this.code];
  }
}

/** The fault as an `AssayError`; anything unforeseen becomes `INTERNAL` and keeps its cause. */
export function asAssayError(fault: unknown): AssayError {
  if (fault instanceof AssayError) return fault;
  const code = (fault as { code?: unknown } | null)?.code;
  const message = fault instanceof Error ? fault.message : String(fault);
  if (code === "ENOSPC" || code === "EDQUOT" || code === "EFBIG") return new AssayError("DISK_FULL", message, { cause: fault });
  return new AssayError("INTERNAL", message, { cause: fault });
}
