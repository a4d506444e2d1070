# A container for the demo preset; runs as uid 1000 on port 7860, as hosted Spaces expect.
# On a machine without a GPU, a CPU build of torch saves gigabytes: give the address of an index
# that has one with --build-arg PIP_EXTRA_INDEX_URL=…
FROM python:3.11-slim

ARG PIP_EXTRA_INDEX_URL
RUN useradd --create-home --uid 1000 user
USER user
WORKDIR /home/user/app
ENV PATH=/home/user/.local/bin:$PATH \
    PYTHONUNBUFFERED=1

COPY --chown=user requirements.txt .
RUN pip install --no-cache-dir --user -r requirements.txt
COPY --chown=user . .
RUN pip install --no-cache-dir --user --no-deps -e .
# The demo weights are part of the image, so that the first visitor does not wait for them.
RUN coupled-arena models fetch SmolLM2-135M

EXPOSE 7860
# Votes live in /home/user/data: mount a volume there to keep them.
RUN mkdir -p /home/user/data
HEALTHCHECK --interval=30s --timeout=5s --start-period=180s \
    CMD python -c "import urllib.request as r; r.urlopen('http://127.0.0.1:7860/healthz', timeout=4)"
CMD ["python", "app.py", "--host", "0.0.0.0", "--port", "7860", "--db", "/home/user/data/arena.duckdb"]
