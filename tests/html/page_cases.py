"""The pages that both tests look at: how each is asked for."""
import json
import os
import subprocess

# A folder's name is the model's name; this one would like to be markup.
HOSTILE_NAME = "<img src=x onerror=alert(1)>&\"'"
CONFIG = {"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_act": "silu", "hidden_size": 512,
          "moe_intermediate_size": 256, "num_experts": 16, "num_experts_per_tok": 4, "num_hidden_layers": 1,
          "norm_topk_prob": True, "decoder_sparse_step": 1, "mlp_only_layers": []}

PLANS = {
    "sm120": "--device rtx-pro-6000-server --model glm-5 --tokens 1..4096x4 --ep 8 --why-not 128x256x128".split(),
    "sm90": "--device h200 --model qwen3-30b-a3b --tokens 1,3,100,8192 --tp 1,2 --all".split(),
    "one": "--device gb10 --model qwen3-30b-a3b --tokens 16".split(),
    "no-kernels": "--device b200 --model glm-5 --tokens 8,512 --ep 8".split(),
    "groups": "--arch sm_120 --groups 32 --rows 16 --n 4096 --k 6144 --precision w4a4".split(),
}
GPUS = "--device rtx-pro-6000-server --model glm-5 --tokens 1,32,4096 --gpus 8 --ep 8 --link pcie5".split()


def run(tool, arguments):
    """What the tool prints; exit code 4 is a plan in which nothing can run."""
    # No cache of this machine's user takes part.
    environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": os.devnull}
    answer = subprocess.run([tool, *arguments], capture_output=True, check=False, env=environment)
    assert answer.returncode in (0, 4) and not answer.stderr, (arguments, answer.returncode, answer.stderr)
    return answer.stdout.decode()


def hostile_config(folder):
    """A config.json in a folder whose name is markup."""
    path = os.path.join(folder, HOSTILE_NAME)
    os.makedirs(path)
    with open(os.path.join(path, "config.json"), "w", encoding="utf-8") as file:
        json.dump(CONFIG, file)
    return os.path.join(path, "config.json")


def bench_arguments(folder):
    return ["bench", "--model", hostile_config(folder), "--tokens", "64,1,8", "--precision", "w4a16,w4a4",
            "--seconds", "0.02"]


def pages(tool, folder):
    """Name -> page, of every kind there is."""
    made = {name: run(tool, ["plan", *arguments, "--format", "html"]) for name, arguments in PLANS.items()}
    made["gpus"] = run(tool, ["plan", *GPUS, "--format", "html"])
    made["bench"] = run(tool, [*bench_arguments(folder), "--format", "html"])
    return made
