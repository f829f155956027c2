// The plan of a task: prints what the task keeps and changes. The same code makes a plan and carries it out: in a dry
// run a change is printed but not made, and returns nothing.

/** Width of the column of verbs. */
const WIDTH = 7;

export class Plan {
  /** @type {(line: string) => void} */
  #print;
  #isDry;
  /** Number of changes, made or planned. */
  changes = 0;

  /** @param {{ dryRun?: boolean, print: (line: string) => void }} how */
  constructor({ dryRun = false, print }) {
    this.#isDry = dryRun;
    this.#print = print;
  }

  get isDry() {
    return this.#isDry;
  }

  /** Reports something that is as wanted. @param {string} what */
  keep(what) {
    this.#line("keep", what);
  }

  /** Tells the operator something. @param {string} text */
  note(text) {
    this.#line("note", text);
  }

  /**
   * Makes a change and returns its result, `undefined` in a dry run.
   * @template T
   * @param {string} verb
   * @param {string} what
   * @param {() => Promise<T>} make
   * @returns {Promise<T | undefined>}
   */
  async change(verb, what, make) {
    this.changes += 1;
    this.#line(verb, what);
    return this.#isDry ? undefined : make();
  }

  /**
   * Returns what `find` finds, or else what `create` creates. If the response to a creation is lost, the client's retry
   * fails because the thing exists, and this finds it.
   * @template T
   * @param {string} what
   * @param {() => Promise<T | undefined>} find
   * @param {() => Promise<T | undefined>} create
   * @returns {Promise<T | undefined>}
   */
  async ensure(what, find, create) {
    const found = await find();
    if (found !== undefined) {
      this.keep(what);
      return found;
    }
    return this.change("create", what, async () => {
      try {
        return await create();
      } catch (error) {
        const made = await find();
        if (made === undefined) throw error;
        return made;
      }
    });
  }

  /** @param {string} verb @param {string} text */
  #line(verb, text) {
    this.#print(`${verb.padEnd(WIDTH)} ${text}`);
  }
}
