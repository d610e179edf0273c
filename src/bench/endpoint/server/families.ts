/**
 * What servers tell of themselves, by the names of their metrics. A new server is a line in each list that it
 * serves; a metric that no list names is not kept.
 */

/** Counters, summed over their labels. */
export const counters = [
  {
    what: "answered",
    names: [
      "vllm:request_success_total",
      "vllm:request_success",
      "nv_inference_request_success",
      "tgi_request_success",
      "tgi_request_success_total",
      "model_infer_request_success_total",
    ],
  },
  {
    what: "failed",
    names: ["nv_inference_request_failure", "tgi_request_failure", "tgi_request_failure_total", "model_infer_request_failure_total"],
  },
  {
    what: "prompt tokens",
    names: ["vllm:prompt_tokens_total", "vllm:prompt_tokens", "llamacpp:prompt_tokens_total", "sglang:prompt_tokens_total"],
  },
  {
    what: "output tokens",
    names: ["vllm:generation_tokens_total", "vllm:generation_tokens", "llamacpp:tokens_predicted_total", "sglang:generation_tokens_total"],
  },
  { what: "cache queries", names: ["vllm:prefix_cache_queries_total", "vllm:prefix_cache_queries"] },
  { what: "cache hits", names: ["vllm:prefix_cache_hits_total", "vllm:prefix_cache_hits"] },
  { what: "preemptions", names: ["vllm:num_preemptions_total"] },
  { what: "model runs", names: ["nv_inference_exec_count"] },
] as const;
export type CounterName = (typeof counters)[number]["what"];

/** Time of a request in the server: a sum and the count that it is of. @property perMs the sum's units in a millisecond */
export const times = [
  { what: "queue", sums: ["vllm:request_queue_time_seconds", "tgi_request_queue_duration"], perMs: 0.001 },
  { what: "prefill", sums: ["vllm:request_prefill_time_seconds"], perMs: 0.001 },
  { what: "decode", sums: ["vllm:request_decode_time_seconds"], perMs: 0.001 },
  { what: "compute", sums: ["vllm:request_inference_time_seconds", "tgi_request_inference_duration"], perMs: 0.001 },
  { what: "time to first token", sums: ["vllm:time_to_first_token_seconds", "sglang:time_to_first_token_seconds"], perMs: 0.001 },
  {
    what: "whole request",
    sums: [
      "vllm:e2e_request_latency_seconds",
      "tgi_request_duration",
      "model_infer_request_duration",
      "sglang:e2e_request_latency_seconds",
    ],
    perMs: 0.001,
  },
] as const;

/** The same where the sum is a counter of its own, and the count the requests answered. */
export const plainTimes = [
  { what: "queue", sum: "nv_inference_queue_duration_us", count: "nv_inference_request_success", perMs: 1000 },
  { what: "compute", sum: "nv_inference_compute_infer_duration_us", count: "nv_inference_request_success", perMs: 1000 },
  { what: "whole request", sum: "nv_inference_request_duration_us", count: "nv_inference_request_success", perMs: 1000 },
] as const;

/** Gauges, read while the load runs; several of a name are added, or where a share, averaged. */
export const gauges = [
  {
    what: "running",
    names: ["vllm:num_requests_running", "llamacpp:requests_processing", "sglang:num_running_reqs", "tgi_batch_current_size"],
    share: false,
  },
  {
    what: "waiting",
    names: [
      "vllm:num_requests_waiting",
      "llamacpp:requests_deferred",
      "sglang:num_queue_reqs",
      "tgi_queue_size",
      "nv_inference_pending_request_count",
    ],
    share: false,
  },
  {
    what: "key/value cache used",
    names: ["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "llamacpp:kv_cache_usage_ratio", "sglang:token_usage"],
    share: true,
  },
  { what: "GPU busy", names: ["nv_gpu_utilization"], share: true },
  { what: "GPU busy, percent", names: ["DCGM_FI_DEV_GPU_UTIL"], share: true },
  { what: "GPU memory used, MiB", names: ["DCGM_FI_DEV_FB_USED"], share: false },
  { what: "GPU power, W", names: ["DCGM_FI_DEV_POWER_USAGE", "nv_gpu_power_usage"], share: false },
  { what: "memory, bytes", names: ["process_resident_memory_bytes"], share: false },
] as const;
