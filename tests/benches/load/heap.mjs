// The heaps of the Workers in processes of workerd, after a collection of garbage: what is used, where the memory of the process
// also has what V8 has not looked for yet. By the inspector of workerd, whose protocol is Chromium's.
//
//   node heap.mjs <process> …   prints a JSON object a line: { process, worker, used }, in bytes

import { readFileSync, readdirSync, readlinkSync } from "node:fs";

/** The ports on which a process listens. */
function ports(process) {
  const sockets = new Set();
  for (const number of readdirSync(`/proc/${process}/fd`)) {
    try {
      const [, socket] = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${process}/fd/${number}`)) ?? [];
      if (socket) sockets.add(socket);
    } catch {
      // It was closed meanwhile.
    }
  }
  const LISTENS = "0A";
  return ["tcp", "tcp6"].flatMap((family) =>
    readFileSync(`/proc/${process}/net/${family}`, "latin1")
      .split("\n")
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state, , , , , , socket]) => state === LISTENS && sockets.has(socket))
      .map(([, address]) => Number.parseInt(address.split(":")[1], 16)),
  );
}

/** What an inspector's address lists; nothing where none is. */
async function targets(port) {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/json/list`, { signal: AbortSignal.timeout(2_000) });
    const list = await response.json();
    return Array.isArray(list) ? list.filter(({ webSocketDebuggerUrl: url }) => url) : [];
  } catch {
    return [];
  }
}

/** Collects garbage, and gives what is used then: objects, and the memory outside of the heap that they hold. */
function used(url) {
  const socket = new WebSocket(url.replace("localhost", "127.0.0.1"));
  return new Promise((resolve, reject) => {
    const send = (id, method) => socket.send(JSON.stringify({ id, method }));
    socket.onopen = () => {
      // The first one finds what the second one frees: finalizers run between them.
      send(1, "HeapProfiler.collectGarbage");
      send(2, "HeapProfiler.collectGarbage");
      send(3, "Runtime.getHeapUsage");
    };
    socket.onmessage = ({ data }) => {
      const { id, result } = JSON.parse(data);
      if (id !== 3) return;
      resolve(result.usedSize + (result.embedderHeapUsedSize ?? 0) + (result.backingStorageSize ?? 0));
      socket.close();
    };
    socket.onerror = () => reject(new Error(`${url} does not answer`));
    setTimeout(() => reject(new Error(`${url} does not answer in time`)), 60_000).unref();
  });
}

for (const process of globalThis.process.argv.slice(2)) {
  const lists = await Promise.all(ports(process).map(targets));
  for (const { id, webSocketDebuggerUrl: url } of lists.flat()) {
    console.log(JSON.stringify({ process: Number(process), worker: id, used: await used(url) }));
  }
}
