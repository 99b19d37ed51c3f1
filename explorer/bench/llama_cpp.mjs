// Plain greedy decoding by llama.cpp on a CPU, for `python -m explorer bench --peer llama.cpp` (peer.py starts this).
//
//   node llama_cpp.mjs PACKAGE MODEL.gguf THREADS      PACKAGE: the main file of an installed node-llama-cpp
//
// Says {"release"} once the model is loaded. Then for each line {"ids", "stop", "budget"} on standard input it answers a line
// {"ids", "seconds"}: the greedy text, and the time with the prefill, without that of making an empty context.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [, , packageFile, modelPath, threadCount] = process.argv;
const threads = Number(threadCount);

const { getLlama } = await import(pathToFileURL(packageFile));
const llama = await getLlama({ gpu: false, build: "never", logLevel: "error", maxThreads: threads });
const model = await llama.loadModel({ modelPath });

async function decode({ ids, stop, budget }) {
  const context = await model.createContext({ contextSize: ids.length + budget + 1, threads, batchSize: 512 });
  const sequence = context.getSequence();
  const ends = new Set(stop);
  const text = [];
  const start = performance.now();
  // A token that the file says ends a text is yielded like any other: only the stops that were asked for count.
  for await (const token of sequence.evaluate(ids, { temperature: 0, yieldEogToken: true })) {
    text.push(token);
    if (text.length >= budget || ends.has(token)) break;
  }
  const seconds = (performance.now() - start) / 1000;
  await context.dispose();
  return { ids: text, seconds };
}

const answer = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

answer({ release: llama.llamaCppRelease.release });
for await (const line of createInterface({ input: process.stdin })) answer(await decode(JSON.parse(line)));
process.exit(0);
