#!/bin/bash
# Starts llama.cpp's OpenAI-compatible server in the foreground: start-llama-cpp.sh HOME MODEL PORT. Ends with SIGTERM.
set -euo pipefail
home=$1; model=$2; port=$3
# The model knows no roles: a chat is its contents, one after another.
cat > "$home/chat-$port.json" <<'CHAT'
{ "bos_token": "<s>", "eos_token": "</s>", "chat_template": "{{ bos_token }}{% for m in messages %}{{ m['content'] }}{% endfor %}" }
CHAT
exec "$home/venv/bin/python" -m llama_cpp.server --model "$model" --model_alias moby --host 127.0.0.1 --port "$port" \
  --n_ctx 512 --n_threads 1 --n_threads_batch 1 --interrupt_requests false --verbose false \
  --chat_format hf-tokenizer-config --hf_tokenizer_config_path "$home/chat-$port.json"
