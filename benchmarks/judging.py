"""Judging 10,000 stored battles against a local server that answers at once.

    python -m benchmarks.judging [--battles N] [--concurrency N]

Prints verdicts a second and the most memory used so far, a quarter of the battles at a time, and
how much of it the database's cache has; then, with a server that takes 50 ms, the rate with many
questions in flight and with one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import resource as limits
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coupled_arena.battles.judge_runs.run import Judged, judge_stored
from coupled_arena.core.settings import resource
from coupled_arena.judging.judge import Judge
from coupled_arena.judging.prompt import read_prompt
from coupled_arena.judging.spec import JudgeSpec
from coupled_arena.store.database import Store
from coupled_arena.store.tables import derived_rows

_WORDS = 120  # of an answer


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--battles", type=int, default=10_000)
    arguments.add_argument("--concurrency", type=int, default=8)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        with server(latency=0) as url, Store.open(Path(folder) / "arena.duckdb") as store:
            fill(store, given.battles)
            used = [memory()]
            parts = []
            for _ in range(4):
                parts.append(judged(url, store, given.battles // 4, given.concurrency))
                used.append(memory())
            cache = cached(store)
        verdicts = sum(part.verdicts for part in parts)
        seconds = sum(part.seconds for part in parts)
        most = ", ".join(f"{mb:.0f}" for mb in used)
        print(
            f"{verdicts:,} verdicts on {given.battles:,} battles in {seconds:.0f} s: "
            f"{verdicts / seconds:.0f} a second; memory {most} MB, "
            f"{cache:.0f} MB of it the database's cache"
        )
        rates = []
        for concurrency in (given.concurrency, 1):
            with server(latency=0.05) as url, Store.in_memory() as store:
                fill(store, 100)
                done = judged(url, store, None, concurrency)
                rates.append(done.verdicts / done.seconds)
        print(
            f"a server that takes 50 ms: {rates[0]:.0f} a second with {given.concurrency} in "
            f"flight, {rates[1]:.0f} one at a time: {rates[0] / rates[1]:.1f} times as many"
        )


def judged(url: str, store: Store, limit: int | None, concurrency: int) -> Judged:
    spec = JudgeSpec("instant", "instant", read_prompt(resource("data/judge_prompt.txt")))
    judge = Judge(spec, base_url=url)
    return judge_stored(judge, store, limit=limit, concurrency=concurrency)


def memory() -> float:
    """Return the most memory that this process has used, in MB."""
    return limits.getrusage(limits.RUSAGE_SELF).ru_maxrss / 1024


def cached(store: Store) -> float:
    """Return what the database holds in memory, in MB."""
    with store.cursor() as cursor:
        ((used,),) = cursor.execute(
            "select sum(memory_usage_bytes) / 1e6 from duckdb_memory()"
        ).fetchall()
    return used


def fill(store: Store, battles: int) -> None:
    def work(cursor) -> None:
        cursor.execute(
            f"""
            create temp table drawn as select i, md5(i::text) as battle from range({battles}) t(i);
            insert into battles (battle, created_at, origin, mode, seed, nonce, commitment, models,
                temperature, top_k, top_p, max_new_tokens, coupling, arithmetic)
            select battle, now(), 'generate', 'coupled', i, ''::blob, '',
                ['model-' || i % 5, 'model-' || 5 + i % 7], .7, 0, .95, 256, 'token', map {{}}
            from drawn;
            insert into turns (battle, turn, prompt) select battle, 0, 'prompt ' || i from drawn;
            insert into replies
            select battle, 0, place, 'model', repeat('word' || i || ' ', {_WORDS}) || place, [],
                'stop'
            from drawn, (select unnest([0, 1]) as place)
            order by i, place;
            drop table drawn;
            """
        )
        derived_rows.derive(cursor, "true", {})
        derived_rows.refresh(cursor, "true", {})

    store.write(work)


@contextmanager
def server(latency: float) -> Iterator[str]:
    """Serve the same verdict to everybody, from a process of its own."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=serve, args=(there, latency), daemon=True
    )
    process.start()
    yield f"http://127.0.0.1:{here.recv()}/v1"
    process.terminate()
    process.join()


def serve(ready, latency: float) -> None:
    body = json.dumps(
        {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": "instant",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": '{"verdict": "A"}'},
                }
            ],
            "usage": {"prompt_tokens": 600, "completion_tokens": 6, "total_tokens": 606},
        }
    ).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    answer = f"{head}\r\n\r\n".encode() + body

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                asked = (await reader.readuntil(b"\r\n\r\n")).lower()
                await reader.readexactly(int(asked.split(b"content-length:")[1].split(b"\r\n")[0]))
                await asyncio.sleep(latency)
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run() -> None:
        listening = await asyncio.start_server(handle, "127.0.0.1", 0)
        ready.send(listening.sockets[0].getsockname()[1])
        await listening.serve_forever()

    asyncio.run(run())


if __name__ == "__main__":
    main()
