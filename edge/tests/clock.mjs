// A simulated clock for a system under test. It stands still until a test advances it, so no test waits for time, and a
// slow machine changes nothing. Alarms of Durable Objects, timers of a second or more and rate limiters follow it; KV
// and R2 do not.

/** The time at which every system with a clock begins. */
export const BEGIN = Date.UTC(2026, 0, 1);

/**
 * Returns a main module that runs the entry module "./entry.mjs" by the clock. `classes` has the classes of Durable
 * Objects, and `limits` the requests a minute that the rate limiters admit, each by its binding. `/advance` advances
 * the clock by `ms` and fires what is due, one after the other. `/lose` forgets the alarm of the objects with a `name`, as
 * a platform that gives it up: the object still hears that it is set. `/timers` returns the time that each timer has left.
 */
export const clocked = (classes, limits) => `
  import entry, * as inner from "./entry.mjs";
  export * from "./entry.mjs"; // except for the classes below

  let now = ${BEGIN};
  const Real = Date;
  globalThis.Date = class extends Real {
    constructor(...of) {
      super(...(of.length > 0 ? of : [now]));
    }
    static now() {
      return now;
    }
  };

  /** Timers by their numbers, and alarms by the binding and name of their objects. */
  const waiting = new Map();
  const wait = (key, at, fire, alive) => waiting.set(key, { key, at, fire, alive });
  let started = 0;
  const { setTimeout: soon, clearTimeout: forget } = globalThis;
  globalThis.setTimeout = (callback, ms = 0, ...of) => {
    if (ms < 1000) return soon(callback, ms, ...of);
    const number = -(started += 1);
    const alive = soon(() => {}, 1e9); // the runtime ends a request that waits for nothing of its own
    // The promise belongs to the request that waits, so the runtime continues that one. It warns if it has ended.
    new Promise((fire) => wait(number, now + ms, () => fire(), alive)).then(() => {
      forget(alive);
      callback(...of);
    });
    return number;
  };
  globalThis.clearTimeout = (number) => {
    forget(waiting.get(number)?.alive ?? number);
    waiting.delete(number);
  };

  async function advance(ms, env) {
    const end = { at: now + ms };
    for (let next; next !== end; ) {
      next = [...waiting.values(), end].reduce((first, other) => (other.at < first.at ? other : first));
      now = Math.max(now, next.at);
      waiting.delete(next.key);
      await next.fire?.(env);
    }
  }

  const LIMITS = ${JSON.stringify(limits)};
  const admitted = new Map();
  /** The Worker checks the class of a binding by its constructor. */
  const limiter = (binding, real) =>
    new Proxy(real, {
      get(target, property) {
        if (property !== "limit") return target[property];
        return async ({ key }) => {
          const window = [binding, key, Math.floor(now / 60_000)].join(" ");
          const used = admitted.get(window) ?? 0;
          if (used < LIMITS[binding]) admitted.set(window, used + 1);
          return { success: used < LIMITS[binding] };
        };
      },
    });
  const limited = (env) => ({ ...env, ...Object.fromEntries(Object.keys(LIMITS).map((binding) => [binding, limiter(binding, env[binding])])) });

  /** Times of alarms, as their objects hear them. */
  const alarms = new Map();
  /** Returns the class of an object whose alarm follows the clock. */
  const timed = (binding, Inner) =>
    class extends Inner {
      constructor(state, env) {
        const { name } = state.id;
        const key = binding + " " + name;
        Object.assign(state.storage, {
          getAlarm: async () => alarms.get(key) ?? null,
          setAlarm: async (at) => {
            alarms.set(key, Number(at));
            wait(key, Number(at), (env) => env[binding].getByName(name).ring());
          },
          deleteAlarm: async () => void (alarms.delete(key), waiting.delete(key)),
        });
        super(state, limited(env));
      }

      ring() {
        alarms.delete(binding + " " + this.ctx.id.name);
        return this.alarm();
      }
    };
  ${Object.entries(classes).map(([binding, name]) => `export const ${name} = timed("${binding}", inner.${name});`).join("\n  ")}

  export default {
    ...entry,
    async fetch(request, env, context) {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname === "/advance") return new Response(await advance(Number(searchParams.get("ms")), env));
      if (pathname === "/lose") {
        const lost = [...waiting.keys()].filter((key) => String(key).endsWith(" " + searchParams.get("name")));
        lost.forEach((key) => waiting.delete(key));
        return new Response(String(lost.length));
      }
      if (pathname === "/timers") return Response.json([...waiting.values()].filter(({ alive }) => alive).map(({ at }) => at - now));
      return entry.fetch(request, limited(env), context);
    },
  };
`;
