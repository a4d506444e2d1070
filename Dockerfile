# A container for the demo preset, or any other; runs as uid 1000 on port 7860, as hosted Spaces
# expect. Everything is set by variables: docs/hosting.md.
FROM python:3.11-slim

# cuda: the package index's torch, which has its CUDA libraries inside and runs on processors too.
# cpu: gigabytes less, from an index with such a build: --build-arg PIP_EXTRA_INDEX_URL=…
ARG DEVICE=cuda
ARG PIP_EXTRA_INDEX_URL
# --build-arg MORE=requirements-rest.lock brings what else commands may need: logs of Inspect,
# weights by torchao, figures written as SVG, PNG and PDF.
ARG MORE
# /data is where hosts keep disks: mount a volume there to keep votes and fetched weights.
RUN useradd --create-home --uid 1000 user && mkdir /data && chown user /data
USER user
WORKDIR /home/user/app
ENV PATH=/home/user/.local/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility

# Each file by its hash, but a torch for processors, which comes from where the host says. Tests of
# packages and libraries of other devices stay outside, and only what the program imports is
# compiled, below.
COPY --chown=user requirements*.lock requirements.txt ./
RUN if [ "$DEVICE" = cuda ]; \
    then pip install --no-cache-dir --no-compile --user --no-deps --require-hashes -r requirements-torch.lock; \
    else pip install --no-cache-dir --no-compile --user --no-deps -c requirements.txt torch; fi \
    && pip install --no-cache-dir --no-compile --user --no-deps --require-hashes -r requirements.lock ${MORE:+-r $MORE} \
    && find ~/.local/lib \( -type d -name tests -o -path '*/torch/test' -o -path '*/torch/bin/*[tT]est*' \) -prune -exec rm -r {} + \
    && if [ "$DEVICE" = cpu ]; then find ~/.local/lib -name 'libbitsandbytes_*' ! -name '*_cpu.so' -delete; fi
# A build for the other device would start, and be slow or large in silence. Without the libraries
# of its device torch cannot be imported, so its file is read.
RUN python -c "import importlib.util, runpy; [torch] = importlib.util.find_spec('torch').submodule_search_locations; built = 'cuda' if runpy.run_path(torch + '/version.py')['cuda'] else 'cpu'; built == '$DEVICE' or exit(f'This torch is built for {built}, not for $DEVICE: docs/hosting.md#a-container says which index has the other.')"
COPY --chown=user . .
# The demo's weights are part of the image, packed: unpacked they are six times as large. The first
# start of a container unpacks them.
RUN pip install --no-cache-dir --user --no-deps --no-build-isolation -e . \
    && coupled-arena models fetch SmolLM2-135M --packed \
    && python -c "import coupled_arena.ui.server, coupled_arena.generation.huggingface, transformers.models.llama.modeling_llama"

ENV HF_HOME=/data/huggingface \
    COUPLED_ARENA_DB=/data/arena.duckdb \
    COUPLED_ARENA_HOST=0.0.0.0 \
    COUPLED_ARENA_PORT=7860
EXPOSE 7860
HEALTHCHECK --interval=30s --timeout=5s --start-period=180s \
    CMD python -c "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ[\"COUPLED_ARENA_PORT\"]}/healthz', timeout=4)"
# Python itself is process 1, and ends in order at SIGTERM.
CMD ["python", "app.py"]
