/** The command `assay bench` and its help. */
import type { Command } from "commander";
import type { BenchOptions } from "./options.ts";

const protocols = `
Protocols:
  openai           chat, text completions, responses and embeddings: vLLM, TGI, llama.cpp, Ollama, SGLang …
  anthropic        Anthropic's messages
  triton-generate  Triton's generate extension
  oip              Open Inference Protocol v2 (KServe, Triton, MLServer) over HTTP
  http             any HTTP; in the URL's place stands a template file

Exit status: 0 every target is met · 2 bad input · 3 one is missed, or no rate keeps them · 4 cannot tell yet, or the run is invalid · 5 named by --fail-on · 130 interrupted

Examples:
  assay bench openai http://127.0.0.1:8000/v1 --model m --rate 5 --target ttft.p99=500ms tpot.p99=40ms
  assay bench oip http://127.0.0.1:8000 --model resnet --data batch.npz --find-capacity --target e2e.p99=50ms
  assay bench openai http://a:8000/v1 --model m --concurrency 8 --against http://b:8000/v1
  assay bench http template.yaml --sweep 10,20,40`;

export function addBench(program: Command, run: (protocol: string, place: string, options: BenchOptions) => Promise<void>): void {
  program
    .command("bench")
    .description("measure an endpoint that runs already")
    .argument("<protocol>", "openai, anthropic, triton-generate, oip or http")
    .argument("<url>", "base URL, such as http://127.0.0.1:8000/v1; with http a template file")
    .optionsGroup("Load, one of:")
    .option("--rate <number>", "requests per second, sent on schedule whatever the server does")
    .option("--concurrency <number>", "requests in flight: the next when one ends")
    .option("--ramp <from,to>", "a rate that rises or falls evenly")
    .option("--steps <rates>", "rates one after another in one run: 5,10,20")
    .option("--trace <file>", "recorded traffic: Azure, BurstGPT, Mooncake, Bailian or Weka")
    .option("--sweep <rates>", "a run of its own for each rate: 5,10,20")
    .option("--find-capacity", "the highest rate that keeps every --target; --rate says where to start")
    .optionsGroup("More about the load:")
    .option("--against <url>", "another endpoint on the same work, in paired visits, until the answer is certain")
    .option("--against-model <name>", "its model; the same unless said")
    .option("--pairs <number>", "most pairs of visits (default: 20)")
    .option("--arrival <kind>", "how requests are spread: poisson, constant or gamma:<variation> (default: poisson)")
    .option("--speed <number>", "how much faster a trace is replayed (default: 1)")
    .option("--trace-requests <number>", "the first so many of a trace")
    .option("--duration <time>", "length of a measurement", "30s")
    .option("--warm-up <time>", "the same load before it, not counted", "2s")
    .option("--timeout <time>", "when a request is given up", "60s")
    .option("--connections <number>", "most connections; beyond it requests wait, and the wait counts", "1024")
    .optionsGroup("Requests:")
    .option("--model <name>", "model's name in the request")
    .option("--api <call>", "of openai: chat, completions, responses or embeddings (default: chat)")
    .option("--no-stream", "ask for whole answers")
    .option("--input <tokens>", "prompt length, fitted by the server's own count (default: 256)")
    .option("--output <tokens>", "most tokens of an answer (default: 128)")
    .option("--shared-prefix <ratio>", "part of each prompt that all begin with, 0–1 (default: 0)")
    .option("--body <json>", "further fields of each request: '{\"ignore_eos\": true}'")
    .option("--data <file>", "of oip: inputs by name (.npz, .npy, .jsonl, .csv); drawn at random unless said")
    .option("--items <number>", "of oip: items of a request (default: 1)")
    .option("--json-tensors", "of oip: tensors as JSON, not as bytes")
    .option("--metrics <url>", "Prometheus metrics of the server, read beside; those at /metrics of the endpoint unless said")
    .option("--no-metrics", "read none")
    .option("--key-env <name>", "environment variable that holds the key")
    .option("--key-file <file>", "file that holds the key")
    .option("--seed <text>", "root of all random streams; drawn unless said")
    .optionsGroup("Result:")
    .option("--target <limit...>", "limit on a percentile: ttft.p99=500ms tpot.p99=40ms e2e.p95=5s")
    .option("--out <folder>", "run folder; ./assay-runs/bench-<time> unless said")
    .option("--json", "print one JSON document")
    .option("--markdown <file>", "write it as Markdown too")
    .option("--junit <file>", "write it as JUnit XML too")
    .option("--fail-on <kinds>", "exit 5 for these, 0 for others: missed, cannot-tell, invalid")
    .addHelpText(
      "after",
      `\nLengths are 512, normal:<mean>,<sd>, lognormal:<median>,<sigma>, uniform:<from>,<to> or empirical:<file of lengths>.\n${protocols}`,
    )
    .action(run);
}
