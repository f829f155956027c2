// The Durable Object of one of the operator's containers, in which a tiler runs. It starts, watches and stops it as the
// object with the queue orders (`fleet.rs`), and tells that one when it has ended.
// https://developers.cloudflare.com/durable-objects/api/container/

import { DurableObject } from "cloudflare:workers";
import { Claims } from "./claims.js";
import { ADDRESS, variables } from "./variables.js";

/** Interval of looks at the container: they keep this object in memory, and so the container alive. */
const LOOK = 60_000;
/** Time after which the platform stops a container whose object has been away: a crash of both must not run on. */
const INACTIVITY = 300_000;
const SIGTERM = 15;

export class TilerObject extends DurableObject {
  constructor(context, env) {
    super(context, env);
    this.claims = new Claims(context.storage.sql);
    /** Resolves before the first call (`edge/entry.js`). After an eviction from memory, the container may run still. */
    this.ready = this.#reconnect();
  }

  async #reconnect() {
    const run = await this.ctx.storage.get("run");
    if (!run) return;
    await ringBy(this.ctx.storage, Date.now() + LOOK);
    if (this.ctx.container.running) await this.#connect(run);
  }

  /** Starts the container: `{ container, start }` as JSON. */
  async start(order) {
    const run = { ...JSON.parse(order), token: secret() };
    const { container, storage } = this.ctx;
    if (container.running) await container.destroy();
    this.claims.clear();
    await storage.put("run", run);
    await storage.setAlarm(Date.now() + LOOK);
    container.start({ enableInternet: true, env: variables(this.env, run.token) });
    await this.#connect(run);
  }

  /** Asks the tiler to finish its jobs and to end. */
  async stop(order) {
    if (await this.#isRunning(order)) this.ctx.container.signal(SIGTERM);
  }

  /** Ends the container at once. */
  async destroy(order) {
    if (await this.#isRunning(order)) await this.ctx.container.destroy();
    await this.#ended(JSON.parse(order).start);
  }

  /** Notes a claim of the tiler's. */
  noteClaim(claim) {
    this.claims.add(claim);
  }

  /** Notes that an attempt is over. */
  noteEnd(id, attempt) {
    this.claims.end(id, attempt);
  }

  /** Returns true if the tiler has claimed the attempt. */
  hasClaimed(id, attempt) {
    return this.claims.has(id, attempt);
  }

  /** Returns true if an operation of the store belongs to an attempt that the tiler has claimed. */
  mayUse(operation, keys) {
    return this.claims.admit(operation, keys);
  }

  /** Looks at the container, whose end may have been missed. */
  async alarm() {
    const run = await this.ctx.storage.get("run");
    if (!run) return;
    if (!this.ctx.container.running) return this.#ended(run.start);
    await this.ctx.storage.setAlarm(Date.now() + LOOK);
  }

  /** Opens the gate for a container, and watches it. */
  async #connect(run) {
    await this.ctx.container.interceptOutboundHttp(ADDRESS, this.ctx.exports.TilerGate({ props: run }));
    const ended = () => this.#ended(run.start).catch((error) => console.error("the end of a container:", error));
    this.ctx.waitUntil(this.ctx.container.monitor().then(ended, ended));
    await this.ctx.container.setInactivityTimeout(INACTIVITY);
  }

  async #isRunning(order) {
    const run = await this.ctx.storage.get("run");
    return run?.start === JSON.parse(order).start && this.ctx.container.running;
  }

  /** Tells the object with the queue that a start has ended; again at the next alarm if that fails. */
  async #ended(start) {
    const run = await this.ctx.storage.get("run");
    if (run?.start !== start) return;
    const { container } = run;
    await this.env.BACKLOG.getByName("backlog").send(JSON.stringify({ "container-ended": { container, start } }));
    await this.ctx.storage.delete("run");
    await this.ctx.storage.deleteAlarm();
  }
}

const secret = () => [...crypto.getRandomValues(new Uint8Array(32))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
