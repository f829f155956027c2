// A stand-in for Docker's API, whose containers are processes on this machine: the Workers runtime starts, watches and
// stops them as it does real ones, and requests to the intercepted address reach the Worker. It says nothing about
// images, virtual machines, their limits, or the time that they take to start.
//
// Beside each container the runtime starts a sidecar that passes intercepted connections on to it with `CONNECT`. Here a
// process shares the machine's network, so its variables get an address of this machine in place of the intercepted one.

import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { connect, createServer as createNetServer } from "node:net";

const INTERCEPTED = "198.18.0.1";

/**
 * Starts the stand-in at a socket. `program` is the command of each container, or a function that returns it. An order
 * for one, such as `POST start`, that `refuses` is true for, fails.
 */
export async function startEngine(socket, program, refuses = () => false) {
  /** Containers and sidecars by name. */
  const all = new Map();
  /** Every container that was started: `{ at, process }`. */
  const starts = [];

  const server = createServer(async (request, response) => {
    const body = await textOf(request);
    const { pathname, searchParams } = new URL(request.url, "http://docker");
    const [, kind, name, operation] = pathname.replace(/^\/v[\d.]+/, "").split("/");
    const send = (status, value) => {
      response.writeHead(status, { "Content-Type": "application/json" });
      response.end(value === undefined ? "" : JSON.stringify(value));
    };
    if (kind === "networks") return send(200, { IPAM: { Config: [{ Subnet: "127.0.0.0/8", Gateway: "127.0.0.1" }] } });
    if (kind === "images") return send(200, { Id: "sha256:1", Parent: "" });
    if (kind === "volumes") return send(200, { Volumes: [] });
    if (kind !== "containers") return send(404, { message: pathname });
    if (name === "json") return send(200, []);
    if (name === "create") {
      const created = searchParams.get("name");
      if (all.has(created)) return send(409, { message: "it exists" });
      all.set(created, { name: created, config: JSON.parse(body), state: "created", waiting: [] });
      return send(201, { Id: created, Warnings: [] });
    }
    const one = all.get(name);
    if (!one) return send(404, { message: "no such container" });
    if (!isSidecar(one) && refuses(`${request.method} ${operation}`)) return send(500, { message: "refused" });
    if (request.method === "DELETE") {
      one.process?.kill("SIGKILL");
      one.sidecar?.close();
      all.delete(name);
      return send(204);
    }
    if (operation === "json") return send(200, shown(one));
    if (operation === "start") {
      await (isSidecar(one) ? startSidecar(one) : startProcess(one));
      return send(204);
    }
    if (operation === "wait") {
      const isOver = one.state === "exited" || (searchParams.get("condition") === "removed" && one.state !== "running");
      if (isOver) send(200, { StatusCode: one.code ?? 0 });
      else one.waiting.push(() => send(200, { StatusCode: one.code }));
      return;
    }
    if (operation === "kill") one.process?.kill(signalOf(searchParams.get("signal")));
    else if (operation === "stop") one.process?.kill("SIGTERM");
    else return send(404, { message: operation });
    send(204);
  });

  /** Starts a sidecar: an HTTP server that receives the runtime's port. */
  async function startSidecar(one) {
    one.sidecar = createServer(async (request, response) => {
      const body = await textOf(request);
      if (request.url === "/egress") one.port = JSON.parse(body).port;
      response.end(request.url === "/ca" ? "none" : "{}");
    });
    await listening(one.sidecar);
    one.state = "running";
  }

  async function startProcess(one) {
    // The sidecar's name is the container's with an ending.
    const portOf = () => [...all.values()].find(({ sidecar, name, port }) => sidecar && port && name.startsWith(one.name))?.port;
    const passing = createNetServer((socket) => passOn(socket, portOf()));
    await listening(passing);
    const given = (one.config.Env ?? []).map((pair) => pair.split(/=(.*)/s));
    const here = `127.0.0.1:${passing.address().port}`;
    const environment = Object.fromEntries(given.map(([key, value]) => [key, value.replaceAll(INTERCEPTED, here)]));
    const [command, ...words] = typeof program === "function" ? program(starts.length) : program;
    one.process = spawn(command, words, { env: { ...process.env, ...environment, EDGEZOOM_LISTEN: "127.0.0.1:0" }, stdio: ["ignore", "ignore", "inherit"] });
    one.state = "running";
    starts.push({ at: Date.now(), process: one.process, name: one.name });
    one.process.on("exit", (code) => {
      Object.assign(one, { state: "exited", code: code ?? 137 });
      passing.close();
      for (const tell of one.waiting.splice(0)) tell();
    });
  }

  await new Promise((ready) => server.listen(socket, ready));
  return {
    starts,
    /** Returns the processes that run. */
    running: () => starts.filter(({ process }) => process.exitCode === null && process.signalCode === null),
    close() {
      for (const { process } of starts) process.kill("SIGKILL");
      for (const { sidecar } of all.values()) sidecar?.close().closeAllConnections();
      server.close();
      server.closeAllConnections();
    },
  };
}

const isSidecar = ({ config }) => config.Cmd?.[0] === "--http-egress-port";

const shown = ({ name, state, config, sidecar }) => ({
  Id: name,
  State: { Status: state, Running: state === "running" },
  Config: { Image: config.Image },
  NetworkSettings: { Ports: sidecar ? { "39001/tcp": [{ HostIp: "127.0.0.1", HostPort: `${sidecar.address().port}` }] } : {} },
});

/** Passes a connection on to the runtime, which knows the address that it is for. */
function passOn(socket, port) {
  const runtime = connect(port, "127.0.0.1", () => runtime.write(`CONNECT ${INTERCEPTED}:80 HTTP/1.1\r\nHost: ${INTERCEPTED}:80\r\nX-Hostname: ${INTERCEPTED}\r\n\r\n`));
  let head = "";
  const read = (bytes) => {
    head += bytes.toString("latin1");
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) return;
    runtime.off("data", read);
    if (!/^HTTP\/1.1 200/.test(head)) return socket.destroy();
    socket.write(Buffer.from(head.slice(end + 4), "latin1"));
    socket.pipe(runtime).pipe(socket);
  };
  runtime.on("data", read);
  for (const [one, other] of [[socket, runtime], [runtime, socket]]) one.on("error", () => other.destroy()).on("close", () => other.destroy());
}

const signalOf = (text) => (/^\d+$/.test(text) ? Number(text) : text);
const listening = (server) => new Promise((ready) => server.listen(0, "127.0.0.1", ready));

async function textOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
